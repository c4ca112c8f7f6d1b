// Lazy execution, the core's part: operations that are recorded now and run when somebody looks at what they make.
// A storage that such operations are going to read or write points to their segment; whoever asks for its bytes
// (Tensor::data) runs the segment first. The binding records and runs.
#pragma once
#include "tensor.h"

namespace thixo {

struct LazyMode {
  bool used = false;        // it was on at some time: the only thing that operations look at where it never was
  bool everywhere = false;  // in threads that have not chosen
};
extern constinit LazyMode lazy_mode;
extern constinit thread_local int8_t lazy_here;  // this thread's choice: 0, 1, or -1 where it has made none

inline bool is_lazy() { return lazy_mode.used && (lazy_here < 0 ? lazy_mode.everywhere : lazy_here != 0); }

extern void (*settle_hook)(Storage&);
extern uint32_t (*segment_holds)(const Storage&);  // how often the segment of a storage holds it

// Whether one tensor has these bytes for itself; what is recorded does not count, it comes before.
inline bool is_only_holder(const Storage& storage) {
  const uint32_t recorded = storage.segment && segment_holds ? segment_holds(storage) : 0;
  return storage.references.load(std::memory_order_acquire) == 1 + recorded;
}

// A tensor whose bytes come later: memory is taken when they are known.
Ref<Tensor> unmade(const Dims& sizes, const Dims& strides, DType dtype);
// The bytes of `made` become those of `window`, the whole of a storage that has none yet.
void fulfil(Tensor& window, Ref<Tensor> made);

}  // namespace thixo
