// The Python type Operator: made from a declaration, called by users.
#include <cstring>

#include "operator.h"

namespace thixo {

static int fill(Operator& op, PyObject* kw) {
  auto get = [&](const char* name) {
    PyObject* o = PyDict_GetItemString(kw, name);
    if (!o) raise(ErrorKind::Internal, std::string("Operator: ") + name + " is missing");
    return o;
  };
  auto string = [&](const char* name) { return std::string(PyUnicode_AsUTF8(get(name))); };
  op.name = string("name");
  op.full_name = string("full_name");
  bool capital = true;
  for (char c : op.name) {  // scaled_dot -> ScaledDotBackward, as people know it
    if (c == '_') { capital = true; continue; }
    op.grad_name += capital ? char(toupper(c)) : c;
    capital = false;
  }
  op.grad_name += "Backward";
  op.doc = Object::borrow(get("doc"));
  op.declaration = Object::borrow(get("declaration"));
  op.result_type = Object::borrow(get("result_type"));
  auto kind_of = [](const std::string& k) {
    return k == "pointwise" ? OpKind::Pointwise : k == "view" ? OpKind::View : k == "composite" ? OpKind::Composite
           : k == "inplace" ? OpKind::Inplace : OpKind::Generic;
  };
  op.kind = kind_of(string("kind"));
  Object declared = Object::own(PyObject_GetAttrString(op.declaration.get(), "kind"));
  op.base_kind = kind_of(PyUnicode_AsUTF8(declared.get()));
  static const char* kinds[] = {"tensor", "operand", "tensors", "int", "ints", "float", "scalar", "bool", "str",
                                "dtype", "device", "generator", "any"};
  PyObject* params = get("params");
  if (PyTuple_GET_SIZE(params) > kMaxParams)
    raise(ErrorKind::Internal, op.name + ": more than " + std::to_string(kMaxParams) + " parameters");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(params); ++i) {
    PyObject* t = PyTuple_GET_ITEM(params, i);
    const char *name, *kind;
    int optional, has_default, keyword_only, rest;
    PyObject* fallback;
    if (!PyArg_ParseTuple(t, "ssppOpp", &name, &kind, &optional, &has_default, &fallback, &keyword_only, &rest))
      throw PythonError();
    Param p;
    p.name = Object::own(PyUnicode_InternFromString(name));
    p.text = name;
    p.kind = Kind::Any;
    for (int k = 0; k < 13; ++k)
      if (!strcmp(kinds[k], kind)) p.kind = Kind(k);
    p.optional = optional;
    p.has_default = has_default;
    p.keyword_only = keyword_only;
    p.rest = rest;
    p.fallback = Object::borrow(fallback);
    if (p.has_default && p.kind == Kind::Ints && PyLong_Check(fallback))
      p.fallback = Object::own(PyTuple_Pack(1, fallback));
    if (p.text == "requires_grad" && p.kind == Kind::Bool) op.grad_flag = int(i);
    op.params.push_back(std::move(p));
  }
  op.outputs = int(PyLong_AsLong(get("outputs")));
  op.many = PyObject_IsTrue(get("many"));
  op.random = PyObject_IsTrue(get("random"));
  PyObject* rules = get("rules");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rules); ++i) {
    PyObject *function, *serves, *sources;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rules, i), "OOO", &function, &serves, &sources)) throw PythonError();
    Rule rule;
    rule.function = Object::borrow(function);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(serves); ++k)
      rule.serves.push_back(int(PyLong_AsLong(PyTuple_GET_ITEM(serves, k))));
    for (int p : rule.serves) rule.serves_mask |= uint64_t(1) << p;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(sources); ++k) {
      const char* from;
      int index;
      if (!PyArg_ParseTuple(PyTuple_GET_ITEM(sources, k), "si", &from, &index)) throw PythonError();
      From f = !strcmp(from, "grad") ? From::Grad : !strcmp(from, "input") ? From::Input
               : !strcmp(from, "output") ? From::Output : !strcmp(from, "type") ? From::Type : From::Needs;
      rule.arguments.push_back({f, index});
    }
    op.rules.push_back(std::move(rule));
  }
  if (op.rules.size() <= kPlannedRules)
    for (uint32_t active = 0; active < 1u << op.rules.size(); ++active) op.plans.push_back(op.kept_by(active));
  PyObject* differentiable = get("differentiable");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(differentiable); ++i)
    op.differentiable.push_back(PyObject_IsTrue(PyTuple_GET_ITEM(differentiable, i)) > 0);
  PyObject* dtypes = get("dtypes");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dtypes); ++i)
    op.dtypes |= 1u << PyLong_AsLong(PyTuple_GET_ITEM(dtypes, i));
  std::string result = string("result");
  op.result = result == "float" ? ResultKind::Float : result == "bool" ? ResultKind::Bool
              : result == "real" ? ResultKind::Real : ResultKind::Same;
  PyObject* promotes = get("promotes");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(promotes); ++i)
    op.promotes.push_back(int(PyLong_AsLong(PyTuple_GET_ITEM(promotes, i))));
  auto part = [&](const char* name) {
    PyObject* o = PyObject_GetAttrString(op.declaration.get(), name);
    if (!o) {
      PyErr_Clear();
      return Object();
    }
    return Object::own(o);
  };
  op.infer = part("infer");
  op.kernel = part("kernel");
  op.compose = part("compose");
  op.geometry = part("geometry");
  op.scalar = part("scalar");
  op.check = part("check");
  op.rows = part("rows");
  if (Object simpler = part("simpler_with")) {  // {parameter: numbers}
    PyObject *name, *numbers;
    for (Py_ssize_t at = 0; PyDict_Next(simpler.get(), &at, &name, &numbers);)
      for (Py_ssize_t i = 0; i < PyTuple_Size(numbers); ++i)
        for (size_t p = 0; p < op.params.size(); ++p)
          if (text(op.params[p].name.get()) == text(name))
            op.simpler_with.emplace_back(int(p), PyFloat_AsDouble(PyTuple_GET_ITEM(numbers, i)));
    if (PyErr_Occurred()) throw PythonError();
  }
  op.is_part = op.kind == OpKind::View && part("is_part").get() == Py_True;
  op.copies = op.kind == OpKind::Inplace && op.name == "copy_";
  op.overload = part("overload");
  std::string base = op.kind == OpKind::Inplace ? op.name.substr(0, op.name.size() - 1) : op.name;
  if (op.full_name == op.name || op.kind == OpKind::Inplace) {
    for (int i = 0; i < kDTypes; ++i)
      if (op.base_kind == OpKind::Pointwise) {
        op.plain[i].loop = find_loop(base.c_str(), DType(i));
        op.plain[i].basic = true;
        op.has_loops = op.has_loops || op.plain[i].loop;
      }
    op.native_rule = op.kind == OpKind::Inplace ? nullptr : find_native_rule(op.full_name);
  }
  if (op.kind != OpKind::Inplace || op.base_kind == OpKind::Generic) op.native = find_native(op.full_name);
  if (op.kind == OpKind::Inplace) op.native_write = find_native_write(op.full_name);
  return 0;
}

