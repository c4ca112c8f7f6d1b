#include "gemm_kernels.h"

#include <atomic>
#include <string>

#include "cpu.h"
#include "shipped_table.h"

namespace thixo {

namespace {

template <class Call>
bool find(Call& to, const std::string& name) {
  to = reinterpret_cast<Call>(shipped(name.c_str()));
  return to != nullptr;
}

bool find_packs(TileKernels& tiles, const std::string& name) {
  return find(tiles.pack_a_along, name + "_pack_a_along") && find(tiles.pack_a_across, name + "_pack_a_across") &&
         find(tiles.pack_b_along, name + "_pack_b_along") && find(tiles.pack_b_across, name + "_pack_b_across");
}

// Where the nearest cache cannot hold a panel of A beside one of B, both come from the second in any case. Then long
// panels are better: C is read and written less often. So they are on AMD's processors, whose second cache fills a register in a cycle.
constexpr int64_t kLongBlock = 768;

bool panels_stay_near(const TileKernels& tiles, int64_t item) {
  const int64_t near = nearest_cache_bytes();
  return !cpu_features().amd && (near == 0 || (tiles.width + tiles.columns) * tiles.block * item <= near);
}

// The tile of a dtype that is computed as it is, and packing from `source` for it.
bool find_tiles(TileKernels& tiles, const std::string& source, const std::string& compute) {
  auto* shape = static_cast<const int64_t*>(shipped(("gemm_" + compute + "_shape").c_str()));
  if (!shape) return false;
  tiles.rows = shape[0];
  tiles.columns = shape[1];
  tiles.width = shape[2];
  tiles.lanes = shape[4];
  if (tiles.rows * tiles.columns * tiles.unit > kMostTileBytes) return false;
  if (!panels_stay_near(tiles, tiles.unit)) tiles.block = kLongBlock;
  if (source == compute) find(tiles.copying, "gemm_" + compute + "_tile_copying");
  return find_packs(tiles, "gemm_" + source) && find(tiles.tile, "gemm_" + compute + "_tile");
}

// Missing if the library has none.
TileKernels find_wide(const TileKernels& tiles, const std::string& dtype) {
  auto* shape = static_cast<const int64_t*>(shipped(("gemm_" + dtype + "_shape").c_str()));
  TileKernels wide = tiles;
  wide.rows = shape[5];
  wide.columns = shape[6];
  wide.copying = nullptr;
  const std::string name = "gemm_" + dtype;
  if (wide.rows == 0 || wide.rows * wide.columns * wide.unit > kMostTileBytes || !find(wide.tile, name + "_tile_wide") ||
      !find(wide.pack_b_along, name + "_pack_wide_along") || !find(wide.pack_b_across, name + "_pack_wide_across"))
    return {};
  return wide;
}

// ---- bfloat16 with instructions of its own: see codegen/llvm/contract_bf16.py for the panels

void pairs_any(const void* source, int64_t stride, int64_t k_stride, void* panel, int64_t k, int64_t count, int64_t width) {
  const uint16_t* from = static_cast<const uint16_t*>(source);
  uint16_t* to = static_cast<uint16_t*>(panel);
  for (int64_t p = 0; p < k + k % 2; ++p)
    for (int64_t i = 0; i < count; ++i)
      to[(p / 2 * width + i) * 2 + p % 2] = p < k ? from[i * stride + p * k_stride] : uint16_t(0);
}

void tiles_a_any(const void* source, int64_t stride, int64_t k_stride, void* panel, int64_t k, int64_t count, int64_t) {
  const uint16_t* from = static_cast<const uint16_t*>(source);
  uint16_t* to = static_cast<uint16_t*>(panel);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t p = 0; p < (k + 31) / 32 * 32; ++p)
      to[(p / 32 * 32 + i) * 32 + p % 32] = p < k ? from[i * stride + p * k_stride] : uint16_t(0);
}

void tiles_b_any(const void* source, int64_t stride, int64_t k_stride, void* panel, int64_t k, int64_t count, int64_t) {
  const uint16_t* from = static_cast<const uint16_t*>(source);
  uint16_t* to = static_cast<uint16_t*>(panel);
  for (int64_t p = 0; p < (k + 31) / 32 * 32; ++p)
    for (int64_t i = 0; i < count; ++i)
      to[p / 32 * 1024 + i / 16 * 512 + (p % 32 / 2 * 16 + i % 16) * 2 + p % 2] =
          p < k ? from[i * stride + p * k_stride] : uint16_t(0);
}

std::atomic<BFloatWay> chosen_way{BFloatWay::Chosen};

void use_bfloat_instructions(GemmKernels& g) {
  const BFloatWay way = chosen_way.load();
  const bool any = way == BFloatWay::Chosen;
  TileKernels tiles;
  if (cpu_features().avx512_bf16) find(tiles.finish_sums, "gemm_bf16_finish_sums");
  if ((any || way == BFloatWay::Tiles) && cpu_features().amx_bf16) {
    tiles.whole = true;
    tiles.rows = tiles.columns = tiles.width = tiles.depth = 32;
    tiles.lanes = 16;
    tiles.unit = 64;
    tiles.block = 2048;  // so fast that sums kept between passes would cost more than panels from a farther cache
    tiles.pack_a_any = tiles_a_any;
    tiles.pack_b_any = tiles_b_any;
    if (find_packs(tiles, "gemm_bf16_amx") && find(tiles.tile, "gemm_bf16_amx_tile") && find(tiles.begin, "gemm_bf16_amx_begin") &&
        find(tiles.end, "gemm_bf16_amx_end") && grant_tiles()) {
      g.tiles = tiles;
      return;
    }
    tiles.begin = tiles.end = nullptr;
    tiles.whole = false;
  }
  auto* shape = static_cast<const int64_t*>(shipped("gemm_bf16_dot_shape"));
  if ((any || way == BFloatWay::Pairs) && cpu_features().avx512_bf16 && shape) {
    tiles.rows = shape[0];
    tiles.columns = shape[1];
    tiles.width = shape[2];
    tiles.lanes = tiles.columns / 2;
    tiles.depth = 2;
    tiles.reads_rows = true;
    tiles.unit = 4;
    tiles.block = 512;
    if (!panels_stay_near(tiles, tiles.unit / tiles.depth)) tiles.block = kLongBlock * tiles.depth;
    tiles.pack_a_any = tiles.pack_b_any = pairs_any;
    if (find_packs(tiles, "gemm_bf16_dot") && find(tiles.tile, "gemm_bf16_dot_tile")) g.tiles = tiles;
  }
}

GemmKernels load(DType dtype) {
  GemmKernels made = portable_gemm_kernels(dtype);
  made.small = made.tiles;
  const std::string source = short_name(made.source), compute = short_name(made.compute);
  GemmKernels fast = made;
  fast.portable = false;
  if (!find_tiles(fast.tiles, source, compute) || !find(fast.finish, "gemm_" + source + "_finish") ||
      !find(fast.dots, "gemm_" + source + "_dots") || !find(fast.axpys, "gemm_" + source + "_axpys"))
    return made;
  find(fast.dots_far, "gemm_" + source + "_dots_far");
  find(fast.finish_turned, "gemm_" + source + "_finish_turned");
  fast.partial_rows_of_b = static_cast<const int64_t*>(shipped(("gemm_" + compute + "_shape").c_str()))[3] != 0;
  if (source == compute) fast.wide = find_wide(fast.tiles, compute);
  fast.small = fast.tiles;
  if (dtype == DType::BF16) use_bfloat_instructions(fast);
  return fast;
}

ShippedTable<GemmKernels> table;

}  // namespace

void set_bfloat_way(BFloatWay way) {
  table.forget([&] { chosen_way.store(way); });
}

const GemmKernels& gemm_kernels(DType dtype) { return table.of(dtype, load); }

}  // namespace thixo
