// Running sums and products.
#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/types.h"
#include "scan_carry.h"
#include "scan_floats.h"

namespace thixo {
namespace {

constexpr int64_t kChain = kScanBlock / 4;

// A row from its first element (kWay is 1) or from its last (-1): `to` and `from` are where it begins.
template <class F, int kWay>
void scan_row(typename F::Result* to, const typename F::In* from, int64_t n) {
  typename F::Acc a = F::widen(from[0]);
  to[0] = F::result(a);
  for (int64_t i = 1; i < n; ++i) {
    a = F::next(a, F::widen(from[kWay * i]));
    to[kWay * i] = F::result(a);
  }
}

// Four rows at once: their additions do not wait for each other.
template <class F, int kWay>
void scan_four_rows(typename F::Result* to, const typename F::In* from, int64_t n) {
  using Acc = typename F::Acc;
  const auto *x0 = from, *x1 = from + n, *x2 = from + 2 * n, *x3 = from + 3 * n;
  auto *y0 = to, *y1 = to + n, *y2 = to + 2 * n, *y3 = to + 3 * n;
  Acc a0 = F::widen(x0[0]), a1 = F::widen(x1[0]), a2 = F::widen(x2[0]), a3 = F::widen(x3[0]);
  for (int64_t i = 0, k = 0;;) {
    y0[i] = F::result(a0);
    y1[i] = F::result(a1);
    y2[i] = F::result(a2);
    y3[i] = F::result(a3);
    if (++k == n) return;
    i += kWay;
    a0 = F::next(a0, F::widen(x0[i]));
    a1 = F::next(a1, F::widen(x1[i]));
    a2 = F::next(a2, F::widen(x2[i]));
    a3 = F::next(a3, F::widen(x3[i]));
  }
}

// The sum of one chain; with four partial sums where the compiler must keep the order of additions. Integers have none,
// and GCC 12 forgets three of four partial sums of bytes.
template <class F, int kWay>
typename F::Acc chain_sum(const typename F::In* x, int64_t n) {
  using Acc = typename F::Acc;
  if constexpr (std::is_integral_v<Acc>) {
    Acc sum = F::nothing();
    for (int64_t i = 0; i < n; ++i) sum = F::next(sum, F::widen(x[kWay * i]));
    return sum;
  }
  Acc a = F::nothing(), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a = F::next(a, F::widen(x[kWay * i]));
    b = F::next(b, F::widen(x[kWay * (i + 1)]));
    c = F::next(c, F::widen(x[kWay * (i + 2)]));
    d = F::next(d, F::widen(x[kWay * (i + 3)]));
  }
  for (; i < n; ++i) a = F::next(a, F::widen(x[kWay * i]));
  return F::next(F::next(a, b), F::next(c, d));
}

// A block of up to four chains from where the row stands.
template <class F, int kWay>
void scan_block(typename F::Result* to, const typename F::In* from, int64_t n, const typename F::Acc* starts) {
  using Acc = typename F::Acc;
  if (n == kScanBlock) {
    Acc a0 = starts[0], a1 = starts[1], a2 = starts[2], a3 = starts[3];
    for (int64_t i = 0; i < kChain; ++i) {
      a0 = F::next(a0, F::widen(from[kWay * i]));
      a1 = F::next(a1, F::widen(from[kWay * (i + kChain)]));
      a2 = F::next(a2, F::widen(from[kWay * (i + 2 * kChain)]));
      a3 = F::next(a3, F::widen(from[kWay * (i + 3 * kChain)]));
      to[kWay * i] = F::result(a0);
      to[kWay * (i + kChain)] = F::result(a1);
      to[kWay * (i + 2 * kChain)] = F::result(a2);
      to[kWay * (i + 3 * kChain)] = F::result(a3);
    }
    return;
  }
  for (int64_t c = 0; c * kChain < n; ++c) {
    Acc a = starts[c];
    for (int64_t i = c * kChain; i < std::min(n, (c + 1) * kChain); ++i) {
      a = F::next(a, F::widen(from[kWay * i]));
      to[kWay * i] = F::result(a);
    }
  }
}

// A long row of sums: those of the chains first, then every chain from its start.
template <class F, int kWay>
void scan_long_row(typename F::Result* to, const typename F::In* from, int64_t n, bool on_threads) {
  using Acc = typename F::Acc;
  auto block_starts = [&](int64_t block, Acc& carry, Acc* starts) {
    const int64_t first = block * kScanBlock, size = std::min(kScanBlock, n - first);
    for (int64_t c = 0; c * kChain < size; ++c) {
      starts[c] = carry;
      carry = F::next(carry, chain_sum<F, kWay>(from + kWay * (first + c * kChain), std::min(kChain, size - c * kChain)));
    }
  };
  const int64_t blocks = (n + kScanBlock - 1) / kScanBlock;
  if (!on_threads) {
    Acc carry = F::nothing(), starts[4];
    for (int64_t b = 0; b < blocks; ++b) {
      block_starts(b, carry, starts);
      scan_block<F, kWay>(to + kWay * b * kScanBlock, from + kWay * b * kScanBlock, std::min(kScanBlock, n - b * kScanBlock), starts);
    }
    return;
  }
  const int64_t chains = (n + kChain - 1) / kChain;
  const std::unique_ptr<Acc[]> starts(new Acc[size_t(chains)]);
  parallel_for(chains, 16, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) starts[c] = chain_sum<F, kWay>(from + kWay * c * kChain, std::min(kChain, n - c * kChain));
  });
  Acc carry = F::nothing();
  for (int64_t c = 0; c < chains; ++c) {
    const Acc sum = starts[c];
    starts[c] = carry;
    carry = F::next(carry, sum);
  }
  parallel_for(blocks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      scan_block<F, kWay>(to + kWay * b * kScanBlock, from + kWay * b * kScanBlock, std::min(kScanBlock, n - b * kScanBlock), starts.get() + 4 * b);
  });
}

