#include "gemm_kernels.h"

#include <atomic>
#include <mutex>
#include <string>

#include "cpu.h"
#include "shipped.h"

namespace thixo {

namespace {

template <class Call>
bool find(Call& to, const std::string& name) {
  to = reinterpret_cast<Call>(shipped(name.c_str()));
  return to != nullptr;
}

// The tile of a dtype that is computed as it is, and packing from `source` for it.
bool find_tiles(TileKernels& tiles, const std::string& source, const std::string& compute) {
  auto* shape = static_cast<const int64_t*>(shipped(("gemm_" + compute + "_shape").c_str()));
  if (!shape) return false;
  tiles.rows = shape[0];
  tiles.columns = shape[1];
  tiles.width = shape[2];
  if (tiles.rows * tiles.columns * tiles.unit > kMostTileBytes) return false;
  return find(tiles.tile, "gemm_" + compute + "_tile") && find(tiles.pack_a_along, "gemm_" + source + "_pack_a_along") &&
         find(tiles.pack_a_across, "gemm_" + source + "_pack_a_across") &&
         find(tiles.pack_b_along, "gemm_" + source + "_pack_b_along") &&
         find(tiles.pack_b_across, "gemm_" + source + "_pack_b_across");
}

GemmKernels load(DType dtype) {
  GemmKernels made = portable_gemm_kernels(dtype);
  const std::string source = short_name(made.source), compute = short_name(made.compute);
  GemmKernels fast = made;
  fast.portable = false;
  if (!find_tiles(fast.tiles, source, compute) || !find(fast.finish, "gemm_" + source + "_finish") ||
      !find(fast.dots, "gemm_" + source + "_dots") || !find(fast.axpys, "gemm_" + source + "_axpys"))
    return made;
  fast.partial_rows_of_b = static_cast<const int64_t*>(shipped(("gemm_" + compute + "_shape").c_str()))[3] != 0;
  return fast;
}

struct Loaded {
  int generation;
  GemmKernels kernels[4];
};

std::mutex mutex;
std::atomic<const Loaded*> current{nullptr};  // replaced when the target changes, never freed

}  // namespace

const GemmKernels& gemm_kernels(DType dtype) {
  const Loaded* now = current.load(std::memory_order_acquire);
  if (!now || now->generation != shipped_generation()) {
    const std::lock_guard lock(mutex);
    now = current.load(std::memory_order_relaxed);
    if (!now || now->generation != shipped_generation()) {
      auto* fresh = new Loaded{shipped_generation(), {load(DType::F16), load(DType::BF16), load(DType::F32), load(DType::F64)}};
      current.store(fresh, std::memory_order_release);
      now = fresh;
    }
  }
  return now->kernels[code(dtype) - code(DType::F16)];
}

}  // namespace thixo
