// thixo._core.Program: built step by step by runtime/program.py, then called.
#include "program.h"

#include <cstring>

#include "../core/allocator.h"
#include "../core/ready.h"

namespace thixo {

PyTypeObject* program_type = nullptr;

ProgramObject* program_of(PyObject* o) {
  if (!PyObject_TypeCheck(o, program_type)) raise(ErrorKind::Argument, "program: needs a Program, got " + type_name(o));
  return reinterpret_cast<ProgramObject*>(o);
}

namespace {

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

// ---- building

PyObject* program_new(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    const char* name;
    if (!PyArg_ParseTuple(args, "s", &name)) throw PythonError();
    Object self = Object::own(type->tp_alloc(type, 0));
    auto* o = reinterpret_cast<ProgramObject*>(self.get());
    o->program = make<Program>().detach();
    o->program->name = name;
    o->constants = new std::vector<Constant>();
    o->written = new std::vector<size_t>();
    o->keep = Object::own(PyList_New(0)).give();
    return self.give();
  });
}

// value(dtype, sizes, strides or None): a tensor of this program, without memory yet
PyObject* value(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *dtype, *sizes, *strides;
    if (!PyArg_ParseTuple(args, "OOO", &dtype, &sizes, &strides)) throw PythonError();
    Ref<Tensor> t = make<Tensor>();
    t->dtype = dtype_from(dtype, "program");
    t->sizes = dims_from(sizes, "program: sizes");
    t->numel = checked_numel(t->sizes, t->dtype, "program");
    t->strides = strides == Py_None ? contiguous_strides(t->sizes) : dims_from(strides, "program: strides");
    if (t->strides.size() != t->sizes.size()) raise(ErrorKind::Shape, "program: sizes and strides must have the same length");
    int64_t last = t->numel ? 1 : 0;
    for (int d = 0; t->numel && d < t->ndim(); ++d) {
      if (t->strides[d] < 0) raise(ErrorKind::Argument, "program: strides must not be negative");
      last += (t->sizes[d] - 1) * t->strides[d];
    }
    t->storage = pointed_storage(static_cast<size_t>(last) * item_size(t->dtype));
    return wrap(std::move(t));
  });
}

PyObject* add_input(PyObject* self, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    ProgramObject* o = program_of(self);
    hold(o, tensor);
    o->program->inputs.push_back(port_of(*value_of(tensor)));
    Py_RETURN_NONE;
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

// constant(value, tensor): it is where the tensor is when the program is called
PyObject* add_constant(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *where, *tensor;
    if (!PyArg_ParseTuple(args, "OO", &where, &tensor)) throw PythonError();
    ProgramObject* o = program_of(self);
    hold(o, where);
    hold(o, tensor);
    Tensor* t = value_of(where);
    if (!is_tensor(tensor)) raise(ErrorKind::Argument, "program: a constant must be a Tensor");
    o->constants->push_back({port_of(*t), ref_of(tensor)});
    Py_RETURN_NONE;
  });
}

// written(value): an input or a constant that the program changes
PyObject* add_written(PyObject* self, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    ProgramObject* o = program_of(self);
    const Storage* storage = value_of(tensor)->storage.get();
    size_t place = 0;
    for (const Port& port : o->program->inputs) {
      if (port.storage.get() == storage) o->written->push_back(place);
      ++place;
    }
    for (const Constant& constant : *o->constants) {
      if (constant.port.storage.get() == storage) o->written->push_back(place);
      ++place;
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
    Py_RETURN_NONE;
  });
}

