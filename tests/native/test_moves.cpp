// Moves, gathers, scatters, scans and sorts against element-by-element code, on several numbers of threads.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "../../src/thixo/_core/core/gather.h"
#include "../../src/thixo/_core/core/mask.h"
#include "../../src/thixo/_core/core/move.h"
#include "../../src/thixo/_core/core/scan.h"
#include "../../src/thixo/_core/core/scatter.h"
#include "../../src/thixo/_core/core/sort.h"
#include "../../src/thixo/_core/core/thread_pool.h"
#include "check.h"

using namespace thixo;

static std::mt19937_64 random_bits(5);
static int64_t pick(int64_t low, int64_t high) { return low + int64_t(random_bits() % uint64_t(high - low + 1)); }
static std::vector<float> floats(int64_t n) {
  std::normal_distribution<float> normal;
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = normal(random_bits);
  return v;
}
static char* bytes(std::vector<float>& v) { return reinterpret_cast<char*>(v.data()); }
static const char* bytes(const std::vector<float>& v) { return reinterpret_cast<const char*>(v.data()); }

static void test_joins() {
  for (int64_t rows : {1, 3, 1000}) {
    for (int64_t width : {1, 2, 5, 300}) {
      const int64_t count = pick(1, 6);
      std::vector<std::vector<float>> sources;
      std::vector<JoinedPart> parts;
      for (int64_t k = 0; k < count; ++k) sources.push_back(floats(rows * width));
      for (auto& s : sources) parts.push_back({bytes(s), width * 4, width * 4});
      std::vector<float> to(size_t(rows * width * count));
      join_rows(bytes(to), parts.data(), count, rows, width * count * 4);
      bool same = true;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = 0; k < count; ++k)
          for (int64_t j = 0; j < width; ++j) same &= to[(r * count + k) * width + j] == sources[k][r * width + j];
      CHECK(same);
    }
  }
}

static void test_gathers_and_scatters() {
  for (int64_t width : {1, 3, 64, 200}) {
    const int64_t rows = pick(2, 50), n = pick(1, 3000);
    std::vector<float> table = floats(rows * width), to(size_t(n * width));
    std::vector<int64_t> index(static_cast<size_t>(n));
    for (int64_t& i : index) i = pick(-rows, rows - 1);
    Places places;
    places.count = n;
    places.axes = 1;
    places.negative = true;
    places.index[0] = index.data();
    places.size[0] = rows;
    places.stride[0] = width * 4;
    Axes before, after;
    after.add(width, 4);
    CHECK(gather_blocks(bytes(to), bytes(table), 4, before, places, after));
    bool same = true;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) same &= to[i * width + j] == table[(index[i] + rows) % rows * width + j];
    CHECK(same);

    // Adding back: in the order of the indices, whatever the threads.
    std::vector<float> expected(size_t(rows * width));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) expected[(index[i] + rows) % rows * width + j] += to[i * width + j];
    for (int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      std::vector<float> sums(size_t(rows * width));
      Scatter job;
      job.to = bytes(sums);
      job.from = bytes(to);
      job.write = Write::Add;
      job.places = places;
      job.from_place = width * 4;
      job.after = 1;
      job.after_sizes[0] = width;
      job.after_to[0] = job.after_from[0] = 4;
      CHECK(scatter_blocks(job));
      CHECK(sums == expected);
    }
    index[size_t(pick(0, n - 1))] = rows;
    CHECK(!gather_blocks(bytes(to), bytes(table), 4, before, places, after));
  }
  set_num_threads(2);
}

static void test_along() {
  const int64_t rows = 37, columns = 90, length = 53;
  std::vector<float> table = floats(rows * columns), to(size_t(length * columns));
  std::vector<int64_t> index(size_t(length * columns));
  for (int64_t& i : index) i = pick(0, rows - 1);
  const int64_t table_sizes[2] = {rows, columns}, table_strides[2] = {columns * 4, 4};
  const int64_t sizes[2] = {length, columns}, strides[2] = {columns * 4, 4}, steps[2] = {columns * 8, 8};
  const Array from{bytes(table), DType::F32, 2, table_sizes, table_strides};
  const Array picks{reinterpret_cast<char*>(index.data()), DType::I64, 2, sizes, steps};
  CHECK(gather_along(bytes(to), from, picks, 0, false));
  bool same = true;
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = 0; j < columns; ++j) same &= to[i * columns + j] == table[index[i * columns + j] * columns + j];
  CHECK(same);
  std::vector<float> expected = table, sums = table;
  for (int64_t i = 0; i < length; ++i)
    for (int64_t j = 0; j < columns; ++j) expected[index[i * columns + j] * columns + j] += to[i * columns + j];
  const Array target{bytes(sums), DType::F32, 2, table_sizes, table_strides};
  CHECK(scatter_along(target, Array{bytes(to), DType::F32, 2, sizes, strides}, picks, 0, Write::Add, true));
  CHECK(sums == expected);
  index[7] = -1;
  CHECK(!gather_along(bytes(to), from, picks, 0, false));
  CHECK(gather_along(bytes(to), from, picks, 0, true));
  CHECK(!scatter_along(target, Array{bytes(to), DType::F32, 2, sizes, strides}, picks, 0, Write::Add, true));
  CHECK(sums == expected);
}

