// Values and plain steps of programs, as Python adds them.
#include <unordered_map>

#include "program.h"

namespace thixo {

Tensor* value_of(PyObject* o) {
  if (!is_tensor(o)) raise(ErrorKind::Argument, "program: a value must be a Tensor, got " + type_name(o));
  Tensor* t = tensor_of(o);
  if (!t->storage || !is_pointed(*t->storage))
    raise(ErrorKind::Argument, "program: " + describe(*t) + " is no value of a program");
  return t;
}

void hold(ProgramObject* self, PyObject* o) {
  if (PyList_Append(self->keep, o) < 0) throw PythonError();
}

Port port_of(const Tensor& t) {
  Port port;
  port.storage = t.storage;
  port.dtype = t.dtype;
  port.sizes = t.sizes;
  port.strides = t.strides;
  port.bytes = static_cast<size_t>(t.numel) * item_size(t.dtype);
  return port;
}

void add_step(ProgramObject* self, std::unique_ptr<Step> step, int node, double seconds) {
  Program& p = *self->program;
  step->node = node;
  step->seconds = seconds;
  p.seconds += seconds;
  p.python = p.python || step->python;
  p.steps.push_back(std::move(step));
}

std::vector<Tensor*> values_of(ProgramObject* self, PyObject* tuple) {
  std::vector<Tensor*> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple, i);
    if (o == Py_None) {
      values.push_back(nullptr);
      continue;
    }
    hold(self, o);
    values.push_back(value_of(o));
  }
  return values;
}

std::vector<Place> places_of(ProgramObject* self, PyObject* tuple) {
  std::vector<Place> places;
  for (Tensor* t : values_of(self, tuple)) places.push_back(place_of(*t));
  return places;
}

// A value or None.
Place place_from(ProgramObject* self, PyObject* o) {
  if (o == Py_None) return {};
  hold(self, o);
  return place_of(*value_of(o));
}

size_t bytes_of(const Tensor& t) { return static_cast<size_t>(t.numel) * item_size(t.dtype); }

namespace {

// Whether a value is a constant that nobody can change.
IsFixed fixed_of(const ProgramObject& o) {
  return [&o](const Tensor& t) {
    for (const Constant& constant : *o.constants)
      if (constant.fixed && constant.port.storage.get() == t.storage.get()) return true;
    return false;
  };
}

// A step for an operator's call that needs no Python, if there is one. An operator that checks values is not among them.
std::unique_ptr<Step> prepared(const ProgramObject& o, const Operator& op, PyObject* const* slots, const std::vector<Tensor*>& results) {
  const IsFixed is_fixed = fixed_of(o);
  if (op.check && !op.has_loops) return nullptr;
  if (results.size() == 1) {
    if (op.kind == OpKind::Pointwise) return prepare_pointwise(op, slots, *results[0]);
    if (std::unique_ptr<Step> step = prepare_product(op, slots, *results[0], is_fixed)) return step;
    if (std::unique_ptr<Step> step = prepare_convolution(op, slots, *results[0], is_fixed)) return step;
    if (std::unique_ptr<Step> step = prepare_pool(op, slots, *results[0])) return step;
    if (std::unique_ptr<Step> step = prepare_sum(op, slots, *results[0])) return step;
  }
  if (std::unique_ptr<Step> step = prepare_attention(op, slots, results)) return step;
  return op.native && op.full_name != "sum" ? nullptr : prepare_rows(op, slots, results);
}

}  // namespace

// A tensor of a program, without memory yet.
static Ref<Tensor> without_memory(DType dtype, const Dims& sizes, const Dims& strides) {
  Ref<Tensor> t = make<Tensor>();
  t->dtype = dtype;
  t->sizes = sizes;
  t->numel = checked_numel(t->sizes, t->dtype, "program");
  t->strides = strides;
  if (t->strides.size() != t->sizes.size()) raise(ErrorKind::Shape, "program: sizes and strides must have the same length");
  int64_t last = t->numel ? 1 : 0;
  for (int d = 0; t->numel && d < t->ndim(); ++d) {
    if (t->strides[d] < 0) raise(ErrorKind::Argument, "program: strides must not be negative");
    last += (t->sizes[d] - 1) * t->strides[d];
  }
  t->storage = pointed_storage(static_cast<size_t>(last) * item_size(t->dtype));
  return t;
}

