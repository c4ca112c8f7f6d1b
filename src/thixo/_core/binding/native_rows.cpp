// Operators that say how a row is computed: their generated kernels are found through thixo.runtime.rows, once for
// each kind of arguments, and run here.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "../core/rows.h"
#include "common_order.h"
#include "program.h"

namespace thixo {

namespace {

struct RowVariant {
  std::string key;
  bool there = false;
  RowKernel kernel;
  int tensors = 0, numbers = 0;
  Object made;             // the Python Kernel, to compile it for a layout
  RowLoop loops[2] = {};
  bool tried[2] = {};
  RowSplit split[2];  // by layout
  bool split_tried[2] = {};
};

Object runtime(const char* name) {
  static PyObject* module = nullptr;
  if (!module) module = Object::own(PyImport_ImportModule("thixo.runtime.rows")).give();
  return Object::own(PyObject_GetAttrString(module, name));
}

}  // namespace

// How the result's type follows from the input's, where that is simple enough to be known here.
enum class RowType : uint8_t { Asked, Same, Float, Sum, Truth, Index };

// What an operator's rule said of its results, for arguments that were here lately: the same shapes, dtypes and numbers.
struct RowAnswer {
  std::string key;
  Object specs;
};

struct RowTable {
  static constexpr int kAnswers = 8;
  RowAnswer answers[kAnswers];
  int next_answer = 0;
  std::vector<int> params, fixed;
  int dim = -1, dtype = -1, keepdim = -1, positions = -1, ignored = -1;
  RowType type = RowType::Asked;
  Object axes, check;
  bool is_fixed(int param) const { return std::find(fixed.begin(), fixed.end(), param) != fixed.end(); }
  std::vector<std::unique_ptr<RowVariant>> variants;
};

namespace {

RowTable& table_of(const Operator& op) {
  if (op.row_table) return *op.row_table;
  auto table = std::make_shared<RowTable>();
  Object about = Object::own(call_python_with(runtime("describe").get(), op.declaration.get()));
  PyObject* places = PyTuple_GET_ITEM(about.get(), 0);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); ++i)
    table->params.push_back(int(PyLong_AsLong(PyTuple_GET_ITEM(places, i))));
  PyObject* fixed = PyTuple_GET_ITEM(about.get(), 1);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fixed); ++i)
    table->fixed.push_back(int(PyLong_AsLong(PyTuple_GET_ITEM(fixed, i))));
  table->dim = int(PyLong_AsLong(PyTuple_GET_ITEM(about.get(), 2)));
  table->dtype = int(PyLong_AsLong(PyTuple_GET_ITEM(about.get(), 3)));
  table->keepdim = int(PyLong_AsLong(PyTuple_GET_ITEM(about.get(), 4)));
  table->type = RowType(PyLong_AsLong(PyTuple_GET_ITEM(about.get(), 5)));
  if (PyTuple_GET_ITEM(about.get(), 6) != Py_None) table->axes = Object::borrow(PyTuple_GET_ITEM(about.get(), 6));
  if (PyTuple_GET_ITEM(about.get(), 7) != Py_None) table->check = Object::borrow(PyTuple_GET_ITEM(about.get(), 7));
  table->positions = int(PyLong_AsLong(PyTuple_GET_ITEM(about.get(), 8)));
  table->ignored = int(PyLong_AsLong(PyTuple_GET_ITEM(about.get(), 9)));
  if (!op.row_table) op.row_table = table;  // Python ran: another thread may have been faster, and uses its own
  return *op.row_table;
}

