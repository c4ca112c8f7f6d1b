// Operators that say how a row is computed, run one by one.
#include <utility>

#include "common_order.h"
#include "program.h"
#include "row_variants.h"

namespace thixo {

namespace {

// Whether a tensor holds positions of a row of this length alone, and the one to ignore; false also where it must be
// looked at otherwise.
bool holds_positions(const RowTable& table, PyObject* const* slots, int64_t length) {
  if (table.positions < 0 || !is_tensor(slots[table.positions])) return false;
  const Tensor& t = *tensor_of(slots[table.positions]);
  int64_t ignored = 0;
  if (table.ignored >= 0 && slots[table.ignored] != Py_None) {
    ignored = PyLong_AsLongLong(slots[table.ignored]);
    if (ignored == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
  }
  if (t.dtype != DType::I64 || !t.is_contiguous()) return false;
  const auto* numbers = reinterpret_cast<const int64_t*>(t.data());
  bool fits = length > 0 || t.numel == 0;
  for (int64_t i = 0; i < t.numel; ++i)
    fits &= static_cast<uint64_t>(numbers[i]) < static_cast<uint64_t>(length) || numbers[i] == ignored;
  return fits;
}

// Whether a rule reads this result again, beside the gradient, which mostly lies in the order of its shape: so should
// the result, then.
bool meets_gradient(const Operator& op, size_t result) {
  for (const Rule& rule : op.rules)
    for (const RuleArgument& argument : rule.arguments)
      if (argument.from == From::Output && size_t(argument.index) == result) return true;
  return false;
}

// Results of full size lie in the order of the operands (common_order.h), but for sums over rows: those want lanes along
// the rows, in whatever order the input is.
bool run(RowCall& call, RowOutcomes& outcomes, Results& out) {
  const Operator& op = call.op;
  std::string key;
  call.describe(key, nullptr);
  for (const RowOutcome& o : outcomes) key += char('a' + code(o.dtype));
  RowVariant& v = row_variant(call, key, outcomes);
  if (!v.there) return false;
  const RowKernel& kernel = v.kernel;
  const int ndim = call.sizes.size();
  int64_t numel = 1, length = 1;
  Dims kept = call.sizes, along = call.sizes;
  for (int d = 0; d < ndim; ++d) {
    numel *= call.sizes[d];
    (call.reduced[d] ? kept : along)[d] = 1;
    if (call.reduced[d]) length *= call.sizes[d];
  }
  if (kernel.ordered && length > INT32_MAX) return false;
  if (call.table.positions >= 0 && length == 0) return false;  // a row without places has no element to pick
  if (call.table.check && !holds_positions(call.table, call.slots, length))
    Object::own(call_python(call.table.check.get(), call.slots, op.params.size()));
  RowOperand operands[kMaxRowOperands];
  Dims strides[kMaxRowOperands];
  int at = 0;
  const auto place = [&](const Tensor& t) {
    strides[at] = expanded_strides(t, call.sizes);
    for (int d = 0; d < ndim; ++d) strides[at][d] *= item_size(t.dtype);
    operands[at] = {t.data(), strides[at].data()};
    ++at;
  };
  for (const Ref<Tensor>& t : call.tensors) place(*t);
  for (double& number : call.numbers) {
    strides[at] = Dims(ndim);
    operands[at] = {reinterpret_cast<char*>(&number), strides[at].data()};
    ++at;
  }
  CommonOrder order;
  for (const Ref<Tensor>& t : call.tensors) order.add(*t, call.sizes);
  for (int k = at; k < kernel.count; ++k) order.same = order.same && kernel.view[k] != RowView::Column;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const RowOutcome& o = outcomes[i];
    const RowView view = kernel.view[at];
    const bool as_operands = view == RowView::Full && (!o.shaped || o.shape == call.sizes) && !meets_gradient(op, i);
    Ref<Tensor> made = as_operands ? order.make(call.sizes, o.dtype)
                       : view == RowView::Column && numel == 0
                           ? zeros(along, o.dtype)
                           : empty(view == RowView::Full ? call.sizes : view == RowView::Row ? kept : along, o.dtype);
    place(*made);
    out.push_back(made);
  }
  RowNest nest;
  if (plan_rows(nest, kernel, operands, ndim, call.sizes.data(), call.reduced)) {
    const RowSplit* split = wants_split(nest, kernel) ? row_split(v, nest.layout) : nullptr;
    RowLoop loop = split ? split->partial : row_loop(v, nest.layout);
    if (!loop) {
      out.clear();
      return false;
    }
    WithoutGil free(numel >= kLongWork);
    if (split) run_split(nest, kernel, *split);
    else run_rows(nest, kernel, loop);
  }
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].shaped || out[i]->sizes == outcomes[i].shape) continue;
    int64_t wanted = 1;
    for (int64_t s : outcomes[i].shape) wanted *= s;
    if (wanted != out[i]->numel)
      raise(ErrorKind::Internal, op.name + ": its rows make " + describe(*out[i]) + " where its rule says " +
                                     describe(outcomes[i].shape));
    out[i]->strides = contiguous_strides(outcomes[i].shape);
    out[i]->sizes = std::move(outcomes[i].shape);
  }
  return true;
}

