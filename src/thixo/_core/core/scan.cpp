// Running sums and products.
#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/types.h"
#include "scan_columns.h"
#include "scan_fold.h"

#include "cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace thixo {
namespace {

constexpr int64_t kChain = 1040;    // elements of a chain: not a power of two, so that four fall into different cache sets
constexpr int64_t kBlock = 4 * kChain;

template <class F>
void scan_row(typename F::Result* to, const typename F::In* from, int64_t n) {
  typename F::Acc a = F::widen(from[0]);
  to[0] = F::result(a);
  for (int64_t i = 1; i < n; ++i) {
    a = F::next(a, F::widen(from[i]));
    to[i] = F::result(a);
  }
}

// Four rows at once: their additions do not wait for each other.
template <class F>
void scan_four_rows(typename F::Result* to, const typename F::In* from, int64_t n) {
  using Acc = typename F::Acc;
  const auto *x0 = from, *x1 = from + n, *x2 = from + 2 * n, *x3 = from + 3 * n;
  auto *y0 = to, *y1 = to + n, *y2 = to + 2 * n, *y3 = to + 3 * n;
  Acc a0 = F::widen(x0[0]), a1 = F::widen(x1[0]), a2 = F::widen(x2[0]), a3 = F::widen(x3[0]);
  for (int64_t i = 0;;) {
    y0[i] = F::result(a0);
    y1[i] = F::result(a1);
    y2[i] = F::result(a2);
    y3[i] = F::result(a3);
    if (++i == n) return;
    a0 = F::next(a0, F::widen(x0[i]));
    a1 = F::next(a1, F::widen(x1[i]));
    a2 = F::next(a2, F::widen(x2[i]));
    a3 = F::next(a3, F::widen(x3[i]));
  }
}

// The sum of one chain, with four partial sums.
template <class F>
typename F::Acc chain_sum(const typename F::In* x, int64_t n) {
  using Acc = typename F::Acc;
  Acc a = F::nothing(), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a = F::next(a, F::widen(x[i]));
    b = F::next(b, F::widen(x[i + 1]));
    c = F::next(c, F::widen(x[i + 2]));
    d = F::next(d, F::widen(x[i + 3]));
  }
  for (; i < n; ++i) a = F::next(a, F::widen(x[i]));
  return F::next(F::next(a, b), F::next(c, d));
}

// A block of up to four chains from where the row stands.
template <class F>
void scan_block(typename F::Result* to, const typename F::In* from, int64_t n, const typename F::Acc* starts) {
  using Acc = typename F::Acc;
  if (n == kBlock) {
    Acc a0 = starts[0], a1 = starts[1], a2 = starts[2], a3 = starts[3];
    for (int64_t i = 0; i < kChain; ++i) {
      a0 = F::next(a0, F::widen(from[i]));
      a1 = F::next(a1, F::widen(from[i + kChain]));
      a2 = F::next(a2, F::widen(from[i + 2 * kChain]));
      a3 = F::next(a3, F::widen(from[i + 3 * kChain]));
      to[i] = F::result(a0);
      to[i + kChain] = F::result(a1);
      to[i + 2 * kChain] = F::result(a2);
      to[i + 3 * kChain] = F::result(a3);
    }
    return;
  }
  for (int64_t c = 0; c * kChain < n; ++c) {
    Acc a = starts[c];
    for (int64_t i = c * kChain; i < std::min(n, (c + 1) * kChain); ++i) {
      a = F::next(a, F::widen(from[i]));
      to[i] = F::result(a);
    }
  }
}

// float32 adds up in double, eight elements at a time: what is carried waits for one addition a group. Besides, the sum
// of the block itself is kept, from which the next block starts.
using Doubles = double __attribute__((vector_size(16)));
using Floats = float __attribute__((vector_size(8)));

inline Doubles widened(const float* x) {
#if defined(__SSE2__)
  return _mm_cvtps_pd(_mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double*>(x))));
#else
  return __builtin_convertvector(load<Floats>(reinterpret_cast<const char*>(x)), Doubles);
#endif
}
inline void store_four(float* to, Doubles low, Doubles high) {
#if defined(__SSE2__)
  _mm_storeu_ps(to, _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high)));