// Mark the axes that `dim` names; false if it cannot be read here.
bool mark_axes(PyObject* dim, int ndim, bool* reduced) {
  const auto mark = [&](PyObject* o) {
    if (!PyLong_Check(o) || PyBool_Check(o)) return false;
    const int64_t d = PyLong_AsLongLong(o);
    if (ndim == 0) return d == 0 || d == -1;
    if (d < -ndim || d >= ndim || reduced[d < 0 ? d + ndim : d]) return false;
    return reduced[d < 0 ? d + ndim : d] = true;
  };
  std::fill(reduced, reduced + ndim, false);
  if (dim == Py_None) {
    std::fill(reduced, reduced + ndim, true);
    return true;
  }
  if (!PyTuple_Check(dim)) return mark(dim);
  if (PyTuple_GET_SIZE(dim) == 0) std::fill(reduced, reduced + ndim, true);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dim); ++i)
    if (!mark(PyTuple_GET_ITEM(dim, i))) return false;
  return true;
}

// What an operand has of the rows: by its own sizes, seen from those of all.
RowView view_of(const Tensor& t, const Dims& sizes, const bool* reduced) {
  if (t.sizes == sizes) return RowView::Full;
  const int extra = sizes.size() - t.ndim();
  bool row = true, column = true;
  for (int d = extra; d < sizes.size(); ++d) {
    if (t.sizes[d - extra] == 1) continue;
    (reduced[d] ? row : column) = false;
  }
  return row ? RowView::Row : column ? RowView::Column : RowView::Full;
}

constexpr const char* kViews[] = {"full", "row", "column", "one"};

struct Call {
  const Operator& op;
  RowTable& table;
  PyObject* const* slots;
  SmallVector<Ref<Tensor>, 4> tensors;
  SmallVector<RowView, 4> views;
  SmallVector<double, 4> numbers;
  Dims sizes;
  bool reduced[kMaxDims];

  bool gather(bool ask) {
    const DType* wanted = nullptr;
    DType dtype{};
    if (table.dtype >= 0 && slots[table.dtype] != Py_None) {
      dtype = dtype_from(slots[table.dtype], op.name.c_str());
      wanted = &dtype;
    }
    bool first = true;
    for (int p : table.params) {
      PyObject* o = slots[p];
      if (!is_tensor(o)) continue;
      Ref<Tensor> t = ref_of(o);
      if (wanted && t->dtype != dtype) t = contiguous_copy(*t, dtype);
      if (first) sizes = t->sizes;
      else if (!(sizes == t->sizes)) sizes = broadcast(sizes, t->sizes, op.name.c_str());
      first = false;
      tensors.push_back(pinned(t));
    }
    if (first || sizes.size() > kMaxDims) return false;
    if (table.axes && ask) {
      Object dims = Object::own(call_python(table.axes.get(), slots, op.params.size()));
      if (dims.get() == Py_None || !PyTuple_Check(dims.get())) return false;
      std::fill(reduced, reduced + sizes.size(), false);
      return PyTuple_GET_SIZE(dims.get()) == 0 || mark_axes(dims.get(), sizes.size(), reduced);
    }
    return table.dim >= 0 && mark_axes(slots[table.dim], sizes.size(), reduced);
  }

  // One for each kind of arguments, and what the kernel is made from.
  bool describe(std::string& key, Object* arguments) {
    if (arguments) *arguments = Object::own(PyTuple_New(Py_ssize_t(table.params.size())));
    size_t tensor = 0;
    for (size_t i = 0; i < table.params.size(); ++i) {
      PyObject* o = slots[table.params[i]];
      if (table.params[i] == table.dim && !PyBool_Check(o)) o = Py_None;  // which axes they are is no part of a kernel
      const Kind kind = op.params[table.params[i]].kind;
      Object said;
      if (is_tensor(o)) {
        const Tensor& t = *tensors[tensor++];
        const RowView view = view_of(t, sizes, reduced);
        if (!arguments) views.push_back(view);
        key += char('a' + code(t.dtype));
        key += char('0' + int(view));
        if (arguments)
          said = Object::own(Py_BuildValue("[ss]", short_name(t.dtype), kViews[int(view)]));
      } else if ((kind == Kind::Float || kind == Kind::Scalar || kind == Kind::Int) && (PyFloat_Check(o) || PyLong_Check(o)) &&
                 !table.is_fixed(table.params[i])) {
        const double number = PyFloat_AsDouble(o);
        if (number == -1.0 && PyErr_Occurred()) throw PythonError();
        if (!arguments) numbers.push_back(number);
        key += '#';
        if (arguments) said = Object::own(PyUnicode_FromString("number"));
      } else {
        key += o == Py_None ? "-" : o == Py_True ? "+" : o == Py_False ? "!" : text(o) + ";";
        said = Object::borrow(o);
      }
      if (arguments) PyTuple_SET_ITEM(arguments->get(), Py_ssize_t(i), said.give());
    }
    return true;
  }
};

