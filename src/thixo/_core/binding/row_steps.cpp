// Operators that say how a row is computed, as steps of programs.
#include <cstring>

#include "program.h"
#include "row_variants.h"

namespace thixo {

namespace {

bool load(RowsStep& step, RowVariant& v) {
  if (!step.nest) return true;
  if (const RowSplit* split = wants_split(*step.nest, step.kernel) ? row_split(v, step.nest->layout) : nullptr) step.split = *split;
  else step.loop = row_loop(v, step.nest->layout);
  if (!step.loop && !step.split.partial) return false;
  step.settle();
  return true;
}

}  // namespace

std::unique_ptr<Step> prepare_rows(const Operator& op, PyObject* const* slots, const std::vector<Tensor*>& results) {
  if (!op.rows) return nullptr;
  RowTable& table = row_table(op);
  if (table.check) return nullptr;  // it looks at values
  if (table.dtype >= 0 && slots[table.dtype] != Py_None)  // another dtype would have to be converted first
    for (int p : table.params)
      if (is_tensor(slots[p]) && tensor_of(slots[p])->dtype != dtype_from(slots[table.dtype], op.name.c_str())) return nullptr;
  PyObject* dim = table.dim >= 0 ? slots[table.dim] : Py_None;
  if (!table.axes && PyTuple_Check(dim) && PyTuple_GET_SIZE(dim) == 0) return nullptr;  // all axes or none: the rule knows
  RowCall call{op, table, slots};
  if (!call.gather(true)) return nullptr;
  std::string key;
  call.describe(key, nullptr);
  RowOutcomes outcomes;
  for (const Tensor* t : results) {
    outcomes.emplace_back().dtype = t->dtype;
    key += char('a' + code(t->dtype));
    if (t->numel == 0) return nullptr;
  }
  RowVariant& v = row_variant(call, key, outcomes);
  int64_t length = 1, numel = 1;
  for (int d = 0; d < call.sizes.size(); ++d) {
    numel *= call.sizes[d];
    if (call.reduced[d]) length *= call.sizes[d];
  }
  if (!v.there || numel == 0 || (v.kernel.ordered && length > INT32_MAX)) return nullptr;
  std::vector<KernelOperand> operands;
  const auto add = [&](const Tensor& t) -> KernelOperand& {
    KernelOperand& operand = operands.emplace_back();
    operand.place = place_of(t);
    operand.dtype = t.dtype;
    return operand;
  };
  for (const Ref<Tensor>& t : call.tensors) {
    KernelOperand& operand = add(*t);
    operand.strides = expanded_strides(*t, call.sizes);
    for (int64_t& stride : operand.strides) stride *= item_size(t->dtype);
  }
  for (double number : call.numbers) {
    KernelOperand& operand = operands.emplace_back();
    operand.dtype = DType::F64;
    operand.strides = Dims(call.sizes.size());
    std::memcpy(operand.element, &number, sizeof(number));
  }
  for (const Tensor* t : results) {  // as the kernel makes them: the axes that they have, one after the other
    const RowView view = v.kernel.view[operands.size()];
    KernelOperand& operand = add(*t);
    Dims own = call.sizes;
    for (int d = 0; d < own.size(); ++d)
      if (view != RowView::Full && call.reduced[d] == (view == RowView::Row)) own[d] = 1;
    const Dims steps = contiguous_strides(own);
    int64_t elements = 1;
    for (int d = 0; d < own.size(); ++d) {
      operand.strides.push_back(own[d] == 1 && call.sizes[d] != 1 ? 0 : steps[d] * item_size(t->dtype));
      elements *= own[d];
    }
    if (elements != t->numel) return nullptr;
  }
  auto step = std::make_unique<RowsStep>(v.kernel, call.sizes, call.reduced, operands);
  if (!load(*step, v)) return nullptr;
  return step;
}

std::unique_ptr<Step> prepare_row_kernel(PyObject* found, const Dims& sizes, const bool* reduced,
                                         const std::vector<KernelOperand>& operands) {
  RowVariant v;
  if (!fill_row_variant(v, found) || size_t(v.kernel.count) != operands.size()) return nullptr;
  auto step = std::make_unique<RowsStep>(v.kernel, sizes, reduced, operands);
  if (!load(*step, v)) return nullptr;
  return step;
}

}  // namespace thixo
