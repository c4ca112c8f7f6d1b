#include "tensor.h"

#include <new>

#include "allocator.h"
#include "free_list.h"
#include "kernels.h"
#include "program.h"
#include "tape.h"

namespace thixo {

namespace {

// A tensor is made and dropped for every operation.
thread_local FreeList tensor_memory;
thread_local FreeList storage_memory;
thread_local FreeList autograd_memory;
thread_local EndOfLists<3> end_of_memory{{&tensor_memory, &storage_memory, &autograd_memory}};

// What a thread keeps it gives back at its end.
inline void give(FreeList& list, void* p) {
  end_of_memory.watch();
  list.give(p);
}

}  // namespace

void* Tensor::operator new(size_t bytes) { return tensor_memory.take(bytes); }
void Tensor::operator delete(void* p) { give(tensor_memory, p); }
void Tensor::destroy() {
  if (!autograd) {
    delete this;
    return;
  }
  // A gradient may have a gradient, and so on: past some depth the rest waits its turn (in a list through
  // `wrapper`, which nobody needs any more) instead of going deeper into the stack.
  thread_local int depth = 0;
  thread_local Tensor* waiting = nullptr;
  if (depth >= 32) {
    wrapper = waiting;
    waiting = this;
    return;
  }
  ++depth;
  delete this;
  while (depth == 1 && waiting) {
    Tensor* next = waiting;
    waiting = static_cast<Tensor*>(next->wrapper);
    delete next;
  }
  --depth;
}

Tensor::~Tensor() {
  if (lends) --storage->lent;
  delete autograd;
}

Autograd::~Autograd() {
  if (retainer) retainer->target = nullptr;
  if (accumulator) static_cast<AccumulateGrad*>(accumulator.get())->variable = nullptr;
}
void* Autograd::operator new(size_t bytes) { return autograd_memory.take(bytes); }
void Autograd::operator delete(void* p) { give(autograd_memory, p); }

void Storage::destroy() {
  this->~Storage();
  give(storage_memory, this);
}

Ref<Storage> Storage::allocate(size_t bytes) {
  void* memory = storage_memory.take(sizeof(Storage));
  auto* s = new (memory) Storage;
  s->references.store(1, std::memory_order_relaxed);  // nobody else knows it yet
  Ref<Storage> ref = Ref<Storage>::adopt(s);
  if (placing) [[unlikely]] {
    if (char* at = placing->take(bytes)) {
      s->data = at;
      s->bytes = bytes;
      return ref;
    }
  }
  s->data = static_cast<char*>(thixo::allocate(bytes));
  s->bytes = bytes;
  s->free = [](Storage* self) { thixo::release(self->data, self->bytes); };
  return ref;
}

Autograd& Tensor::make_grad_state() {
  autograd = new Autograd;  // not Autograd(), which would fill it with zeros first
  return *autograd;
}

static void set_contiguous(const Dims& sizes, Dims& strides) {
  strides.resize(sizes.size());
  int64_t step = 1;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides;
  set_contiguous(sizes, strides);
  return strides;
}

int64_t checked_numel(const Dims& sizes, DType dtype, const char* op) {
  // Without a name here, the operator that was called adds its own.
  auto lead = [op] { return *op ? std::string(op) + ": " : std::string(); };
  if (sizes.size() > kMaxDims)
    fail(ErrorKind::Shape, lead() + "a tensor has at most 64 dimensions, got " +
                               std::to_string(sizes.size()));
  int64_t n = 1, bytes = item_size(dtype);
  bool zero = false, overflow = false;
  for (int64_t size : sizes) {
    if (size < 0)
      fail(ErrorKind::Shape, lead() + "sizes must not be negative, got " + describe(sizes));
    if (size == 0) { zero = true; continue; }
    overflow |= __builtin_mul_overflow(n, size, &n) || __builtin_mul_overflow(bytes, size, &bytes);
  }
  if (overflow && !zero)
    fail(ErrorKind::Shape, lead() + "the size of " + short_name(dtype) + describe(sizes) +
                               " in bytes does not fit in 64 bits");
  return zero ? 0 : n;
}

Ref<Tensor> empty(const Dims& sizes, DType dtype) { return empty_of(sizes, dtype, checked_numel(sizes, dtype, "")); }

Ref<Tensor> empty_of(const Dims& sizes, DType dtype, int64_t numel) {
  Ref<Tensor> t = make<Tensor>();
  t->storage = Storage::allocate(size_t(numel) * item_size(dtype));
  t->numel = numel;
  t->dtype = dtype;
  t->sizes = sizes;
  set_contiguous(sizes, t->strides);
  return t;
}

Ref<Tensor> empty_like(const Tensor& from) {
  Ref<Tensor> t = make<Tensor>();
  t->storage = Storage::allocate(size_t(from.numel) * item_size(from.dtype));
  t->numel = from.numel;
  t->dtype = from.dtype;
  t->sizes = from.sizes;
  t->strides = from.strides;
  return t;
}

Ref<Tensor> empty_strided(const Dims& sizes, const Dims& strides, DType dtype) {
  int64_t n = checked_numel(sizes, dtype, "empty_strided");
  int64_t last = 0;
  for (int i = 0; i < sizes.size(); ++i) {
    int64_t reach = 0;
    if (strides[i] < 0)
      fail(ErrorKind::Argument, "empty_strided: strides must not be negative, got " + describe(strides));
    if (sizes[i] > 0 && (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
                         __builtin_add_overflow(last, reach, &last)))
      fail(ErrorKind::Shape, "empty_strided: sizes and strides reach beyond 64 bits");
  }
  int64_t bytes = 0;
  if (n && __builtin_mul_overflow(last + 1, int64_t(item_size(dtype)), &bytes))
    fail(ErrorKind::Shape, "empty_strided: sizes and strides reach beyond 64 bits");
  Ref<Tensor> t = make<Tensor>();
  t->storage = Storage::allocate(size_t(bytes));
  t->numel = n;
  t->dtype = dtype;
  t->sizes = sizes;
  t->strides = strides;
  return t;
}

Ref<Tensor> zeros(const Dims& sizes, DType dtype) {
  Ref<Tensor> t = empty(sizes, dtype);
  if (t->storage->bytes) std::memset(t->storage->data, 0, t->storage->bytes);
  return t;
}

Ref<Tensor> make_view(Tensor& from, Dims sizes, Dims strides, int64_t offset) {
  int64_t n = checked_numel(sizes, from.dtype, "");
  if (offset < 0)
    fail(ErrorKind::Index, "as_strided: the offset must not be negative, got " + std::to_string(offset));
  if (!from.symbolic() && n > 0) {
    const int64_t most = int64_t(from.storage->bytes) / item_size(from.dtype);  // elements
    __int128 low = offset, high = offset;
    for (int i = 0; i < sizes.size(); ++i) {
      __int128 reach = __int128(sizes[i] - 1) * strides[i];
      (reach < 0 ? low : high) += reach;
    }
    if (low < 0 || high >= most)
      fail(ErrorKind::Index, "as_strided: a window " + describe(sizes) + " with strides " +
                                 describe(strides) + " at " + std::to_string(offset) +
                                 " reaches outside of its storage of " +
                                 std::to_string(most) + " elements");
  }
  Ref<Tensor> t = make<Tensor>();
  t->storage = from.storage;
  t->offset = offset;
  t->numel = n;
  t->dtype = from.dtype;
  t->inference = from.inference;
  t->hidden_writes = from.hidden_writes;
  t->sizes = std::move(sizes);
  t->strides = std::move(strides);
  t->base = from.base ? from.base : Ref<Tensor>(&from);
  t->untracked_view = from.untracked_view || !modes.grad;
  t->view_version = from.storage ? from.storage->version : 0;
  return t;
}

Ref<Tensor> alias(const Tensor& from) {
  Ref<Tensor> t = make<Tensor>();
  t->storage = from.storage;
  t->offset = from.offset;
  t->numel = from.numel;
  t->dtype = from.dtype;
  t->inference = from.inference;
  t->sizes = from.sizes;
  t->strides = from.strides;
  t->value = from.value;
  return t;
}

Ref<Tensor> contiguous_copy(const Tensor& t, DType dtype) {
  Ref<Tensor> out = empty(t.sizes, dtype);
  Dims a, b;
  copy(as_array(*out, a), as_array(t, b));
  return out;
}

Dims broadcast(const Dims& a, const Dims& b, const char* op) {
  if (a == b) return a;
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  int shift = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    int64_t x = longer[i + shift], y = shorter[i];
    if (x == y) continue;
    if (x == 1) out[i + shift] = y;
    else if (y != 1)
      fail(ErrorKind::Shape, std::string(op) + ": shapes " + describe(a) + " and " + describe(b) +
                                 " do not broadcast: sizes " + std::to_string(a.size() >= b.size() ? x : y) +
                                 " and " + std::to_string(a.size() >= b.size() ? y : x) + " at axis " +
                                 std::to_string(i - shorter.size()) + " must be equal, or one of them 1");
  }
  return out;
}

