// Lines of the user's program: where the innermost frame that is not the library's own stands.
#include <cstring>

#include "python.h"

// Each recorded operation asks for its line. Python's own way makes an object of the frame for that, which costs a
// quarter of such an operation; the interpreter's record of the frame has the same two facts. Its layout is known for
// this version of Python; others take Python's way.
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000 && __has_include(<internal/pycore_frame.h>)
#define THIXO_READS_FRAMES 1
#include <internal/pycore_frame.h>
#endif

namespace thixo {

namespace {

bool has_package_path(PyCodeObject* code) {
  Py_ssize_t n;
  const char* file = PyUnicode_AsUTF8AndSize(code->co_filename, &n);
  if (!file) {
    PyErr_Clear();
    return false;
  }
  return size_t(n) > known.package.size() && !known.package.empty() &&
         std::memcmp(file, known.package.data(), known.package.size()) == 0;
}

bool is_users(PyCodeObject* code) {
  static PyCodeObject* latest = nullptr;  // the user's code that was seen last; owned, so that its address stays its own
  if (code == latest) return true;
  if (has_package_path(code)) return false;
  Py_XSETREF(latest, reinterpret_cast<PyCodeObject*>(Py_NewRef(code)));
  return true;
}

}  // namespace

#if defined(THIXO_READS_FRAMES)

Source current_source() {
  for (_PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame; frame; frame = frame->previous) {
    PyCodeObject* code = frame->f_code;
    if (_PyFrame_IsIncomplete(frame) || !is_users(code)) continue;
    const int position = _PyInterpreterFrame_LASTI(frame) * int(sizeof(_Py_CODEUNIT));
    return Source::adopt(Py_NewRef(code), position);
  }
  return {};
}

#else

Source current_source() {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (is_users(code)) {
      const int position = PyFrame_GetLasti(frame);
      Py_DECREF(frame);
      return Source::adopt(code, position);
    }
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return {};
}

#endif

std::string source_text(const Source& s) {
  if (!s.handle) return "";
  auto* code = static_cast<PyCodeObject*>(s.handle);
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) {
    PyErr_Clear();
    return "";
  }
  std::string name(file);
  size_t slash = name.find_last_of("/\\");
  if (slash != std::string::npos) name = name.substr(slash + 1);
  return name + ":" + std::to_string(PyCode_Addr2Line(code, s.position));
}

}  // namespace thixo