template <class F, int kWay>
void run(char* to, const char* from, ScanShape s) {
  auto* y = reinterpret_cast<typename F::Result*>(to);
  auto* x = reinterpret_cast<const typename F::In*>(from);
  const int64_t start = kWay > 0 ? 0 : (s.n - 1) * s.inner;  // in a plane
  x += start;
  y += start;
  if (s.inner > 1)
    return for_columns(s, kScanColumns, kScanShared, [&, carry = row_carrier<F>()](int64_t o, int64_t first, int64_t columns) {
      const int64_t at = o * s.n * s.inner + first, step = kWay * s.inner;
      typename F::Acc carried[kScanColumns];
      carry(y + at, step, x + at, step, s.n, columns, carried, true);
    });
  if constexpr (kReorders<F> && std::is_same_v<typename F::In, float>) {
    const bool long_rows = s.outer < 16 && s.n > 16 * kScanBlock;
    if (long_rows) {
      for (int64_t o = 0; o < s.outer; ++o) scan_float_row<kWay>(y + o * s.n, x + o * s.n, s.n, true);
      return;
    }
    if (s.n > kScanBlock)
      return parallel_for(s.outer, 1, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) scan_float_row<kWay>(y + o * s.n, x + o * s.n, s.n, false);
      });
  }
  // Long rows in blocks, where additions may be grouped otherwise.
  const bool blocks = kReorders<F> && s.n > kChain && !std::is_same_v<typename F::In, float>;
  if (blocks && s.outer < 16 && s.n > 16 * kScanBlock) {
    for (int64_t o = 0; o < s.outer; ++o) scan_long_row<F, kWay>(y + o * s.n, x + o * s.n, s.n, true);
    return;
  }
  const int64_t eight = std::max<int64_t>(1, kScanGrain / (8 * s.n));
  parallel_evenly((s.outer + 7) / 8, eight, [&](int64_t begin, int64_t end) {
    int64_t o = begin * 8;
    const int64_t stop = std::min(s.outer, end * 8);
    if constexpr (kReorders<F> && std::is_same_v<typename F::In, float>)
      o = scan_float_rows<kWay>(y, x, o, stop, s.n);
    if (!blocks)
      for (; o + 4 <= stop; o += 4) scan_four_rows<F, kWay>(y + o * s.n, x + o * s.n, s.n);
    for (; o < stop; ++o) {
      if (blocks) scan_long_row<F, kWay>(y + o * s.n, x + o * s.n, s.n, false);
      else scan_row<F, kWay>(y + o * s.n, x + o * s.n, s.n);
    }
  });
}

}  // namespace

void scan(Scan kind, char* to, const char* from, DType in, bool widen, ScanShape s, bool from_the_end) {
  if (is_empty(s)) return;
  visit_fold(kind, in, widen, [&](auto fold) {
    using F = decltype(fold);
    if (!from_the_end) return run<F, 1>(to, from, s);
    if constexpr (F::kind == Scan::Sum) run<F, -1>(to, from, s);
  });
}

}  // namespace thixo
