// Nodes whose gradient rules are the declarations' own functions.
#include "../core/free_list.h"
#include "lazy.h"

namespace thixo {

namespace {

// One thing a rule asked for, as it was when the operation ran.
struct Kept {
  RuleArgument what;
  Saved saved;                  // a tensor
  std::vector<Saved> list;      // a list of tensors
  bool is_list = false;
  Object object;                // anything else
};

thread_local FreeList node_memory;
thread_local EndOfLists<1> end_of_memory{{&node_memory}};

struct RuleNode final : Node {
  Object owner;  // keeps the Operator alive
  const Operator* op;
  SmallVector<Kept, 2> kept;
  SmallVector<int, 1> list_lengths;  // of `tensors` parameters, in order: each has as many edges
  uint32_t active = 0;  // rules that are needed
  bool released = false;

  static void* operator new(size_t bytes) { return node_memory.take(bytes); }
  static void operator delete(void* p) {
    end_of_memory.watch();
    node_memory.give(p);
  }

  std::string name() const override { return op->grad_name; }

  void release_saved() override {
    released = true;
    for (Kept& k : kept) {
      k.saved.tensor = nullptr;
      for (Saved& s : k.list) s.tensor = nullptr;
    }
  }

  bool is_part() const override { return op->is_part && !released; }
  Ref<Tensor> part_of(const Ref<Tensor>& whole) override {
    SmallVector<PyObject*, 6> slots;
    Object input = Object::own(wrap(whole));
    slots.push_back(input.get());
    for (size_t i = 1; i < op->params.size(); ++i) slots.push_back(attribute(int(i)));
    return evaluate_view(*op, slots.begin())[0];
  }

  // The edges [from, to) of a parameter: one for each tensor it can hold.
  std::pair<int, int> edges_of(int param) const {
    int at = 0, lists = 0;
    for (int i = 0;; ++i) {
      Kind kind = op->params[i].kind;
      int n = kind == Kind::Tensor || kind == Kind::Operand ? 1 : kind == Kind::Tensors ? list_lengths[lists++] : 0;
      if (i == param) return {at, at + n};
      at += n;
    }
  }
  bool needs(int param) const {
    auto [from, to] = edges_of(param);
    for (int e = from; e < to; ++e)
      if (edges[e].node) return true;
    return false;
  }

  Kept* find(RuleArgument what) {
    for (Kept& k : kept)
      if (k.what.from == what.from && k.what.index == what.index) return &k;
    return nullptr;
  }

  // A value that is no tensor. What stood at its default was not kept.
  PyObject* attribute(int param) {
    Kept* k = find({From::Input, param});
    return k ? k->object.get() : op->params[param].fallback.get();
  }

  // The type of a parameter's tensor is what its own history says it is: nothing has to be kept for that.
  const ResultType& input_type(int param) const {
    const Edge& edge = edges[edges_of(param).first];
    return edge.node->results[edge.input];
  }
  Object type_of(int param) const {
    const ResultType& type = input_type(param);
    Object shape = dims_tuple(type.sizes);
    return Object::own(call_python_with(known.spec, shape.get(), dtype_object(type.dtype)));
  }

  Object argument(RuleArgument what, std::vector<Ref<Tensor>>& gradients) {
    if (what.from == From::Grad) {
      if (!gradients[what.index]) gradients[what.index] = tape_operators.zeros(results[what.index]);
      return Object::own(wrap(gradients[what.index]));
    }
    if (what.from == From::Needs) {
      Object t = Object::own(PyTuple_New(Py_ssize_t(op->params.size())));
      for (size_t i = 0; i < op->params.size(); ++i)
        PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), PyBool_FromLong(needs(int(i))));
      return t;
    }
    Kept* k = find(what);
    if (!k && what.from == From::Input) return op->params[what.index].fallback;
    if (!k) return type_of(what.index);
    if (k->is_list) {
      Object list = Object::own(PyList_New(Py_ssize_t(k->list.size())));
      for (size_t i = 0; i < k->list.size(); ++i)
        PyList_SET_ITEM(list.get(), Py_ssize_t(i), wrap(unpack(k->list[i], this)));
      return list;
    }
    if (k->object) return k->object;
    return Object::own(wrap(unpack(k->saved, this)));
  }