static PyObject* operator_new(PyTypeObject* type, PyObject*, PyObject* kw) {
  return guarded([&]() -> PyObject* {
    if (!kw) raise(ErrorKind::Argument, "Operator: made by the operator table only");
    Object self = Object::own(type->tp_alloc(type, 0));
    auto* o = reinterpret_cast<OperatorObject*>(self.get());
    o->vectorcall = call_operator_object;
    o->op = new Operator();
    o->op->self = self.get();
    fill(*o->op, kw);
    o->shown = Object::own(PyUnicode_FromString(o->op->name.c_str())).give();
    return self.give();
  });
}

// The same operator under another name, which its messages then use.
static PyObject* operator_renamed(PyObject* self, PyObject* name) {
  return guarded([&]() -> PyObject* {
    if (!PyUnicode_Check(name)) raise(ErrorKind::Argument, "renamed: a str is needed, got " + type_name(name));
    PyTypeObject* type = Py_TYPE(self);
    Object other = Object::own(type->tp_alloc(type, 0));
    auto* o = reinterpret_cast<OperatorObject*>(other.get());
    o->vectorcall = call_operator_object;
    o->op = reinterpret_cast<OperatorObject*>(self)->op;
    o->shown = Py_NewRef(name);
    o->owner = Py_NewRef(self);
    return other.give();
  });
}

