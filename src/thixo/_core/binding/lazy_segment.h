// What a thread has recorded and not run yet.
#pragma once
#include <thread>
#include <unordered_map>

#include "lazy.h"

namespace thixo {

// What tells one structure from another, byte by byte: everything but the data.
class Code {
 public:
  std::string bytes;
  template <class T>
  void add(const T& value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void add(const Dims& dims) { bytes.append(reinterpret_cast<const char*>(dims.data()), size_t(dims.size()) * sizeof(int64_t)); }
  void add_type(const Tensor& t) {
    bytes += 't';
    add(int16_t(code(t.dtype)));
    add(int16_t(t.ndim()));
    add(t.sizes);
  }
  // Of what is neither a tensor nor a list.
  void add_value(PyObject* o) {
    if (o == Py_None || o == Py_True || o == Py_False || o == Py_Ellipsis) {
      bytes += o == Py_None ? '-' : o == Py_True ? '+' : o == Py_False ? '!' : '.';
    } else if (PyLong_CheckExact(o)) {
      int overflow = 0;
      const int64_t value = PyLong_AsLongLongAndOverflow(o, &overflow);
      bytes += overflow ? 'I' : 'i';
      if (overflow) add_text(o);
      else add(value);
    } else if (PyFloat_CheckExact(o)) {
      bytes += 'f';
      add(PyFloat_AS_DOUBLE(o));
    } else if (PyComplex_CheckExact(o)) {
      bytes += 'c';
      add(PyComplex_AsCComplex(o));
    } else {
      bytes += 's';
      add_text(o);
    }
  }

 private:
  void add_text(PyObject* o) {
    std::string shown = type_name(o) + " " + text(o);
    add(int64_t(shown.size()));
    bytes += shown;
  }
};

struct Record {
  const Operator* op;
  Object owner;  // of the operator
  Object slots;  // the arguments, a tuple; tensors in it are windows of their own on the same bytes
  Results results;
  Source source;
  bool writes;
  SmallVector<double, 2> numbers;  // beside tensors, where a tensor could stand as well
};

struct Segment final : Counted {
  std::vector<Record> records;
  Code code;
  std::unordered_map<Storage*, int32_t> order;  // the storages in the order in which they came
  std::unordered_map<Storage*, uint32_t> held;  // the storages that it reads or writes, and how often it holds each
  bool closed = false;   // it takes no more
  bool running = false;
  std::thread::id runner;
  Object error;          // what went wrong, for those who look at what was not made
};

constexpr int8_t kMayFail = 2, kAtOnce = -2;  // of Operator::lazily

extern size_t most_records;
extern thread_local Ref<Segment> current_segment;
extern std::vector<Segment*> open_segments;  // of all threads; Python's lock guards it

void run_segment(Ref<Segment> segment);
void settle_storage(Storage& storage);

}  // namespace thixo
