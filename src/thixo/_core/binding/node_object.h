// Tape nodes as Python sees them: grad_fn, next_functions, hooks.
#pragma once
#include "python.h"

namespace thixo {

PyObject* wrap_node(const Ref<Node>& node);
// For the garbage collector: Python objects that only this list, or only this node (and the nodes that only it
// keeps alive), hold.
int visit_hooks(const std::vector<Ref<GradHook>>& hooks, visitproc visit, void* arg);
int visit_tape(Node* node, visitproc visit, void* arg);
extern PyTypeObject* node_type;

}  // namespace thixo