#else
  store(reinterpret_cast<char*>(to), __builtin_convertvector(low, Floats));
  store(reinterpret_cast<char*>(to + 2), __builtin_convertvector(high, Floats));
#endif
}

// The sums of the first one, two, three and four elements.
inline void running_four(const float* x, Doubles& low, Doubles& high) {
  const Doubles a = widened(x), b = widened(x + 2), nothing = {-0.0, -0.0};
  low = a + __builtin_shufflevector(nothing, a, 0, 2);                 // a0, a0 + a1
  const Doubles pair = b + __builtin_shufflevector(nothing, b, 0, 2);  // b0, b0 + b1
  high = pair + __builtin_shufflevector(low, low, 1, 1);               // with both of a
}

constexpr int64_t kAhead = 256;  // elements: what is fetched while these are added up

// The elements that do not make up a group any more.
inline void scan_float_rest(float* to, const float* from, int64_t n, double carried, double& own) {
  for (int64_t i = 0; i < n; ++i) {
    carried += double(from[i]);
    own += double(from[i]);
    to[i] = float(carried);
  }
}

void scan_float_block_portable(float* to, const float* from, int64_t n, double start, double& sum) {
  Doubles carried = {start, start};
  double own = -0.0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __builtin_prefetch(from + i + kAhead);
    __builtin_prefetch(to + i + kAhead, 1);
    Doubles low, high;
    running_four(from + i, low, high);
    const Doubles first = __builtin_shufflevector(high, high, 1, 1);
    store_four(to + i, carried + low, carried + high);
    running_four(from + i + 4, low, high);
    low = low + first;
    high = high + first;
    store_four(to + i + 4, carried + low, carried + high);
    const Doubles whole = __builtin_shufflevector(high, high, 1, 1);
    carried = carried + whole;
    own += whole[0];
  }
  scan_float_rest(to + i, from + i, n - i, carried[0], own);
  sum = own;
}

#if defined(__x86_64__)
using ScanFloatBlock = void (*)(float* to, const float* from, int64_t n, double start, double& sum);

// The same additions, a group to a register: pairs, then fours, then all eight.
__attribute__((target("avx512f,avx512dq,avx512vl"))) void scan_float_block_v4(float* to, const float* from, int64_t n,
                                                                               double start, double& sum) {
  constexpr __mmask8 kAll = 0xFF;  // without a mask, GCC 12 warns of its own header
  const __m512i fourth = _mm512_set1_epi64(3), eighth = _mm512_set1_epi64(7);
  __m512d carried = _mm512_set1_pd(start), own = _mm512_set1_pd(-0.0);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __builtin_prefetch(from + i + kAhead);
    __builtin_prefetch(to + i + kAhead, 1);
    __m512d x = _mm512_maskz_cvtps_pd(kAll, _mm256_loadu_ps(from + i));
    x = _mm512_mask_add_pd(x, 0xAA, x, _mm512_maskz_permute_pd(kAll, x, 0));
    x = _mm512_mask_add_pd(x, 0xCC, x, _mm512_maskz_permutex_pd(kAll, x, 0x55));
    x = _mm512_mask_add_pd(x, 0xF0, x, _mm512_maskz_permutexvar_pd(kAll, fourth, x));
    const __m512d whole = _mm512_maskz_permutexvar_pd(kAll, eighth, x);
    _mm256_storeu_ps(to + i, _mm512_maskz_cvtpd_ps(kAll, _mm512_add_pd(carried, x)));
    carried = _mm512_add_pd(carried, whole);
    own = _mm512_add_pd(own, whole);
  }
  sum = _mm512_cvtsd_f64(own);
  scan_float_rest(to + i, from + i, n - i, _mm512_cvtsd_f64(carried), sum);
}
#endif

void scan_float_block(float* to, const float* from, int64_t n, double start, double& sum) {
#if defined(__x86_64__)
  static const ScanFloatBlock block = cpu_features().x86_64_v4 ? scan_float_block_v4 : scan_float_block_portable;
  return block(to, from, n, start, sum);
#else
  return scan_float_block_portable(to, from, n, start, sum);
#endif
}

