#include "scan_floats.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cpu.h"
#include "kernels/types.h"
#include "thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace thixo {
namespace {

// float32 adds up in double, eight elements at a time: what is carried waits for one addition a group. Besides, the sum
// of the block itself is kept, from which the next block starts.
using Doubles = double __attribute__((vector_size(16)));
using Floats = float __attribute__((vector_size(8)));

template <int kWay>
inline Doubles widened(const float* x) {
  if constexpr (kWay < 0) {
    const Doubles pair = widened<1>(x - 1);
    return __builtin_shufflevector(pair, pair, 1, 0);
  }
#if defined(__SSE2__)
  return _mm_cvtps_pd(_mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double*>(x))));
#else
  return __builtin_convertvector(load<Floats>(reinterpret_cast<const char*>(x)), Doubles);
#endif
}
template <int kWay>
inline void store_four(float* to, Doubles low, Doubles high) {
  if constexpr (kWay < 0)
    return store_four<1>(to - 3, __builtin_shufflevector(high, high, 1, 0), __builtin_shufflevector(low, low, 1, 0));
#if defined(__SSE2__)
  _mm_storeu_ps(to, _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high)));
#else
  store(reinterpret_cast<char*>(to), __builtin_convertvector(low, Floats));
  store(reinterpret_cast<char*>(to + 2), __builtin_convertvector(high, Floats));
#endif
}

// The sums of the first one, two, three and four elements.
template <int kWay>
inline void running_four(const float* x, Doubles& low, Doubles& high) {
  const Doubles a = widened<kWay>(x), b = widened<kWay>(x + 2 * kWay), nothing = {-0.0, -0.0};
  low = a + __builtin_shufflevector(nothing, a, 0, 2);                 // a0, a0 + a1
  const Doubles pair = b + __builtin_shufflevector(nothing, b, 0, 2);  // b0, b0 + b1
  high = pair + __builtin_shufflevector(low, low, 1, 1);               // with both of a
}

constexpr int64_t kAhead = 256;  // elements: what is fetched while these are added up

// The elements that do not make up a group any more.
template <int kWay>
inline void scan_float_rest(float* to, const float* from, int64_t n, double carried, double& own) {
  for (int64_t i = 0; i < n; ++i) {
    carried += double(from[kWay * i]);
    own += double(from[kWay * i]);
    to[kWay * i] = float(carried);
  }
}

template <int kWay>
void scan_float_block_portable(float* to, const float* from, int64_t n, double start, double& sum) {
  Doubles carried = {start, start};
  double own = -0.0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __builtin_prefetch(from + kWay * (i + kAhead));
    __builtin_prefetch(to + kWay * (i + kAhead), 1);
    Doubles low, high;
    running_four<kWay>(from + kWay * i, low, high);
    const Doubles first = __builtin_shufflevector(high, high, 1, 1);
    store_four<kWay>(to + kWay * i, carried + low, carried + high);
    running_four<kWay>(from + kWay * (i + 4), low, high);
    low = low + first;
    high = high + first;
    store_four<kWay>(to + kWay * (i + 4), carried + low, carried + high);
    const Doubles whole = __builtin_shufflevector(high, high, 1, 1);
    carried = carried + whole;
    own += whole[0];
  }
  scan_float_rest<kWay>(to + kWay * i, from + kWay * i, n - i, carried[0], own);
  sum = own;
}

#if defined(__x86_64__)
using ScanFloatBlock = void (*)(float* to, const float* from, int64_t n, double start, double& sum);

// The same additions, a group to a register: pairs, then fours, then all eight.
template <int kWay>
__attribute__((target("avx512f,avx512dq,avx512vl"))) void scan_float_block_v4(float* to, const float* from, int64_t n,
                                                                               double start, double& sum) {
  constexpr __mmask8 kAll = 0xFF;  // without a mask, GCC 12 warns of its own header
  const __m256i backwards = _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m512i fourth = _mm512_set1_epi64(3), eighth = _mm512_set1_epi64(7);
  __m512d carried = _mm512_set1_pd(start), own = _mm512_set1_pd(-0.0);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __builtin_prefetch(from + kWay * (i + kAhead));
    __builtin_prefetch(to + kWay * (i + kAhead), 1);
    __m256 read = _mm256_loadu_ps(from + (kWay > 0 ? i : -i - 7));
    if (kWay < 0) read = _mm256_permutevar8x32_ps(read, backwards);
    __m512d x = _mm512_maskz_cvtps_pd(kAll, read);
    x = _mm512_mask_add_pd(x, 0xAA, x, _mm512_maskz_permute_pd(kAll, x, 0));
    x = _mm512_mask_add_pd(x, 0xCC, x, _mm512_maskz_permutex_pd(kAll, x, 0x55));
    x = _mm512_mask_add_pd(x, 0xF0, x, _mm512_maskz_permutexvar_pd(kAll, fourth, x));
    const __m512d whole = _mm512_maskz_permutexvar_pd(kAll, eighth, x);
    __m256 sums = _mm512_maskz_cvtpd_ps(kAll, _mm512_add_pd(carried, x));
    if (kWay < 0) sums = _mm256_permutevar8x32_ps(sums, backwards);
    _mm256_storeu_ps(to + (kWay > 0 ? i : -i - 7), sums);
    carried = _mm512_add_pd(carried, whole);
    own = _mm512_add_pd(own, whole);
  }
  sum = _mm512_cvtsd_f64(own);
  scan_float_rest<kWay>(to + kWay * i, from + kWay * i, n - i, _mm512_cvtsd_f64(carried), sum);
}
#endif