// value(dtype, sizes, strides or None) -> such a tensor
PyObject* make_value(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *dtype, *sizes, *strides;
    if (!PyArg_ParseTuple(args, "OOO", &dtype, &sizes, &strides)) throw PythonError();
    const Dims shape = dims_from(sizes, "program: sizes");
    return wrap(without_memory(dtype_from(dtype, "program"), shape,
                               strides == Py_None ? contiguous_strides(shape) : dims_from(strides, "program: strides")));
  });
}

// inputs(tensors) -> values like these, which are the program's inputs
PyObject* add_inputs(PyObject* self, PyObject* tensors) {
  return guarded([&]() -> PyObject* {
    if (!PyList_Check(tensors)) raise(ErrorKind::Argument, "program: a list of inputs is needed, got " + type_name(tensors));
    ProgramObject* o = program_of(self);
    Object made = Object::own(PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i) {
      PyObject* like = PyList_GET_ITEM(tensors, i);
      if (!is_tensor(like)) raise(ErrorKind::Argument, "program: an input must be a Tensor, got " + type_name(like));
      const Tensor& t = *tensor_of(like);
      Object value = Object::own(wrap(without_memory(t.dtype, t.sizes, t.strides)));
      hold(o, value.get());
      o->program->inputs.push_back(port_of(*tensor_of(value.get())));
      if (PyList_Append(made.get(), value.get()) < 0) throw PythonError();
    }
    return made.give();
  });
}

// output(value) or output(None): the finisher knows it
PyObject* add_output(PyObject* self, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    ProgramObject* o = program_of(self);
    hold(o, tensor);
    if (tensor == Py_None) {
      o->program->outputs.emplace_back();
    } else {
      Tensor* t = value_of(tensor);
      if (!t->is_contiguous() || t->offset) raise(ErrorKind::Argument, "program: a result must be contiguous");
      o->program->outputs.push_back(port_of(*t));
    }
    Py_RETURN_NONE;
  });
}

// constant(value, tensor, fixed): it is where the tensor is when the program is called; fixed: nobody can change it
PyObject* add_constant(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *where, *tensor;
    int fixed;
    if (!PyArg_ParseTuple(args, "OOp", &where, &tensor, &fixed)) throw PythonError();
    ProgramObject* o = program_of(self);
    hold(o, where);
    hold(o, tensor);
    Tensor* t = value_of(where);
    if (!is_tensor(tensor)) raise(ErrorKind::Argument, "program: a constant must be a Tensor");
    o->constants->push_back({port_of(*t), ref_of(tensor), fixed != 0});
    Py_RETURN_NONE;
  });
}

// written(values): inputs and constants that the program changes
PyObject* add_written(PyObject* self, PyObject* tensors) {
  return guarded([&]() -> PyObject* {
    if (!PyList_Check(tensors)) raise(ErrorKind::Argument, "program: a list of values is needed, got " + type_name(tensors));
    ProgramObject* o = program_of(self);
    std::unordered_map<const Storage*, std::vector<size_t>> places;
    size_t place = 0;
    for (const Port& port : o->program->inputs) places[port.storage.get()].push_back(place++);
    for (const Constant& constant : *o->constants) places[constant.port.storage.get()].push_back(place++);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i) {
      const auto& own = places[value_of(PyList_GET_ITEM(tensors, i))->storage.get()];
      o->written->insert(o->written->end(), own.begin(), own.end());
    }
    Py_RETURN_NONE;
  });
}

