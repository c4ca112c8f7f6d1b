// Control flow in programs, and which steps wait for which, as Python adds them.
#include "../core/ready.h"
#include "program.h"

namespace thixo {

namespace {

// An inner program is (program, arena value or None, inputs, outputs).

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

}  // namespace

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

// scan(node, body, arena, state, slices, captured, stacked results, length, reverse): returns its number, for `scan_over`
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
    return PyLong_FromSize_t(o->program->steps.size() - 1);
  });
}

// scan_over(number, length, slices, stacked results): the next run of a scan goes over these tensors, whose rows are like those
// that it was made with; the caller keeps them until it has run
PyObject* set_scanned(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t number;
    long long length;
    PyObject *slices, *stacked;
    if (!PyArg_ParseTuple(args, "nLO!O!", &number, &length, &PyTuple_Type, &slices, &PyTuple_Type, &stacked)) throw PythonError();
    Program& p = *program_of(self)->program;
    auto* scan = number >= 0 && size_t(number) < p.steps.size() ? dynamic_cast<ScanStep*>(p.steps[size_t(number)].get()) : nullptr;
    if (!scan || length < 0 || size_t(PyTuple_GET_SIZE(slices)) != scan->slices.size() ||
        size_t(PyTuple_GET_SIZE(stacked)) != scan->stacked.size())
      raise(ErrorKind::Argument, "program: no such scan");
    const auto take = [&](PyObject* o, Place& place, size_t row_bytes) {
      if (!is_tensor(o)) raise(ErrorKind::Argument, "program: a scan goes over tensors, got " + type_name(o));
      const Tensor& t = *tensor_of(o);
      const bool fits = t.numel == 0 || bytes_of(t) == row_bytes * size_t(length);  // the stride of an empty row says nothing
      if (t.ndim() == 0 || t.sizes[0] != length || !t.is_contiguous() || !fits)
        raise(ErrorKind::Shape, "program: a scan of " + std::to_string(length) + " rows goes over " + describe(t));
      place.storage->data = t.data();
    };
    for (size_t i = 0; i < scan->slices.size(); ++i)
      take(PyTuple_GET_ITEM(slices, Py_ssize_t(i)), scan->slices[i].from, size_t(scan->slices[i].stride));
    for (size_t i = 0; i < scan->stacked.size(); ++i)
      take(PyTuple_GET_ITEM(stacked, Py_ssize_t(i)), scan->stacked[i].whole, scan->stacked[i].bytes);
    scan->length = length;
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

// sections(((begin, end, end, ...), ...)): steps that run side by side, in lanes of which each begins where the one before ends
PyObject* set_sections(PyObject* self, PyObject* described) {
  return guarded([&]() -> PyObject* {
    Program& p = *program_of(self)->program;
    if (!PyTuple_Check(described)) raise(ErrorKind::Argument, "program: sections are a tuple");
    std::vector<Section> sections;
    size_t done = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(described); ++i) {
      const Dims borders = dims_from(PyTuple_GET_ITEM(described, i), "program: a section");
      if (borders.size() < 2) raise(ErrorKind::Argument, "program: a section without lanes");
      Section section{{}, {}, static_cast<size_t>(borders[0]), static_cast<size_t>(borders[borders.size() - 1]), false};
      double seconds = 0;
      for (int k = 1; k < borders.size(); ++k) {
        const Lane lane{static_cast<size_t>(borders[k - 1]), static_cast<size_t>(borders[k])};
        if (lane.begin < done || lane.end < lane.begin || lane.end > p.steps.size())
          raise(ErrorKind::Argument, "program: lanes are steps one after the other");
        bool python = false;
        for (size_t at = lane.begin; at < lane.end; ++at) {
          Step& step = *p.steps[at];
          if (auto* product = dynamic_cast<ProductStep*>(&step)) product->product.c_elsewhere = true;
          python = python || step.python;
          seconds += step.seconds;
          // A loop looks whether the user wants to stop, and needs the lock for it.
          section.unlocks = section.unlocks || dynamic_cast<const CallStep*>(&step) || dynamic_cast<const SwitchStep*>(&step) ||
                            dynamic_cast<const WhileStep*>(&step) || dynamic_cast<const ScanStep*>(&step);
        }
        if (lane.begin < lane.end) (python ? section.python : section.lanes).push_back(lane);
        done = lane.end;
      }
      section.unlocks = section.unlocks || seconds >= kLongStep;
      sections.push_back(std::move(section));
    }
    p.sections = std::move(sections);
    Py_RETURN_NONE;
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
      PyObject* list = PyTuple_GET_ITEM(lists, Py_ssize_t(i));
      if (!PyTuple_Check(list)) raise(ErrorKind::Argument, "program: a tuple for each step is needed");
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(list); ++k) {  // as many as there are steps
        const long before = PyLong_AsLong(PyTuple_GET_ITEM(list, k));
        if (before == -1 && PyErr_Occurred()) throw PythonError();
        if (before < 0 || before >= long(i)) raise(ErrorKind::Argument, "program: a step waits only for earlier ones");
        after[i].push_back(int(before));
      }
    }
    p.flow = std::make_shared<Flow>(after, p.steps);
    Py_RETURN_NONE;
  });
}

}  // namespace thixo
