// Gradient rules of pointwise operators as kernels: what is kept of each.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "operator.h"
#include "row_variants.h"

namespace thixo {

constexpr int kMostRuleOperands = 8;  // inputs and results of a kernel

// The same rules where some results are summed over axes at once.
struct SummedRule {
  std::string views;  // of the inputs, and which results are summed
  RowVariant variant;
};

// The rules of an operator for one combination of what they get.
struct FusedRule {
  uint32_t active;
  uint64_t needed;                  // parameters that want a gradient, a bit each
  std::vector<int> dtypes;          // of each input; -1: it is a value, in `values`
  std::vector<Object> values;
  bool usable = false;
  Kernel kernel;
  std::vector<int> results;         // for each parameter that wants one: the kernel's result, or one of these
  std::vector<DType> result_types;  // of the kernel's results
  std::vector<std::unique_ptr<SummedRule>> summed;
};
enum : int { kNoGradient = -1, kPassedOn = -2 };
struct FusedRules {
  std::deque<FusedRule> found;
};

// What Python is told of the inputs: (((source, index), dtype code, value), ...).
Object rule_arguments(const RuleInputs& inputs);

// Runs a rule over large gradients and sums results to their parameters' shapes in the same walk, so that what is summed never
// goes to memory. False where nothing is to be summed, or better afterwards.
bool run_summed(const Operator& op, FusedRule& rule, const RuleInputs& inputs, const Dims* const* shapes,
                SmallVector<Ref<Tensor>, 2>& made);

}  // namespace thixo