// arena(bytes, ((value, offset), ...))
PyObject* set_arena(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    long long bytes;
    PyObject* pairs;
    if (!PyArg_ParseTuple(args, "LO!", &bytes, &PyTuple_Type, &pairs)) throw PythonError();
    ProgramObject* o = program_of(self);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pairs); ++i) {
      PyObject* tensor;
      long long offset;
      if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pairs, i), "OL", &tensor, &offset)) throw PythonError();
      Tensor* t = value_of(tensor);
      if (offset < 0 || offset + int64_t(t->storage->bytes) > bytes)
        raise(ErrorKind::Value, "program: " + describe(*t) + " at " + std::to_string(offset) + " is not inside of an arena of " +
                                    std::to_string(bytes) + " bytes");
      o->program->in_arena.emplace_back(t->storage, offset);
    }
    o->program->arena_bytes = bytes;
    Py_RETURN_NONE;
  });
}

// names(operators, lines): of the nodes
PyObject* set_names(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *names, *lines;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &names, &PyTuple_Type, &lines)) throw PythonError();
    Program& p = *program_of(self)->program;
    const auto take = [](PyObject* tuple, std::vector<std::string>& to) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
        const char* word = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i));
        if (!word) throw PythonError();
        to.emplace_back(word);
      }
    };
    take(names, p.names);
    take(lines, p.lines);
    join_bands(*program_of(self)->program);  // nothing comes after this
    Py_RETURN_NONE;
  });
}

// operator(node, seconds, operator, positional, names of the last ones or None, results)
PyObject* add_operator(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node;
    double seconds;
    PyObject *op, *arguments, *names, *results;
    if (!PyArg_ParseTuple(args, "idO!O!OO!", &node, &seconds, operator_type, &op, &PyTuple_Type, &arguments, &names,
                          &PyTuple_Type, &results))
      throw PythonError();
    ProgramObject* o = program_of(self);
    auto step = std::make_unique<OperatorStep>();
    step->op = &operator_of(op);
    if (step->op->kind == OpKind::Composite || step->op->kind == OpKind::Inplace)
      raise(ErrorKind::Argument, "program: " + step->op->name + " has no node of its own");
    Slots slots(step->op->params.size());
    const Py_ssize_t named = names == Py_None ? 0 : PyTuple_GET_SIZE(names);
    bind(*step->op, PySequence_Fast_ITEMS(arguments), PyTuple_GET_SIZE(arguments) - named, names == Py_None ? nullptr : names,
         slots);
    for (int i = 0; i < slots.count; ++i) {
      PyObject* one = slots.items[i];
      hold(o, one);
      step->slots.push_back(one);
      if (is_tensor(one)) step->inputs.push_back(tensor_of(one));
      for (Py_ssize_t k = 0; PyTuple_Check(one) && k < PyTuple_GET_SIZE(one); ++k)
        if (is_tensor(PyTuple_GET_ITEM(one, k))) step->inputs.push_back(tensor_of(PyTuple_GET_ITEM(one, k)));
    }
    hold(o, op);
    step->results = values_of(o, results);
    for (Tensor* t : step->results)
      if (!t) raise(ErrorKind::Argument, "program: an operator's results must be values");
    if (std::unique_ptr<Step> native = prepared(*o, *step->op, slots.items, step->results)) {
      add_step(o, std::move(native), node, seconds);
      Py_RETURN_NONE;
    }
    step->skip.resize(step->results.size());
    step->python = true;
    add_step(o, std::move(step), node, seconds);
    Py_RETURN_NONE;
  });
}

// python(node, function, results)
PyObject* add_python(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node;
    PyObject *function, *results;
    if (!PyArg_ParseTuple(args, "iOO!", &node, &function, &PyTuple_Type, &results)) throw PythonError();
    ProgramObject* o = program_of(self);
    auto step = std::make_unique<PythonStep>();
    hold(o, function);
    step->function = function;
    step->results = values_of(o, results);
    step->python = true;
    add_step(o, std::move(step), node, 0);
    Py_RETURN_NONE;
  });
}

// copy(node, seconds, to, from)
PyObject* add_copy(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node;
    double seconds;
    PyObject *to, *from;
    if (!PyArg_ParseTuple(args, "idOO", &node, &seconds, &to, &from)) throw PythonError();
    ProgramObject* o = program_of(self);
    Tensor *target = value_of(to), *source = value_of(from);
    if (!(target->sizes == source->sizes))
      raise(ErrorKind::Shape, "program: a copy from " + describe(*source) + " to " + describe(*target));
    hold(o, to);
    hold(o, from);
    if (target->numel) add_step(o, std::make_unique<CopyStep>(*target, *source), node, seconds);
    Py_RETURN_NONE;
  });
}