// A step for an operator's call that needs no Python, if there is one. An operator that checks values is not among them.
std::unique_ptr<Step> prepared(const Operator& op, PyObject* const* slots, const std::vector<Tensor*>& results) {
  if (op.check && !op.has_loops) return nullptr;
  if (results.size() == 1) {
    if (op.kind == OpKind::Pointwise) return prepare_pointwise(op, slots, *results[0]);
    if (std::unique_ptr<Step> step = prepare_product(op, slots, *results[0])) return step;
    if (std::unique_ptr<Step> step = prepare_sum(op, slots, *results[0])) return step;
  }
  return op.native && op.full_name != "sum" ? nullptr : prepare_rows(op, slots, results);
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
      if (!t || !t->is_contiguous()) raise(ErrorKind::Argument, "program: an operator's results must be contiguous values");
    if (std::unique_ptr<Step> native = prepared(*step->op, slots.items, step->results)) {
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

// kernel(node, seconds, what, sizes, reduced, operands): one kernel over an iteration space. `what` is (address, grain,
// number of results) of a pointwise kernel, or what thixo.runtime.rows.about says of a row kernel. An operand is (value,
// its axis for each of the space or -1), or (number, dtype). Whether there is machine code for it.
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

// ---- control flow. An inner program is (program, arena value or None, inputs, outputs).

void check_inner(const Program& p, size_t inputs, size_t outputs) {
  if (p.inputs.size() != inputs || p.outputs.size() != outputs)
    raise(ErrorKind::Argument, "program: inner program " + p.name + " takes " + std::to_string(p.inputs.size()) + " and gives " +
                                   std::to_string(p.outputs.size()) + ", is used with " + std::to_string(inputs) + " and " +
                                   std::to_string(outputs));
}

Program* inner_program(ProgramObject* self, PyObject* o) {
  ProgramObject* inner = program_of(o);
  hold(self, o);
  for (auto& constant : *inner->constants) self->constants->push_back(constant);
  return inner->program;
}

Inner inner_of(ProgramObject* self, PyObject* described) {
  PyObject *program, *arena, *inputs, *outputs;
  if (!PyArg_ParseTuple(described, "OOO!O!", &program, &arena, &PyTuple_Type, &inputs, &PyTuple_Type, &outputs)) throw PythonError();
  Inner inner;
  inner.program = Ref<Program>(inner_program(self, program));
  inner.arena = place_from(self, arena);
  inner.inputs = places_of(self, inputs);
  inner.outputs = places_of(self, outputs);
  check_inner(*inner.program, inner.inputs.size(), inner.outputs.size());
  return inner;
}

// call(node, inner)
PyObject* add_call(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node;
    PyObject* inner;
    if (!PyArg_ParseTuple(args, "iO!", &node, &PyTuple_Type, &inner)) throw PythonError();
    ProgramObject* o = program_of(self);
    auto step = std::make_unique<CallStep>();
    step->inner = inner_of(o, inner);
    step->python = step->inner.program->python;
    const double seconds = step->inner.program->seconds;
    add_step(o, std::move(step), node, seconds);
    Py_RETURN_NONE;
  });
}

// switch(node, index, inners): an index that is a bool chooses the first of two
PyObject* add_switch(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node;
    PyObject *index, *inners;
    if (!PyArg_ParseTuple(args, "iOO!", &node, &index, &PyTuple_Type, &inners)) throw PythonError();
    ProgramObject* o = program_of(self);
    auto step = std::make_unique<SwitchStep>();
    step->index = place_from(o, index);
    step->is_bool = tensor_of(index)->dtype == DType::Bool;
    double seconds = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inners); ++i) {
      step->branches.push_back(inner_of(o, PyTuple_GET_ITEM(inners, i)));
      step->python = step->python || step->branches.back().program->python;
      seconds = std::max(seconds, step->branches.back().program->seconds);
    }
    if (step->branches.empty() || (step->is_bool && step->branches.size() != 2))
      raise(ErrorKind::Argument, "program: a switch over no branches, or a bool over other than two");
    add_step(o, std::move(step), node, seconds);
    Py_RETURN_NONE;
  });
}

