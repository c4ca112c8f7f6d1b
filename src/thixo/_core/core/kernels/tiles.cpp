#include "tiles.h"

#include <algorithm>
#include <cstdlib>

#include "../thread_pool.h"
#include "turn.h"
#include "types.h"

namespace thixo {
namespace {

constexpr int64_t kMoveTile = 32;  // rows and columns of a tile of a move
constexpr int64_t kTileRow = 128;  // elements of a tile that a loop takes at a time
constexpr int64_t kTileRows = 16;  // what is turned, its buffer and the rows that come are in the nearest cache together
// AMD's processors read four lines of what is turned at once, and are not asked to fetch anything: they see those come. For elements
// that are turned one by one it is not so.
constexpr int64_t kAloneRow = 64, kAloneRows = 64;
constexpr int64_t kBufferBytes = kTileRow * kTileRows * 16;
static_assert(kAloneRow * kAloneRows * 4 <= kBufferBytes);
constexpr int64_t kStrip = 8;        // tiles, at most
constexpr int64_t kStripsEach = 4;   // for each thread, if there are as many rows of tiles
constexpr int64_t kLine = 64;  // bytes
constexpr int kTurned = 3;     // operands that can be turned at once; more go the slow way
constexpr int64_t kRowsAhead = 2;

struct Bits128 {
  uint64_t low, high;
};

// body(first) for blocks of four that cover `count`, which is at least four: the last one overlaps the one before it, since what
// is left would take longer one by one.
template <class Body>
inline void for_fours(int64_t count, Body&& body) {
  int64_t first = 0;
  for (; first + 4 <= count; first += 4) body(first);
  if (first < count) body(count - 4);
}

// buffer[y][x] = source[x][y]: reads along the source's lines and writes into memory that is near. `pitch`: elements from one
// row of the buffer to the next.
template <class Bits>
void turn_tile(char* buffer, int64_t pitch, const char* source, int64_t dx, int64_t dy, int64_t columns, int64_t rows) {
  if constexpr (sizeof(Bits) == 4) {
    if (dy == 4 && columns >= 4 && rows >= 4) {
      for_fours(columns, [&](int64_t x) {
        for_fours(rows, [&](int64_t y) { turn_four(buffer + (y * pitch + x) * 4, pitch * 4, source + x * dx + y * 4, dx); });
      });
      return;
    }
  }
  for (int64_t x = 0; x < columns; ++x) {
    const char* from = source + x * dx;
    char* to = buffer + x * static_cast<int64_t>(sizeof(Bits));
    for (int64_t y = 0; y < rows; ++y) {
      store(to, load<Bits>(from));
      from += dy;
      to += pitch * static_cast<int64_t>(sizeof(Bits));
    }
  }
}

void turn(int item, char* buffer, int64_t pitch, const char* source, int64_t dx, int64_t dy, int64_t columns, int64_t rows) {
  switch (item) {
    case 1: return turn_tile<uint8_t>(buffer, pitch, source, dx, dy, columns, rows);
    case 2: return turn_tile<uint16_t>(buffer, pitch, source, dx, dy, columns, rows);
    case 4: return turn_tile<uint32_t>(buffer, pitch, source, dx, dy, columns, rows);
    case 8: return turn_tile<uint64_t>(buffer, pitch, source, dx, dy, columns, rows);
    default: return turn_tile<Bits128>(buffer, pitch, source, dx, dy, columns, rows);
  }
}

// Lines that lie far apart, which no prefetch of hardware foresees: asked for some time before they are needed. Those
// that the bytes only touch, too: a store over the border of two lines, one of them far, holds up all that follow.
// GCC takes a function that only fetches for one without effect and drops its calls, unless it is always part of its caller.
#define THIXO_FETCHES [[gnu::always_inline]] inline
template <int write = 0, int near = 3>
THIXO_FETCHES void fetch(const char* at, int64_t bytes) {
  const char* line = at - reinterpret_cast<uintptr_t>(at) % kLine;
  for (; line < at + bytes; line += kLine) __builtin_prefetch(line, write, near);
}
template <int write = 0, int near = 3>
THIXO_FETCHES void fetch_lines(const char* at, int64_t stride, int64_t lines, int64_t bytes) {
  for (int64_t i = 0; i < lines; ++i) fetch<write, near>(at + i * stride, bytes);
}

// A tile of a move of elements of 4 bytes, turned in registers on its way: without a buffer between. `more` rows come
// after these, in the next tile.
void move_turned(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t columns, int64_t rows,
                 int64_t more) {
  if (rows < 4 || columns < 4) {
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x) store(to + y * to_stride + x * 4, load<uint32_t>(from + x * from_stride + y * 4));
    return;
  }
  for_fours(rows, [&](int64_t y) {
    if (y + 4 <= more) {  // with each four rows, four of the rows and of the columns that come
      fetch_lines<1>(to + (rows + y) * to_stride, to_stride, 4, columns * 4);
      if (y + 4 <= columns) fetch_lines(from + y * from_stride + rows * 4, from_stride, 4, more * 4);
    }
    for_fours(columns, [&](int64_t x) {
      turn_four(to + y * to_stride + x * 4, to_stride, from + x * from_stride + y * 4, from_stride);
    });
  });
}

// How far apart neighbours lie, at least, that are worth turning: on different lines of the cache. What only moves is turned in
// registers, which pays from four elements on.
int64_t least_apart(const Nest& nest, int k) { return nest.moves && nest.item[k] == 4 ? 16 : kLine; }

struct Tile {
  int64_t columns, rows;
  int64_t below;  // rows of the tile that comes next, if it lies below this one; else 0
  char* at[kMaxOperands];
};

class Tiles {
 public:
  Tiles(const Nest& nest, int across, Loop loop) : nest_(nest), across_(across), loop_(loop) {
    width_ = nest.sizes[0];
    height_ = nest.sizes[across];
    for (int k = 0; k < nest.count; ++k) {
      const int64_t along = std::abs(nest.strides[0][k]), beside = std::abs(nest.strides[across][k]);
      const bool turns = along >= least_apart(nest, k) && beside != 0 && beside < kLine;
      if (turns && k < nest.count - nest.results && turned_count_ < kTurned) {
        turned_[turned_count_++] = k;
      } else if (along == nest.item[k] && beside != 0) {
        rows_[row_count_++] = k;
      }
    }
    moves_ = nest.moves && turned_count_ == 1 && nest.item[1] == 4 && nest.strides[0][1] == 4 && nest.strides[across][0] == 4;
    alone_ = cpu_features().amd;  // what is turned in registers
    for (int i = 0; i < turned_count_; ++i) alone_ = alone_ && nest.item[turned_[i]] == 4 && nest.strides[across][turned_[i]] == 4;
    together_ = alone_ && nest.in_lines;
    for (int k = 0; k < nest.count && together_; ++k) {
      const bool turned = std::find(turned_, turned_ + turned_count_, k) != turned_ + turned_count_;
      together_ = turned || nest.strides[0][k] == 0 || nest.strides[0][k] == nest.item[k];
    }
    tile_width_ = moves_ ? kMoveTile : alone_ ? kAloneRow : kTileRow;
    tile_height_ = moves_ ? kMoveTile : alone_ ? kAloneRows : kTileRows;
    tiles_x_ = (width_ + tile_width_ - 1) / tile_width_;
    tiles_y_ = (height_ + tile_height_ - 1) / tile_height_;
    planes_ = nest.total / (width_ * height_);
    const int64_t threads = get_num_threads();
    strip_ = threads == 1 ? kStrip : std::clamp<int64_t>(planes_ * tiles_y_ / (kStripsEach * threads), 1, kStrip);
    strips_ = (tiles_y_ + strip_ - 1) / strip_;
  }