// copy_lines(node, seconds, to, from, axis, index): the lines that the index names
PyObject* add_copy_lines(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node, axis;
    double seconds;
    PyObject *to, *from, *index;
    if (!PyArg_ParseTuple(args, "idOOiO", &node, &seconds, &to, &from, &axis, &index)) throw PythonError();
    ProgramObject* o = program_of(self);
    Tensor *target = value_of(to), *source = value_of(from), *places = value_of(index);
    if (!(target->sizes == source->sizes) || target->dtype != source->dtype || axis < 0 || axis >= target->ndim() ||
        places->dtype != DType::I64 || places->ndim() != 1)
      raise(ErrorKind::Shape, "program: lines of axis " + std::to_string(axis) + " from " + describe(*source) + " to " + describe(*target));
    hold(o, to);
    hold(o, from);
    hold(o, index);
    if (target->numel) add_step(o, std::make_unique<LinesStep>(*target, *source, axis, *places), node, seconds);
    Py_RETURN_NONE;
  });
}

// replace_lines(node, seconds, to, axis, index, source, saved): the lines that the index names, in place; undone if a later step fails
PyObject* add_replace_lines(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node, axis;
    double seconds;
    PyObject *to, *index, *source, *saved;
    if (!PyArg_ParseTuple(args, "idOiOOO", &node, &seconds, &to, &axis, &index, &source, &saved)) throw PythonError();
    ProgramObject* o = program_of(self);
    Tensor *target = value_of(to), *places = value_of(index), *from = value_of(source), *room = value_of(saved);
    bool fits = axis >= 0 && axis < target->ndim() && places->dtype == DType::I64 && places->ndim() == 1;
    Dims sizes = target->sizes;
    if (fits) sizes[axis] = places->sizes[0];
    for (const Tensor* t : {from, room}) fits = fits && t->dtype == target->dtype && t->sizes == sizes;
    if (!fits)
      raise(ErrorKind::Shape, "program: lines of axis " + std::to_string(axis) + " of " + describe(*target) + " from " + describe(*from));
    for (PyObject* one : {to, index, source, saved}) hold(o, one);
    if (from->numel) {
      auto step = std::make_unique<ReplaceStep>(*target, axis, *places, *from, *room);
      o->program->undoable.push_back(step.get());
      add_step(o, std::move(step), node, seconds);
    }
    Py_RETURN_NONE;
  });
}

namespace {

// An operand is (value, its axis for each of the space or -1), or (number, dtype).
std::vector<KernelOperand> operands_from(ProgramObject* o, PyObject* list, const Dims& sizes) {
  std::vector<KernelOperand> operands;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); ++i) {
    PyObject *first, *second;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(list, i), "OO", &first, &second)) throw PythonError();
    KernelOperand& operand = operands.emplace_back();
    if (!is_tensor(first)) {
      Number number;
      number_from(first, number, "program");
      operand.dtype = dtype_from(second, "program");
      operand.strides = Dims(sizes.size());
      store_number(number, operand.dtype, operand.element);
      continue;
    }
    hold(o, first);
    const Tensor& t = *value_of(first);
    const Dims axes = dims_from(second, "program: axes");
    if (axes.size() != sizes.size()) raise(ErrorKind::Shape, "program: an axis for each of the space is needed");
    operand.place = place_of(t);
    operand.dtype = t.dtype;
    for (int d = 0; d < sizes.size(); ++d) {
      const int64_t axis = axes[d];
      if (axis >= t.ndim()) raise(ErrorKind::Shape, "program: " + describe(t) + " has no axis " + std::to_string(axis));
      const bool moves = axis >= 0 && t.sizes[int(axis)] != 1;
      if (moves && t.sizes[int(axis)] != sizes[d])
        raise(ErrorKind::Shape, "program: axis " + std::to_string(axis) + " of " + describe(t) + " runs over " + std::to_string(sizes[d]));
      operand.strides.push_back(moves ? t.strides[int(axis)] * item_size(t.dtype) : 0);
    }
  }
  return operands;
}

}  // namespace

