// Kernels of one family, for each floating type: found when first asked for, and again when the target changes.
#pragma once
#include <atomic>
#include <mutex>

#include "dtype.h"
#include "shipped.h"

namespace thixo {

template <class Kernels>
class ShippedTable {
  struct Loaded {
    int generation;
    Kernels kernels[4];
  };
  std::mutex mutex_;
  std::atomic<const Loaded*> current_{nullptr};  // replaced, never freed: others may be reading it

 public:
  // `load` finds the kernels of a dtype.
  const Kernels& of(DType dtype, Kernels (*load)(DType)) {
    const Loaded* now = current_.load(std::memory_order_acquire);
    if (!now || now->generation != shipped_generation()) {
      const std::lock_guard lock(mutex_);
      now = current_.load(std::memory_order_relaxed);
      if (!now || now->generation != shipped_generation()) {
        now = new Loaded{shipped_generation(), {load(DType::F16), load(DType::BF16), load(DType::F32), load(DType::F64)}};
        current_.store(now, std::memory_order_release);
      }
    }
    return now->kernels[code(dtype) - code(DType::F16)];
  }
  // Find them again: something they were chosen by has changed. `change` is made meanwhile.
  template <class Change>
  void forget(Change&& change) {
    const std::lock_guard lock(mutex_);
    change();
    current_.store(nullptr, std::memory_order_release);
  }
};

}  // namespace thixo