  Ref<Tensor> gradient_from(PyObject* o) {
    if (o == Py_None) return {};
    if (!is_tensor(o))
      raise(ErrorKind::Internal, op->name + ": a gradient rule returned " + type_name(o) + " in place of a Tensor");
    return ref_of(o);
  }

  void take(int param, PyObject* value, std::vector<Ref<Tensor>>& out) {
    auto [from, to] = edges_of(param);
    if (op->params[param].kind != Kind::Tensors) {
      if (edges[from].node) out[from] = gradient_from(value);
      return;
    }
    if (value == Py_None) return;
    Object fast = Object::own(PySequence_Fast(value, "a gradient rule for a list must return a list"));
    if (PySequence_Fast_GET_SIZE(fast.get()) != to - from)
      raise(ErrorKind::Internal, op->name + ": a gradient rule returned a list of the wrong length");
    for (int e = from; e < to; ++e)
      if (edges[e].node) out[e] = gradient_from(PySequence_Fast_GET_ITEM(fast.get(), e - from));
  }

  // The rules in one kernel, where they are pointwise and nobody asks for gradients of gradients.
  bool apply_as_kernel(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) {
    if (op->base_kind != OpKind::Pointwise || modes.grad || is_lazy() || !gradients[0] || gradients[0]->symbolic()) return false;
    uint64_t needed = 0;
    const Dims* shapes[kMaxParams] = {};
    for (size_t i = 0, e = 0; i < op->params.size(); ++i) {
      if (op->params[i].kind != Kind::Tensor && op->params[i].kind != Kind::Operand) continue;
      if (!edges[e++].node) continue;
      needed |= uint64_t(1) << i;
      if (const ResultType& type = input_type(int(i)); !type.value) shapes[i] = &type.sizes;
    }
    RuleInputs inputs;
    inputs.push_back({{From::Grad, 0}, gradients[0].get(), nullptr});
    SmallVector<Ref<Tensor>, 4> held;
    for (const Rule& rule : op->rules)
      for (RuleArgument a : rule.arguments)
        if (a.from == From::Needs) return false;
    std::vector<RuleArgument> unplanned;
    if (active >= op->plans.size()) unplanned = op->kept_by(active);
    for (RuleArgument a : active < op->plans.size() ? op->plans[active] : unplanned) {
      Kept* k = find(a);
      if (!k && a.from == From::Type) continue;  // a kernel works on elements, whatever the shape
      if (!k) {
        inputs.push_back({a, nullptr, op->params[a.index].fallback.get()});
        continue;
      }
      if (k->is_list || a.from == From::Type) return false;
      if (!k->object) held.push_back(unpack(k->saved, this));
      inputs.push_back({a, k->object ? nullptr : held.back().get(), k->object.get()});
    }
    SmallVector<std::pair<int, Ref<Tensor>>, 2> made;
    if (!apply_fused(*op, active, needed, inputs, shapes, made)) return false;
    for (auto& [param, gradient] : made) out[edges_of(param).first] = std::move(gradient);
    return true;
  }

  // By the operator's own native rule, if it has one.
  bool apply_natively(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) {
    if (!op->native_rule || modes.grad || is_lazy() || !gradients[0] || gradients[0]->symbolic() || !edges[0].node) return false;
    SmallVector<PyObject*, 6> attributes;
    for (size_t i = 0; i < op->params.size(); ++i) attributes.push_back(attribute(int(i)));
    out[0] = op->native_rule(*op, attributes.begin(), gradients[0], input_type(0));
    return bool(out[0]);
  }

