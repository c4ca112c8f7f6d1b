// Rows of random arrays in random layouts, through a plain loop in place of a generated kernel.
#include <algorithm>
#include <random>
#include <vector>

#include "../../src/thixo/_core/core/rows.h"
#include "../../src/thixo/_core/core/thread_pool.h"
#include "check.h"

using namespace thixo;
static std::mt19937_64 random_bits(11);
static int64_t pick(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_bits() % static_cast<uint64_t>(high - low + 1));
}

static double& number(char* at) { return *reinterpret_cast<double*>(at); }

// Operands: x (each place), s (each row), c (each place along the row); t (each row) = sum of x c, y (each place) =
// x - s + t. Strides must be as the layout promises.
static void loop(char* const* p, const int64_t* s, int64_t rows, int64_t segments, int64_t columns, bool across) {
  constexpr int64_t item = sizeof(double);
  if (across) {
    CHECK(rows == 1 || (s[0] == item && s[3] == item && s[9] == item && s[12] == item));
  } else {
    CHECK(columns <= 1 || ((s[2] == item || s[2] == 0) && (s[8] == item || s[8] == 0) && s[14] == item));
  }
  for (int64_t r = 0; r < rows; ++r) {
    double total = 0;
    for (int64_t g = 0; g < segments; ++g)
      for (int64_t i = 0; i < columns; ++i)
        total += number(p[0] + r * s[0] + g * s[1] + i * s[2]) * number(p[2] + g * s[7] + i * s[8]);
    number(p[3] + r * s[9]) = total;
    for (int64_t g = 0; g < segments; ++g)
      for (int64_t i = 0; i < columns; ++i)
        number(p[4] + r * s[12] + g * s[13] + i * s[14]) =
            number(p[0] + r * s[0] + g * s[1] + i * s[2]) - number(p[1] + r * s[3]) + total;
  }
}
static void along(char* const* p, const int64_t* s, int64_t rows, int64_t segments, int64_t columns, char*,
                  int64_t, int64_t) {
  loop(p, s, rows, segments, columns, false);
}
static void across(char* const* p, const int64_t* s, int64_t rows, int64_t segments, int64_t columns, char*,
                   int64_t, int64_t) {
  loop(p, s, rows, segments, columns, true);
}

struct Owned {
  std::vector<double> memory;
  std::vector<int64_t> strides;  // bytes
  int64_t offset(const std::vector<int64_t>& index) const {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
    return at / 8;
  }
};

// With a size of 1 where `has` is false; in any order, with gaps, where `wild`.
static Owned make(const std::vector<int64_t>& sizes, const std::vector<bool>& has, bool wild) {
  Owned a;
  const int n = static_cast<int>(sizes.size());
  std::vector<int> order(sizes.size());
  for (int d = 0; d < n; ++d) order[d] = n - 1 - d;
  if (wild) std::shuffle(order.begin(), order.end(), random_bits);
  a.strides.assign(sizes.size(), 0);
  int64_t step = 8;
  for (int d : order) {
    if (!has[d]) continue;
    if (wild && pick(0, 3) == 0) step += 8;
    if (wild && pick(0, 6) == 0) continue;  // repeated
    a.strides[d] = step;
    step *= sizes[d];
  }
  a.memory.resize(static_cast<size_t>(step / 8 + 8));
  for (double& x : a.memory) x = static_cast<double>(pick(-9, 9));
  return a;
}

static void test_random_layouts() {
  for (int round = 0; round < 1000; ++round) {
    const int ndim = static_cast<int>(pick(0, 5));
    std::vector<int64_t> sizes;
    std::vector<bool> all, rows, columns;
    bool reduced[8] = {};
    for (int d = 0; d < ndim; ++d) {
      sizes.push_back(pick(0, 30) == 0 ? 0 : pick(1, 6));
      reduced[d] = pick(0, 1) == 0;
      all.push_back(true);
      rows.push_back(!reduced[d]);
      columns.push_back(reduced[d]);
    }
    if (ndim && pick(0, 9) == 0) sizes[0] = 3000;
    const bool wild = pick(0, 2) > 0;
    Owned x = make(sizes, all, wild), s = make(sizes, rows, wild), c = make(sizes, columns, wild);
    Owned t = make(sizes, rows, false), y = make(sizes, all, false);
    RowKernel kernel;
    kernel.count = 5;
    const RowView views[] = {RowView::Full, RowView::Row, RowView::Column, RowView::Row, RowView::Full};
    for (int k = 0; k < 5; ++k) {
      kernel.view[k] = views[k];
      kernel.written[k] = k > 2;
      kernel.dtype[k] = DType::F64;
    }
    kernel.width = 32;
    Owned* all_operands[] = {&x, &s, &c, &t, &y};
    RowOperand operands[5];
    for (int k = 0; k < 5; ++k)
      operands[k] = {reinterpret_cast<char*>(all_operands[k]->memory.data()), all_operands[k]->strides.data()};
    set_num_threads(static_cast<int>(pick(1, 3)));
    RowNest nest;
    const bool any = plan_rows(nest, kernel, operands, ndim, sizes.data(), reduced);
    int64_t kept = 1, places = 1;
    for (int d = 0; d < ndim; ++d) (reduced[d] ? places : kept) *= sizes[d];
    CHECK(any == (kept > 0));
    if (!any) continue;
    run_rows(nest, kernel, {nest.layout == RowLayout::Along ? along : across});

    std::vector<int64_t> index(sizes.size(), 0);
    const auto next = [&](bool kind) {
      for (int d = ndim - 1; d >= 0; --d) {
        if (reduced[d] != kind) continue;
        if (++index[d] < sizes[d]) return true;
        index[d] = 0;
      }
      return false;
    };
    bool right = true;
    do {
      double total = 0;
      if (places) do total += x.memory[x.offset(index)] * c.memory[c.offset(index)]; while (next(true));
      right = right && t.memory[t.offset(index)] == total;
      if (places) do
          right = right && y.memory[y.offset(index)] == x.memory[x.offset(index)] - s.memory[s.offset(index)] + total;
        while (next(true));
    } while (next(false));
    CHECK(right);
  }
}

int main() {
  test_random_layouts();
  return check::finish("rows");
}
