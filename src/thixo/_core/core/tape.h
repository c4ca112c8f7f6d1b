// The tape: what nodes keep, how tensors get their place on it, and what it needs from operators.
#pragma once
#include <vector>
#include "tensor.h"

namespace thixo {

// Adds to a leaf's .grad. The leaf owns it; when the leaf dies nobody can see its gradient any more, and the
// node does nothing.
struct AccumulateGrad final : Node {
  Tensor* variable;
  explicit AccumulateGrad(Tensor& variable);
  void apply(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) override;
  std::string name() const override { return "AccumulateGrad"; }
};

// A tensor kept for backward, with the version it had.
struct Saved {
  Ref<Tensor> tensor;
  uint32_t version = 0;
  int32_t output = kConstant;  // >= 0: it is that result of its own node, kept without its history
  static constexpr int32_t kConstant = -1, kRecorded = -2;  // an input without, or with a history
};
Saved save_input(const Ref<Tensor>& t);
Saved save_output(const Ref<Tensor>& t, int output);
// The tensor, history restored; throws if it has been overwritten or released.
Ref<Tensor> unpack(const Saved& saved, Node* node);

// What the tape needs from operators; the binding fills these in with the operators of the table.
struct TapeOperators {
  Ref<Tensor> (*add)(const Ref<Tensor>&, const Ref<Tensor>&) = nullptr;
  void (*add_)(const Ref<Tensor>&, const Ref<Tensor>&) = nullptr;
  void (*copy_)(const Ref<Tensor>&, const Ref<Tensor>&) = nullptr;
  Ref<Tensor> (*clone)(const Ref<Tensor>&) = nullptr;
  Ref<Tensor> (*zeros)(const ResultType&) = nullptr;
  Ref<Tensor> (*match)(const Ref<Tensor>&, const ResultType&, const Node&) = nullptr;  // sum, cast, real
  std::string (*source_text)(const Source&) = nullptr;
  bool (*has_nan)(const Ref<Tensor>&) = nullptr;
  void (*around)(Node&, std::vector<Ref<Tensor>>&, std::vector<Ref<Tensor>>&) = nullptr;  // node_hooks
  bool (*interrupted)() = nullptr;
};
extern TapeOperators tape_operators;

// ---- switches of the current thread
struct Modes {
  bool grad = true;
  bool inference = false;
  bool anomaly = false;
};
extern constinit thread_local Modes modes;

bool needs_tape(const Tensor& t);  // grad mode is on and t requires a gradient
bool is_tracked(const Tensor& t);  // it requires a gradient, by itself or as a view of what does
// Where the gradient of t goes: to what made it, or for a leaf to its accumulator.
Edge find_edge(const Ref<Tensor>& t);
inline Edge gradient_edge(Tensor& t) {
  if (t.base) return find_edge(Ref<Tensor>(&t));
  if (t.grad_fn) return {t.grad_fn, t.output};
  if (!t.autograd || !t.autograd->requires_grad) return {};
  return t.autograd->accumulator ? Edge{t.autograd->accumulator, 0} : find_edge(Ref<Tensor>(&t));
}
inline ResultType result_type(const Tensor& t) { return {t.dtype, t.sizes, t.value}; }
// Makes t the given result of node.
void set_history(Tensor& t, Ref<Node> node, uint32_t output);
// Called before an in-place write: refuses leaves that require a gradient, inference tensors, overlaps.
void check_inplace(const Tensor& t, const char* op, bool records);
void bump_version(Tensor& t, Source source);
const Ref<Node>& current_grad_fn(const Ref<Tensor>& t);  // views made before a write look at their base again
std::string saved_message(const Saved& saved, const Node* node);

// Remade views and writes through views need rules for strided windows; the binding makes these nodes.
struct ViewNodes {
  Ref<Node> (*window)(const Ref<Tensor>& base, const Tensor& view) = nullptr;
  Ref<Node> (*write)(const Ref<Tensor>& base, const Ref<Tensor>& view, const Ref<Node>& written,
                     size_t window) = nullptr;
};
extern ViewNodes view_nodes;
// After an in-place write recorded as `node`: t, and the base it is a view of, get new histories. `input` says which
// edge of the node stands for what t was before.
void rebase_history(const Ref<Tensor>& t, const Ref<Node>& node, size_t input = 0);

}  // namespace thixo
