// Scans other than sums and products: extremes, sums in the logarithm, linear recurrences.
#include <cmath>
#include <type_traits>

#include "kernels/types.h"
#include "scan_columns.h"

namespace thixo {

// ---- extremes

namespace {

template <class T>
auto comparable(T x) {
  if constexpr (kIsHalf<T>) return float(x);
  else if constexpr (kIsBool<T>) return x.byte != 0;
  else return x;
}

template <class T, bool greatest>
void extreme(T* values, int64_t* places, const T* from, ScanShape s) {
  for_columns(s, kScanColumns, kScanShared, [&](int64_t o, int64_t first, int64_t columns) {
    const int64_t start = o * s.n * s.inner + first;
    if (s.inner == 1) {
      const T* x = from + start;
      T best = x[0];
      int64_t place = 0;
      auto b = comparable(best);
      for (int64_t i = 0; i < s.n; ++i) {
        const auto v = comparable(x[i]);
        // A branch: a new extreme is rare, or as common as can be foretold.
        if (!(greatest ? v < b : v > b) && (v != v || b == b)) {
          best = x[i];
          b = v;
          place = i;
        }
        values[start + i] = best;
        places[start + i] = place;
      }
      return;
    }
    std::copy_n(from + start, columns, values + start);
    std::fill_n(places + start, columns, 0);
    for (int64_t i = 1; i < s.n; ++i) {
      const int64_t at = start + i * s.inner, before = at - s.inner;
      THIXO_INDEPENDENT
      for (int64_t j = 0; j < columns; ++j) {
        const auto v = comparable(from[at + j]), b = comparable(values[before + j]);
        const bool better = (v != v) | ((b == b) & (greatest ? v >= b : v <= b));
        values[at + j] = better ? from[at + j] : values[before + j];
        places[at + j] = better ? i : places[before + j];
      }
    }
  });
}

}  // namespace

void scan_extreme(bool greatest, char* values, int64_t* places, const char* from, DType dtype, ScanShape s) {
  if (is_empty(s)) return;
  visit(dtype, [&]<class T>() {
    if constexpr (!kIsComplex<T>) {
      auto* y = reinterpret_cast<T*>(values);
      auto* x = reinterpret_cast<const T*>(from);
      if (greatest) extreme<T, true>(y, places, x, s);
      else extreme<T, false>(y, places, x, s);
    }
  });
}

// ---- in the logarithm

namespace {

double log_add(double a, double b) {
  if (a == b) return a + 0.69314718055994530942;  // infinities too
  const double high = a > b ? a : b, low = a > b ? b : a;
  return a != a || b != b ? a + b : high + std::log1p(std::exp(low - high));
}

// As a greatest element and the sum of exponentials relative to it: enough for results that are no doubles.
template <class T>
void log_columns(T* y, const T* x, int64_t start, int64_t n, int64_t inner, int64_t columns) {
  double high[16], sum[16];
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = start + i * inner;
    for (int64_t j = 0; j < columns; ++j) {
      const double v = convert<double>(x[at + j]);
      if (i == 0) {
        high[j] = v;
        sum[j] = 1;
      } else if (v == high[j]) {  // infinities too
        sum[j] += 1;
      } else if (v > high[j]) {
        sum[j] = sum[j] * std::exp(high[j] - v) + 1;
        high[j] = v;
      } else {
        sum[j] += std::exp(v - high[j]);
      }
      y[at + j] = convert<T>(high[j] + std::log(sum[j]));
    }
  }
}

}  // namespace

void scan_logsumexp(char* to, const char* from, DType dtype, ScanShape s) {
  if (is_empty(s)) return;
  visit(dtype, [&]<class T>() {
    if constexpr (kIsHalf<T> || std::is_floating_point_v<T>) {
      auto* y = reinterpret_cast<T*>(to);
      auto* x = reinterpret_cast<const T*>(from);
      for_columns(s, 16, 0, [&](int64_t o, int64_t first, int64_t columns) {
        if constexpr (sizeof(T) < 8) return log_columns(y, x, o * s.n * s.inner + first, s.n, s.inner, columns);
        double carried[16];
        for (int64_t i = 0; i < s.n; ++i) {
          const int64_t at = (o * s.n + i) * s.inner + first;
          for (int64_t j = 0; j < columns; ++j) {
            const double v = convert<double>(x[at + j]);
            carried[j] = i ? log_add(carried[j], v) : v;
            y[at + j] = convert<T>(carried[j]);
          }
        }
      });
    }
  });
}

// ---- linear recurrences

void scan_recurrence(char* to, const char* from, const char* decay, DType dtype, ScanShape s) {
  if (is_empty(s)) return;
  visit(dtype, [&]<class T>() {
    if constexpr (kIsHalf<T> || std::is_floating_point_v<T> || kIsComplex<T>) {
      using Acc = std::conditional_t<kIsHalf<T>, float, T>;
      auto* y = reinterpret_cast<T*>(to);
      auto* x = reinterpret_cast<const T*>(from);
      auto* d = reinterpret_cast<const T*>(decay);
      for_columns(s, kScanColumns, kScanShared, [&](int64_t o, int64_t first, int64_t columns) {
        Acc carried[kScanColumns];
        for (int64_t i = 0; i < s.n; ++i) {
          const int64_t at = (o * s.n + i) * s.inner + first;
          THIXO_INDEPENDENT
          for (int64_t j = 0; j < columns; ++j) {
            const Acc v = convert<Acc>(x[at + j]);
            carried[j] = i ? v + convert<Acc>(d[at + j]) * carried[j] : v;
            y[at + j] = convert<T>(carried[j]);
          }
        }
      });
    }
  });
}

}  // namespace thixo
