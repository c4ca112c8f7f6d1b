#include "tape.h"
#include "lazy.h"

#include <algorithm>

namespace thixo {

TapeOperators tape_operators;
ViewNodes view_nodes;
constinit thread_local Modes modes;

uint64_t Node::next_sequence = 1;

Node::~Node() = default;

Ref<Tensor> Node::part_of(const Ref<Tensor>& whole) { return whole; }

// Deleting a node drops its edges, which may delete the nodes before it, and so on down the tape. A chain of
// dead nodes in place of recursion keeps the stack flat.
void Node::destroy() {
  thread_local Node* dead = nullptr;
  thread_local bool busy = false;
  next_dead = dead;
  dead = this;
  if (busy) return;
  busy = true;
  while (dead) {
    Node* node = dead;
    dead = node->next_dead;
    delete node;
  }
  busy = false;
}

Ref<Tensor> GradHook::call(const Ref<Tensor>& grad) {
  if (target) {
    Ref<Tensor>& kept = target->grad_state().grad;
    kept = kept ? tape_operators.add(kept, grad) : grad;
  }
  return grad;
}

AccumulateGrad::AccumulateGrad(Tensor& leaf) : variable(&leaf) {
  sequence = UINT64_MAX;  // runs as soon as it can, so that gradients are dropped early
  results.push_back(result_type(leaf));
}

void AccumulateGrad::apply(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>&) {
  Ref<Tensor> grad = std::move(gradients[0]);
  if (!grad || !variable) return;
  Ref<Tensor> leaf(variable);  // hooks may drop the last other reference
  Autograd& state = *leaf->autograd;
  // Hooks may add or remove hooks: work on copies.
  for (auto& hook : std::vector<Ref<GradHook>>(state.hooks)) grad = hook->call(grad);
  if (!state.grad) {
    // A gradient that others hold too is copied: writes to one leaf's .grad must not reach another's.
    bool ours = is_unique(grad.get()) && grad->storage && is_only_holder(*grad->storage) && !grad->base &&
                grad->is_contiguous();
    state.grad = ours || grad->symbolic() ? grad : tape_operators.clone(grad);
  } else if (modes.grad || state.grad->symbolic() || grad->symbolic()) {
    state.grad = tape_operators.add(state.grad, grad);
  } else {
    tape_operators.add_(state.grad, grad);
  }
  for (auto& hook : std::vector<Ref<GradHook>>(state.after_hooks)) hook->call(leaf);
}

// ---- saved tensors

Saved save_input(const Ref<Tensor>& t) {
  if (t->inference)
    fail(ErrorKind::Autograd,
         "a tensor made in inference_mode cannot be kept for backward; make it outside of inference_mode, "
         "or clone it there");
  return {t, t->storage ? t->storage->version : 0, t->grad_fn ? Saved::kRecorded : Saved::kConstant};
}

Saved save_output(const Ref<Tensor>& t, int output) {
  return {alias(*t), t->storage ? t->storage->version : 0, output};
}

std::string saved_message(const Saved& saved, const Node* node) {
  auto where = [](const Source& s) {
    std::string text = s.handle && tape_operators.source_text ? tape_operators.source_text(s) : "";
    return text.empty() ? std::string() : " at " + text;
  };
  const Storage& s = *saved.tensor->storage;
  return "backward of " + node->name() + ": a value it needs, " + describe(*saved.tensor) + ", saved" +
         where(node->source) + ", was overwritten in place" + where(s.last_write) + " (it is at version " +
         std::to_string(s.version) + ", version " + std::to_string(saved.version) +
         " was saved); clone it before the write, or use the out-of-place operation";
}

Ref<Tensor> unpack(const Saved& saved, Node* node) {
  if (!saved.tensor)
    fail(ErrorKind::Autograd,
         "backward: the graph was already freed by an earlier backward, so " + node->name() +
             " has lost what it saved; pass retain_graph=True to the first backward if you need two");
  if (saved.tensor->storage && saved.tensor->storage->version != saved.version)
    fail(ErrorKind::Inplace, saved_message(saved, node));
  if (saved.output == Saved::kRecorded && modes.grad && !saved.tensor->requires_grad())
    fail(ErrorKind::Autograd, "backward of " + node->name() + ": a value it needs, " + describe(*saved.tensor) +
                                  ", was detached in place (detach_) after it was saved, so its own gradient is "
                                  "lost; use detach()");
  if (saved.output < 0) return saved.tensor;
  if (!modes.grad) return saved.tensor;
  Ref<Tensor> t = alias(*saved.tensor);
  set_history(*t, Ref<Node>(node), uint32_t(saved.output));
  return t;
}

// ---- histories

bool needs_tape(const Tensor& t) { return modes.grad && t.requires_grad(); }

bool is_tracked(const Tensor& t) {
  if (t.requires_grad()) return true;
  if (!t.base || t.hidden_writes || !t.base->requires_grad()) return false;
  if (!t.untracked_view) return true;
  if (modes.grad && t.storage && t.view_version != t.storage->version && !t.base->is_leaf())
    fail(ErrorKind::Inplace, "a view " + describe(t) + " made under no_grad() is used after its base was changed in "
                             "place by a recorded operation; make the view where gradients are on, or after the write");
  return false;
}

void set_history(Tensor& t, Ref<Node> node, uint32_t output) {
  if (t.autograd && t.autograd->retainer && t.grad_fn && t.grad_fn.get() != node.get()) {
    // retain_grad() keeps the gradient of the newest value.
    const Ref<GradHook>& retainer = t.autograd->retainer;
    auto& hooks = t.grad_fn->hooks;
    hooks.erase(std::remove(hooks.begin(), hooks.end(), retainer), hooks.end());
    retainer->output = output;
    node->hooks.push_back(retainer);
  }
  t.grad_fn = std::move(node);
  t.output = output;
  t.view_version = t.storage ? t.storage->version : 0;
}

const Ref<Node>& current_grad_fn(const Ref<Tensor>& t) {
  // A view whose memory was written since looks at its base again.
  if (t->base && t->storage && t->view_version != t->storage->version && !t->hidden_writes &&
      !t->untracked_view) {
    if (t->base->requires_grad()) set_history(*t, view_nodes.window(t->base, *t), 0);
    else t->view_version = t->storage->version;
  }
  return t->grad_fn;
}

Edge find_edge(const Ref<Tensor>& t) {
  const Ref<Node>& fn = current_grad_fn(t);
  if (fn) return {fn, t->output};
  if (!t->autograd || !t->autograd->requires_grad) return {};
  if (!t->autograd->accumulator) t->autograd->accumulator = make<AccumulateGrad>(*t);
  return {t->autograd->accumulator, 0};
}

void check_inplace(const Tensor& t, const char* op, bool records) {
  std::string name(op);
  if (t.storage && !t.storage->writable)
    fail(ErrorKind::Inplace, name + ": this tensor looks at memory that is read-only; clone it first");
  if (t.inference && !modes.inference && records)
    fail(ErrorKind::Inplace, name + ": a tensor made in inference_mode cannot be changed in a recorded "
                                     "operation; clone it first");
  if (modes.grad) {
    if (t.is_leaf() && t.autograd && t.autograd->requires_grad)
      fail(ErrorKind::Inplace, name + ": a leaf " + describe(t) +
                                    " that requires grad was about to be changed in place; do it under "
                                    "no_grad(), or on a clone");
    if (t.base && t.base->is_leaf() && t.base->autograd && t.base->autograd->requires_grad &&
        !t.hidden_writes)
      fail(ErrorKind::Inplace, name + ": a view of a leaf " + describe(*t.base) +
                                    " that requires grad was about to be changed in place; do it under "
                                    "no_grad(), or on a clone");
  }
  if (t.untracked_view && modes.grad && (records || (t.base->requires_grad() && !t.hidden_writes)))
    fail(ErrorKind::Inplace, name + ": this view was made under no_grad() and cannot take part in a recorded "
                                    "in-place write; make the view where gradients are on");
  if (has_internal_overlap(t))
    fail(ErrorKind::Inplace, name + ": several elements of this " + describe(t) +
                                  " are the same memory (it was expanded); clone it before writing to it");
}

void bump_version(Tensor& t, Source source) {
  if (!t.storage || t.hidden_writes) return;
  t.storage->version++;
  t.storage->last_write = std::move(source);
}

void rebase_history(const Ref<Tensor>& t, const Ref<Node>& node, size_t input) {
  if (!t->base || t->hidden_writes) {
    set_history(*t, node, 0);
    return;
  }
  // The base is now what it was with the window replaced; t is a fresh window on that.
  const Ref<Tensor>& base = t->base;
  Ref<Node> written = view_nodes.write(base, t, node, input);
  set_history(*base, written, 0);
  set_history(*t, view_nodes.window(base, *t), 0);
}

}  // namespace thixo