// The sum that scan_float_block gives, alone.
inline double sum_float_block(const float* from, int64_t n) {
  double own = -0.0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const double first = (double(from[i + 2]) + double(from[i + 3])) + (double(from[i]) + double(from[i + 1]));
    own += ((double(from[i + 6]) + double(from[i + 7])) + (double(from[i + 4]) + double(from[i + 5]))) + first;
  }
  for (; i < n; ++i) own += double(from[i]);
  return own;
}

#if defined(__SSE2__)
// Columns [i, i + 4) of two rows, whose sums so far are the two halves of `carried`.
inline void scan_four_columns(float* to, const float* from, int64_t n, int64_t i, __m128d& carried) {
  const __m128 a = _mm_loadu_ps(from + i), b = _mm_loadu_ps(from + n + i);
  const __m128 low = _mm_unpacklo_ps(a, b), high = _mm_unpackhi_ps(a, b);  // a0 b0 a1 b1, a2 b2 a3 b3
  auto next = [&](__m128 pair) { return _mm_cvtpd_ps(carried = _mm_add_pd(carried, _mm_cvtps_pd(pair))); };
  const __m128 r0 = next(low), r1 = next(_mm_movehl_ps(low, low));
  const __m128 r2 = next(high), r3 = next(_mm_movehl_ps(high, high));
  const __m128 first = _mm_movelh_ps(r0, r1), second = _mm_movelh_ps(r2, r3);
  _mm_storeu_ps(to + i, _mm_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)));
  _mm_storeu_ps(to + n + i, _mm_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1)));
}

// 2 * kPairs rows at once, two to a register. The sums are those of scan_row: one element after the other. Four registers
// keep the adder busy, since each addition waits for the one before.
template <int kPairs>
void scan_float_rows(float* to, const float* from, int64_t n) {
  __m128d carried[kPairs];
  for (auto& one : carried) one = _mm_set1_pd(-0.0);
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int p = 0; p < kPairs; ++p) scan_four_columns(to + 2 * p * n, from + 2 * p * n, n, i, carried[p]);
  double sums[2 * kPairs];
  for (int p = 0; p < kPairs; ++p) _mm_storeu_pd(sums + 2 * p, carried[p]);
  for (; i < n; ++i)
    for (int r = 0; r < 2 * kPairs; ++r) to[r * n + i] = float(sums[r] += double(from[r * n + i]));
}
#endif

void scan_float_row(float* to, const float* from, int64_t n, bool on_threads) {
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  auto size = [n](int64_t b) { return std::min(kBlock, n - b * kBlock); };
  if (!on_threads || get_num_threads() == 1) {
    double carry = -0.0, sum;
    for (int64_t b = 0; b < blocks; ++b) {
      scan_float_block(to + b * kBlock, from + b * kBlock, size(b), carry, sum);
      carry += sum;
    }
    return;
  }
  const std::unique_ptr<double[]> starts(new double[size_t(blocks)]);
  parallel_for(blocks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) starts[b] = sum_float_block(from + b * kBlock, size(b));
  });
  double carry = -0.0;
  for (int64_t b = 0; b < blocks; ++b) carry += std::exchange(starts[b], carry);
  parallel_for(blocks, 4, [&](int64_t begin, int64_t end) {
    double sum;
    for (int64_t b = begin; b < end; ++b) scan_float_block(to + b * kBlock, from + b * kBlock, size(b), starts[b], sum);
  });
}

// A long row of sums: those of the chains first, then every chain from its start.
template <class F>
void scan_long_row(typename F::Result* to, const typename F::In* from, int64_t n, bool on_threads) {
  using Acc = typename F::Acc;
  auto block_starts = [&](int64_t block, Acc& carry, Acc* starts) {
    const int64_t first = block * kBlock, size = std::min(kBlock, n - first);
    for (int64_t c = 0; c * kChain < size; ++c) {
      starts[c] = carry;
      carry = F::next(carry, chain_sum<F>(from + first + c * kChain, std::min(kChain, size - c * kChain)));
    }
  };
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  if (!on_threads) {
    Acc carry = F::nothing(), starts[4];
    for (int64_t b = 0; b < blocks; ++b) {
      block_starts(b, carry, starts);
      scan_block<F>(to + b * kBlock, from + b * kBlock, std::min(kBlock, n - b * kBlock), starts);
    }
    return;
  }
  const int64_t chains = (n + kChain - 1) / kChain;
  const std::unique_ptr<Acc[]> starts(new Acc[size_t(chains)]);
  parallel_for(chains, 16, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) starts[c] = chain_sum<F>(from + c * kChain, std::min(kChain, n - c * kChain));
  });
  Acc carry = F::nothing();
  for (int64_t c = 0; c < chains; ++c) {
    const Acc sum = starts[c];
    starts[c] = carry;
    carry = F::next(carry, sum);
  }
  parallel_for(blocks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      scan_block<F>(to + b * kBlock, from + b * kBlock, std::min(kBlock, n - b * kBlock), starts.get() + 4 * b);
  });
}