struct Outcome {
  DType dtype;
  Dims shape;
  bool shaped = false;  // else as the kernel makes it
};
using Outcomes = SmallVector<Outcome, 4>;

// From what thixo.runtime.rows says of a kernel; false: it has too many operands.
bool fill_row_variant(RowVariant& made, PyObject* found) {
  PyObject* operands = PyTuple_GET_ITEM(found, 0);
  RowKernel& k = made.kernel;
  k.count = int(PyTuple_GET_SIZE(operands));
  made.there = k.count <= kMaxRowOperands;
  for (int i = 0; made.there && i < k.count; ++i) {
    PyObject* operand = PyTuple_GET_ITEM(operands, i);
    k.view[i] = RowView(PyLong_AsLong(PyTuple_GET_ITEM(operand, 0)));
    k.written[i] = PyTuple_GET_ITEM(operand, 1) == Py_True;
    k.dtype[i] = DType(PyLong_AsLong(PyTuple_GET_ITEM(operand, 2)));
  }
  k.slots = int(PyLong_AsLong(PyTuple_GET_ITEM(found, 1)));
  k.width = int(PyLong_AsLong(PyTuple_GET_ITEM(found, 2)));
  k.ordered = PyTuple_GET_ITEM(found, 3) == Py_True;
  k.grain = PyLong_AsLongLong(PyTuple_GET_ITEM(found, 4));
  made.made = Object::borrow(PyTuple_GET_ITEM(found, 5));
  k.loose = PyTuple_GET_ITEM(found, 6) == Py_True;
  return made.there;
}

RowVariant& variant_of(Call& call, const std::string& key, const Outcomes& outcomes) {
  for (auto& v : call.table.variants)
    if (v->key == key) return *v;
  Object results = Object::own(PyTuple_New(Py_ssize_t(outcomes.size())));
  for (size_t i = 0; i < outcomes.size(); ++i)
    PyTuple_SET_ITEM(results.get(), Py_ssize_t(i), Object::own(PyUnicode_FromString(short_name(outcomes[i].dtype))).give());
  auto made = std::make_unique<RowVariant>();
  made->key = key;
  Object arguments;
  std::string again;
  call.describe(again, &arguments);
  Object found = Object::own(call_python_with(runtime("find").get(), call.op.declaration.get(), arguments.get(),
                                              results.get()));
  if (found.get() != Py_None) {
    fill_row_variant(*made, found.get());
  }
  call.table.variants.push_back(std::move(made));
  return *call.table.variants.back();
}

constexpr RowLayout kJoined{2};  // lanes along the row too, for the kernels that join blocks (runtime/rows.py)

RowLoop compiled(PyObject* kernel, RowLayout layout) {
  Object number = Object::own(PyLong_FromLong(long(layout)));
  Object found = Object::own(call_python_with(runtime("address").get(), kernel, number.get()));
  RowLoop loop;
  if (found.get() != Py_None) {
    void* address = PyLong_AsVoidPtr(found.get());
    if (!address && PyErr_Occurred()) throw PythonError();
    std::memcpy(&loop.address, &address, sizeof(address));
  }
  return loop;
}

RowLoop loop_of(RowVariant& v, RowLayout layout) {
  const int at = int(layout);
  if (!v.tried[at]) {
    v.loops[at] = compiled(v.made.get(), layout);
    v.tried[at] = true;
  }
  return v.loops[at];
}

