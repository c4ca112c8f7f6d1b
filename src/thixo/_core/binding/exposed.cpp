#include "python.h"
namespace thixo {
int add_special(PyObject*) { return 0; }
}
