// Steps of programs that run Python, or operators through their eager implementation.
#include <cstring>

#include "program.h"

namespace thixo {

namespace {

constexpr int kMostSkips = 8;

// The value of a result into its place; false: it was made there.
bool put(const std::string& name, const Tensor& made, const Tensor& target) {
  if (made.dtype != target.dtype || !(made.sizes == target.sizes))
    raise(ErrorKind::Shape, name + ": made " + describe(made) + " where the graph says " + describe(target));
  if (target.numel == 0) return false;
  if (made.data() == target.data() && made.is_contiguous() && target.is_contiguous()) return false;
  Dims a, b;
  if (may_overlap(made, target)) {
    Ref<Tensor> apart = contiguous_copy(made, made.dtype);
    copy(as_array(target, a), as_array(*apart, b));
  } else {
    copy(as_array(target, a), as_array(made, b));
  }
  return true;
}

struct Wishing {
  Placing* before = placing;
  explicit Wishing(Placing& wishes) { placing = &wishes; }
  Wishing(const Wishing&) = delete;
  Wishing& operator=(const Wishing&) = delete;
  ~Wishing() { placing = before; }
};

}  // namespace

void OperatorStep::run() {
  try {
    if (op->check && !op->has_loops) check_arguments(*op, slots.data());
    Placing wishes;
    // A result that goes over an argument is made elsewhere: what the operator makes before it could be put there.
    const auto over_input = [&](const Tensor& result) {
      return std::any_of(inputs.begin(), inputs.end(), [&](const Tensor* t) { return may_overlap(result, *t); });
    };
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i]->numel && results[i]->is_contiguous() && !over_input(*results[i]))
        wishes.wishes.push_back({static_cast<size_t>(results[i]->numel) * item_size(results[i]->dtype), results[i]->data(), skip[i]});
    Results made = [&] {
      Wishing scope(wishes);
      return evaluate(*op, op->kind, slots.data());
    }();
    if (made.size() != results.size())
      raise(ErrorKind::Internal, op->name + ": gave " + std::to_string(made.size()) + " results in place of " +
                                     std::to_string(results.size()));
    // First those that lie where another is to be: it could be overwritten.
    for (size_t i = 0; i < made.size(); ++i)
      for (size_t k = 0; k < made.size(); ++k)
        if (i != k && may_overlap(*made[i], *results[k])) made[i] = contiguous_copy(*made[i], made[i]->dtype);
    for (size_t i = 0; i < made.size(); ++i)
      if (put(op->name, *made[i], *results[i]) && skip[i] < kMostSkips) ++skip[i];  // another storage next time
  } catch (const Error& e) {
    set_error(e);
    lead_error(op->self);
    throw PythonError();
  } catch (const PythonError&) {
    lead_error(op->self);
    throw;
  }
}

void PythonStep::run() {
  Object made = Object::own(call_python(function, nullptr, 0));
  Object fast = Object::own(PySequence_Fast(made.get(), "a step must give its results"));
  if (size_t(PySequence_Fast_GET_SIZE(fast.get())) != results.size())
    raise(ErrorKind::Internal, "program: a step gave " + std::to_string(PySequence_Fast_GET_SIZE(fast.get())) +
                                   " results in place of " + std::to_string(results.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    PyObject* one = PySequence_Fast_GET_ITEM(fast.get(), Py_ssize_t(i));
    if (!is_tensor(one)) raise(ErrorKind::Internal, "program: a result is " + type_name(one) + ", not a Tensor");
    put("program", *tensor_of(one), *results[i]);
  }
}

}  // namespace thixo