// Null where the kernel cannot be cut.
const RowSplit* split_of(RowVariant& v, RowLayout layout) {
  const int at = int(layout);
  if (!v.split_tried[at]) {
    RowSplit split;  // kept when it is whole: Python runs meanwhile, and other threads with it
    Object halves = Object::own(call_python_with(runtime("halves").get(), v.made.get()));
    if (halves.get() == Py_None) {
      v.split_tried[at] = true;
      return nullptr;
    }
    PyObject* partial = PyTuple_GET_ITEM(halves.get(), 0);
    Object operands = Object::own(PyObject_GetAttrString(partial, "operands"));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(operands.get()); ++i) {
      PyObject* operand = PyTuple_GET_ITEM(operands.get(), i);
      Object written = Object::own(PyObject_GetAttrString(operand, "written"));
      if (written.get() != Py_True) continue;
      Object item = Object::own(PyObject_GetAttrString(operand, "bytes"));
      split.part_item[split.parts++] = int(PyLong_AsLong(item.get()));
    }
    PyObject* passed = PyTuple_GET_ITEM(halves.get(), 2);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(passed); ++i)
      split.passed[split.passed_count++] = int(PyLong_AsLong(PyTuple_GET_ITEM(passed, i)));
    const RowLoop first = compiled(partial, layout);  // `halves` has asked for the second one
    if (first) split.combine = compiled(PyTuple_GET_ITEM(halves.get(), 1), kJoined);
    if (split.combine) split.partial = first;
    if (!v.split_tried[at]) v.split[at] = split;
    v.split_tried[at] = true;
  }
  return v.split[at].partial ? &v.split[at] : nullptr;
}