template <int kWay>
void scan_float_block(float* to, const float* from, int64_t n, double start, double& sum) {
#if defined(__x86_64__)
  static const ScanFloatBlock block = cpu_features().x86_64_v4 ? scan_float_block_v4<kWay> : scan_float_block_portable<kWay>;
  return block(to, from, n, start, sum);
#else
  return scan_float_block_portable<kWay>(to, from, n, start, sum);
#endif
}

// The sum that scan_float_block gives, alone.
template <int kWay>
inline double sum_float_block(const float* from, int64_t n) {
  auto x = [from](int64_t i) { return double(from[kWay * i]); };
  double own = -0.0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const double first = (x(i + 2) + x(i + 3)) + (x(i) + x(i + 1));
    own += ((x(i + 6) + x(i + 7)) + (x(i + 4) + x(i + 5))) + first;
  }
  for (; i < n; ++i) own += x(i);
  return own;
}

#if defined(__SSE2__)
template <int kWay>
inline __m128 load_four(const float* from) {
  if constexpr (kWay > 0) return _mm_loadu_ps(from);
  const __m128 x = _mm_loadu_ps(from - 3);
  return _mm_shuffle_ps(x, x, _MM_SHUFFLE(0, 1, 2, 3));
}
// Elements 0 and 2 (or 1 and 3) of two registers, as they follow each other in a row.
template <int kWay, int kOdd>
inline void store_halves(float* to, __m128 first, __m128 second) {
  constexpr int a = kOdd, b = kOdd + 2;
  if constexpr (kWay > 0) _mm_storeu_ps(to, _mm_shuffle_ps(first, second, _MM_SHUFFLE(b, a, b, a)));
  else _mm_storeu_ps(to - 3, _mm_shuffle_ps(second, first, _MM_SHUFFLE(a, b, a, b)));
}

// Columns [i, i + 4) of two rows, whose sums so far are the two halves of `carried`.
template <int kWay>
inline void scan_four_columns(float* to, const float* from, int64_t n, int64_t i, __m128d& carried) {
  from += kWay * i;
  to += kWay * i;
  const __m128 a = load_four<kWay>(from), b = load_four<kWay>(from + n);
  const __m128 low = _mm_unpacklo_ps(a, b), high = _mm_unpackhi_ps(a, b);  // a0 b0 a1 b1, a2 b2 a3 b3
  auto next = [&](__m128 pair) { return _mm_cvtpd_ps(carried = _mm_add_pd(carried, _mm_cvtps_pd(pair))); };
  const __m128 r0 = next(low), r1 = next(_mm_movehl_ps(low, low));
  const __m128 r2 = next(high), r3 = next(_mm_movehl_ps(high, high));
  const __m128 first = _mm_movelh_ps(r0, r1), second = _mm_movelh_ps(r2, r3);
  store_halves<kWay, 0>(to, first, second);
  store_halves<kWay, 1>(to + n, first, second);
}

// 2 * kPairs rows at once, two to a register. The sums are those of single elements, one after the other. Four registers
// keep the adder busy, since each addition waits for the one before.
template <int kWay, int kPairs>
void scan_pairs(float* to, const float* from, int64_t n) {
  __m128d carried[kPairs];
  for (auto& one : carried) one = _mm_set1_pd(-0.0);
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int p = 0; p < kPairs; ++p) scan_four_columns<kWay>(to + 2 * p * n, from + 2 * p * n, n, i, carried[p]);
  double sums[2 * kPairs];
  for (int p = 0; p < kPairs; ++p) _mm_storeu_pd(sums + 2 * p, carried[p]);
  for (; i < n; ++i)
    for (int r = 0; r < 2 * kPairs; ++r) to[r * n + kWay * i] = float(sums[r] += double(from[r * n + kWay * i]));
}
#endif

}  // namespace

template <int kWay>
int64_t scan_float_rows(float* to, const float* from, int64_t first, int64_t stop, int64_t n) {
#if defined(__SSE2__)
  for (; first + 8 <= stop; first += 8) scan_pairs<kWay, 4>(to + first * n, from + first * n, n);
  for (; first + 2 <= stop; first += 2) scan_pairs<kWay, 1>(to + first * n, from + first * n, n);
#endif
  return first;
}

template <int kWay>
void scan_float_row(float* to, const float* from, int64_t n, bool on_threads) {
  const int64_t blocks = (n + kScanBlock - 1) / kScanBlock;
  auto size = [n](int64_t b) { return std::min(kScanBlock, n - b * kScanBlock); };
  if (!on_threads || get_num_threads() == 1) {
    double carry = -0.0, sum;
    for (int64_t b = 0; b < blocks; ++b) {
      scan_float_block<kWay>(to + kWay * b * kScanBlock, from + kWay * b * kScanBlock, size(b), carry, sum);
      carry += sum;
    }
    return;
  }
  const std::unique_ptr<double[]> starts(new double[size_t(blocks)]);
  parallel_for(blocks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) starts[b] = sum_float_block<kWay>(from + kWay * b * kScanBlock, size(b));
  });
  double carry = -0.0;
  for (int64_t b = 0; b < blocks; ++b) carry += std::exchange(starts[b], carry);
  parallel_for(blocks, 4, [&](int64_t begin, int64_t end) {
    double sum;
    for (int64_t b = begin; b < end; ++b) scan_float_block<kWay>(to + kWay * b * kScanBlock, from + kWay * b * kScanBlock, size(b), starts[b], sum);
  });
}

template void scan_float_row<1>(float*, const float*, int64_t, bool);
template void scan_float_row<-1>(float*, const float*, int64_t, bool);
template int64_t scan_float_rows<1>(float*, const float*, int64_t, int64_t, int64_t);
template int64_t scan_float_rows<-1>(float*, const float*, int64_t, int64_t, int64_t);

}  // namespace thixo
