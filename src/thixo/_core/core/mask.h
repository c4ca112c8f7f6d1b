// Where a mask holds: counted in fixed blocks first, so that every block knows where its part of the result begins.
#pragma once
#include <cstdint>

namespace thixo {

int64_t mask_blocks(int64_t n);
// The number of true elements; starts[b] is how many come before block b.
int64_t count_true(const char* mask, int64_t n, int64_t* starts);
// The indices, `ndim` to a row, of the true elements of a contiguous mask; how many rows were written. The mask may
// change under other threads: never more than `total` rows.
int64_t true_places(const char* mask, int64_t n, const int64_t* starts, int64_t total, const int64_t* sizes, int ndim,
                    int64_t* places);
// The blocks of `bytes` each whose mask element is true, one after the other; false if their number is no more `total`.
bool take_true(const char* mask, int64_t n, const int64_t* starts, int64_t total, const char* from, int64_t bytes,
               char* to);

}  // namespace thixo
