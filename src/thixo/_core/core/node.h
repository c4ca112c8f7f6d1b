// A node of the tape: it turns gradients of an operation's results into gradients of its inputs.
#pragma once
#include <string>
#include <vector>
#include "counted.h"
#include "dims.h"
#include "dtype.h"
#include "small_vector.h"
#include "source.h"

namespace thixo {

struct Node;
struct Tensor;

// Something the core carries but does not understand (a Python object).
struct External : Counted {};

struct Edge {
  Ref<Node> node;      // null: this input needs no gradient
  uint32_t input = 0;  // which of that node's results the gradient belongs to
};

// What is known of a forward result: the gradient that arrives for it is made to match.
struct ResultType {
  DType dtype = DType::F32;
  Dims sizes;
  Ref<External> value;  // symbolic results carry their type here
};

// A function on one gradient: a user's hook, or the keeper of a non-leaf's .grad.
struct GradHook : Counted {
  uint32_t output = 0;       // of which result of its node
  Tensor* target = nullptr;  // retain_grad: where to keep it; cleared by the tensor when it dies
  virtual Ref<Tensor> call(const Ref<Tensor>& grad);
};

// The tape belongs to whoever holds one lock (Python's, in the binding): kernels run without it, and they know
// nothing of nodes. So nodes are counted without atomic instructions, of which an operation would need six.
struct Node : Counted {
  static constexpr bool kShared = false;
  union {
    void* wrapper = nullptr;  // the Python object, not owned; null when there is none
    Node* next_dead;          // while it waits to be deleted: it has no Python object then
  };
  uint64_t sequence;  // creation order; backward runs the newest first
  SmallVector<Edge, 2> edges;
  SmallVector<ResultType, 1> results;
  Source source;
  std::vector<Ref<GradHook>> hooks;  // run on the gradients of results before apply
  Ref<External> node_hooks;          // the binding's hooks around apply
  static uint64_t next_sequence;

  Node() : sequence(next_sequence++) {}
  ~Node() override;
  void destroy() override;  // iterative: a tape may be a million nodes deep

  // gradients[i] belongs to results[i] and may be null. Fills one gradient (or null) for each edge.
  virtual void apply(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) = 0;
  virtual std::string name() const = 0;
  virtual void release_saved() {}  // drop what was kept for backward

  // For a result that is a part of the one input (a slice of it): which part of a gradient of the input is its
  // gradient's. The engine adds there in place, so that many parts of one tensor cost no more than the tensor.
  virtual bool is_part() const { return false; }
  virtual Ref<Tensor> part_of(const Ref<Tensor>& whole);
};

}  // namespace thixo
