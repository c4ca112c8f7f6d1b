#include "python.h"
namespace thixo {
int add_random(PyObject*) { return 0; }
int add_special(PyObject*) { return 0; }
}
