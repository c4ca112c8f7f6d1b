// Running sums and products of arrays that lie otherwise than their results: a vector carries neighbouring rows, and
// elements are turned on their way in or out. A copy in the result's order would be read and written once more, and by
// other threads than those that carry its columns.
#include <algorithm>

#include "kernels/turn.h"
#include "scan_carry.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace thixo {
namespace {

constexpr int64_t kRows = 16;   // carried at once: a line of the cache in float32
constexpr int64_t kSteps = 16;  // between two writes to a row: again a line

template <class F>
using Acc = typename F::Acc;

// Steps [0, n) of `rows` rows; `carried` holds where they stand, unless nothing came before.
template <class F>
void scan_tile(typename F::Result* to, int64_t to_row, const char* from, int64_t step, int64_t rows, int64_t n,
               Acc<F>* carried, bool first) {
  typename F::Result tile[kSteps][kRows];
  for (int64_t i = 0; i < n; ++i, from += step) {
    const auto* x = reinterpret_cast<const typename F::In*>(from);
    if (i == 0 && first) {
      for (int64_t r = 0; r < rows; ++r) carried[r] = F::widen(x[r]);
    } else {
      THIXO_INDEPENDENT
      for (int64_t r = 0; r < rows; ++r) carried[r] = F::next(carried[r], F::widen(x[r]));
    }
    for (int64_t r = 0; r < rows; ++r) tile[i][r] = F::result(carried[r]);
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) to[r * to_row + i] = tile[i][r];
}

#if defined(__SSE2__)
// Four steps of four rows; two rows are the halves of each of the two sums.
inline void add_four(float* to, int64_t to_row, const char* from, int64_t step, __m128d& low, __m128d& high) {
  auto next = [&](int64_t i) {
    const __m128 x = _mm_loadu_ps(reinterpret_cast<const float*>(from + i * step));
    low = _mm_add_pd(low, _mm_cvtps_pd(x));
    high = _mm_add_pd(high, _mm_cvtps_pd(_mm_movehl_ps(x, x)));
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
  };
  __m128 a = next(0), b = next(1), c = next(2), d = next(3);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + to_row, b);
  _mm_storeu_ps(to + 2 * to_row, c);
  _mm_storeu_ps(to + 3 * to_row, d);
}

// kSteps steps of kRows rows of float32: eight rows at a time, so that their sums stay in registers and the lines that
// are written in the nearest cache, whatever their distance.
void add_tile(float* to, int64_t to_row, const char* from, int64_t step, double* carried) {
  for (int64_t r = 0; r < kRows; r += 8) {
    __m128d sums[4];
    for (int k = 0; k < 4; ++k) sums[k] = _mm_loadu_pd(carried + r + 2 * k);
    for (int64_t i = 0; i < kSteps; i += 4) {
      const char* at = from + i * step + r * 4;
      if (r == 0)
        for (int64_t k = 0; k < 4; ++k) __builtin_prefetch(at + (kSteps + k) * step);
      add_four(to + r * to_row + i, to_row, at, step, sums[0], sums[1]);
      add_four(to + (r + 4) * to_row + i, to_row, at + 16, step, sums[2], sums[3]);
    }
    for (int k = 0; k < 4; ++k) _mm_storeu_pd(carried + r + 2 * k, sums[k]);
  }
}
#endif

template <class F>
void scan_rows(typename F::Result* to, const char* from, int64_t step, int64_t rows, int64_t n) {
  Acc<F> carried[kRows];
  std::fill_n(carried, kRows, F::nothing());
  for (int64_t i = 0; i < n; i += kSteps) {
    const int64_t steps = std::min(kSteps, n - i);
#if defined(__SSE2__)
    if constexpr (F::kind == Scan::Sum && std::is_same_v<typename F::In, float>) {
      if (rows == kRows && steps == kSteps) {
        add_tile(to + i, n, from + i * step, step, carried);
        continue;
      }
    }
#endif
    scan_tile<F>(to + i, n, from + i * step, step, rows, steps, carried, i == 0);
  }
}

// ---- the other way: rows that follow the scanned axis become columns

constexpr int64_t kLanes = 32;  // columns carried at once, each a line of the cache as far away as a row is long

// Steps [0, n) of `lanes` rows `stride` bytes apart, as n rows of kLanes elements.
template <class T>
void turn_tile(T* to, const char* from, int64_t stride, int64_t lanes, int64_t n) {
  int64_t r = 0;
  if constexpr (sizeof(T) == 4) {
    for (; r + 4 <= lanes; r += 4) {
      int64_t i = 0;
      for (; i + 4 <= n; i += 4)
        turn_four(reinterpret_cast<char*>(to + i * kLanes + r), kLanes * 4, from + r * stride + i * 4, stride);
      for (; i < n; ++i)
        for (int64_t k = r; k < r + 4; ++k) to[i * kLanes + k] = reinterpret_cast<const T*>(from + k * stride)[i];
    }
  }
  for (; r < lanes; ++r) {
    const auto* x = reinterpret_cast<const T*>(from + r * stride);
    for (int64_t i = 0; i < n; ++i) to[i * kLanes + r] = x[i];
  }
}

template <class F>
void scan_lanes(typename F::Result* to, int64_t to_step, const char* from, int64_t stride, int64_t lanes, int64_t n) {
  const auto carry = row_carrier<F>();
  Acc<F> carried[kLanes];
  typename F::In tile[kSteps * kLanes];
  for (int64_t i = 0; i < n; i += kSteps) {
    const int64_t steps = std::min(kSteps, n - i);
    turn_tile(tile, from + i * int64_t(sizeof(typename F::In)), stride, lanes, steps);
    carry(to + i * to_step, to_step, tile, kLanes, steps, lanes, carried, i == 0);
  }
}

}  // namespace

void scan_across(Scan kind, char* to, const char* from, DType in, bool widen, const Axes& outer, int64_t n, int64_t step) {
  if (outer.total == 0 || n == 0) return;
  const int64_t rows = outer.sizes[outer.count - 1], planes = outer.total / rows;
  const int64_t groups = (rows + kRows - 1) / kRows;
  visit_fold(kind, in, widen, [&](auto fold) {
    using F = decltype(fold);
    auto* y = reinterpret_cast<typename F::Result*>(to);
    parallel_evenly(planes * groups, std::max<int64_t>(1, kScanGrain / (n * kRows)), [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; ++g) {
        const int64_t plane = g / groups, first = g % groups * kRows, row = plane * rows + first;
        scan_rows<F>(y + row * n, from + outer.offset(row), step, std::min(kRows, rows - first), n);
      }
    });
  });
}

void scan_turned(Scan kind, char* to, const char* from, DType in, bool widen, const Axes& outer, int64_t n, int64_t inner,
                 int64_t stride) {
  if (outer.total == 0 || n == 0 || inner == 0) return;
  visit_fold(kind, in, widen, [&](auto fold) {
    using F = decltype(fold);
    auto* y = reinterpret_cast<typename F::Result*>(to);
    for_columns({outer.total, n, inner}, kLanes, 0, [&](int64_t plane, int64_t first, int64_t lanes) {
      scan_lanes<F>(y + plane * n * inner + first, inner, from + outer.offset(plane) + first * stride, stride, lanes, n);
    });
  });
}

}  // namespace thixo
