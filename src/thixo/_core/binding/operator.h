// The native side of a declaration in the operator table: binding of arguments, dispatch, recording.
#pragma once
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include "../core/kernels.h"
#include "python.h"

namespace thixo {

enum class Kind : uint8_t {
  Tensor, Operand, Tensors, Int, Ints, Float, Scalar, Bool, Str, DType, Device, Generator, Any
};
enum class OpKind : uint8_t { Generic, Pointwise, View, Composite, Inplace };
enum class ResultKind : uint8_t { Same, Float, Bool, Real };

struct Param {
  Object name;
  std::string text;
  Kind kind;
  bool optional, has_default, keyword_only, rest;
  Object fallback;
};

enum class From : uint8_t { Grad, Input, Output, Type, Needs };
struct RuleArgument { From from; int index; };
constexpr int kPlannedRules = 3;

struct Rule {
  Object function;
  std::vector<int> serves;  // parameters whose gradients it returns
  uint64_t serves_mask = 0;  // the same, a bit each
  std::vector<RuleArgument> arguments;
};

using Results = SmallVector<Ref<Tensor>, 2>;
inline Results one_result(Ref<Tensor> t) {
  Results results;
  results.push_back(std::move(t));
  return results;
}
struct Operator;
using NativeCall = bool (*)(const Operator& op, PyObject* const* slots, Results& out);  // false: not this case

// In place: written into the first argument itself; false: not this case, and nothing was written.
using NativeWrite = bool (*)(const Operator& op, PyObject* const* slots);

// Machine code of a pointwise operator.
struct Kernel {
  Loop loop = nullptr;
  int64_t grain = kLightGrain;
  uint64_t fixed = 0;     // parameters whose values it was made for, a bit each
  bool checks = false;    // it takes a status word before the result
  bool in_lines = false;  // see run_loop
  bool basic = false;     // the core's own loop: there from the start, for tensors that are not large
};
// ... for one combination of arguments: what `key` says (see pointwise.cpp), and these values.
struct Variant {
  uint64_t key = 0;
  std::vector<std::pair<int, Object>> fixed;
  Kernel kernel;  // without a loop: there is none for this
};

// The gradient of the first parameter, an input of this type, from the attributes that the rules ask for; null: not this case.
using NativeRule = Ref<Tensor> (*)(const Operator& op, PyObject* const* attributes, const Ref<Tensor>& gradient,
                                   const ResultType& input);

struct Operator {
  std::string name, full_name, grad_name;
  Object doc, declaration, result_type;
  OpKind kind;
  OpKind base_kind;  // of the functional form, for in-place operators
  std::vector<Param> params;
  int outputs = 1;
  bool many = false, random = false;
  std::vector<Rule> rules;
  // What must be kept, by the set of rules that are needed (a bit each); filled up to kPlannedRules rules.
  std::vector<std::vector<RuleArgument>> plans;
  std::vector<RuleArgument> kept_by(uint32_t active) const;
  std::vector<char> differentiable;
  uint32_t dtypes = 0;
  ResultKind result = ResultKind::Same;
  std::vector<int> promotes;
  Object infer, kernel, compose, geometry, scalar, check, overload, rows;
  mutable std::shared_ptr<struct RowTable> row_table;  // row kernels found so far; see row_variants.h
  int grad_flag = -1;  // parameter requires_grad, for operators that make leaves
  // First level: device and layout (one of them so far: the CPU, strided); second level: dtype.
  mutable std::array<Kernel, kDTypes> plain{};  // pointwise, every argument but the operands at its default
  mutable std::deque<Variant> variants;         // found so far; they stay where they are
  mutable std::shared_ptr<struct FusedRules> fused_rules;  // see fused_rules.cpp
  bool has_loops = false;                       // some of `plain` are there from the start
  // Numbers that become part of the kernel, by parameter: it is simpler with them.
  std::vector<std::pair<int, double>> simpler_with;
  bool copies = false;
  bool is_part = false;  // a view of distinct elements of its input, by numbers alone
  NativeCall native = nullptr;
  NativeRule native_rule = nullptr;
  NativeWrite native_write = nullptr;  // in-place operators
  mutable int8_t lazily = 0;  // whether calls may be recorded: 1, 2 if the data may make them fail, -1; 0: nobody has asked
  PyObject* self = nullptr;  // the Python object, not owned
};

struct OperatorObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Operator* op;
  PyObject* shown;  // the name users write, a str
  PyObject* owner;  // of `op`, where this is only another name of it
};
inline const Operator& operator_of(PyObject* o) { return *reinterpret_cast<OperatorObject*>(o)->op; }