  void apply(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) override {
    if (released)
      fail(ErrorKind::Autograd,
           "backward: the graph was already freed by an earlier backward (at " + name() +
               "); pass retain_graph=True to the first backward if you need two");
    if (apply_as_kernel(gradients, out) || apply_natively(gradients, out)) return;
    for (size_t r = 0; r < op->rules.size(); ++r) {
      if (!(active >> r & 1)) continue;
      const Rule& rule = op->rules[r];
      SmallVector<Object, 6> keep;
      SmallVector<PyObject*, 6> args;
      for (RuleArgument a : rule.arguments) {
        keep.push_back(argument(a, gradients));
        args.push_back(keep.back().get());
      }
      Object value = Object::own(call_python(rule.function.get(), args.begin(), args.size()));
      if (rule.serves.size() == 1) {
        take(rule.serves[0], value.get(), out);
        continue;
      }
      if (!PyTuple_Check(value.get()) || size_t(PyTuple_GET_SIZE(value.get())) != rule.serves.size())
        raise(ErrorKind::Internal, op->name + ": its gradient rule must return a tuple of " +
                                       std::to_string(rule.serves.size()));
      for (size_t i = 0; i < rule.serves.size(); ++i)
        take(rule.serves[i], PyTuple_GET_ITEM(value.get(), Py_ssize_t(i)), out);
    }
  }
};

bool differentiable_input(PyObject* o) {
  Tensor* t = tensor_of(o);
  return is_differentiable(t->dtype) && is_tracked(*t);
}

// A tensor as it is before an in-place operation changes it, for rules that need that.
Ref<Tensor> before_write(const Ref<Tensor>& t) {
  if (t->symbolic()) return t;
  Ref<Tensor> old = is_lazy() ? tape_operators.clone(alias(*t)) : contiguous_copy(*t, t->dtype);
  if (const Ref<Node>& fn = current_grad_fn(t)) set_history(*old, fn, t->output);
  return old;
}

Object spec_of(PyObject* o) {
  if (!is_tensor(o)) return Object::borrow(Py_None);
  Tensor* t = tensor_of(o);
  Object shape = shape_tuple(*t);
  return Object::own(call_python_with(known.spec, shape.get(), dtype_object(t->dtype)));
}

// Keeps one thing for the node's rules. Results are added by finish_record.
void keep(RuleNode& node, uint64_t needed, RuleArgument a, PyObject* const* slots, const Tensor* overwritten) {
  if (a.from == From::Type && needed >> a.index & 1 && is_tensor(slots[a.index]) && !tensor_of(slots[a.index])->symbolic())
    return;  // see type_of
  if (a.from == From::Input && slots[a.index] == node.op->params[a.index].fallback.get()) return;  // see attribute
  Kept& k = node.kept.emplace_back();
  k.what = a;
  if (a.from == From::Output) return;
  PyObject* o = slots[a.index];
  bool list = node.op->params[a.index].kind == Kind::Tensors && PyTuple_Check(o);
  if (a.from == From::Type) {
    if (list) {
      k.object = Object::own(PyList_New(PyTuple_GET_SIZE(o)));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
        PyList_SET_ITEM(k.object.get(), i, spec_of(PyTuple_GET_ITEM(o, i)).give());
    } else {
      k.object = spec_of(o);
    }
  } else if (is_tensor(o)) {
    k.saved = save_input(tensor_of(o) == overwritten ? before_write(ref_of(o)) : ref_of(o));
  } else if (list) {
    k.is_list = true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) k.list.push_back(save_input(ref_of(PyTuple_GET_ITEM(o, i))));
  } else {
    k.object = Object::borrow(o);
  }
}

}  // namespace

bool wants_tape(const Operator& op, PyObject* const* slots) {
  if (!modes.grad || op.rules.empty()) return false;
  for (size_t i = 0; i < op.params.size(); ++i) {
    PyObject* o = slots[i];
    if (is_tensor(o)) {
      if (differentiable_input(o)) return true;
    } else if (op.params[i].kind == Kind::Tensors && PyTuple_Check(o)) {
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(o); ++k)
        if (differentiable_input(PyTuple_GET_ITEM(o, k))) return true;
    }
  }
  return false;
}

Met survey(const Operator& op, PyObject* const* slots) {
  const bool may_record = modes.grad && !op.rules.empty();
  Met met{tracing, false};
  for (size_t i = 0, n = op.params.size(); i < n; ++i) {
    PyObject* o = slots[i];
    if (is_tensor(o)) {
      Tensor* t = tensor_of(o);
      met.symbols = met.symbols || t->symbolic();
      met.tape = met.tape || (may_record && (t->grad_fn || t->autograd || t->base) && is_differentiable(t->dtype) && is_tracked(*t));
    } else if (!PyLong_CheckExact(o) && o != Py_None) {
      // Lists of tensors, sizes that may be symbols: the longer way.
      return {meets_symbols(op, slots), wants_tape(op, slots)};
    }
  }
  return met;
}