// Whether a tensor holds positions of a row of this length alone, and the one to ignore; false also where it must be
// looked at otherwise.
bool holds_positions(const RowTable& table, PyObject* const* slots, int64_t length) {
  if (table.positions < 0 || !is_tensor(slots[table.positions])) return false;
  const Tensor& t = *tensor_of(slots[table.positions]);
  int64_t ignored = 0;
  if (table.ignored >= 0 && slots[table.ignored] != Py_None) {
    ignored = PyLong_AsLongLong(slots[table.ignored]);
    if (ignored == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
  }
  if (t.dtype != DType::I64 || !t.is_contiguous()) return false;
  const auto* numbers = reinterpret_cast<const int64_t*>(t.data());
  bool fits = length > 0 || t.numel == 0;
  for (int64_t i = 0; i < t.numel; ++i)
    fits &= static_cast<uint64_t>(numbers[i]) < static_cast<uint64_t>(length) || numbers[i] == ignored;
  return fits;
}

// Whether a rule reads this result again, beside the gradient, which mostly lies in the order of its shape: so should
// the result, then.
bool meets_gradient(const Operator& op, size_t result) {
  for (const Rule& rule : op.rules)
    for (const RuleArgument& argument : rule.arguments)
      if (argument.from == From::Output && size_t(argument.index) == result) return true;
  return false;
}

// Results of full size lie in the order of the operands (common_order.h), but for sums over rows: those want lanes along
// the rows, in whatever order the input is.
bool run(Call& call, Outcomes& outcomes, Results& out) {
  const Operator& op = call.op;
  std::string key;
  call.describe(key, nullptr);
  for (const Outcome& o : outcomes) key += char('a' + code(o.dtype));
  RowVariant& v = variant_of(call, key, outcomes);
  if (!v.there) return false;
  const RowKernel& kernel = v.kernel;
  const int ndim = call.sizes.size();
  int64_t numel = 1, length = 1;
  Dims kept = call.sizes, along = call.sizes;
  for (int d = 0; d < ndim; ++d) {
    numel *= call.sizes[d];
    (call.reduced[d] ? kept : along)[d] = 1;
    if (call.reduced[d]) length *= call.sizes[d];
  }
  if (kernel.ordered && length > INT32_MAX) return false;
  if (call.table.positions >= 0 && length == 0) return false;  // a row without places has no element to pick
  if (call.table.check && !holds_positions(call.table, call.slots, length))
    Object::own(call_python(call.table.check.get(), call.slots, op.params.size()));
  RowOperand operands[kMaxRowOperands];
  Dims strides[kMaxRowOperands];
  int at = 0;
  const auto place = [&](const Tensor& t) {
    strides[at] = expanded_strides(t, call.sizes);
    for (int d = 0; d < ndim; ++d) strides[at][d] *= item_size(t.dtype);
    operands[at] = {t.data(), strides[at].data()};
    ++at;
  };
  for (const Ref<Tensor>& t : call.tensors) place(*t);
  for (double& number : call.numbers) {
    strides[at] = Dims(ndim);
    operands[at] = {reinterpret_cast<char*>(&number), strides[at].data()};
    ++at;
  }
  CommonOrder order;
  for (const Ref<Tensor>& t : call.tensors) order.add(*t, call.sizes);
  for (int k = at; k < kernel.count; ++k) order.same = order.same && kernel.view[k] != RowView::Column;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& o = outcomes[i];
    const RowView view = kernel.view[at];
    const bool as_operands = view == RowView::Full && (!o.shaped || o.shape == call.sizes) && !meets_gradient(op, i);
    Ref<Tensor> made = as_operands ? order.make(call.sizes, o.dtype)
                       : view == RowView::Column && numel == 0
                           ? zeros(along, o.dtype)
                           : empty(view == RowView::Full ? call.sizes : view == RowView::Row ? kept : along, o.dtype);
    place(*made);
    out.push_back(made);
  }
  RowNest nest;
  if (plan_rows(nest, kernel, operands, ndim, call.sizes.data(), call.reduced)) {
    const RowSplit* split = wants_split(nest, kernel) ? split_of(v, nest.layout) : nullptr;
    RowLoop loop = split ? split->partial : loop_of(v, nest.layout);
    if (!loop) {
      out.clear();
      return false;
    }
    WithoutGil free(numel >= kLongWork);
    if (split) run_split(nest, kernel, *split);
    else run_rows(nest, kernel, loop);
  }
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].shaped || out[i]->sizes == outcomes[i].shape) continue;
    int64_t wanted = 1;
    for (int64_t s : outcomes[i].shape) wanted *= s;
    if (wanted != out[i]->numel)
      raise(ErrorKind::Internal, op.name + ": its rows make " + describe(*out[i]) + " where its rule says " +
                                     describe(outcomes[i].shape));
    out[i]->strides = contiguous_strides(outcomes[i].shape);
    out[i]->sizes = std::move(outcomes[i].shape);
  }
  return true;
}

// The result's type without asking Python; false where the declaration must be asked (and may refuse).
bool simple_type(const Call& call, DType& dtype) {
  const Tensor& t = *call.tensors[0];
  if (t.numel == 0 || (call.table.dtype >= 0 && call.slots[call.table.dtype] != Py_None)) return false;
  dtype = t.dtype;
  switch (call.table.type) {
    case RowType::Same: return true;
    case RowType::Float: return is_differentiable(dtype);
    case RowType::Sum:
      if (!is_differentiable(dtype)) dtype = DType::I64;
      return true;
    case RowType::Truth:
      if (dtype != DType::U8) dtype = DType::Bool;
      return true;
    case RowType::Index: dtype = DType::I64; return true;
    default: return false;
  }
}