// ((first, last, other), ...)
std::vector<Carried> state_of(ProgramObject* self, PyObject* tuple) {
  std::vector<Carried> state;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    std::vector<Tensor*> three = values_of(self, PyTuple_GET_ITEM(tuple, i));
    if (three.size() != 3) raise(ErrorKind::Argument, "program: a state has three places");
    for (Tensor* t : three)
      if (!t->is_contiguous() || bytes_of(*t) != bytes_of(*three[0])) raise(ErrorKind::Argument, "program: a state must be contiguous");
    state.push_back({place_of(*three[0]), place_of(*three[1]), place_of(*three[2]), bytes_of(*three[0])});
  }
  return state;
}

// while_loop(node, test, test arena, verdict, body, body arena, state, captured, rows, limit); rows: bytes of each stacked
// row. Returns its number, for `stacked`.
PyObject* add_while(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node;
    PyObject *test, *test_arena, *verdict, *body, *body_arena, *state, *captured, *rows;
    long long limit;
    if (!PyArg_ParseTuple(args, "iOOOOOO!O!O!L", &node, &test, &test_arena, &verdict, &body, &body_arena, &PyTuple_Type, &state,
                          &PyTuple_Type, &captured, &PyTuple_Type, &rows, &limit))
      throw PythonError();
    ProgramObject* o = program_of(self);
    auto step = std::make_unique<WhileStep>();
    step->test = Ref<Program>(inner_program(o, test));
    step->body = Ref<Program>(inner_program(o, body));
    step->test_arena = place_from(o, test_arena);
    step->body_arena = place_from(o, body_arena);
    step->verdict = place_from(o, verdict);
    step->state = state_of(o, state);
    step->captured = places_of(o, captured);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); ++i) {
      step->stacked.emplace_back();
      step->stacked.back().bytes = PyLong_AsSize_t(PyTuple_GET_ITEM(rows, i));
    }
    if (PyErr_Occurred()) throw PythonError();
    step->limit = limit;
    const size_t inputs = step->state.size() + step->captured.size();
    check_inner(*step->test, inputs, 1);
    check_inner(*step->body, inputs, step->state.size() + step->stacked.size());
    step->python = step->test->python || step->body->python;
    constexpr double kTurns = 16;  // a guess
    const double seconds = kTurns * (step->test->seconds + step->body->seconds);
    add_step(o, std::move(step), node, seconds);
    return PyLong_FromSize_t(o->program->steps.size() - 1);
  });
}

// scan(node, body, arena, state, slices, captured, stacked results, length, reverse)
PyObject* add_scan(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int node, reverse;
    PyObject *body, *arena, *state, *slices, *captured, *stacked;
    long long length;
    if (!PyArg_ParseTuple(args, "iOOO!O!O!O!Lp", &node, &body, &arena, &PyTuple_Type, &state, &PyTuple_Type, &slices, &PyTuple_Type,
                          &captured, &PyTuple_Type, &stacked, &length, &reverse))
      throw PythonError();
    ProgramObject* o = program_of(self);
    auto step = std::make_unique<ScanStep>();
    step->body = Ref<Program>(inner_program(o, body));
    step->arena = place_from(o, arena);
    step->state = state_of(o, state);
    for (Tensor* t : values_of(o, slices)) {
      if (t->ndim() == 0 || t->sizes[0] != length) raise(ErrorKind::Shape, "program: a slice of " + describe(*t));
      step->slices.push_back({place_of(*t), t->strides[0] * item_size(t->dtype)});
    }
    step->captured = places_of(o, captured);
    for (Tensor* t : values_of(o, stacked)) {
      if (t->ndim() == 0 || t->sizes[0] != length || !t->is_contiguous())
        raise(ErrorKind::Shape, "program: rows stacked into " + describe(*t));
      Stacked& s = step->stacked.emplace_back();
      s.bytes = length ? bytes_of(*t) / static_cast<size_t>(length) : 0;
      s.whole = place_of(*t);
    }
    step->length = length;
    step->reverse = reverse;
    check_inner(*step->body, step->state.size() + step->slices.size() + step->captured.size(),
                step->state.size() + step->stacked.size());
    step->python = step->body->python;
    const double seconds = double(length) * step->body->seconds;
    add_step(o, std::move(step), node, seconds);
    Py_RETURN_NONE;
  });
}

