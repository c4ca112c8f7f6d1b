#include "recurrent.h"

#include <algorithm>
#include <cstring>

#include "gemm.h"
#include "gemm_job.h"
#include "thread_pool.h"

namespace thixo {

namespace {

constexpr int kGates = 4;

// How many sequences run through all times together. A weight that stays in a near cache may be walked through by
// each part; a large one is read less often.
int64_t part_of(int64_t batch, int64_t weight_bytes) {
  const int64_t most = weight_bytes <= kNearBytes ? 16 : 28;
  return batch <= most ? batch : ceil_div(batch, ceil_div(batch, most));
}

// The matrix (rows, columns) as (columns, rows).
template <class T>
void turn(const T* from, T* to, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 16;
  for (int64_t i = 0; i < rows; i += kTile)
    for (int64_t j = 0; j < columns; j += kTile)
      for (int64_t c = j; c < std::min(j + kTile, columns); ++c)
        for (int64_t r = i; r < std::min(i + kTile, rows); ++r) to[c * rows + r] = from[r * columns + c];
}

struct Walk {
  const LstmSequence& s;
  int64_t item;
  char* at(const void* base, int64_t index) const {
    return const_cast<char*>(static_cast<const char*>(base)) + index * item;
  }
  int64_t time(int64_t step) const { return s.reverse ? s.steps - 1 - step : step; }
};

}  // namespace

void lstm_forward(const LstmSequence& s, const void* x, const void* h, const void* weight_ih, const void* bias, void* y) {
  const Walk w{s, item_size(s.dtype)};
  const int64_t H = s.hidden, G = kGates * H;
  Product shares;  // of the inputs of all times
  shares.dtype = s.dtype;
  shares.m = s.steps * s.batch;
  shares.n = G;
  shares.k = s.inputs;
  shares.a = x;
  shares.a_row = s.inputs;
  shares.a_k = 1;
  shares.b = weight_ih;
  shares.b_k = 1;
  shares.b_n = s.inputs;
  shares.c = s.gates;
  shares.c_row = G;
  shares.bias = bias;
  shares.bias_n = 1;
  gemm(shares);

  Buffer turned(size_t(G * H * w.item));
  if (s.dtype == DType::F32) turn(static_cast<const float*>(s.weight_hh), reinterpret_cast<float*>(turned.data), G, H);
  else turn(static_cast<const double*>(s.weight_hh), reinterpret_cast<double*>(turned.data), G, H);

  const int64_t part = part_of(s.batch, G * H * w.item);
  parallel_for(s.batch, part, [&](int64_t from, int64_t to) {
    const int64_t rows = to - from;
    Buffer share(size_t(rows * G * w.item));
    Product p;
    p.dtype = s.dtype;
    p.m = rows;
    p.n = G;
    p.k = H;
    p.a_row = H;
    p.a_k = 1;
    p.b = turned.data;
    p.b_k = G;
    p.b_n = 1;
    p.c = share.data;
    p.c_row = G;
    int64_t strides[15];
    std::fill(strides, strides + 15, w.item);
    for (int64_t step = 0; step < s.steps; ++step) {
      const int64_t row = w.time(step) * s.batch + from;
      const int64_t last = step ? w.time(step - 1) * s.batch + from : from;
      p.a = w.at(step ? y : h, last * H);
      gemm(p);
      for (int64_t r = 0; r < rows; ++r) {
        char* g[kGates];
        for (int i = 0; i < kGates; ++i) g[i] = w.at(s.gates, (row + r) * G + i * H);
        char* u = share.data + r * G * w.item;
        char* pointers[15] = {g[0], g[1], g[2], g[3], u, u + H * w.item, u + 2 * H * w.item, u + 3 * H * w.item,
                              w.at(step ? s.cells : s.c, (last + r) * H),
                              g[0], g[1], g[2], g[3], w.at(s.cells, (row + r) * H), w.at(y, (row + r) * H)};
        s.cell(pointers, strides, H);
      }
    }
  });
}

void lstm_backward(const LstmSequence& s, const void* g_y, void* g_h, void* g_c, void* g_gates) {
  const Walk w{s, item_size(s.dtype)};
  const int64_t H = s.hidden, G = kGates * H;
  const int64_t part = part_of(s.batch, G * H * w.item);
  parallel_for(s.batch, part, [&](int64_t from, int64_t to) {
    const int64_t rows = to - from;
    Product p;
    p.dtype = s.dtype;
    p.m = rows;
    p.n = H;
    p.k = G;
    p.a_row = G;
    p.a_k = 1;
    p.b = s.weight_hh;
    p.b_k = H;
    p.b_n = 1;
    p.c = w.at(g_h, from * H);
    p.c_row = H;
    int64_t strides[14];
    std::fill(strides, strides + 14, w.item);
    for (int64_t step = s.steps; step-- > 0;) {
      const int64_t row = w.time(step) * s.batch + from;
      const int64_t last = step ? w.time(step - 1) * s.batch + from : from;
      for (int64_t r = 0; r < rows; ++r) {
        char *g[kGates], *to_gates[kGates];
        for (int i = 0; i < kGates; ++i) {
          g[i] = w.at(s.gates, (row + r) * G + i * H);
          to_gates[i] = w.at(g_gates, (row + r) * G + i * H);
        }
        char* cell = w.at(g_c, (from + r) * H);
        char* pointers[14] = {g[0], g[1], g[2], g[3], w.at(s.cells, (row + r) * H),
                              w.at(step ? s.cells : s.c, (last + r) * H), w.at(g_y, (row + r) * H),
                              w.at(g_h, (from + r) * H), cell,
                              to_gates[0], to_gates[1], to_gates[2], to_gates[3], cell};
        s.cell(pointers, strides, H);
      }
      p.a = w.at(g_gates, row * G);
      gemm(p);
    }
  });
}

}  // namespace thixo
