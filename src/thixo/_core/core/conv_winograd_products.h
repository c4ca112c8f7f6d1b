// The products of Winograd's ways: V by U, a panel of channels of the results at a time. F(2x2, 3x3) has sixteen of them and
// F(4x4, 3x3) thirty-six; both have plans with the same names.
#pragma once
#include <algorithm>
#include <cstdint>

#include "conv_places.h"
#include "conv_products.h"

namespace thixo {

// Matrices are written side by side: were they a multiple of 4096 bytes apart, they would share their places in the cache.
inline int64_t winograd_apart(int64_t elements) { return round_up(elements, 1024) + 64; }

// A panel of channels, the `slot`th of those that are multiplied together: so many vectors of it, after `skip` channels.
struct WinogradPanel {
  int64_t slot, skip, vectors;
};

// One of the products, by tiles; `b`: where U has its part of the panel; `next`: what is read of U after it, or null.
template <class Plan>
void winograd_product(const Plan& plan, const WinogradPanel& panel, int64_t xi, int64_t depth, int64_t tiles, const float* b, const float* next, const char* v, char* m) {
  const ConvKernels& k = plan.k;
  const int64_t height = ceil_div(tiles, ceil_div(tiles, k.most_rows[panel.vectors - 1]));
  // What comes after a pass of a heavy U is asked for by its tiles.
  const int64_t lines = ceil_div(panel.vectors * k.lanes * 4, kLineBytes), all = ceil_div(tiles, height);
  for (int64_t at = 0; at < depth; at += plan.pass) {
    const int64_t behind = !plan.heavy ? 0 : at + plan.pass < depth ? plan.pass * plan.ld * 4 : next > b ? (next - b - at * plan.ld) * 4 : 0;
    for (int64_t i = 0, turn = 0; i < tiles; i += height, ++turn)
      k.tile(std::min(plan.pass, depth - at), v + (xi * plan.v_each + i * plan.v_row) * 4, plan.v_row, b, plan.table.data() + at,
             m + (xi * plan.m_each + panel.slot * plan.m_panel + i * plan.ld + panel.skip) * 4, plan.ld, std::min(height, tiles - i),
             panel.vectors, (at > 0) + 2 * asked_lines(behind, turn, all, lines));
  }
}

// All of them as one call.
template <class Plan>
Products winograd_products(const Plan& plan, const WinogradPanel& panel, int64_t count, int64_t depth, const float* b, const char* v, char* m) {
  Products job;
  job.k = depth;
  job.a = v;
  job.a_k = plan.v_run;
  job.a_next = plan.v_each;
  job.b = b;
  job.b_k = plan.ld;
  job.order = plan.order;
  job.c = m + (panel.slot * plan.m_panel + panel.skip) * 4;
  job.c_row = plan.ld;
  job.c_next = plan.m_each;
  job.count = count;
  return job;
}

}  // namespace thixo