Ref<Node> begin_record(const Operator& op, PyObject* const* slots, const Tensor* overwritten) {
  Ref<RuleNode> node = make<RuleNode>();
  node->owner = Object::borrow(op.self);
  node->op = &op;
  node->source = current_source();
  uint64_t needed = 0;  // parameters that need a gradient, a bit each
  for (size_t i = 0; i < op.params.size(); ++i) {
    PyObject* o = slots[i];
    Kind kind = op.params[i].kind;
    if (kind == Kind::Tensor || kind == Kind::Operand) {
      bool counts = is_tensor(o) && is_differentiable(tensor_of(o)->dtype);
      const Edge& edge = node->edges.emplace_back(counts ? gradient_edge(*tensor_of(o)) : Edge());
      needed |= uint64_t(bool(edge.node)) << i;
    } else if (kind == Kind::Tensors) {
      node->list_lengths.push_back(PyTuple_Check(o) ? int(PyTuple_GET_SIZE(o)) : 0);
      if (!PyTuple_Check(o)) continue;
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(o); ++k) {
        PyObject* item = PyTuple_GET_ITEM(o, k);
        bool counts = is_differentiable(tensor_of(item)->dtype);
        const Edge& edge = node->edges.emplace_back(counts ? gradient_edge(*tensor_of(item)) : Edge());
        needed |= uint64_t(bool(edge.node)) << i;
      }
    }
  }
  for (size_t r = 0; r < op.rules.size(); ++r)
    if (op.rules[r].serves_mask & needed) node->active |= 1u << r;
  if (node->active < op.plans.size()) {
    for (RuleArgument a : op.plans[node->active]) keep(*node, needed, a, slots, overwritten);
  } else {
    for (RuleArgument a : op.kept_by(node->active)) keep(*node, needed, a, slots, overwritten);
  }
  return node;
}

std::vector<RuleArgument> Operator::kept_by(uint32_t active) const {
  std::vector<RuleArgument> found;
  for (size_t r = 0; r < rules.size(); ++r) {
    if (!(active >> r & 1)) continue;
    for (RuleArgument a : rules[r].arguments) {
      bool known_already = a.from == From::Grad || a.from == From::Needs;
      for (RuleArgument b : found) known_already = known_already || (a.from == b.from && a.index == b.index);
      if (!known_already) found.push_back(a);
    }
  }
  return found;
}

void finish_record(Node& node, const Operator& op, const Results& results) {
  auto* rules = static_cast<RuleNode*>(&node);
  for (const Ref<Tensor>& t : results) {
    ResultType& type = rules->results.emplace_back();
    type.dtype = t->dtype;
    type.sizes = t->sizes;
    type.value = t->value;
  }
  for (Kept& k : rules->kept) {
    if (k.what.from != From::Output) continue;
    if (op.many) {
      k.is_list = true;
      for (size_t i = 0; i < results.size(); ++i) k.list.push_back(save_output(results[i], int(i)));
    } else {
      k.saved = save_output(results[k.what.index], k.what.index);
    }
  }
}

void visit_node(Node* node, visitproc visit, void* arg, int& status) {
  auto* rules = dynamic_cast<RuleNode*>(node);
  if (!rules) return visit_function_node(node, visit, arg, status);
  for (Kept& k : rules->kept)
    if (k.object && !status) status = visit(k.object.get(), arg);
}

Object saved_of(Node* node) {
  Object dict = Object::own(PyDict_New());
  auto* rules = dynamic_cast<RuleNode*>(node);
  if (!rules) return dict;
  std::vector<Ref<Tensor>> none;
  for (Kept& k : rules->kept) {
    std::string name;
    if (k.what.from == From::Input) name = rules->op->params[k.what.index].text;
    else if (k.what.from == From::Output) name = "result" + (k.what.index ? std::to_string(k.what.index) : "");
    else continue;
    Object value = rules->argument(k.what, none);
    if (PyDict_SetItemString(dict.get(), name.c_str(), value.get()) < 0) throw PythonError();
  }
  return dict;
}

}  // namespace thixo