// The result's type without asking Python; false where the declaration must be asked (and may refuse).
bool simple_type(const RowCall& call, DType& dtype) {
  const Tensor& t = *call.tensors[0];
  if (t.numel == 0 || (call.table.dtype >= 0 && call.slots[call.table.dtype] != Py_None)) return false;
  dtype = t.dtype;
  switch (call.table.type) {
    case RowType::Same: return true;
    case RowType::Float: return is_differentiable(dtype);
    case RowType::Sum:
      if (!is_differentiable(dtype)) dtype = DType::I64;
      return true;
    case RowType::Truth:
      if (dtype != DType::U8) dtype = DType::Bool;
      return true;
    case RowType::Index: dtype = DType::I64; return true;
    default: return false;
  }
}

// The arguments as far as a rule sees them; empty where there is one that is not read here.
std::string rule_key(const Operator& op, PyObject* const* slots) {
  std::string key;
  const auto add = [&](char kind, const void* data, size_t bytes) {
    key += kind;
    key.append(static_cast<const char*>(data), bytes);
  };
  const auto add_int = [&](PyObject* o) {
    if (!PyLong_CheckExact(o)) return false;
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(o, &overflow);
    add('i', &value, sizeof(value));
    return !overflow;
  };
  bool first = true;
  for (size_t i = 0; i < op.params.size(); ++i) {
    PyObject* o = slots[i];
    bool read = true;
    if (is_tensor(o)) {
      const Tensor& t = *tensor_of(o);
      // The rule for whole numbers may ask for the default dtype.
      read = !t.symbolic() && (!first || is_differentiable(t.dtype));
      first = false;
      const int about[2] = {code(t.dtype), t.ndim()};
      add('t', about, sizeof(about));
      key.append(reinterpret_cast<const char*>(t.sizes.data()), size_t(t.ndim()) * sizeof(int64_t));
    } else if (o == Py_None || o == Py_True || o == Py_False) {
      key += o == Py_None ? '-' : o == Py_True ? '+' : '!';
    } else if (PyFloat_CheckExact(o)) {
      const double value = PyFloat_AS_DOUBLE(o);
      add('f', &value, sizeof(value));
    } else if (PyTuple_CheckExact(o)) {
      const int64_t count = PyTuple_GET_SIZE(o);
      add('(', &count, sizeof(count));
      for (Py_ssize_t k = 0; read && k < count; ++k) read = add_int(PyTuple_GET_ITEM(o, k));
    } else {
      read = add_int(o);
    }
    if (!read) return {};
  }
  return key;
}

}  // namespace

Object remembered_rule(const Operator& op, PyObject* const* slots, std::string& key) {
  const RowTable& table = row_table(op);
  key = rule_key(op, slots);
  if (!key.empty())
    for (const RowAnswer& answer : table.answers)
      if (answer.key == key) return answer.specs;
  return {};
}

void remember_rule(const Operator& op, std::string key, PyObject* specs) {
  if (key.empty() || !PyTuple_Check(specs)) return;  // a Spec is one too; a list could be changed
  RowTable& table = row_table(op);
  RowAnswer& answer = table.answers[table.next_answer];
  table.next_answer = (table.next_answer + 1) % RowTable::kAnswers;
  RowAnswer old = std::exchange(answer, {std::move(key), Object::borrow(specs)});
}

// `specs`: what the operator's rule says of its results; null before it is asked. False where there is no kernel for
// these arguments.
bool evaluate_rows(const Operator& op, PyObject* const* slots, PyObject* specs, Results& out) {
  RowTable& table = row_table(op);
  if (!specs && table.type == RowType::Asked) return false;
  RowCall call{op, table, slots};
  RowOutcomes outcomes;
  if (!specs) {
    PyObject* dim = table.dim >= 0 ? slots[table.dim] : Py_None;
    if (PyTuple_Check(dim) && PyTuple_GET_SIZE(dim) == 0) return false;  // all axes or none: the rule knows
    DType dtype;
    if (!call.gather(false) || !simple_type(call, dtype)) return false;
    RowOutcome& o = outcomes.emplace_back();
    o.dtype = dtype;
    if (table.keepdim >= 0 && slots[table.keepdim] != Py_True) {
      for (int d = 0; d < call.sizes.size(); ++d)
        if (!call.reduced[d]) o.shape.push_back(call.sizes[d]);
      o.shaped = true;
    }
    return run(call, outcomes, out);
  }
  if (!call.gather(true)) return false;
  const bool several = !PyObject_TypeCheck(specs, reinterpret_cast<PyTypeObject*>(known.spec));
  for (Py_ssize_t i = 0; i < (several ? Py_SIZE(specs) : 1); ++i) {
    PyObject* spec = several ? PySequence_Fast_ITEMS(specs)[i] : specs;
    RowOutcome& o = outcomes.emplace_back();
    o.dtype = dtype_from(PyTuple_GET_ITEM(spec, 1), op.name.c_str());
    o.shape = dims_from(PyTuple_GET_ITEM(spec, 0), op.name.c_str());
    o.shaped = true;
  }
  return run(call, outcomes, out);
}

}  // namespace thixo