Dims expanded_strides(const Tensor& t, const Dims& sizes) {
  Dims out(sizes.size());
  int shift = sizes.size() - t.ndim();
  for (int i = 0; i < t.ndim(); ++i)
    out[i + shift] = t.sizes[i] == 1 && sizes[i + shift] != 1 ? 0 : t.strides[i];
  return out;
}

// Strides with which `wanted` looks at the same elements in the same order; false if a copy is needed.
bool view_strides(const Dims& sizes, const Dims& strides, const Dims& wanted, Dims& out) {
  out.resize(wanted.size());
  int64_t numel = 1;
  for (int64_t s : sizes) numel *= s;
  if (numel == 0) {
    out = contiguous_strides(wanted);
    return true;
  }
  // Walk both from the back: each run of input dimensions that is laid out as one must be cut up by a
  // run of wanted dimensions with the same number of elements.
  int w = wanted.size() - 1;
  int64_t run = 1, base = sizes.size() ? strides[sizes.size() - 1] : 1;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    run *= sizes[d];
    bool joins = d > 0 && (sizes[d - 1] == 1 || strides[d - 1] == run * base);
    if (joins) continue;
    int64_t cut = 1;
    while (w >= 0 && (cut < run || wanted[w] == 1)) {
      out[w] = cut * base;
      cut *= wanted[w--];
    }
    if (cut != run) return false;
    if (d > 0) { run = 1; base = strides[d - 1]; }
  }
  for (; w >= 0; --w) out[w] = 1;
  return true;
}