  int64_t count() const { return planes_ * tiles_x_ * tiles_y_; }
  int64_t elements() const { return tile_height_ * tile_width_; }
  // Strips are rows of the result from end to end: threads that share these out meet in no line of the cache.
  int64_t strips() const { return planes_ * strips_; }
  int64_t strip_elements() const { return strip_ * tile_height_ * width_; }
  // Where a strip begins, as the number of a tile.
  int64_t first(int64_t strip) const { return (strip / strips_ * tiles_y_ + strip % strips_ * strip_) * tiles_x_; }

  void run(int64_t begin, int64_t end) const {
    Tile tile = locate(begin);
    for (int64_t index = begin; index < end; ++index) {
      if (moves_) {
        move_turned(tile.at[1], nest_.strides[across_][1], tile.at[0], nest_.strides[0][0], tile.columns, tile.rows, tile.below);
        if (index + 1 < end) tile = locate(index + 1);
        continue;
      }
      Tile next = index + 1 < end ? locate(index + 1) : Tile{};
      compute(tile, next);
      tile = next;
    }
  }

 private:
  // Down a strip of a few tiles, then to the next column of it: few memory pages are in turn.
  Tile locate(int64_t index) const {
    const int64_t in_plane = index % (tiles_x_ * tiles_y_);
    const int64_t strip = in_plane / (strip_ * tiles_x_), in_strip = in_plane % (strip_ * tiles_x_);
    const int64_t strip_height = std::min(strip_, tiles_y_ - strip * strip_);
    const int64_t x = in_strip / strip_height * tile_width_;
    const int64_t y = (strip * strip_ + in_strip % strip_height) * tile_height_;
    Tile tile;
    tile.columns = std::min(tile_width_, width_ - x);
    tile.rows = std::min(tile_height_, height_ - y);
    tile.below = in_strip % strip_height + 1 < strip_height ? std::min(tile_height_, height_ - y - tile.rows) : 0;
    for (int k = 0; k < nest_.count; ++k) {
      int64_t plane = index / (tiles_x_ * tiles_y_);
      tile.at[k] = nest_.data[k] + x * nest_.strides[0][k] + y * nest_.strides[across_][k];
      for (int d = 1; d < nest_.ndim; ++d) {
        if (d == across_) continue;
        tile.at[k] += plane % nest_.sizes[d] * nest_.strides[d][k];
        plane /= nest_.sizes[d];
      }
    }
    return tile;
  }