// Columns [begin, end) of one (n, inner) plane.
template <class F>
void scan_columns(typename F::Result* to, const typename F::In* from, int64_t n, int64_t inner, int64_t columns) {
  typename F::Acc carried[kScanColumns];
  for (int64_t j = 0; j < columns; ++j) {
    carried[j] = F::widen(from[j]);
    to[j] = F::result(carried[j]);
  }
  for (int64_t i = 1; i < n; ++i) {
    from += inner;
    to += inner;
    THIXO_INDEPENDENT
    for (int64_t j = 0; j < columns; ++j) {
      carried[j] = F::next(carried[j], F::widen(from[j]));
      to[j] = F::result(carried[j]);
    }
  }
}

template <class F>
void run(char* to, const char* from, ScanShape s) {
  auto* y = reinterpret_cast<typename F::Result*>(to);
  auto* x = reinterpret_cast<const typename F::In*>(from);
  if (s.inner > 1)
    return for_columns(s, kScanColumns, [&](int64_t o, int64_t first, int64_t columns) {
      const int64_t at = o * s.n * s.inner + first;
      scan_columns<F>(y + at, x + at, s.n, s.inner, columns);
    });
  if constexpr (kReorders<F> && std::is_same_v<typename F::In, float>) {
    const bool long_rows = s.outer < 16 && s.n > 16 * kBlock;
    if (long_rows) {
      for (int64_t o = 0; o < s.outer; ++o) scan_float_row(y + o * s.n, x + o * s.n, s.n, true);
      return;
    }
    if (s.n > kBlock)
      return parallel_for(s.outer, 1, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) scan_float_row(y + o * s.n, x + o * s.n, s.n, false);
      });
  }
  // Long rows in blocks, where additions may be grouped otherwise.
  const bool blocks = kReorders<F> && s.n > kChain && !std::is_same_v<typename F::In, float>;
  if (blocks && s.outer < 16 && s.n > 16 * kBlock) {
    for (int64_t o = 0; o < s.outer; ++o) scan_long_row<F>(y + o * s.n, x + o * s.n, s.n, true);
    return;
  }
  const int64_t eight = std::max<int64_t>(1, kScanGrain / (8 * s.n));
  parallel_evenly((s.outer + 7) / 8, eight, [&](int64_t begin, int64_t end) {
    int64_t o = begin * 8;
    const int64_t stop = std::min(s.outer, end * 8);
#if defined(__SSE2__)
    if constexpr (kReorders<F> && std::is_same_v<typename F::In, float>) {
      for (; o + 8 <= stop; o += 8) scan_float_rows<4>(y + o * s.n, x + o * s.n, s.n);
      for (; o + 2 <= stop; o += 2) scan_float_rows<1>(y + o * s.n, x + o * s.n, s.n);
    }
#endif
    if (!blocks)
      for (; o + 4 <= stop; o += 4) scan_four_rows<F>(y + o * s.n, x + o * s.n, s.n);
    for (; o < stop; ++o) {
      if (blocks) scan_long_row<F>(y + o * s.n, x + o * s.n, s.n, false);
      else scan_row<F>(y + o * s.n, x + o * s.n, s.n);
    }
  });
}

}  // namespace

void scan(Scan kind, char* to, const char* from, DType in, bool widen, ScanShape s) {
  if (is_empty(s)) return;
  visit_fold(kind, in, widen, [&](auto fold) { run<decltype(fold)>(to, from, s); });
}

}  // namespace thixo
