// Lazy execution: calls of operators are recorded in a segment of their thread and run together when somebody looks.
#pragma once
#include "../core/lazy.h"
#include "operator.h"

namespace thixo {

// Record a call: its results are tensors whose bytes come later. False: it is not recorded, and what it is given is
// there to be read.
bool record_call(const Operator& op, PyObject* const* slots, Results& out);
// The same for an in-place operator, which writes into its first argument.
bool record_write(const Operator& op, PyObject* const* slots);

// The results of a call without what they hold; false where only the data say how large they are.
bool generic_results(const Operator& op, PyObject* const* slots, Results& out);
Ref<Tensor> pointwise_result(const Operator& op, PyObject* const* slots);

// What an in-place operator does to its target, without the tape.
void write_now(const Operator& op, PyObject* const* slots, const Ref<Tensor>& self);
// Refuses a result of another shape or category than what it is written into.
void check_fits(const Operator& op, const Tensor& self, const Tensor& result);

int add_lazy(PyObject* module);

}  // namespace thixo