  void compute(const Tile& tile, const Tile& next) const {
    alignas(64) char buffers[kTurned][kBufferBytes];
    char* at[kMaxOperands];
    int64_t inner[kMaxOperands], step[kMaxOperands];
    for (int k = 0; k < nest_.count; ++k) {
      at[k] = tile.at[k];
      inner[k] = nest_.strides[0][k];
      step[k] = nest_.strides[across_][k];
    }
    for (int i = 0; i < turned_count_; ++i) {
      const int k = turned_[i];
      turn(nest_.item[k], buffers[i], tile_width_, at[k], inner[k], step[k], tile.columns, tile.rows);
      at[k] = buffers[i];
      inner[k] = nest_.item[k];
      step[k] = nest_.item[k] * tile_width_;
    }
    if (together_) {
      int64_t steps[2 * kMaxOperands + 1];
      std::copy_n(inner, nest_.count, steps);
      std::copy_n(step, nest_.count, steps + nest_.count);
      steps[2 * nest_.count] = tile.rows;
      return loop_(at, steps, tile.columns | kRows);
    }
    for (int64_t row = 0; row < tile.rows; ++row) {
      if (!alone_) fetch_coming(tile, next, row);
      run_row(nest_, loop_, at, inner, tile.columns);
      for (int k = 0; k < nest_.count; ++k) at[k] += step[k];
    }
  }

  // Rows of a tile are too short for most hardware to see them come: each is asked for a few rows before, and what
  // will be turned for the next tile a few lines with each row.
  THIXO_FETCHES void fetch_coming(const Tile& tile, const Tile& next, int64_t row) const {
    const int64_t later = row + kRowsAhead;
    if (later < tile.rows) fetch_row(tile, later);
    else if (later - tile.rows < next.rows) fetch_row(next, later - tile.rows);
    for (int i = 0; i < turned_count_ && next.rows; ++i) {
      const int k = turned_[i];
      const int64_t dx = nest_.strides[0][k], dy = nest_.strides[across_][k];
      const int64_t first = row * next.columns / tile.rows, last = (row + 1) * next.columns / tile.rows;
      const char* from = next.at[k] + first * dx + (dy < 0 ? dy * (next.rows - 1) : 0);
      fetch_lines<0, 2>(from, dx, last - first, next.rows * std::abs(dy));
    }
  }

  THIXO_FETCHES void fetch_row(const Tile& tile, int64_t row) const {
    for (int i = 0; i < row_count_; ++i) {
      const int k = rows_[i];
      char* at = tile.at[k] + row * nest_.strides[across_][k];
      const int64_t bytes = tile.columns * nest_.item[k];
      k < nest_.count - nest_.results ? fetch(at, bytes) : fetch<1>(at, bytes);
    }
  }

  const Nest& nest_;
  const int across_;
  const Loop loop_;
  int64_t width_, height_, tile_width_, tile_height_, tiles_x_, tiles_y_;
  int64_t planes_, strip_, strips_;  // rows of tiles that are a strip, strips of a plane
  bool moves_, alone_;
  bool together_;  // the loop takes all rows of a tile with one call
  int turned_[kTurned], turned_count_ = 0;
  int rows_[kMaxOperands], row_count_ = 0;  // operands that are walked row by row
};

}  // namespace

int transposed_dimension(const Nest& nest) {
  if (nest.sizes[0] < 4 || nest.total < 512) return 0;
  for (int k = 0; k < nest.count - 1; ++k) {
    const int64_t inner = std::abs(nest.strides[0][k]);
    if (inner < least_apart(nest, k)) continue;
    int best = 0;
    int64_t least = inner;
    for (int d = 1; d < nest.ndim; ++d) {
      const int64_t stride = std::abs(nest.strides[d][k]);
      if (stride != 0 && stride < least && nest.sizes[d] >= 4) {
        best = d;
        least = stride;
      }
    }
    if (best && least < kLine) return best;
  }
  return 0;
}

void run_tiles(const Nest& nest, int across, Loop loop, int64_t grain) {
  const Tiles tiles(nest, across, loop);
  if (tiles.strips() >= get_num_threads()) {
    const int64_t together = std::max<int64_t>(1, grain / tiles.strip_elements());
    return parallel_evenly(tiles.strips(), together, [&](int64_t begin, int64_t end) { tiles.run(tiles.first(begin), tiles.first(end)); });
  }
  const int64_t at_once = std::max<int64_t>(1, grain / tiles.elements());
  parallel_for(tiles.count(), at_once, [&](int64_t begin, int64_t end) { tiles.run(begin, end); });
}

}  // namespace thixo