// kernel(node, seconds, what, sizes, reduced, operands): one kernel over an iteration space. `what` is (address, grain,
// number of results) of a pointwise kernel, or what thixo.runtime.rows.about says of a row kernel. Whether there is machine code for it.
PyObject* add_kernel(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node;
    double seconds;
    PyObject *what, *shape, *marks, *list;
    if (!PyArg_ParseTuple(args, "idO!O!O!O!", &node, &seconds, &PyTuple_Type, &what, &PyTuple_Type, &shape, &PyTuple_Type, &marks,
                          &PyTuple_Type, &list))
      throw PythonError();
    ProgramObject* o = program_of(self);
    const Dims sizes = dims_from(shape, "program: sizes");
    if (checked_numel(sizes, DType::U8, "program") == 0) Py_RETURN_FALSE;
    if (PyTuple_GET_SIZE(marks) != sizes.size()) raise(ErrorKind::Shape, "program: a mark for each axis is needed");
    bool reduced[kMaxDims];
    for (int d = 0; d < sizes.size(); ++d) reduced[d] = PyTuple_GET_ITEM(marks, d) == Py_True;
    const std::vector<KernelOperand> operands = operands_from(o, list, sizes);
    std::unique_ptr<Step> step;
    if (PyTuple_GET_SIZE(what) == 3) {
      unsigned long long address;
      long long grain;
      int results;
      if (!PyArg_ParseTuple(what, "KLi", &address, &grain, &results)) throw PythonError();
      step = std::make_unique<PointwiseStep>(reinterpret_cast<Loop>(address), grain, true, sizes, operands, results);
    } else {
      step = prepare_row_kernel(what, sizes, reduced, operands);
    }
    if (!step) Py_RETURN_FALSE;
    add_step(o, std::move(step), node, seconds);
    Py_RETURN_TRUE;
  });
}

// product(node, seconds, operator, arguments, result, address, sizes, operands, simple): a product, and a pointwise kernel on the
// parts of its result as they are made. `simple` says what that does, where it is no more than to add an operand and relu:
// (number of the operand or -1, whether relu follows); else None. False where it cannot be: then nothing was added.
PyObject* add_product(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node;
    double seconds;
    unsigned long long address;
    PyObject *op, *arguments, *result, *shape, *list, *simple;
    if (!PyArg_ParseTuple(args, "idO!O!OKO!O!O", &node, &seconds, operator_type, &op, &PyTuple_Type, &arguments, &result, &address,
                          &PyTuple_Type, &shape, &PyTuple_Type, &list, &simple))
      throw PythonError();
    ProgramObject* o = program_of(self);
    const Operator& operation = operator_of(op);
    Slots slots(operation.params.size());
    bind(operation, PySequence_Fast_ITEMS(arguments), PyTuple_GET_SIZE(arguments), nullptr, slots);
    const Tensor& to = *value_of(result);
    std::unique_ptr<Step> step = prepare_product(operation, slots.items, to, fixed_of(*o));
    auto* product = dynamic_cast<ProductStep*>(step.get());
    if (!product || !to.is_contiguous()) Py_RETURN_FALSE;
    const Dims sizes = dims_from(shape, "program: sizes");
    if (!(sizes == to.sizes)) Py_RETURN_FALSE;
    const std::vector<KernelOperand> operands = operands_from(o, list, sizes);
    auto end = EndKernel::of(reinterpret_cast<Loop>(address), sizes, operands, product->product.n);
    if (end && simple != Py_None) {
      int added, relu;
      if (!PyArg_ParseTuple(simple, "ip", &added, &relu)) throw PythonError();
      end->set_simple(added, relu != 0, operands);
    }
    if (!product->add_end(std::move(end))) Py_RETURN_FALSE;
    for (int i = 0; i < slots.count; ++i) hold(o, slots.items[i]);
    hold(o, op);
    hold(o, result);
    add_step(o, std::move(step), node, seconds);
    Py_RETURN_TRUE;
  });
}

}  // namespace thixo
