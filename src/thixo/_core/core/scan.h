// Scans along the middle axis of contiguous arrays of shape (outer, n, inner). Results do not depend on threads: rows are
// apart, and a long row is cut into blocks of a fixed size.
#pragma once
#include <cstdint>

#include "dtype.h"
#include "gather.h"

namespace thixo {

struct ScanShape {
  int64_t outer, n, inner;
};

enum class Scan : uint8_t { Sum, Product };
// from has dtype `in`. The result has dtype `in` too, or I64 where `in` is an integer or bool and `widen` says so.
// float32 and halves are accumulated in double and rounded once each. Sums may begin at the other end of the axis.
void scan(Scan kind, char* to, const char* from, DType in, bool widen, ScanShape shape, bool from_the_end = false);

// The same along the last axis of an array that lies otherwise: neighbours on the last of the axes before it (`outer`,
// in bytes) are neighbours in memory, those along the scanned axis are `step` bytes apart. The result is contiguous.
void scan_across(Scan kind, char* to, const char* from, DType in, bool widen, const Axes& outer, int64_t n, int64_t step);

// The same along an axis whose elements are neighbours in memory, where `inner` rows of them, `stride` bytes apart, are the
// columns of each plane of the result. The result is contiguous.
void scan_turned(Scan kind, char* to, const char* from, DType in, bool widen, const Axes& outer, int64_t n, int64_t inner,
                 int64_t stride);

// The greatest (or least) so far, and the last place where it is; NaN is greater (and less) than all else.
void scan_extreme(bool greatest, char* values, int64_t* places, const char* from, DType dtype, ScanShape shape);

// log(sum of exp) so far, of floating types, in double.
void scan_logsumexp(char* to, const char* from, DType dtype, ScanShape shape);

// y_i = x_i + decay_i y_(i-1), of floating (halves in float) and complex types.
void scan_recurrence(char* to, const char* from, const char* decay, DType dtype, ScanShape shape);

}  // namespace thixo
