// Sums of rows by index into a new array. Each row of the result is made once, from all that comes to it: it is neither
// filled with zeros first nor met again later, when it has left the cache.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "kernels/nest.h"
#include "scatter.h"
#include "scatter_adding.h"
#include "stream.h"
#include "thread_pool.h"

namespace thixo {
namespace {

constexpr int64_t kGrain = 1 << 16;  // bytes of results and of what is added, that a thread takes at a time
constexpr int64_t kPiece = 2048;     // elements that are added up at a time, in the nearest cache
constexpr int64_t kAhead = 1024;     // bytes of a row that are asked for before it is its turn; hardware sees the rest come

// The indices that come to each place, in order: those of place p are first[p], then next[] of the one before; -1 ends.
struct Lists {
  std::unique_ptr<int32_t[]> first, next;
};

bool make_lists(const RowSums& job, Lists& lists) {
  const int64_t n = job.places.count;
  std::unique_ptr<int64_t[]> rows(new int64_t[size_t(n)]);
  std::atomic<bool> good{true};
  parallel_for(n, 16384, [&](int64_t begin, int64_t end) {
    if (!place_offsets(job.places, begin, end, rows.get() + begin)) good.store(false, std::memory_order_relaxed);
  });
  if (!good) return false;
  lists.first.reset(new int32_t[size_t(job.rows)]);
  lists.next.reset(new int32_t[size_t(n)]);
  std::fill_n(lists.first.get(), job.rows, -1);
  for (int64_t i = n - 1; i >= 0; --i) {
    lists.next[i] = lists.first[rows[i]];
    lists.first[rows[i]] = int32_t(i);
  }
  return true;
}

template <class T>
struct Summer {
  using Kind = Adding<T>;
  using Sum = typename Kind::To;

  const RowSums& job;
  const Lists& lists;
  bool past_cache;

  const T* source(int64_t i, int64_t column) const { return reinterpret_cast<const T*>(job.from + i * job.from_row) + column; }

  // Columns [column, column + n) of all that begins with index i.
  void add_up(Sum* sums, int64_t i, int64_t column, int64_t n) const {
    const T* x = source(i, column);
    const int64_t second = lists.next[i];
    if (second < 0) {
      THIXO_INDEPENDENT
      for (int64_t j = 0; j < n; ++j) sums[j] = Kind::sum(Sum{}, x[j]);
      return;
    }
    const T* y = source(second, column);
    i = follow(second, column, n);
    THIXO_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) sums[j] = Kind::sum(Kind::sum(Sum{}, x[j]), y[j]);
    while (i >= 0) {  // two at a time, one after the other: sums are read and written half as often
      x = source(i, column);
      const int64_t other = lists.next[i];
      if (other < 0) {
        THIXO_INDEPENDENT
        for (int64_t j = 0; j < n; ++j) sums[j] = Kind::sum(sums[j], x[j]);
        return;
      }
      y = source(other, column);
      i = follow(other, column, n);
      THIXO_INDEPENDENT
      for (int64_t j = 0; j < n; ++j) sums[j] = Kind::sum(Kind::sum(sums[j], x[j]), y[j]);
    }
  }

  // The index that comes after i, or -1; what it and the next one name is asked for, since hardware cannot know where it lies.
  int64_t follow(int64_t i, int64_t column, int64_t n) const {
    const int64_t next = lists.next[i];
    int64_t asked = next;
    for (int k = 0; k < 2 && asked >= 0; ++k, asked = lists.next[asked]) {
      const char* from = reinterpret_cast<const char*>(source(asked, column));
      for (int64_t line = 0; line < std::min<int64_t>(n * int64_t(sizeof(T)), kAhead); line += 64) __builtin_prefetch(from + line);
    }
    return next;
  }

  void make_row(T* to, int64_t i) const {
    alignas(64) Sum sums[kPiece];
    for (int64_t column = 0; column < job.width; column += kPiece) {
      const int64_t n = std::min(kPiece, job.width - column);
      if constexpr (kIsHalf<T>) {
        add_up(sums, i, column, n);
        for (int64_t j = 0; j < n; ++j) to[column + j] = T(sums[j]);
      } else if (past_cache) {
        add_up(sums, i, column, n);
        stream_out(reinterpret_cast<char*>(to + column), reinterpret_cast<const char*>(sums), n * int64_t(sizeof(T)));
      } else {
        add_up(to + column, i, column, n);
      }
    }
  }

  void run(int64_t begin, int64_t end) const {
    const int64_t row = job.width * int64_t(sizeof(T));
    for (int64_t p = begin; p < end;) {
      int64_t empty = p;
      while (empty < end && lists.first[empty] < 0) ++empty;
      if (empty > p) {
        if (past_cache) stream_zeros(job.to + p * row, (empty - p) * row);
        else std::memset(job.to + p * row, 0, size_t((empty - p) * row));
        p = empty;
        continue;
      }
      if (p + 1 < end && lists.first[p + 1] >= 0) {
        const char* next = job.from + lists.first[p + 1] * job.from_row;
        for (int64_t line = 0; line < std::min<int64_t>(row, 512); line += 64) __builtin_prefetch(next + line);
      }
      make_row(reinterpret_cast<T*>(job.to + p * row), lists.first[p]);
      ++p;
    }
    if (past_cache) stream_end();
  }
};

}  // namespace

bool sum_rows(const RowSums& job) {
  Lists lists;
  if (!make_lists(job, lists)) return false;
  const int64_t row = job.width * item_size(job.dtype), n = job.places.count;
  if (row == 0 || job.rows == 0) return true;
  // Chunks of several rows each, since some rows are sums of more than others.
  const double turns = double(row) * double(job.rows + n) / double(kGrain);
  const int64_t grain = std::max<int64_t>(1, int64_t(double(job.rows) / std::max(turns, 1.0)));
  visit(job.dtype, [&]<class T>() {
    // Mostly zeros: nothing of them is in the cache because it was read, so they outgrow it sooner.
    const Summer<T> summer{job, lists, kStreams && row >= 1024 && outgrows_cache(row * (job.rows + n) / 2 * 3, row * job.rows)};
    parallel_for(job.rows, grain, [&](int64_t begin, int64_t end) { summer.run(begin, end); });
  });
  return true;
}

}  // namespace thixo
