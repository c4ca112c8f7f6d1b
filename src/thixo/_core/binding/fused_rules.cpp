// Gradient rules of pointwise operators as kernels: one pass over memory for all gradients of a node, no Python.
#include "fused_rules.h"

namespace thixo {

namespace {

constexpr size_t kMostRules = 32;     // combinations that are kept for an operator

int dtype_of(const RuleInput& input) { return input.tensor ? code(input.tensor->dtype) : -1; }

bool same_value(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b)) return false;
  int same = PyObject_RichCompareBool(a, b, Py_EQ);
  if (same < 0) throw PythonError();
  return same;
}

bool fits(const FusedRule& rule, uint32_t active, uint64_t needed, const RuleInputs& inputs) {
  if (rule.active != active || rule.needed != needed || rule.dtypes.size() != inputs.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (rule.dtypes[i] != dtype_of(inputs[i])) return false;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (rule.dtypes[i] < 0 && !same_value(rule.values[i].get(), inputs[i].object)) return false;
  return true;
}

}  // namespace

Object rule_arguments(const RuleInputs& inputs) {
  static const char* const names[] = {"grad", "input", "output", "type", "needs"};
  Object arguments = Object::own(PyTuple_New(Py_ssize_t(inputs.size())));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const RuleInput& input = inputs[i];
    PyObject* entry = Py_BuildValue("((si)iO)", names[int(input.what.from)], input.what.index, dtype_of(input),
                                    input.tensor ? Py_None : input.object);
    PyTuple_SET_ITEM(arguments.get(), Py_ssize_t(i), Object::own(entry).give());
  }
  return arguments;
}

namespace {

// Asks Python: (declaration, active, needed, (((source, index), dtype code, value), ...)).
FusedRule make_rule(const Operator& op, uint32_t active, uint64_t needed, const RuleInputs& inputs) {
  FusedRule rule;
  rule.active = active;
  rule.needed = needed;
  for (const RuleInput& input : inputs) {
    rule.dtypes.push_back(dtype_of(input));
    rule.values.push_back(Object::borrow(input.tensor ? Py_None : input.object));
  }
  Object arguments = rule_arguments(inputs);
  Object found = Object::own(call_python_as(known.find_rule, "OIKO", op.declaration.get(), active,
                                            static_cast<unsigned long long>(needed), arguments.get()));
  if (found.get() == Py_None) return rule;
  unsigned long long address;
  long long grain;
  PyObject *results, *types;
  if (!PyArg_ParseTuple(found.get(), "KLO!O!", &address, &grain, &PyTuple_Type, &results, &PyTuple_Type, &types))
    throw PythonError();
  rule.kernel = {reinterpret_cast<Loop>(address), grain, 0, false, true};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results); ++i)
    rule.results.push_back(int(PyLong_AsLong(PyTuple_GET_ITEM(results, i))));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); ++i)
    rule.result_types.push_back(DType(PyLong_AsLong(PyTuple_GET_ITEM(types, i))));
  if (PyErr_Occurred()) throw PythonError();
  size_t tensors = 0;
  for (const RuleInput& input : inputs) tensors += input.tensor != nullptr;
  rule.usable = tensors + rule.result_types.size() <= kMostRuleOperands;
  return rule;
}

FusedRule* find_rule(const Operator& op, uint32_t active, uint64_t needed, const RuleInputs& inputs) {
  if (!known.find_rule) return nullptr;
  if (!op.fused_rules) op.fused_rules = std::make_shared<FusedRules>();
  std::deque<FusedRule>& found = op.fused_rules->found;
  for (size_t i = 0; i < found.size(); ++i)  // comparing may run Python, and others may add meanwhile
    if (fits(found[i], active, needed, inputs)) return found[i].usable ? &found[i] : nullptr;
  if (found.size() >= kMostRules) return nullptr;
  found.push_back(make_rule(op, active, needed, inputs));
  return found.back().usable ? &found.back() : nullptr;
}

// Runs the kernel. The gradient, which has the result's shape, comes first; the other inputs broadcast to it.
void run_rule(const FusedRule& rule, const RuleInputs& inputs, SmallVector<Ref<Tensor>, 2>& made) {
  const Tensor& g = *inputs[0].tensor;
  bool alike = g.is_contiguous() && g.numel < kLongWork;
  SmallVector<Tensor*, 6> tensors;
  for (const RuleInput& input : inputs) {
    if (!input.tensor) continue;
    tensors.push_back(input.tensor);
    alike = alike && input.tensor->is_contiguous() && input.tensor->sizes == g.sizes;
  }
  for (DType t : rule.result_types) made.push_back(empty(g.sizes, t));
  int count = int(tensors.size() + made.size()), at = 0;
  if (alike) {
    char* pointers[kMostRuleOperands];
    int64_t strides[kMostRuleOperands];
    auto add = [&](const Tensor& t) {
      pointers[at] = t.data();
      strides[at++] = item_size(t.dtype);
    };
    for (Tensor* t : tensors) add(*t);
    for (auto& t : made) add(*t);
    return rule.kernel.loop(pointers, strides, g.numel);
  }
  Array arrays[kMostRuleOperands];
  Dims bytes[kMostRuleOperands];
  SmallVector<Ref<Tensor>, 6> held;  // what other threads cannot change meanwhile
  for (Tensor* t : tensors) {
    held.push_back(g.numel >= kLongWork ? alias(*t) : Ref<Tensor>(t));
    arrays[at] = as_array(*held.back(), g.sizes, expanded_strides(*held.back(), g.sizes), bytes[at]);
    ++at;
  }
  for (auto& t : made) {
    arrays[at] = as_array(*t, bytes[at]);
    ++at;
  }
  Dims sizes = g.sizes;
  for (int i = 0; i < count; ++i) arrays[i].sizes = sizes.data();
  WithoutGil free(g.numel >= kLongWork);
  run_loop(rule.kernel.loop, arrays, count, rule.kernel.grain, true, int(made.size()));
}

}  // namespace

bool apply_fused(const Operator& op, uint32_t active, uint64_t needed, const RuleInputs& inputs, const Dims* const* shapes,
                 SmallVector<std::pair<int, Ref<Tensor>>, 2>& out) {
  if (inputs.size() == 0 || !inputs[0].tensor) return false;
  for (size_t i = 1; i < inputs.size(); ++i) {
    const Tensor* t = inputs[i].tensor;
    if (!t) continue;
    // In a mix of dtypes 0-d tensors count less than others, which a kernel made for one shape does not know.
    if (t->dtype != inputs[0].tensor->dtype && !is_bool(t->dtype)) return false;
    if (t->symbolic() || t->ndim() > inputs[0].tensor->ndim()) return false;
  }
  FusedRule* rule = find_rule(op, active, needed, inputs);
  if (!rule) return false;
  SmallVector<Ref<Tensor>, 2> made;
  if (!rule->result_types.empty() && !run_summed(op, *rule, inputs, shapes, made)) run_rule(*rule, inputs, made);
  size_t next = 0;
  for (size_t p = 0; p < op.params.size(); ++p) {
    if (!(needed >> p & 1)) continue;
    int from = rule->results[next++];
    if (from == kNoGradient) continue;
    out.push_back({int(p), from == kPassedOn ? Ref<Tensor>(inputs[0].tensor) : made[from]});
  }
  return true;
}

}  // namespace thixo
