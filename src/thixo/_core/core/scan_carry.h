// Columns of running sums and products, carried from row to row.
#pragma once
#include <algorithm>

#include "cpu.h"
#include "scan_columns.h"
#include "scan_fold.h"

namespace thixo {

// `n` rows of columns, whose elements follow each other; rows are `to_step` and `from_step` elements apart. `carried` holds
// where the columns stand, and where they stand afterwards; nothing came before the first row if it is the `first`.
template <class F>
inline __attribute__((always_inline)) void carry_rows(typename F::Result* to, int64_t to_step, const typename F::In* from,
                                                      int64_t from_step, int64_t n, int64_t columns,
                                                      typename F::Acc* carried, bool first) {
  for (int64_t i = 0; i < n; ++i, to += to_step, from += from_step) {
    if (first && i == 0) {
      for (int64_t j = 0; j < columns; ++j) {
        carried[j] = F::widen(from[j]);
        to[j] = F::result(carried[j]);
      }
      continue;
    }
    THIXO_INDEPENDENT
    for (int64_t j = 0; j < columns; ++j) {
      carried[j] = F::next(carried[j], F::widen(from[j]));
      to[j] = F::result(carried[j]);
    }
  }
}

#define THIXO_CARRY(name, target)                                                                                     \
  template <class F>                                                                                                  \
  target void name(typename F::Result* to, int64_t to_step, const typename F::In* from, int64_t from_step, int64_t n, \
                   int64_t columns, typename F::Acc* carried, bool first) {                                           \
    carry_rows<F>(to, to_step, from, from_step, n, columns, carried, first);                                          \
  }
THIXO_CARRY(carry_portable, )
#if defined(__x86_64__)
THIXO_CARRY(carry_v3, __attribute__((target("avx2"))))
THIXO_CARRY(carry_v4, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#endif
#undef THIXO_CARRY

// The one with the longest vectors that this processor has.
template <class F>
auto row_carrier() {
#if defined(__x86_64__)
  if constexpr (std::is_floating_point_v<typename F::In>) {
    if (cpu_features().x86_64_v4) return carry_v4<F>;
    if (cpu_features().x86_64_v3) return carry_v3<F>;
  }
#endif
  return carry_portable<F>;
}

}  // namespace thixo