constexpr int kMaxParams = 32;
// Arguments in signature order, owned.
struct Slots {
  PyObject* items[kMaxParams];  // the first `count`; null where nothing was given yet
  int count;
  Object out;
  explicit Slots(size_t params) : count(int(params)) { std::fill_n(items, count, nullptr); }
  Slots(const Slots&) = delete;
  ~Slots() { for (int i = 0; i < count; ++i) Py_XDECREF(items[i]); }
};

void bind(const Operator& op, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Slots& slots);
PyObject* dispatch(const Operator& op, PyObject* const* slots);  // in signature order, borrowed
void lead_error(PyObject* self);  // the exception that is set begins with the operator's name
PyObject* call_operator_object(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);
PyObject* call_binary(PyObject* op, PyObject* a, PyObject* b);

// Call an operator of the table from native code.
PyObject* operator_named(const char* full_name);  // borrowed, cached
PyObject* operator_shown_as(const char* full_name, const char* shown);  // the same, under the name its messages say
Ref<Tensor> call_operator(const char* full_name, std::initializer_list<PyObject*> args);

// ---- evaluation without the tape
Results evaluate(const Operator& op, OpKind kind, PyObject* const* slots);
Results evaluate_pointwise(const Operator& op, PyObject* const* slots, Tensor* into);
Results evaluate_generic(const Operator& op, PyObject* const* slots);
// What the rule of an operator of rows said of such arguments lately; null if it was not asked, or cannot be remembered (then
// the key is empty).
Object remembered_rule(const Operator& op, PyObject* const* slots, std::string& key);
void remember_rule(const Operator& op, std::string key, PyObject* specs);
bool evaluate_rows(const Operator& op, PyObject* const* slots, PyObject* specs, Results& out);
Results evaluate_view(const Operator& op, PyObject* const* slots);
void check_arguments(const Operator& op, PyObject* const* slots);
void check_dtype(const Operator& op, DType t);
bool meets_symbols(const Operator& op, PyObject* const* slots);
// The same in one walk: whether the call is traced, and whether it goes on the tape.
struct Met {
  bool symbols, tape;
};
Met survey(const Operator& op, PyObject* const* slots);
extern constinit thread_local bool tracing;  // every operator is traced, whatever it meets

// ---- the tape
bool wants_tape(const Operator& op, PyObject* const* slots);
Ref<Node> begin_record(const Operator& op, PyObject* const* slots, const Tensor* overwritten);
void finish_record(Node& node, const Operator& op, const Results& results);
void visit_node(Node* node, visitproc visit, void* arg, int& status);
void visit_function_node(Node* node, visitproc visit, void* arg, int& status);
Object saved_of(Node* node);  // for people who walk the graph

// What gradient rules get: a tensor, or a value. Borrowed.
struct RuleInput {
  RuleArgument what;
  Tensor* tensor;
  PyObject* object;
};
using RuleInputs = SmallVector<RuleInput, 4>;
// The gradients of a pointwise operator's parameters (`needed`: a bit each) by one kernel; false: run the rules themselves.
// `shapes`: of the parameters, where known; a gradient of another shape is yet to be summed to it.
bool apply_fused(const Operator& op, uint32_t active, uint64_t needed, const RuleInputs& inputs, const Dims* const* shapes,
                 SmallVector<std::pair<int, Ref<Tensor>>, 2>& out);

PyObject* run_together(PyObject*, PyObject* args);

NativeCall find_native(const std::string& name);
NativeRule find_native_rule(const std::string& name);
NativeCall find_native_creation(const std::string& name);
NativeCall find_native_product(const std::string& name);
NativeCall find_native_move(const std::string& name);
NativeWrite find_native_write(const std::string& name);
NativeCall find_native_window(const std::string& name);
NativeCall find_native_recurrent(const std::string& name);
NativeCall find_native_attention(const std::string& name);
void install_tape_operators();

}  // namespace thixo
