#include "engine.h"
#include "lazy.h"

#include <algorithm>

#include "profiler.h"

namespace thixo {

namespace {

struct Task {
  Node* node = nullptr;
  uint32_t waiting = 0;  // edges into this node that have not delivered yet
  bool wanted = true;    // some requested input lies behind it
  bool roots = false;
  std::vector<Ref<Tensor>> gradients;
};

// Node -> Task: open addressing, since a small graph should not pay for a general hash map.
class Tasks {
  std::vector<Task> items_;
  std::vector<int32_t> slots_ = std::vector<int32_t>(64, -1);

  size_t slot(const Node* n) const {
    size_t mask = slots_.size() - 1, i = (reinterpret_cast<uintptr_t>(n) >> 5) * 0x9E3779B97F4A7C15ull >> 20;
    for (;; ++i) {
      int32_t at = slots_[i & mask];
      if (at < 0 || items_[at].node == n) return i & mask;
    }
  }

 public:
  std::vector<Task>& items() { return items_; }
  int find(const Node* n) const { return slots_[slot(n)]; }
  int add(Node* n, bool& fresh) {
    size_t s = slot(n);
    fresh = slots_[s] < 0;
    if (!fresh) return slots_[s];
    int at = int(items_.size());
    slots_[s] = at;
    items_.emplace_back();
    items_.back().node = n;
    if (items_.size() * 2 > slots_.size()) {
      std::fill(slots_.begin(), slots_.end(), -1);
      slots_.resize(slots_.size() * 2, -1);
      for (int i = 0; i < int(items_.size()); ++i) slots_[slot(items_[i].node)] = i;
    }
    return at;
  }
};

struct ModeGuard {
  Modes before = modes;
  ~ModeGuard() { modes = before; }
};

thread_local int nesting = 0;
struct Nested {
  Nested() {
    if (++nesting > 60) {
      --nesting;
      fail(ErrorKind::Autograd, "backward: called inside itself more than 60 times; is a hook or a "
                                "Function.backward calling backward on its own result?");
    }
  }
  ~Nested() { --nesting; }
};

// Whether nobody else can see a gradient: no other tensor, no other view, no memory from outside the core.
bool is_ours(const Ref<Tensor>& t) {
  return is_unique(t.get()) && !t->wrapper && !t->grad_fn && !t->autograd && t->storage && is_unique(t->storage.get()) &&
         !t->storage->context && t->is_contiguous();
}

void deliver(Task& task, uint32_t input, Ref<Tensor> grad) {
  if (task.gradients.size() < task.node->results.size()) task.gradients.resize(task.node->results.size());
  Ref<Tensor>& sum = task.gradients[input];
  grad = tape_operators.match(grad, task.node->results[input], *task.node);
  if (!sum) {
    sum = std::move(grad);
  } else if (!modes.grad && is_ours(sum) && !grad->symbolic()) {
    tape_operators.add_(sum, grad);
  } else if (!modes.grad && is_ours(grad) && !sum->symbolic()) {
    tape_operators.add_(grad, sum);
    sum = std::move(grad);
  } else {
    sum = tape_operators.add(sum, grad);
  }
}

// Adds the gradient of a part where it belongs in the gradient of the whole. False: it has to be made whole first.
bool deliver_part(Node& node, const Ref<Tensor>& grad, Task& task, uint32_t input) {
  const ResultType& type = task.node->results[input];
  if (!grad || grad->symbolic() || type.value || is_lazy()) return false;
  if (task.gradients.size() < task.node->results.size()) task.gradients.resize(task.node->results.size());
  Ref<Tensor>& whole = task.gradients[input];
  if (!whole) {
    whole = tape_operators.zeros(type);
    tape_operators.copy_(node.part_of(whole), grad);
    return true;
  }
  const bool ours = is_ours(whole);
  if (ours) tape_operators.add_(node.part_of(whole), grad);
  return ours;
}

void check_nan(Node& node, const std::vector<Ref<Tensor>>& out) {
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i] || !tape_operators.has_nan(out[i])) continue;
    std::string where = node.source.handle ? tape_operators.source_text(node.source) : "";
    fail(ErrorKind::Autograd, "backward of " + node.name() + " made a NaN in the gradient of its input " +
                                  std::to_string(i) +
                                  (where.empty() ? "" : "; the forward operation was at " + where));
  }
}

}  // namespace