static void test_masks() {
  for (int64_t n : {0, 1, 63, 64, 65, 1000, 50000}) {
    std::vector<char> mask(size_t(n) + 1);
    for (char& m : mask) m = char(pick(0, 3) == 0);
    std::vector<float> from = floats(n), expected;
    for (int64_t i = 0; i < n; ++i)
      if (mask[size_t(i)]) expected.push_back(from[size_t(i)]);
    std::vector<int64_t> starts(size_t(mask_blocks(n)) + 1);
    const int64_t total = count_true(mask.data(), n, starts.data());
    CHECK(total == int64_t(expected.size()));
    std::vector<float> to(expected.size());
    CHECK(take_true(mask.data(), n, starts.data(), total, bytes(from), 4, bytes(to)));
    CHECK(to == expected);
    std::vector<int64_t> places(size_t(total) + 1);
    CHECK(true_places(mask.data(), n, starts.data(), total, &n, 1, places.data()) == total);
    bool same = true;
    for (int64_t k = 0; k < total; ++k) same &= from[size_t(places[size_t(k)])] == expected[size_t(k)];
    CHECK(same);
  }
}

static void test_sums() {
  for (int64_t n : {1, 2, 5, 100, 4161, 100003}) {
    const std::vector<float> x = floats(n);
    std::vector<float> first;
    for (int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      std::vector<float> y(static_cast<size_t>(n));
      scan(Scan::Sum, bytes(y), bytes(x), DType::F32, true, {1, n, 1});
      if (first.empty()) first = y;
      CHECK(y == first);
    }
    double exact = 0;
    bool close = true;
    for (int64_t i = 0; i < n; ++i) {
      exact += double(x[size_t(i)]);
      close &= std::abs(double(first[size_t(i)]) - exact) <= 1e-6 * std::max(1.0, std::abs(exact));
    }
    CHECK(close);
  }
  set_num_threads(2);
}

static void test_sorts() {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  auto before = [](float a, float b) { return a < b || (b != b && a == a); };
  for (int64_t n : {0, 1, 2, 9, 25, 60, 200, 1000, 20000, 150000}) {
    for (int kind = 0; kind < 3; ++kind) {
      std::vector<float> x = floats(n);
      const float some[] = {nan, -nan, 0.0f, -0.0f, inf, -inf, 1.0f};
      if (kind == 1)
        for (float& v : x) v = some[pick(0, 6)];
      if (kind == 2) std::sort(x.begin(), x.end());
      std::vector<int64_t> order(static_cast<size_t>(n)), places(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(x[a], x[b]); });
      for (int threads : {1, 3}) {
        set_num_threads(threads);
        std::vector<float> values(static_cast<size_t>(n));
        sort_rows(bytes(x), DType::F32, 1, n, false, bytes(values), places.data());
        CHECK(places == order);
        bool same = true;
        for (int64_t i = 0; i < n; ++i) same &= std::memcmp(&values[i], &x[order[i]], 4) == 0;
        CHECK(same);
      }
      if (n == 0) continue;
      const int64_t k = std::min<int64_t>(n, pick(1, 40));
      std::vector<float> top(static_cast<size_t>(k)), one(1);
      std::vector<int64_t> found(static_cast<size_t>(k));
      top_rows(bytes(x), DType::F32, 1, n, k, false, bytes(top), found.data());
      CHECK(std::equal(found.begin(), found.end(), order.begin()));
      rank_rows(bytes(x), DType::F32, 1, n, Rank::Given, k - 1, bytes(one), found.data());
      CHECK(found[0] == order[size_t(k - 1)]);
    }
  }
  set_num_threads(2);
}

int main() {
  test_joins();
  test_gathers_and_scatters();
  test_along();
  test_masks();
  test_sums();
  test_sorts();
  return check::finish("moves");
}
