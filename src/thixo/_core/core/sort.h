// Sorting and selecting in rows. Every order here is stable, NaN is the greatest of all, and -0.0 equals 0.0.
#pragma once
#include <cstdint>

#include "dtype.h"

namespace thixo {

// Each row of a contiguous (rows, n) array of a real dtype in order: values (not wanted: null) and where they were.
void sort_rows(const char* from, DType dtype, int64_t rows, int64_t n, bool descending, char* values, int64_t* places);

// The first k of each sorted row; k <= n.
void top_rows(const char* from, DType dtype, int64_t rows, int64_t n, int64_t k, bool descending, char* values,
              int64_t* places);

// The element of each row at a rank that `rank` gives from how many are not NaN.
enum class Rank : uint8_t { Given, Median, MedianOfNumbers };
void rank_rows(const char* from, DType dtype, int64_t rows, int64_t n, Rank rank, int64_t given, char* values,
               int64_t* places);

// Groups of equal elements in order; a NaN equals nothing. `firsts` (room for n) gets where each group's first is,
// `counts` (n) how many it has, `inverse` (n) each element's group. How many groups.
int64_t unique_line(const char* from, DType dtype, int64_t n, int64_t* firsts, int64_t* counts, int64_t* inverse);

// For each value of a row the number of elements of its sorted sequence that are less (right: less or equal).
// One sequence for all rows if its row_stride is 0 elements. Both contiguous, of one real dtype.
void search_rows(const char* sequence, int64_t length, int64_t row_stride, const char* values, int64_t rows,
                 int64_t per_row, DType dtype, bool right, int64_t* found);

}  // namespace thixo
