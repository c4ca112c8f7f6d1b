// One kernel over many groups of tensors at once: the step of an optimizer.
#include <algorithm>

#include "../core/kernels/nest.h"
#include "../core/thread_pool.h"
#include "profiling.h"

namespace thixo {

namespace {

constexpr int kMostTogether = 24;

struct Group {
  SmallVector<char*, 8> data;  // tensors, numbers, written tensors
  int64_t count;
};
struct Chunk {
  size_t group;
  int64_t begin, end;
};

// Chunks begin where lines of the cache do, or every vector would lie in two of them.
constexpr int64_t kChunkUnit = 64, kChunksOfThread = 8;

int64_t elements_of_chunk(int64_t total, int64_t grain) {
  const int64_t share = total / (get_num_threads() * kChunksOfThread);
  return (std::max(grain, share) + kChunkUnit - 1) / kChunkUnit * kChunkUnit;
}

}  // namespace

// (address, elements a thread takes at a time, places of written tensors, list of tuples of tensors, numbers)
PyObject* run_together(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    ProfiledCall profiled("optim.fused_step", Py_None);
    unsigned long long address;
    long long grain;
    PyObject *written, *lists, *numbers;
    if (!PyArg_ParseTuple(args, "KLO!O!O!", &address, &grain, &PyTuple_Type, &written, &PyList_Type, &lists,
                          &PyTuple_Type, &numbers))
      throw PythonError();
    std::vector<double> values;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); ++i) {
      values.push_back(PyFloat_AsDouble(PyTuple_GET_ITEM(numbers, i)));
      if (PyErr_Occurred()) throw PythonError();
    }
    std::vector<Group> groups;
    std::vector<Ref<Tensor>> held, changed;
    std::vector<Chunk> chunks;
    int64_t total = 0;
    int item = 0, tensors = 0;
    for (Py_ssize_t g = 0; g < PyList_GET_SIZE(lists); ++g) {
      PyObject* tuple = PyList_GET_ITEM(lists, g);
      if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) == 0 || (g && PyTuple_GET_SIZE(tuple) != tensors))
        raise(ErrorKind::Argument, "run_together: each group must be a tuple of as many tensors");
      tensors = int(PyTuple_GET_SIZE(tuple));
      Group group;
      Tensor* lead = nullptr;
      for (int i = 0; i < tensors; ++i) {
        PyObject* o = PyTuple_GET_ITEM(tuple, i);
        if (!is_tensor(o)) raise(ErrorKind::Argument, "run_together: a Tensor is needed, got " + type_name(o));
        Tensor* t = tensor_of(o);
        if (!lead) lead = t;
        if (t->symbolic() || !t->is_contiguous() || t->dtype != lead->dtype || !(t->sizes == lead->sizes) ||
            (!held.empty() && t->dtype != held[0]->dtype))
          raise(ErrorKind::Argument, "run_together: tensors of one dtype, of one shape in each group, contiguous, are needed");
        held.push_back(alias(*t));
        group.data.push_back(t->data());
      }
      group.count = lead->numel;
      for (double& v : values) group.data.push_back(reinterpret_cast<char*>(&v));
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(written); ++k) {
        long at = PyLong_AsLong(PyTuple_GET_ITEM(written, k));
        if (at < 0 || at >= tensors) raise(ErrorKind::Argument, "run_together: no tensor " + std::to_string(at));
        Ref<Tensor> t = ref_of(PyTuple_GET_ITEM(tuple, at));
        if (!t->storage->writable) raise(ErrorKind::Inplace, "run_together: " + describe(*t) + " is read-only memory");
        changed.push_back(t);
        group.data.push_back(t->data());
      }
      if (group.data.size() > kMostTogether) raise(ErrorKind::Internal, "run_together: too many operands");
      item = item_size(lead->dtype);
      total += group.count;
      groups.push_back(std::move(group));
    }
    const int64_t each = elements_of_chunk(total, grain);
    for (size_t g = 0; g < groups.size(); ++g)
      for (int64_t at = 0; at < groups[g].count; at += each) chunks.push_back({g, at, std::min(at + each, groups[g].count)});
    {
      WithoutGil free(total >= kLongWork);
      Loop loop = reinterpret_cast<Loop>(address);
      const int64_t how = unaided(true);
      // Small tensors share a task: about as many elements as a chunk of a large one.
      int64_t at_once = chunks.empty() ? 1 : std::max<int64_t>(1, int64_t(chunks.size()) * each / std::max<int64_t>(total, 1));
      parallel_for(int64_t(chunks.size()), at_once, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const Chunk& chunk = chunks[c];
          const Group& group = groups[chunk.group];
          char* pointers[kMostTogether];
          int64_t strides[kMostTogether];
          for (size_t i = 0; i < group.data.size(); ++i) {
            bool number = i >= size_t(tensors) && i < size_t(tensors) + values.size();
            strides[i] = number ? 0 : item;
            pointers[i] = group.data[i] + chunk.begin * strides[i];
          }
          loop(pointers, strides, (chunk.end - chunk.begin) | how);
        }
      });
    }
    Source here = current_source();
    for (auto& t : changed) bump_version(*t, here);
    Py_RETURN_NONE;
  });
}

}  // namespace thixo