// stacked(number, which, dtype, sizes of a row): what a while loop stacked in its last run, which it then forgets
PyObject* take_stacked(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t number, which;
    PyObject *dtype, *sizes;
    if (!PyArg_ParseTuple(args, "nnOO", &number, &which, &dtype, &sizes)) throw PythonError();
    Program& p = *program_of(self)->program;
    auto* loop = number >= 0 && size_t(number) < p.steps.size() ? dynamic_cast<WhileStep*>(p.steps[size_t(number)].get()) : nullptr;
    if (!loop || which < 0 || size_t(which) >= loop->stacked.size()) raise(ErrorKind::Argument, "program: no such rows");
    Stacked& s = loop->stacked[size_t(which)];
    Dims whole = dims_from(sizes, "program: sizes");
    whole.insert(0, s.turns);
    DType type = dtype_from(dtype, "program");
    Ref<Tensor> t = make<Tensor>();
    t->dtype = type;
    t->numel = checked_numel(whole, type, "program");
    t->strides = contiguous_strides(whole);
    t->sizes = whole;
    const size_t bytes = static_cast<size_t>(t->numel) * item_size(type);
    t->storage = s.grown && s.grown->bytes >= bytes ? std::move(s.grown) : Storage::allocate(bytes);
    s.grown = nullptr;
    return wrap(std::move(t));
  });
}

// flow(((steps before), ...)): for each step those that must be done before; from now on several run at once
PyObject* set_flow(PyObject* self, PyObject* lists) {
  return guarded([&]() -> PyObject* {
    Program& p = *program_of(self)->program;
    if (!PyTuple_Check(lists) || size_t(PyTuple_GET_SIZE(lists)) != p.steps.size())
      raise(ErrorKind::Argument, "program: a tuple for each step is needed");
    std::vector<std::vector<int>> after(p.steps.size());
    for (size_t i = 0; i < after.size(); ++i) {
      for (int64_t before : dims_from(PyTuple_GET_ITEM(lists, Py_ssize_t(i)), "program: steps")) {
        if (before < 0 || before >= int64_t(i)) raise(ErrorKind::Argument, "program: a step waits only for earlier ones");
        after[i].push_back(int(before));
      }
    }
    p.flow = std::make_shared<Flow>(after, p.steps);
    Py_RETURN_NONE;
  });
}

// ---- running

struct Running {
  ProgramObject* self;
  bool grad = modes.grad, traced = tracing;
  explicit Running(ProgramObject* o) : self(o) {
    o->busy = true;
    modes.grad = false;
    tracing = false;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    self->busy = false;
    modes.grad = grad;
    tracing = traced;
  }
};

bool fits(const Port& port, const Tensor& t) {
  return t.storage && t.dtype == port.dtype && t.sizes == port.sizes && t.strides == port.strides;
}

// Whether a call with these inputs can begin now.
bool usable(const ProgramObject* self, PyObject* const* args, size_t count) {
  const Program& p = *self->program;
  if (self->busy || count != p.inputs.size()) return false;
  for (size_t i = 0; i < count; ++i)
    if (!is_tensor(args[i]) || !fits(p.inputs[i], *tensor_of(args[i]))) return false;
  for (const Constant& constant : *self->constants)
    if (!fits(constant.port, *constant.tensor)) return false;
  return true;
}

// The exception that is set, with the line of the node that failed.
void tell_line() {
  const Failure from = std::exchange(failure, Failure{});
  if (!from.program || from.node < 0 || size_t(from.node) >= from.program->lines.size()) return;
  const std::string& line = from.program->lines[size_t(from.node)];
  PyObject *type, *raised, *trace;
  PyErr_Fetch(&type, &raised, &trace);
  PyErr_NormalizeException(&type, &raised, &trace);
  if (trace) PyException_SetTraceback(raised, trace);
  try {
    Object module = Object::own(PyImport_ImportModule("thixo.errors"));
    Object at_line = Object::own(PyObject_GetAttrString(module.get(), "at_line"));
    if (!line.empty()) Object::own(call_python_as(at_line.get(), "Os", raised, line.c_str()));
  } catch (const PythonError&) {
    PyErr_Clear();
  }
  PyErr_Restore(type, raised, trace);
}