// Operators live as long as the process: the table holds them, and nodes may outlive any cleanup.
static int operator_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<OperatorObject*>(self)->owner);
  auto* op = reinterpret_cast<OperatorObject*>(self)->op;
  if (!op || reinterpret_cast<OperatorObject*>(self)->owner) return 0;
  Py_VISIT(op->declaration.get());
  Py_VISIT(op->result_type.get());
  return 0;
}
static void operator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  auto* o = reinterpret_cast<OperatorObject*>(self);
  if (!o->owner) delete o->op;
  Py_XDECREF(o->owner);
  Py_XDECREF(o->shown);
  type->tp_free(self);
  Py_DECREF(type);
}
static PyObject* operator_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}
static PyObject* operator_repr(PyObject* self) {
  return PyUnicode_FromFormat("<operator %s>", operator_of(self).full_name.c_str());
}
static PyObject* operator_name(PyObject* self, void*) {
  return Py_NewRef(reinterpret_cast<OperatorObject*>(self)->shown);
}
static PyObject* operator_full_name(PyObject* self, void*) {
  return PyUnicode_FromString(operator_of(self).full_name.c_str());
}
static PyObject* operator_doc(PyObject* self, void*) { return Py_NewRef(operator_of(self).doc.get()); }
static PyObject* operator_declaration(PyObject* self, void*) { return Py_NewRef(operator_of(self).declaration.get()); }
static PyObject* operator_module(PyObject* self, void*) {
  std::string full = operator_of(self).full_name;
  size_t dot = full.find_last_of('.');
  return PyUnicode_FromString((dot == std::string::npos ? "thixo" : "thixo." + full.substr(0, dot)).c_str());
}
static PyObject* operator_reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    Object module = Object::own(PyImport_ImportModule("thixo.ops.base"));
    Object find = Object::own(PyObject_GetAttrString(module.get(), "find_operator"));
    std::string full = operator_of(self).full_name;
    if (operator_of(self).kind == OpKind::Inplace) full += "_";
    return Py_BuildValue("O(s)", find.get(), full.c_str());
  });
}

static PyGetSetDef operator_getset[] = {
    {"__name__", operator_name, nullptr, nullptr, nullptr},
    {"__qualname__", operator_name, nullptr, nullptr, nullptr},
    {"full_name", operator_full_name, nullptr, "Namespace and name.", nullptr},
    {"__doc__", operator_doc, nullptr, nullptr, nullptr},
    {"__module__", operator_module, nullptr, nullptr, nullptr},
    {"declaration", operator_declaration, nullptr, "The class in the operator table.", nullptr},
    {}};
static PyMethodDef operator_methods[] = {
    {"__reduce__", operator_reduce, METH_NOARGS, nullptr},
    {"renamed", operator_renamed, METH_O, "renamed(name): the same operator under another name."},
    {}};
static PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, vectorcall), READONLY, nullptr}, {}};
static PyType_Slot operator_slots[] = {{Py_tp_new, (void*)operator_new},
                                       {Py_tp_dealloc, (void*)operator_dealloc},
                                       {Py_tp_traverse, (void*)operator_traverse},
                                       {Py_tp_call, (void*)PyVectorcall_Call},
                                       {Py_tp_descr_get, (void*)operator_get},
                                       {Py_tp_repr, (void*)operator_repr},
                                       {Py_tp_getset, operator_getset},
                                       {Py_tp_methods, operator_methods},
                                       {Py_tp_members, operator_members},
                                       {}};
PyType_Spec operator_spec = {"thixo._core.Operator", sizeof(OperatorObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE,
                             operator_slots};

}  // namespace thixo
