// Radix sort of entries: long ranges are dealt out by their leading digit until a piece fits the cache, which is then
// sorted from its last digit on.
#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "sort_keys.h"
#include "thread_pool.h"

namespace thixo {
namespace {

constexpr int64_t kCached = 16384;  // entries
constexpr int kDigit = 8;
constexpr int kFirstDigit = 11;  // of a long row: sign, exponent and two bits of a float32

template <class E>
inline int64_t digit(const E& e, int shift, int64_t mask) {
  return int64_t(key_of(e) >> shift) & mask;
}

template <class E>
void insertion_sort(E* a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const E e = a[i];
    int64_t j = i;
    for (; j > 0 && key_of(e) < key_of(a[j - 1]); --j) a[j] = a[j - 1];
    a[j] = e;
  }
}

// Entries of one word are compared whole: equal keys are in the order of their places, which the word's low half has.
template <class E>
inline bool goes_before(const E& a, const E& b) {
  if constexpr (std::is_same_v<E, uint64_t>) return a < b;
  else return key_of(a) < key_of(b);
}

inline void put_in_order(uint64_t& a, uint64_t& b) {
  const uint64_t x = a, y = b;
  a = x < y ? x : y;
  b = x < y ? y : x;
}

// Up to 9 words, by exchanges that are the same whatever the keys are: a branch that nobody foresees takes as long as ten of them.
inline void sort_few(const uint64_t* a, int64_t n, uint64_t* to) {
  const uint64_t ninth = n == 9 ? a[8] : 0;
  uint64_t v[8];
  for (int64_t i = 0; i < 8; ++i) v[i] = i < n ? a[i] : ~uint64_t(0);
  constexpr int kPairs[19][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3},
                                 {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
  [&]<size_t... k>(std::index_sequence<k...>) {
    (put_in_order(v[kPairs[k][0]], v[kPairs[k][1]]), ...);
  }(std::make_index_sequence<19>());
  if (n < 9) {
    for (int64_t i = 0; i < n; ++i) to[i] = v[i];
    return;
  }
  int64_t before = 0;  // of the ninth
  for (int64_t i = 0; i < 8; ++i) {
    const bool after = ninth < v[i];
    to[i + after] = v[i];
    before += !after;
  }
  to[before] = ninth;
}

// Two sorted runs of `half` and `n - half` entries into one, from both ends at once: no branch depends on the keys.
template <class E>
void merge_runs(const E* a, int64_t half, int64_t n, E* to) {
  const E *left = a, *right = a + half, *left_end = a + half - 1, *right_end = a + n - 1;
  if (half == n || key_of(*left_end) <= key_of(*right)) {
    std::copy_n(a, n, to);
    return;
  }
  // Equal halves (they differ by one at most) cannot run empty before the middle is reached from either end.
  E *first = to, *last = to + n - 1;
  for (int64_t i = 0; i < n / 2; ++i) {
    const E l = *left, r = *right;
    const bool take_right = goes_before(r, l);
    *first++ = take_right ? r : l;
    right += take_right;
    left += !take_right;
    const E l_end = *left_end, r_end = *right_end;
    const bool take_left = goes_before(r_end, l_end);
    *last-- = take_left ? l_end : r_end;
    left_end -= take_left;
    right_end -= !take_left;
  }
  if (n % 2) *first = left <= left_end ? *left : *right;
}

// Whether merging is faster than counting digits, from the cycles that each takes on the machines at hand.
inline bool merging_is_faster(int64_t n, int bits) {
  if (n <= 24 || n > 256) return n <= 24;
  const int passes = std::max(1, (bits + kDigit - 1) / kDigit), width = (bits + passes - 1) / passes;
  const double levels = std::bit_width(uint64_t(n)) - 3;
  return n * (4 * levels + 10) < passes * (1.5 * double(1 << width) + 2.5 * n);
}

template <class E>
void merge_sort(E* a, E* b, int64_t n, bool into_b) {
  if constexpr (std::is_same_v<E, uint64_t>) {
    if (n <= 9) return sort_few(a, n, into_b ? b : a);
  } else if (n <= 8) {
    insertion_sort(a, n);
    if (into_b) std::copy_n(a, n, b);
    return;
  }
  const int64_t half = n / 2;
  merge_sort(a, b, half, !into_b);
  merge_sort(a + half, b + half, n - half, !into_b);
  if (into_b) merge_runs(a, half, n, b);
  else merge_runs(b, half, n, a);
}

// From the last digit on.
template <class E>
void sort_cached(E* a, E* b, int64_t n, int bits, bool into_b) {
  const int passes = (bits + kDigit - 1) / kDigit;
  const int width = passes ? (bits + passes - 1) / passes : 0;
  const int64_t mask = (int64_t(1) << width) - 1;
  uint32_t counts[8][1 << kDigit];
  for (int p = 0; p < passes; ++p) std::fill_n(counts[p], size_t(mask) + 1, 0u);
  if (passes == 4) {
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t key = key_of(a[i]);
      ++counts[0][key & mask];
      ++counts[1][key >> width & mask];
      ++counts[2][key >> 2 * width & mask];
      ++counts[3][key >> 3 * width & mask];
    }
  } else {
    for (int64_t i = 0; i < n; ++i)
      for (int p = 0; p < passes; ++p) ++counts[p][digit(a[i], p * width, mask)];
  }
  E *from = a, *to = b;
  for (int p = 0; p < passes; ++p) {
    uint32_t* starts = counts[p];
    if (starts[digit(from[0], p * width, mask)] == n) continue;  // one digit for all
    uint32_t at = 0;
    for (int64_t d = 0; d <= mask; ++d) {
      const uint32_t count = starts[d];
      starts[d] = at;
      at += count;
    }
    for (int64_t i = 0; i < n; ++i) {
      const E e = from[i];
      to[starts[digit(e, p * width, mask)]++] = e;
    }
    std::swap(from, to);
  }
  E* wanted = into_b ? b : a;
  if (from != wanted) std::copy_n(from, n, wanted);
}

}  // namespace