// What a call changes must be nobody else's: no other input's memory, and writable.
void check_written(const ProgramObject* self, PyObject* const* args) {
  const size_t inputs = self->program->inputs.size(), all = inputs + self->constants->size();
  const auto tensor = [&](size_t i) -> const Tensor& { return i < inputs ? *tensor_of(args[i]) : *(*self->constants)[i - inputs].tensor; };
  struct Span {
    const char *begin, *end;
    size_t place;
  };
  std::vector<Span> spans;
  spans.reserve(all);
  for (size_t i = 0; i < all; ++i) {
    const Tensor& t = tensor(i);
    if (t.numel == 0) continue;
    int64_t reach = 0;
    for (int d = 0; d < t.ndim(); ++d) reach += (t.sizes[d] - 1) * t.strides[d];
    spans.push_back({t.data(), t.data() + (reach + 1) * item_size(t.dtype), i});
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  const auto is_written = [&](size_t place) {
    return std::find(self->written->begin(), self->written->end(), place) != self->written->end();
  };
  const char* end = nullptr;
  size_t before = 0;
  for (const Span& span : spans) {
    if (span.begin < end && (is_written(span.place) || is_written(before)))
      raise(ErrorKind::Argument, "graph " + self->program->name + ": inputs " + std::to_string(std::min(span.place, before)) + " and " +
                                     std::to_string(std::max(span.place, before)) +
                                     " share memory, and the graph changes one of them; give it a copy");
    if (span.end > end) {
      end = span.end;
      before = span.place;
    }
  }
  for (size_t place : *self->written)
    if (!tensor(place).storage->writable || has_internal_overlap(tensor(place)))
      raise(ErrorKind::Inplace, "graph " + self->program->name + ": input " + std::to_string(place) +
                                    " is changed by the graph, and its memory cannot be written");
}

constexpr unsigned char kPoison = 0xff;  // of which a NaN is made

PyObject* run(ProgramObject* self, PyObject* const* args) {
  Program& p = *self->program;
  if (!self->written->empty()) check_written(self, args);
  Running running(self);
  SmallVector<Ref<Storage>, 8> held;  // others may give the tensors other memory meanwhile
  SmallVector<Ref<Storage>, 4> made;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const Tensor& t = *tensor_of(args[i]);
    p.inputs[i].storage->data = t.data();
    held.push_back(t.storage);
  }
  for (auto& [port, tensor] : *self->constants) {
    port.storage->data = tensor->data();
    held.push_back(tensor->storage);
  }
  Ref<Storage> arena;
  if (p.arena_bytes) {
    arena = Storage::allocate(static_cast<size_t>(p.arena_bytes));
    if (self->poisoned) std::memset(arena->data, kPoison, static_cast<size_t>(p.arena_bytes));
    p.settle(arena->data);
  }
  for (Port& port : p.outputs) {
    made.push_back(port.storage ? Storage::allocate(port.bytes) : Ref<Storage>());
    if (port.storage) port.storage->data = made.back()->data;
  }
  failure = {};
  {
    Unlocked free(!p.python && !p.flow && p.seconds >= kLongStep);
    p.run();
  }
  if (self->poisoned && arena) {
    int64_t end = p.arena_bytes;
    while (end && static_cast<unsigned char>(arena->data[end - 1]) == kPoison) --end;
    self->high_water = end;
  }
  for (size_t place : *self->written) {
    const size_t inputs = p.inputs.size();
    ++(place < inputs ? *tensor_of(args[place]) : *(*self->constants)[place - inputs].tensor).storage->version;
  }
  Object results = Object::own(PyList_New(Py_ssize_t(p.outputs.size())));
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    const Port& port = p.outputs[i];
    if (!port.storage) {
      PyList_SET_ITEM(results.get(), Py_ssize_t(i), Py_NewRef(Py_None));
      continue;
    }
    Ref<Tensor> t = make<Tensor>();
    t->storage = std::move(made[i]);
    t->dtype = port.dtype;
    t->numel = static_cast<int64_t>(port.bytes) / item_size(port.dtype);
    t->sizes = port.sizes;
    t->strides = port.strides;
    PyList_SET_ITEM(results.get(), Py_ssize_t(i), wrap(std::move(t)));
  }
  if (self->finisher) return call_python_with(self->finisher, results.get());
  return results.give();
}

