// Kernels of rows are found through thixo.runtime.rows, once for each kind of arguments.
#include "row_variants.h"

#include <cstring>

namespace thixo {

namespace {

Object runtime(const char* name) {
  static PyObject* module = nullptr;
  if (!module) module = Object::own(PyImport_ImportModule("thixo.runtime.rows")).give();
  return Object::own(PyObject_GetAttrString(module, name));
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

}  // namespace

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

const char* name_of(RowView view) {
  constexpr const char* kViews[] = {"full", "row", "column", "one"};
  return kViews[int(view)];
}

namespace {

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

}  // namespace

RowTable& row_table(const Operator& op) {
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

bool RowCall::gather(bool ask) {
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

void RowCall::describe(std::string& key, Object* arguments) {
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
        said = Object::own(Py_BuildValue("[ss]", short_name(t.dtype), name_of(view)));
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
}

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

RowVariant& row_variant(RowCall& call, const std::string& key, const RowOutcomes& outcomes) {
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

RowLoop row_loop(RowVariant& v, RowLayout layout) {
  const int at = int(layout);
  if (!v.tried[at]) {
    v.loops[at] = compiled(v.made.get(), layout);
    v.tried[at] = true;
  }
  return v.loops[at];
}

const RowSplit* row_split(RowVariant& v, RowLayout layout) {
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

}  // namespace thixo