template <class E>
void radix_sort(E* a, E* b, int64_t n, int bits, bool into_b) {
  if (merging_is_faster(n, bits)) return merge_sort(a, b, n, into_b);
  if (n <= kCached || bits <= kDigit) {
    if (n < int64_t(1) << 31) return sort_cached(a, b, n, bits, into_b);
  }
  const int width = std::min(kDigit, bits), shift = bits - width;
  const int64_t mask = (int64_t(1) << width) - 1;
  int64_t starts[(1 << kDigit) + 1] = {};
  for (int64_t i = 0; i < n; ++i) ++starts[digit(a[i], shift, mask) + 1];
  if (starts[digit(a[0], shift, mask) + 1] == n) return radix_sort(a, b, n, shift, into_b);
  for (int64_t d = 0; d <= mask; ++d) starts[d + 1] += starts[d];
  int64_t at[1 << kDigit];
  std::copy_n(starts, mask + 1, at);
  for (int64_t i = 0; i < n; ++i) {
    const E e = a[i];
    b[at[digit(e, shift, mask)]++] = e;
  }
  for (int64_t d = 0; d <= mask; ++d)
    if (const int64_t size = starts[d + 1] - starts[d]) radix_sort(b + starts[d], a + starts[d], size, shift, !into_b);
}

template <class E>
void radix_sort_on_threads(E* a, E* b, int64_t n, int bits, bool into_b) {
  const int width = std::min(kFirstDigit, bits), shift = bits - width;
  const int64_t digits = int64_t(1) << width, mask = digits - 1;
  const int64_t blocks = std::min<int64_t>(16, (n + 65535) / 65536), size = (n + blocks - 1) / blocks;
  const std::unique_ptr<int64_t[]> counts(new int64_t[size_t(blocks * digits)]());
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t i = k * size; i < std::min(n, (k + 1) * size); ++i) ++counts[k * digits + digit(a[i], shift, mask)];
  });
  const std::unique_ptr<int64_t[]> starts(new int64_t[size_t(digits + 1)]);
  int64_t at = 0;
  for (int64_t d = 0; d < digits; ++d) {
    starts[d] = at;
    for (int64_t k = 0; k < blocks; ++k) {
      const int64_t count = counts[k * digits + d];
      counts[k * digits + d] = at;
      at += count;
    }
  }
  starts[digits] = n;
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t i = k * size; i < std::min(n, (k + 1) * size); ++i) {
        const E e = a[i];
        b[counts[k * digits + digit(e, shift, mask)]++] = e;
      }
  });
  parallel_for(digits, 8, [&](int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d)
      if (const int64_t some = starts[d + 1] - starts[d]) radix_sort(b + starts[d], a + starts[d], some, shift, !into_b);
  });
}

template void radix_sort(uint64_t*, uint64_t*, int64_t, int, bool);
template void radix_sort(Wide*, Wide*, int64_t, int, bool);
template void radix_sort_on_threads(uint64_t*, uint64_t*, int64_t, int, bool);
template void radix_sort_on_threads(Wide*, Wide*, int64_t, int, bool);

}  // namespace thixo