PyObject* program_call(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* self = reinterpret_cast<ProgramObject*>(object);
  const size_t count = size_t(PyVectorcall_NARGS(nargsf));
  if (usable(self, args, count) && !(kwnames && PyTuple_GET_SIZE(kwnames))) {
    PyObject* result = guarded([&]() -> PyObject* { return run(self, args); });
    if (!result) {
      PyObject *type, *raised, *trace;
      if (self->finisher) {
        PyErr_Fetch(&type, &raised, &trace);
        Py_XDECREF(call_python_with(self->finisher, Py_None));
        PyErr_Restore(type, raised, trace);
      }
      tell_line();
    }
    return result;
  }
  return guarded([&]() -> PyObject* {
    if (!self->fallback) raise(ErrorKind::Argument, "program " + self->program->name + ": these inputs are not what it was made for");
    return call_python(self->fallback, args, count, kwnames);
  });
}

// run(inputs): a sequence, or None in place of results where it was made for others or runs already
PyObject* try_run(PyObject* object, PyObject* inputs) {
  return guarded([&]() -> PyObject* {
    auto* self = reinterpret_cast<ProgramObject*>(object);
    if (!PyTuple_Check(inputs) && !PyList_Check(inputs)) raise(ErrorKind::Argument, "program: inputs must be a list");
    Object kept = PyList_Check(inputs) ? Object::own(PyList_AsTuple(inputs)) : Object::borrow(inputs);
    PyObject** args = PySequence_Fast_ITEMS(kept.get());
    const size_t count = size_t(PyTuple_GET_SIZE(kept.get()));
    if (!usable(self, args, count)) Py_RETURN_NONE;
    return program_call(object, args, count, nullptr);
  });
}

void* unlock() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void lock(void* state) {
  entering_python([&] { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); });
}
void check() {
  PyGILState_STATE state = PyGILState_Ensure();
  const bool stop = PyErr_CheckSignals() < 0;
  PyGILState_Release(state);
  if (stop) throw PythonError();
}

// ---- the type

int program_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* o = reinterpret_cast<ProgramObject*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->keep);
  Py_VISIT(o->fallback);
  Py_VISIT(o->finisher);
  return 0;
}
int program_clear(PyObject* self) {
  auto* o = reinterpret_cast<ProgramObject*>(self);
  if (o->program) o->program->steps.clear();  // they point to what goes now
  Py_CLEAR(o->keep);
  Py_CLEAR(o->fallback);
  Py_CLEAR(o->finisher);
  return 0;
}
void program_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  auto* o = reinterpret_cast<ProgramObject*>(self);
  program_clear(self);
  delete o->constants;
  delete o->written;
  if (o->program) release(o->program);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* program_repr(PyObject* self) {
  const Program& p = *reinterpret_cast<ProgramObject*>(self)->program;
  return PyUnicode_FromFormat("<program %s: %zd steps, arena of %lld bytes>", p.name.c_str(), Py_ssize_t(p.steps.size()),
                              static_cast<long long>(p.arena_bytes));
}
PyObject* get_steps(PyObject* self, void*) {
  return PyLong_FromSize_t(reinterpret_cast<ProgramObject*>(self)->program->steps.size());
}
PyObject* get_arena(PyObject* self, void*) {
  return PyLong_FromLongLong(reinterpret_cast<ProgramObject*>(self)->program->arena_bytes);
}
PyObject* get_python(PyObject* self, void*) {
  return PyBool_FromLong(reinterpret_cast<ProgramObject*>(self)->program->python);
}
PyObject* get_seconds(PyObject* self, void*) {
  return PyFloat_FromDouble(reinterpret_cast<ProgramObject*>(self)->program->seconds);
}