std::vector<Ref<Tensor>> run_backward(const std::vector<Ref<Tensor>>& roots,
                                      std::vector<Ref<Tensor>> gradients,
                                      const std::vector<Ref<Tensor>>& inputs, bool accumulate,
                                      BackwardOptions options) {
  Nested nested;
  ModeGuard guard;
  Tasks tasks;
  std::vector<Ref<Node>> kept;  // roots stay alive while we hold bare pointers

  // Count what each node waits for, newest tape first, without recursion.
  std::vector<int> stack;
  std::vector<std::pair<int, uint32_t>> starts;
  for (auto& root : roots) {
    Edge edge = gradient_edge(*root);
    kept.push_back(edge.node);
    bool fresh;
    int at = tasks.add(edge.node.get(), fresh);
    if (fresh) stack.push_back(at);
    starts.emplace_back(at, edge.input);
  }
  while (!stack.empty()) {
    int at = stack.back();
    stack.pop_back();
    Node* node = tasks.items()[at].node;
    for (Edge& e : node->edges) {
      if (!e.node) continue;
      bool fresh;
      int next = tasks.add(e.node.get(), fresh);
      tasks.items()[next].waiting++;
      if (fresh) stack.push_back(next);
    }
  }

  // Only what lies between the roots and the requested inputs runs.
  std::vector<Edge> targets;
  std::vector<Ref<Tensor>> captured(inputs.size());
  if (!inputs.empty()) {
    for (auto& t : tasks.items()) t.wanted = false;
    std::vector<int> order;
    for (auto& in : inputs) {
      targets.push_back(gradient_edge(*in));
      int at = targets.back().node ? tasks.find(targets.back().node.get()) : -1;
      if (at >= 0) tasks.items()[at].wanted = true;
    }
    // Depth-first post-order: a node is wanted if it is a target or leads to a wanted one.
    std::vector<std::pair<int, size_t>> path;
    std::vector<char> seen(tasks.items().size());
    for (auto& [root, input] : starts) {
      if (seen[root]) continue;
      seen[root] = 1;
      path.push_back({root, 0});
      while (!path.empty()) {
        auto& [at, i] = path.back();
        Task& t = tasks.items()[at];
        if (i == t.node->edges.size()) {
          bool wanted = t.wanted;
          path.pop_back();
          if (wanted && !path.empty()) tasks.items()[path.back().first].wanted = true;
          continue;
        }
        Edge& e = t.node->edges[i++];
        if (!e.node) continue;
        int next = tasks.find(e.node.get());
        if (tasks.items()[next].wanted) t.wanted = true;
        if (!seen[next]) {
          seen[next] = 1;
          path.push_back({next, 0});
        }
      }
    }
  }

  modes.grad = options.create_graph;
  for (size_t i = 0; i < starts.size(); ++i)
    deliver(tasks.items()[starts[i].first], starts[i].second, std::move(gradients[i]));

  auto newer = [&](int a, int b) {
    return tasks.items()[a].node->sequence < tasks.items()[b].node->sequence;
  };
  std::vector<int> ready;
  auto push = [&](int at) {
    ready.push_back(at);
    std::push_heap(ready.begin(), ready.end(), newer);
  };
  for (auto& [at, input] : starts)
    if (tasks.items()[at].waiting == 0 && !tasks.items()[at].roots) {
      tasks.items()[at].roots = true;
      push(at);
    }

  std::vector<Ref<Tensor>> out;
  uint32_t ran = 0;
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), newer);
    int at = ready.back();
    ready.pop_back();
    Ref<Node> node(tasks.items()[at].node);
    std::vector<Ref<Tensor>> grads = std::move(tasks.items()[at].gradients);
    bool any = false;
    for (auto& g : grads) any = any || g;
    // Users' hooks first: what retain_grad() keeps is what they made of the gradient.
    if (any && !node->hooks.empty())
      for (bool retainers : {false, true})
        for (auto& hook : std::vector<Ref<GradHook>>(node->hooks))
          if ((hook->target != nullptr) == retainers && hook->output < grads.size() && grads[hook->output])
            grads[hook->output] = hook->call(grads[hook->output]);
    bool is_leaf_target = false;
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].node.get() != node.get()) continue;
      if (targets[i].input < grads.size() && grads[targets[i].input]) {
        captured[i] = grads[targets[i].input];
        if (auto* leaf = dynamic_cast<AccumulateGrad*>(node.get()); leaf && leaf->variable && !accumulate)
          for (auto& hook : std::vector<Ref<GradHook>>(leaf->variable->autograd->hooks))
            captured[i] = hook->call(captured[i]);
      }
      if (dynamic_cast<AccumulateGrad*>(node.get())) is_leaf_target = true;
    }
    out.assign(node->edges.size(), Ref<Tensor>());
    bool runs = any && tasks.items()[at].wanted && !(is_leaf_target && !accumulate);
    if (!inputs.empty() && !is_leaf_target && dynamic_cast<AccumulateGrad*>(node.get())) runs = false;
    bool leads = inputs.empty();
    for (size_t i = 0; !leads && i < node->edges.size(); ++i)
      if (node->edges[i].node) leads = tasks.items()[tasks.find(node->edges[i].node.get())].wanted;
    if (!inputs.empty() && !leads && !is_leaf_target) runs = false;
    bool plain = !options.create_graph && !modes.anomaly && !node->node_hooks;
    ProfilerScope profiled;
    if (is_profiling() && runs) [[unlikely]] profiled.begin(node->name(), EventKind::Backward);
    if (runs && plain && node->is_part()) {
      Edge& e = node->edges[0];
      Task& t = tasks.items()[tasks.find(e.node.get())];
      if (t.wanted && deliver_part(*node, grads[0], t, e.input)) {
        if (!options.keep_graph) node->release_saved();
        runs = false;  // it is done
      }
    }
    if (runs) {
      if (node->node_hooks) tape_operators.around(*node, grads, out);
      else node->apply(grads, out);
      if (modes.anomaly) check_nan(*node, out);
      if (!options.keep_graph) node->release_saved();
      if ((++ran & 255) == 0 && tape_operators.interrupted && tape_operators.interrupted()) break;
    }
    grads.clear();
    for (size_t i = 0; i < node->edges.size(); ++i) {
      Edge& e = node->edges[i];
      if (!e.node) continue;
      int next = tasks.find(e.node.get());
      Task& t = tasks.items()[next];
      if (out[i] && t.wanted) deliver(t, e.input, std::move(out[i]));
      if (--tasks.items()[next].waiting == 0) push(next);
    }
  }
  return accumulate ? std::vector<Ref<Tensor>>() : captured;
}

}  // namespace thixo
