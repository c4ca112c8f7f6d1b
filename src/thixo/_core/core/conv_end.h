// What follows the sums of a convolution: a bias for each channel, an array that is added, nothing below zero.
#pragma once
#include "conv_places.h"

namespace thixo {

// Results of `places` neighbours with their channels side by side, of which `count` follow `to`; `to` lies in p.y. Sums may lie
// where results go. `bias` is that of the first of these channels, or null.
void end_lines(const PlacesJob& p, const char* sums, int64_t ld, char* to, int64_t to_row, int64_t places, int64_t count, const char* bias);

// y = end(y + more), element by element; `more` may be null.
void end_all(DType dtype, char* y, const char* more, bool relu, int64_t count);

// The end of a product whose result has its channels side by side: its context.
struct ProductEnd {
  const char *more, *c;  // laid out alike
  bool relu;
};
void end_product(void* part, int64_t row_stride, int64_t column_stride, int64_t row, int64_t rows, int64_t column, int64_t columns, void* context);

}  // namespace thixo
