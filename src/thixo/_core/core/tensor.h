// Tensor: a typed, strided window on a reference-counted storage, with its place on the tape.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>
#include "array.h"
#include "counted.h"
#include "dims.h"
#include "dtype.h"
#include "error.h"
#include "node.h"
#include "source.h"

namespace thixo {

// Bytes, who gives them back, and how often they were written.
struct Storage : Counted {
  char* data = nullptr;
  size_t bytes = 0;
  uint32_t version = 0;      // grows with every in-place write by any tensor that shares these bytes
  bool writable = true;
  Source last_write;
  void (*free)(Storage*) = nullptr;
  void* context = nullptr;   // for `free`
  void* stream = nullptr;    // for devices that queue work; unused on the CPU
  void* event = nullptr;
  void* segment = nullptr;  // recorded operations that are going to read or write these bytes; see lazy.h
  bool awaits = false;      // ... to write them
  std::atomic<uint32_t> lent{0};  // how many outside of the core hold these bytes now: arrays, buffers, capsules

  ~Storage() override { if (free) free(this); }
  void destroy() override;
  static Ref<Storage> allocate(size_t bytes);
};

// While one is there, storages of the sizes that it wishes for are made at its places; see program.h.
struct Placing;
extern constinit thread_local Placing* placing;

struct Autograd;

void settle(Storage& storage);  // runs what is going to read or write it; see lazy.h

struct Tensor : Counted {
  Ref<Storage> storage;  // null for a symbolic tensor
  int64_t offset = 0;    // elements from the storage's start to element [0, 0, ...]
  int64_t numel = 1;
  DType dtype = DType::F32;
  bool inference = false;      // made in inference mode: never part of a tape
  bool hidden_writes = false;  // made by `.data`: its writes are not counted
  bool untracked_view = false;  // a view made where gradients were off
  bool lends = false;           // it stands for somebody outside of the core who holds the bytes
  uint32_t view_version = 0;   // storage version at which a view's grad_fn was made
  uint32_t output = 0;         // which result of grad_fn it is
  Dims sizes;
  Dims strides;           // in elements
  Ref<Tensor> base;       // what this is a view of; the root, never a view itself
  Ref<Node> grad_fn;      // the node that made it, if it was recorded
  Autograd* autograd = nullptr;
  Ref<External> value;    // a symbolic tensor's graph value
  void* wrapper = nullptr;  // the Python object, not owned; null when there is none

  ~Tensor() override;
  void destroy() override;
  static void* operator new(size_t bytes);
  static void operator delete(void* p);

  int ndim() const { return sizes.size(); }
  bool symbolic() const { return bool(value); }
  char* data() const {
    if (storage->segment) [[unlikely]] settle(*storage);
    return storage->data + offset * item_size(dtype);
  }
  // To read alone: what is recorded may still read them too.
  const char* read() const { return storage->awaits ? data() : storage->data + offset * item_size(dtype); }
  bool is_contiguous() const {
    int64_t expected = 1;
    for (int i = ndim() - 1; i >= 0; --i) {
      if (sizes[i] == 1) continue;
      if (strides[i] != expected) return numel == 0;
      expected *= sizes[i];
    }
    return true;
  }
  bool requires_grad() const;
  bool is_leaf() const;
  Autograd& grad_state() { return autograd ? *autograd : make_grad_state(); }  // made on first use
  Autograd& make_grad_state();
};

// What only leaves that require a gradient, and others whose gradient is kept, need.
struct Autograd {
  static void* operator new(size_t bytes);
  static void operator delete(void* p);
  ~Autograd();

  bool requires_grad = false;  // for leaves; others require one because they have a grad_fn
  bool retains_grad = false;
  Ref<Tensor> grad;
  Ref<Node> accumulator;  // leaf: the node that adds to grad
  std::vector<Ref<GradHook>> hooks;        // leaf: run on the gradient before it is added
  std::vector<Ref<GradHook>> after_hooks;  // leaf: run when grad has been added to
  Ref<GradHook> retainer;                  // non-leaf with retain_grad
};

inline bool Tensor::requires_grad() const { return grad_fn || (autograd && autograd->requires_grad); }
inline bool Tensor::is_leaf() const { return !grad_fn; }

// ---- making tensors
Dims contiguous_strides(const Dims& sizes);
int64_t checked_numel(const Dims& sizes, DType dtype, const char* op);
Ref<Tensor> empty(const Dims& sizes, DType dtype);
Ref<Tensor> empty_of(const Dims& sizes, DType dtype, int64_t numel);  // the same, where the sizes are known to be right
Ref<Tensor> empty_like(const Tensor& t);  // contiguous t: the same shape, strides and dtype
Ref<Tensor> empty_strided(const Dims& sizes, const Dims& strides, DType dtype);
Ref<Tensor> zeros(const Dims& sizes, DType dtype);
// A window on the same storage; `base` is set. Bounds are checked.
Ref<Tensor> make_view(Tensor& from, Dims sizes, Dims strides, int64_t offset);
inline Ref<Tensor> make_view(const Ref<Tensor>& from, Dims sizes, Dims strides, int64_t offset) {
  return make_view(*from, std::move(sizes), std::move(strides), offset);
}
// The same window without tape or view relation (shares the storage and so its version).
Ref<Tensor> alias(const Tensor& t);
Ref<Tensor> contiguous_copy(const Tensor& t, DType dtype);

// ---- shapes
Dims broadcast(const Dims& a, const Dims& b, const char* op);
Dims expanded_strides(const Tensor& t, const Dims& sizes);  // strides that broadcast t to sizes
bool view_strides(const Dims& sizes, const Dims& strides, const Dims& wanted, Dims& out);
void extent(const Tensor& t, intptr_t& low, intptr_t& high);  // where its bytes begin and end, of a tensor with elements
bool may_overlap(const Tensor& a, const Tensor& b);     // their bytes can intersect
bool same_elements(const Tensor& a, const Tensor& b);   // exactly the same window
bool has_internal_overlap(const Tensor& t);
std::string describe(const Tensor& t);                  // "f32[2,3]"
std::string describe(const Dims& sizes);                // "[2,3]"

// A kernel's view of a tensor. The byte strides live in `strides`, which must outlive the Array.
Array as_array(const Tensor& t, const Dims& sizes, const Dims& strides, Dims& byte_strides);
Array as_array(const Tensor& t, Dims& byte_strides);

}  // namespace thixo
