// Tape nodes as Python sees them: grad_fn, next_functions, hooks.
#pragma once
#include "python.h"

namespace thixo {

PyObject* wrap_node(const Ref<Node>& node);
int visit_hook(GradHook* hook, visitproc visit, void* arg);
extern PyTypeObject* node_type;

}  // namespace thixo
