// Gradient rules whose results go to parameters that were broadcast: rows that are computed and summed at once.
#include <algorithm>

#include "fused_rules.h"

namespace thixo {

namespace {

constexpr int64_t kFewestRows = 64;  // fewer leave threads without work, or are better cut into blocks
constexpr size_t kMostSummed = 16;   // ways that are kept for a rule

// Marks the axes of `from` that are summed to get to `to`; false if it cannot be had so.
bool mark_summed(const Dims& from, const Dims& to, bool* reduced) {
  const int extra = from.size() - to.size();
  if (extra < 0) return false;
  for (int d = 0; d < from.size(); ++d) {
    const int64_t wanted = d < extra ? 1 : to[d - extra];
    if (wanted != 1 && wanted != from[d]) return false;
    reduced[d] = wanted == 1 && from[d] != 1;
  }
  return true;
}

// Which of the kernel's results are summed, all over the axes `reduced`. Their shapes: those of the parameters that get them.
bool find_summed(const Operator& op, const FusedRule& rule, const Dims& sizes, const Dims* const* shapes, bool* reduced,
                 const Dims** wanted, bool* summed) {
  size_t next = 0;
  for (size_t p = 0; p < op.params.size(); ++p) {
    if (!(rule.needed >> p & 1)) continue;
    const int from = rule.results[next++];
    if (from < 0) continue;
    if (!shapes[p] || (wanted[from] && !(*wanted[from] == *shapes[p]))) return false;
    wanted[from] = shapes[p];
  }
  bool any = false;
  for (size_t r = 0; r < rule.result_types.size(); ++r) {
    if (!wanted[r]) return false;
    if (*wanted[r] == sizes) continue;
    bool own[kMaxDims];
    if (!mark_summed(sizes, *wanted[r], own)) return false;
    if (any && !std::equal(own, own + sizes.size(), reduced)) return false;
    std::copy_n(own, sizes.size(), reduced);
    any = summed[r] = true;
  }
  return any;
}

// Null if there is none.
RowVariant* variant_of(const Operator& op, FusedRule& rule, const RuleInputs& inputs, const std::string& views, const Dims& sizes,
                       const bool* reduced, const bool* summed) {
  const auto usable = [](RowVariant& v) { return v.there ? &v : nullptr; };
  for (auto& one : rule.summed)
    if (one->views == views) return usable(one->variant);
  if (rule.summed.size() >= kMostSummed) return nullptr;
  Object names = Object::own(PyList_New(0)), sums = Object::own(PyList_New(0));
  for (const RuleInput& input : inputs) {
    if (!input.tensor) continue;
    Object name = Object::own(PyUnicode_FromString(name_of(view_of(*input.tensor, sizes, reduced))));
    if (PyList_Append(names.get(), name.get()) < 0) throw PythonError();
  }
  for (size_t r = 0; r < rule.result_types.size(); ++r)
    if (PyList_Append(sums.get(), summed[r] ? Py_True : Py_False) < 0) throw PythonError();
  Object arguments = rule_arguments(inputs);
  auto made = std::make_unique<SummedRule>();
  made->views = views;
  Object found = Object::own(call_python_as(known.find_summed_rule, "OIKOOO", op.declaration.get(), rule.active,
                                            static_cast<unsigned long long>(rule.needed), arguments.get(), names.get(), sums.get()));
  if (found.get() != Py_None) fill_row_variant(made->variant, found.get());
  rule.summed.push_back(std::move(made));
  return usable(rule.summed.back()->variant);
}

}  // namespace

bool run_summed(const Operator& op, FusedRule& rule, const RuleInputs& inputs, const Dims* const* shapes,
                SmallVector<Ref<Tensor>, 2>& made) {
  const Tensor& g = *inputs[0].tensor;
  if (!known.find_summed_rule || g.numel < kLongWork || g.ndim() > kMaxDims) return false;
  if (g.dtype != DType::F32 && g.dtype != DType::F64) return false;  // half types are rounded before they are summed
  for (DType t : rule.result_types)
    if (t != g.dtype) return false;
  const Dims sizes = g.sizes;
  const Dims* wanted[kMostRuleOperands] = {};
  bool reduced[kMaxDims] = {}, summed[kMostRuleOperands] = {};
  if (!find_summed(op, rule, sizes, shapes, reduced, wanted, summed)) return false;
  Dims kept = sizes;
  int64_t rows = 1;
  for (int d = 0; d < kept.size(); ++d) {
    if (reduced[d]) kept[d] = 1;
    rows *= kept[d];
  }
  if (rows < kFewestRows) return false;

  std::string views;
  SmallVector<Ref<Tensor>, 6> held;  // what other threads cannot change meanwhile
  for (const RuleInput& input : inputs) {
    if (!input.tensor) continue;
    held.push_back(alias(*input.tensor));
    views += char('0' + int(view_of(*input.tensor, sizes, reduced)));
  }
  for (size_t r = 0; r < rule.result_types.size(); ++r) views += summed[r] ? 's' : '.';
  RowVariant* v = variant_of(op, rule, inputs, views, sizes, reduced, summed);
  if (!v) return false;

  RowOperand operands[kMostRuleOperands];
  Dims strides[kMostRuleOperands];
  SmallVector<Ref<Tensor>, 2> results;
  int at = 0;
  const auto place = [&](const Tensor& t) {
    strides[at] = expanded_strides(t, sizes);
    for (int64_t& stride : strides[at]) stride *= item_size(t.dtype);
    operands[at] = {t.data(), strides[at].data()};
    ++at;
  };
  for (const Ref<Tensor>& t : held) place(*t);
  for (size_t r = 0; r < rule.result_types.size(); ++r) {
    results.push_back(empty(summed[r] ? kept : sizes, g.dtype));
    place(*results.back());
  }
  RowNest nest;
  if (!plan_rows(nest, v->kernel, operands, sizes.size(), sizes.data(), reduced) || wants_split(nest, v->kernel)) return false;
  const RowLoop loop = row_loop(*v, nest.layout);
  if (!loop) return false;
  {
    WithoutGil free(true);
    run_rows(nest, v->kernel, loop);
  }
  for (size_t r = 0; r < results.size(); ++r) {
    if (summed[r]) {
      results[r]->sizes = *wanted[r];
      results[r]->strides = contiguous_strides(*wanted[r]);
    }
    made.push_back(std::move(results[r]));
  }
  return true;
}

}  // namespace thixo
