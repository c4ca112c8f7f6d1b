#include "lazy.h"

#include <utility>

#include "kernels.h"

namespace thixo {

constinit LazyMode lazy_mode;
constinit thread_local int8_t lazy_here = -1;
void (*settle_hook)(Storage&) = nullptr;
uint32_t (*segment_holds)(const Storage&) = nullptr;

void settle(Storage& storage) {
  if (settle_hook) settle_hook(storage);
}

Ref<Tensor> unmade(const Dims& sizes, const Dims& strides, DType dtype) {
  Ref<Tensor> t = make<Tensor>();
  t->numel = checked_numel(sizes, dtype, "");
  t->storage = make<Storage>();
  t->storage->bytes = size_t(t->numel) * item_size(dtype);
  t->dtype = dtype;
  t->sizes = sizes;
  t->strides = strides;
  return t;
}

static void take_bytes(Storage& to, Storage& from) {
  std::swap(to.data, from.data);
  std::swap(to.bytes, from.bytes);
  std::swap(to.free, from.free);
  std::swap(to.context, from.context);
  std::swap(to.stream, from.stream);
  std::swap(to.event, from.event);
}

void fulfil(Tensor& window, Ref<Tensor> made) {
  Storage& to = *window.storage;
  to.segment = nullptr;
  to.awaits = false;
  const bool fits = made->dtype == window.dtype && made->sizes == window.sizes && made->strides == window.strides && made->offset == 0;
  if (fits && is_unique(made.get()) && is_unique(made->storage.get()) && made->storage->writable && made->storage->lent == 0) {
    take_bytes(to, *made->storage);
    return;
  }
  Ref<Storage> fresh = Storage::allocate(to.bytes);
  take_bytes(to, *fresh);
  Dims a, b;
  copy(as_array(window, a), as_array(*made, b));
}

}  // namespace thixo