// The arguments as far as a rule sees them; empty where there is one that is not read here.
std::string rule_key(const Operator& op, PyObject* const* slots) {
  std::string key;
  const auto add = [&](char kind, const void* data, size_t bytes) {
    key += kind;
    key.append(static_cast<const char*>(data), bytes);
  };
  const auto add_int = [&](PyObject* o) {
    if (!PyLong_CheckExact(o)) return false;
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(o, &overflow);
    add('i', &value, sizeof(value));
    return !overflow;
  };
  bool first = true;
  for (size_t i = 0; i < op.params.size(); ++i) {
    PyObject* o = slots[i];
    bool read = true;
    if (is_tensor(o)) {
      const Tensor& t = *tensor_of(o);
      // The rule for whole numbers may ask for the default dtype.
      read = !t.symbolic() && (!first || is_differentiable(t.dtype));
      first = false;
      const int about[2] = {code(t.dtype), t.ndim()};
      add('t', about, sizeof(about));
      key.append(reinterpret_cast<const char*>(t.sizes.data()), size_t(t.ndim()) * sizeof(int64_t));
    } else if (o == Py_None || o == Py_True || o == Py_False) {
      key += o == Py_None ? '-' : o == Py_True ? '+' : '!';
    } else if (PyFloat_CheckExact(o)) {
      const double value = PyFloat_AS_DOUBLE(o);
      add('f', &value, sizeof(value));
    } else if (PyTuple_CheckExact(o)) {
      const int64_t count = PyTuple_GET_SIZE(o);
      add('(', &count, sizeof(count));
      for (Py_ssize_t k = 0; read && k < count; ++k) read = add_int(PyTuple_GET_ITEM(o, k));
    } else {
      read = add_int(o);
    }
    if (!read) return {};
  }
  return key;
}

}  // namespace

Object remembered_rule(const Operator& op, PyObject* const* slots, std::string& key) {
  const RowTable& table = table_of(op);
  key = rule_key(op, slots);
  if (!key.empty())
    for (const RowAnswer& answer : table.answers)
      if (answer.key == key) return answer.specs;
  return {};
}

void remember_rule(const Operator& op, std::string key, PyObject* specs) {
  if (key.empty() || !PyTuple_Check(specs)) return;  // a Spec is one too; a list could be changed
  RowTable& table = table_of(op);
  RowAnswer& answer = table.answers[table.next_answer];
  table.next_answer = (table.next_answer + 1) % RowTable::kAnswers;
  RowAnswer old = std::exchange(answer, {std::move(key), Object::borrow(specs)});
}

// `specs`: what the operator's rule says of its results; null before it is asked. False where there is no kernel for
// these arguments.
bool evaluate_rows(const Operator& op, PyObject* const* slots, PyObject* specs, Results& out) {
  RowTable& table = table_of(op);
  if (!specs && table.type == RowType::Asked) return false;
  Call call{op, table, slots};
  Outcomes outcomes;
  if (!specs) {
    PyObject* dim = table.dim >= 0 ? slots[table.dim] : Py_None;
    if (PyTuple_Check(dim) && PyTuple_GET_SIZE(dim) == 0) return false;  // all axes or none: the rule knows
    DType dtype;
    if (!call.gather(false) || !simple_type(call, dtype)) return false;
    Outcome& o = outcomes.emplace_back();
    o.dtype = dtype;
    if (table.keepdim >= 0 && slots[table.keepdim] != Py_True) {
      for (int d = 0; d < call.sizes.size(); ++d)
        if (!call.reduced[d]) o.shape.push_back(call.sizes[d]);
      o.shaped = true;
    }
    return run(call, outcomes, out);
  }
  if (!call.gather(true)) return false;
  const bool several = !PyObject_TypeCheck(specs, reinterpret_cast<PyTypeObject*>(known.spec));
  for (Py_ssize_t i = 0; i < (several ? Py_SIZE(specs) : 1); ++i) {
    PyObject* spec = several ? PySequence_Fast_ITEMS(specs)[i] : specs;
    Outcome& o = outcomes.emplace_back();
    o.dtype = dtype_from(PyTuple_GET_ITEM(spec, 1), op.name.c_str());
    o.shape = dims_from(PyTuple_GET_ITEM(spec, 0), op.name.c_str());
    o.shaped = true;
  }
  return run(call, outcomes, out);
}