PyGetSetDef program_getset[] = {
    {"steps", get_steps, nullptr, "How many steps it has.", nullptr},
    {"arena_bytes", get_arena, nullptr, "Bytes of its arena.", nullptr},
    {"python", get_python, nullptr, "Whether some step needs the interpreter.", nullptr},
    {"seconds", get_seconds, nullptr, "How long it may take: a guess.", nullptr},
    {}};
PyMemberDef program_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ProgramObject, vectorcall), READONLY, nullptr},
    {"fallback", T_OBJECT, offsetof(ProgramObject, fallback), 0, "Called with inputs that it was not made for."},
    {"finisher", T_OBJECT, offsetof(ProgramObject, finisher), 0, "Called with the results; with None after an error."},
    {"poisoned", T_BOOL, offsetof(ProgramObject, poisoned), 0, "Whether the arena is filled with NaNs before a run."},
    {"high_water", T_LONGLONG, offsetof(ProgramObject, high_water), READONLY, "Where the used part of a poisoned arena ended."},
    {}};
PyMethodDef program_methods[] = {
    {"value", value, METH_VARARGS | METH_STATIC, "value(dtype, sizes, strides): a tensor without memory, for steps."},
    {"input", add_input, METH_O, nullptr},
    {"output", add_output, METH_O, nullptr},
    {"constant", add_constant, METH_VARARGS, nullptr},
    {"written", add_written, METH_O, nullptr},
    {"arena", set_arena, METH_VARARGS, nullptr},
    {"names", set_names, METH_VARARGS, nullptr},
    {"operator", add_operator, METH_VARARGS, nullptr},
    {"call_python", add_python, METH_VARARGS, nullptr},
    {"copy", add_copy, METH_VARARGS, nullptr},
    {"kernel", add_kernel, METH_VARARGS, nullptr},
    {"call", add_call, METH_VARARGS, nullptr},
    {"switch", add_switch, METH_VARARGS, nullptr},
    {"while_loop", add_while, METH_VARARGS, nullptr},
    {"scan", add_scan, METH_VARARGS, nullptr},
    {"flow", set_flow, METH_O, nullptr},
    {"stacked", take_stacked, METH_VARARGS, nullptr},
    {"run", try_run, METH_O, "run(inputs): the results; None if it was made for other inputs or runs already."},
    {}};

PyObject* program_make(PyTypeObject* type, PyObject* args, PyObject* kw) {
  PyObject* made = program_new(type, args, kw);
  if (made) reinterpret_cast<ProgramObject*>(made)->vectorcall = program_call;
  return made;
}

PyType_Slot program_slots[] = {{Py_tp_new, (void*)program_make},
                               {Py_tp_dealloc, (void*)program_dealloc},
                               {Py_tp_traverse, (void*)program_traverse},
                               {Py_tp_clear, (void*)program_clear},
                               {Py_tp_call, (void*)PyVectorcall_Call},
                               {Py_tp_repr, (void*)program_repr},
                               {Py_tp_getset, program_getset},
                               {Py_tp_members, program_members},
                               {Py_tp_methods, program_methods},
                               {}};
PyType_Spec program_spec = {"thixo._core.Program", sizeof(ProgramObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
                            program_slots};

}  // namespace

int add_programs(PyObject* module) {
  host = {unlock, lock, check};
  program_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &program_spec, nullptr));
  if (!program_type) return -1;
  return PyModule_AddObjectRef(module, "Program", reinterpret_cast<PyObject*>(program_type));
}

}  // namespace thixo