void extent(const Tensor& t, intptr_t& low, intptr_t& high) {
  low = high = reinterpret_cast<intptr_t>(t.storage->data) + t.offset * item_size(t.dtype);
  for (int i = 0; i < t.ndim(); ++i) {
    intptr_t reach = (t.sizes[i] - 1) * t.strides[i] * item_size(t.dtype);
    (reach < 0 ? low : high) += reach;
  }
  high += item_size(t.dtype);
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (!a.storage || !b.storage || a.numel == 0 || b.numel == 0) return false;
  if (a.storage != b.storage && (!a.storage->data || !b.storage->data)) return false;  // bytes that are not there yet
  intptr_t al, ah, bl, bh;
  extent(a, al, ah);
  extent(b, bl, bh);
  return al < bh && bl < ah;
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.storage == b.storage && a.offset == b.offset && a.dtype == b.dtype && a.sizes == b.sizes &&
         a.strides == b.strides;
}

bool has_internal_overlap(const Tensor& t) {
  for (int i = 0; i < t.ndim(); ++i)
    if (t.sizes[i] > 1 && t.strides[i] == 0) return t.numel > 0;
  return false;
}

std::string describe(const Dims& sizes) {
  std::string s = "[";
  for (int i = 0; i < sizes.size(); ++i) s += (i ? "," : "") + std::to_string(sizes[i]);
  return s + "]";
}
std::string describe(const Tensor& t) { return short_name(t.dtype) + describe(t.sizes); }

Array as_array(const Tensor& t, const Dims& sizes, const Dims& strides, Dims& byte_strides) {
  byte_strides.resize(strides.size());
  for (int i = 0; i < strides.size(); ++i) byte_strides[i] = strides[i] * item_size(t.dtype);
  return {t.data(), t.dtype, sizes.size(), sizes.data(), byte_strides.data()};
}
Array as_array(const Tensor& t, Dims& byte_strides) {
  return as_array(t, t.sizes, t.strides, byte_strides);
}

}  // namespace thixo