namespace {

bool load(RowsStep& step, RowVariant& v) {
  if (!step.nest) return true;
  if (const RowSplit* split = wants_split(*step.nest, step.kernel) ? split_of(v, step.nest->layout) : nullptr) step.split = *split;
  else step.loop = loop_of(v, step.nest->layout);
  if (!step.loop && !step.split.partial) return false;
  step.settle();
  return true;
}

}  // namespace

std::unique_ptr<Step> prepare_rows(const Operator& op, PyObject* const* slots, const std::vector<Tensor*>& results) {
  if (!op.rows) return nullptr;
  RowTable& table = table_of(op);
  if (table.check) return nullptr;  // it looks at values
  if (table.dtype >= 0 && slots[table.dtype] != Py_None)  // another dtype would have to be converted first
    for (int p : table.params)
      if (is_tensor(slots[p]) && tensor_of(slots[p])->dtype != dtype_from(slots[table.dtype], op.name.c_str())) return nullptr;
  PyObject* dim = table.dim >= 0 ? slots[table.dim] : Py_None;
  if (!table.axes && PyTuple_Check(dim) && PyTuple_GET_SIZE(dim) == 0) return nullptr;  // all axes or none: the rule knows
  Call call{op, table, slots};
  if (!call.gather(true)) return nullptr;
  std::string key;
  call.describe(key, nullptr);
  Outcomes outcomes;
  for (const Tensor* t : results) {
    outcomes.emplace_back().dtype = t->dtype;
    key += char('a' + code(t->dtype));
    if (t->numel == 0) return nullptr;
  }
  RowVariant& v = variant_of(call, key, outcomes);
  int64_t length = 1, numel = 1;
  for (int d = 0; d < call.sizes.size(); ++d) {
    numel *= call.sizes[d];
    if (call.reduced[d]) length *= call.sizes[d];
  }
  if (!v.there || numel == 0 || (v.kernel.ordered && length > INT32_MAX)) return nullptr;
  std::vector<KernelOperand> operands;
  const auto add = [&](const Tensor& t) -> KernelOperand& {
    KernelOperand& operand = operands.emplace_back();
    operand.place = place_of(t);
    operand.dtype = t.dtype;
    return operand;
  };
  for (const Ref<Tensor>& t : call.tensors) {
    KernelOperand& operand = add(*t);
    operand.strides = expanded_strides(*t, call.sizes);
    for (int64_t& stride : operand.strides) stride *= item_size(t->dtype);
  }
  for (double number : call.numbers) {
    KernelOperand& operand = operands.emplace_back();
    operand.dtype = DType::F64;
    operand.strides = Dims(call.sizes.size());
    std::memcpy(operand.element, &number, sizeof(number));
  }
  for (const Tensor* t : results) {  // as the kernel makes them: the axes that they have, one after the other
    const RowView view = v.kernel.view[operands.size()];
    KernelOperand& operand = add(*t);
    Dims own = call.sizes;
    for (int d = 0; d < own.size(); ++d)
      if (view != RowView::Full && call.reduced[d] == (view == RowView::Row)) own[d] = 1;
    const Dims steps = contiguous_strides(own);
    int64_t elements = 1;
    for (int d = 0; d < own.size(); ++d) {
      operand.strides.push_back(own[d] == 1 && call.sizes[d] != 1 ? 0 : steps[d] * item_size(t->dtype));
      elements *= own[d];
    }
    if (elements != t->numel) return nullptr;
  }
  auto step = std::make_unique<RowsStep>(v.kernel, call.sizes, call.reduced, operands);
  if (!load(*step, v)) return nullptr;
  return step;
}

std::unique_ptr<Step> prepare_row_kernel(PyObject* found, const Dims& sizes, const bool* reduced,
                                         const std::vector<KernelOperand>& operands) {
  RowVariant v;
  if (!fill_row_variant(v, found) || size_t(v.kernel.count) != operands.size()) return nullptr;
  auto step = std::make_unique<RowsStep>(v.kernel, sizes, reduced, operands);
  if (!load(*step, v)) return nullptr;
  return step;
}

}  // namespace thixo
