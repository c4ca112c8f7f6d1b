// Products of matrices against sums in double, for every dtype, layout, plan, target and number of threads.
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "check.h"
#include "core/free_list.h"
#include "core/gemm.h"
#include "core/gemm_kernels.h"
#include "core/half.h"
#include "core/shipped.h"
#include "core/thread_pool.h"

using namespace thixo;

namespace {

std::mt19937 engine(7);
int64_t below(int64_t n) { return int64_t(engine() % uint64_t(n)); }

double load(const void* base, int64_t at, DType t) {
  switch (t) {
    case DType::F64: return static_cast<const double*>(base)[at];
    case DType::F32: return static_cast<const float*>(base)[at];
    case DType::F16: return half_value(static_cast<const uint16_t*>(base)[at]);
    default: return bfloat_value(static_cast<const uint16_t*>(base)[at]);
  }
}
void store(void* base, int64_t at, DType t, double v) {
  switch (t) {
    case DType::F64: static_cast<double*>(base)[at] = v; break;
    case DType::F32: static_cast<float*>(base)[at] = float(v); break;
    case DType::F16: static_cast<uint16_t*>(base)[at] = half_bits(float(v)); break;
    default: static_cast<uint16_t*>(base)[at] = bfloat_bits(float(v)); break;
  }
}
double rounding(DType t) {
  return t == DType::F64 ? 1e-14 : t == DType::F32 ? 2e-6 : t == DType::F16 ? 1e-3 : 8e-3;
}

// A matrix in memory that ends where it ends: a sanitizer sees every access beyond it.
struct Matrix {
  std::vector<char> bytes;
  int64_t row, column;
  Matrix(int64_t rows, int64_t columns, DType t, int layout) {
    const int64_t spread = layout == 2 ? 2 : 1;
    row = layout == 1 ? 1 : columns * spread * spread;
    column = layout == 1 ? rows : spread;
    const int64_t count = rows && columns ? (rows - 1) * row + (columns - 1) * column + 1 : 0;
    bytes.reserve(1);  // an empty one has an address: qemu 7.2 reads lanes that a mask leaves out, and would trap at zero
    bytes.resize(size_t(count * item_size(t)));
    for (int64_t i = 0; i < count; ++i) store(bytes.data(), i, t, double(below(2001) - 1000) / 500);
  }
};

struct Case {
  DType dtype;
  int64_t m, n, k;
  Matrix a, b;
  std::vector<char> c, bias;
  Product product;

  Case(DType t, int64_t m, int64_t n, int64_t k, int layout_a, int layout_b, bool with_bias)
      : dtype(t), m(m), n(n), k(k), a(m, k, t, layout_a), b(k, n, t, layout_b), c(size_t(m * n * item_size(t))),
        bias(size_t(n * item_size(t))) {
    for (int64_t j = 0; j < n; ++j) store(bias.data(), j, t, double(below(100)) / 10);
    product.dtype = t;
    product.m = m, product.n = n, product.k = k;
    product.a = a.bytes.data(), product.a_row = a.row, product.a_k = a.column;
    product.b = b.bytes.data(), product.b_k = b.row, product.b_n = b.column;
    product.c = c.data(), product.c_row = n;
    if (with_bias) product.bias = bias.data(), product.bias_n = 1;
  }

  bool right() const {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = product.bias ? load(bias.data(), j, dtype) : 0, size = std::fabs(sum);
        for (int64_t p = 0; p < k; ++p) {
          const double term = load(a.bytes.data(), i * a.row + p * a.column, dtype) *
                              load(b.bytes.data(), p * b.row + j * b.column, dtype);
          sum += term;
          size += std::fabs(term);
        }
        const double got = load(c.data(), i * n + j, dtype);
        const double step = dtype == DType::F16 ? 0x1p-25 : 0.0;  // subnormal numbers are rounded by half of the smallest
        const double allowed = std::max(std::fabs(sum) * rounding(dtype), step) + size * (dtype == DType::F64 ? 1e-14 : 2e-6) + 1e-30;
        if (!(std::fabs(got - sum) <= allowed)) {
          std::printf("%s %lldx%lldx%lld at %lld, %lld: %g, should be %g\n", short_name(dtype), (long long)m, (long long)k,
                      (long long)n, (long long)i, (long long)j, got, sum);
          return false;
        }
      }
    return true;
  }
};

// Sanitizers and emulation make all this many times slower: fewer cases show them every path.
bool few_cases = kSanitized;
bool emulated = false;
bool left_out(int64_t products, int64_t number, int layout) {
  return (few_cases && layout != number % 4) || (emulated && products > 8000000);
}
int share(int cases) { return cases / (emulated ? 10 : few_cases ? 5 : 1); }
constexpr DType kFloats[] = {DType::F32, DType::F64, DType::F16, DType::BF16};
constexpr GemmPlan kPlans[] = {GemmPlan::Chosen, GemmPlan::Direct, GemmPlan::Thin, GemmPlan::HalfPacked, GemmPlan::Packed};

void small_sizes(int rounds) {
  for (DType t : kFloats)
    for (int i = 0; i < rounds; ++i) {
      set_gemm_plan(kPlans[i % 5]);
      set_num_threads(1 + i % 3);
      int64_t k = below(41);
      if (i % 7 == 0) k = below(700);
      Case c(t, below(41), below(41), k, int(below(3)), int(below(3)), i % 2);
      gemm(c.product);
      CHECK(c.right());
    }
}

void large_sizes() {
  set_gemm_plan(GemmPlan::Chosen);
  set_num_threads(2);
  const int64_t sizes[][3] = {{129, 1100, 300}, {37, 509, 331}, {300, 7, 600}, {5, 1500, 700}, {1, 1000, 1000}, {700, 1, 900},
                              {24, 700, 300}, {700, 24, 300}, {300, 300, 9}, {2, 3, 600}, {3, 20, 500}, {150, 70, 300}, {13, 16, 400}, {30, 12, 100}, {128, 64, 1300}, {90, 601, 900}};
  for (DType t : kFloats)
    for (auto& s : sizes)
      for (int layout = 0; layout < 4; ++layout) {
        if (left_out(s[0] * s[1] * s[2], &s - sizes, layout)) continue;
        Case c(t, s[0], s[1], s[2], layout & 1, layout >> 1, layout == 3);
        gemm(c.product);
        CHECK(c.right());
      }
}

// The same bits on any number of threads.
void threads() {
  set_gemm_plan(GemmPlan::Chosen);
  const int64_t sizes[][3] = {{300, 257, 600}, {20, 700, 900}, {3, 3000, 500}, {65, 65, 65}, {1000, 9, 300}, {24, 700, 300}, {900, 800, 11}, {300, 43, 300}, {200, 150, 6}, {150, 203, 12}, {20, 31, 700}};
  for (DType t : kFloats)
    for (auto& s : sizes)
      for (int layout = 0; layout < 4; ++layout) {
        if (left_out(s[0] * s[1] * s[2], &s - sizes, layout)) continue;
        Case c(t, s[0], s[1], s[2], layout & 1, layout >> 1, false);
        set_num_threads(1);
        gemm(c.product);
        const std::vector<char> first = c.c;
        for (int count : {2, 3, 7}) {
          if (few_cases && count == 3) continue;
          set_num_threads(count);
          std::fill(c.c.begin(), c.c.end(), char(1));
          gemm(c.product);
          CHECK(first == c.c);
        }
      }
}

// NaN and infinity reach the rows and columns they belong to, and no others.
void special_values() {
  set_num_threads(2);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (DType t : kFloats)
    for (GemmPlan plan : kPlans)
      for (int64_t m : {1, 3, 17, 40})
        for (int64_t k : {33, 34}) {
          set_gemm_plan(plan);
          Case c(t, m, 37, k, 0, 0, false);
          for (int64_t i = 0; i < m * k; ++i) store(c.a.bytes.data(), i, t, 1);
          for (int64_t i = 0; i < k * 37; ++i) store(c.b.bytes.data(), i, t, 1);
          store(c.a.bytes.data(), k - 1, t, nan);              // row 0
          store(c.b.bytes.data(), (k - 1) * 37 + 36, t, inf);  // column 36
          gemm(c.product);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < 37; ++j) {
              const double got = load(c.c.data(), i * 37 + j, t);
              CHECK(i == 0 ? std::isnan(got) : j == 36 ? got == inf : got == double(k));
            }
        }
}

// Sums that float32 holds are rounded to bfloat16 as one number is: to nearest, ties to even, beyond the largest to infinity.
void rounding_of_sums() {
  set_num_threads(1);
  const float large = 3.38953139e38f, pairs[][2] = {{1, 0x1p-8f}, {1, 0x3p-8f}, {1, 0x1.02p-8f}, {-1, -0x1p-8f}, {1, -0x1p-9f}, {large, 0x1p118f},
                                                    {large, 0x1p119f}, {-large, -0x1p119f}, {0x1p-126f, 0x1p-134f}, {-0.0f, -0.0f}, {3, -3}, {0x1p-126f, 0x1.8p-126f}};
  for (GemmPlan plan : kPlans)
    for (int64_t n : {5, 16, 32, 45, 64}) {
      const int64_t m = sizeof(pairs) / sizeof(pairs[0]);
      set_gemm_plan(plan);
      Case c(DType::BF16, m, n, 2, 0, 0, false);
      for (int64_t i = 0; i < 2 * n; ++i) store(c.b.bytes.data(), i, DType::BF16, 1);
      for (int64_t i = 0; i < 2 * m; ++i) store(c.a.bytes.data(), i, DType::BF16, pairs[i / 2][i % 2]);
      gemm(c.product);
      for (int64_t i = 0; i < m * n; ++i) {
        const double first = load(c.a.bytes.data(), i / n * 2, DType::BF16), second = load(c.a.bytes.data(), i / n * 2 + 1, DType::BF16);
        CHECK(load(c.c.data(), i, DType::BF16) == bfloat_value(bfloat_bits(float(first + second))));
      }
    }
}

void epilogues() {
  set_gemm_plan(GemmPlan::Chosen);
  set_num_threads(2);
  auto twice = [](void* part, int64_t row_stride, int64_t column_stride, int64_t row, int64_t rows, int64_t column,
                  int64_t columns, void* context) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        static_cast<float*>(part)[i * row_stride + j * column_stride] *= 2;
        static_cast<char*>(context)[(row + i) * 1000 + column + j] += 1;
      }
  };
  const int64_t sizes[][3] = {{20, 30, 10}, {100, 300, 600}, {2, 500, 40}, {500, 2, 40}, {900, 9, 100}};
  for (auto& s : sizes) {
    Case plain(DType::F32, s[0], s[1], s[2], 0, 0, true);
    gemm(plain.product);
    std::vector<float> want(size_t(s[0] * s[1]));
    std::memcpy(want.data(), plain.c.data(), plain.c.size());
    std::vector<char> seen(1000 * 1000);
    plain.product.epilogue = {twice, seen.data()};
    gemm(plain.product);
    bool once = true;
    for (int64_t i = 0; i < s[0]; ++i)
      for (int64_t j = 0; j < s[1]; ++j)
        once = once && seen[size_t(i * 1000 + j)] == 1 && load(plain.c.data(), i * s[1] + j, DType::F32) == 2 * want[size_t(i * s[1] + j)];
    CHECK(once);
  }
}

void batches() {
  set_num_threads(3);
  const int64_t m = 5, n = 7, k = 6;
  std::vector<double> a(3 * m * k), b(2 * k * n), c(6 * m * n);
  for (double& x : a) x = double(below(100)) / 7;
  for (double& x : b) x = double(below(100)) / 7;
  Product p;
  p.dtype = DType::F64;
  p.m = m, p.n = n, p.k = k;
  p.a = a.data(), p.a_row = k, p.a_k = 1;
  p.b = b.data(), p.b_k = n, p.b_n = 1;
  p.c = c.data(), p.c_row = n;
  gemm_batch(p, Dims{2, 3}, Dims{0, m * k}, Dims{k * n, 0});
  bool right = true;
  for (int64_t x = 0; x < 2; ++x)
    for (int64_t y = 0; y < 3; ++y)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t q = 0; q < k; ++q) sum += a[size_t(y * m * k + i * k + q)] * b[size_t(x * k * n + q * n + j)];
          right = right && std::fabs(sum - c[size_t(((x * 3 + y) * m + i) * n + j)]) < 1e-9;
        }
  CHECK(right);
}

// Few products that do not go evenly into the threads: some are shared out, the rest computed by all of them.
void uneven_batches() {
  set_gemm_plan(GemmPlan::Chosen);
  const int64_t m = 75, n = 90, k = 101, most = 9;
  for (DType t : {DType::F32, DType::BF16})
    for (bool turned : {false, true}) {
      Case c(t, most * m, n, most * k, 0, 0, false);  // room for all of them
      std::vector<char> first;
      for (int64_t count : {int64_t{3}, int64_t{5}, most}) {
        Product p = c.product;
        p.m = m, p.n = n, p.k = k;
        p.a_row = turned ? 1 : k, p.a_k = turned ? m : 1;
        p.b_k = turned ? 1 : n, p.b_n = turned ? k : 1;
        for (int threads : {1, 2, 3, 7}) {
          set_num_threads(threads);
          std::fill(c.c.begin(), c.c.end(), char(1));
          gemm_batch(p, Dims{count}, Dims{m * k}, Dims{k * n});
          if (threads == 1) first = c.c;
          CHECK(first == c.c);
        }
        bool each = true;
        for (int64_t x = 0; x < count; ++x) {
          std::vector<char> alone(size_t(m * n * item_size(t)));
          Product one = p;
          one.a = static_cast<const char*>(p.a) + x * m * k * item_size(t);
          one.b = static_cast<const char*>(p.b) + x * k * n * item_size(t);
          one.c = alone.data();
          gemm(one);
          each = each && std::memcmp(alone.data(), first.data() + x * int64_t(alone.size()), alone.size()) == 0;
        }
        CHECK(each);
      }
    }
}

void others() {
  const int64_t m = 9, n = 11, k = 13;
  std::vector<int8_t> a(m * k), b(k * n), c(m * n);
  for (auto& x : a) x = int8_t(below(256));
  for (auto& x : b) x = int8_t(below(256));
  Product p;
  p.dtype = DType::I8;
  p.m = m, p.n = n, p.k = k;
  p.a = a.data(), p.a_row = k, p.a_k = 1;
  p.b = b.data(), p.b_k = 1, p.b_n = k;
  p.c = c.data(), p.c_row = n;
  gemm(p);
  bool right = true;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int64_t sum = 0;
      for (int64_t q = 0; q < k; ++q) sum += a[size_t(i * k + q)] * b[size_t(j * k + q)];
      right = right && int8_t(sum) == c[size_t(i * n + j)];
    }
  CHECK(right);
  for (int64_t size : {5, 40}) {
    std::vector<std::complex<float>> x(size_t(size * size)), y(x.size()), z(x.size());
    for (auto& v : x) v = {float(below(9)), float(below(9))};
    for (auto& v : y) v = {float(below(9)), float(below(9))};
    Product q;
    q.dtype = DType::C64;
    q.m = q.n = q.k = size;
    q.a = x.data(), q.a_row = size, q.a_k = 1;
    q.b = y.data(), q.b_k = size, q.b_n = 1;
    q.c = z.data(), q.c_row = size;
    gemm(q);
    bool exact = true;
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j < size; ++j) {
        std::complex<float> sum = 0;
        for (int64_t s = 0; s < size; ++s) sum += x[size_t(i * size + s)] * y[size_t(s * size + j)];
        exact = exact && sum == z[size_t(i * size + j)];
      }
    CHECK(exact);
  }
}

}  // namespace

int main(int arguments, char** argument) {
  emulated = arguments > 1 && std::strcmp(argument[1], "emulated") == 0;
  if (emulated) few_cases = true;
  for (const char* target : {"x86-64-v4", "x86-64-v3", "aarch64", "portable"}) {
    try {
      set_shipped_target(target);
    } catch (const std::exception&) {
      continue;  // not on this processor
    }
    std::printf("%s: kernels of %s\n", target, shipped_target());
    small_sizes(share(150));
    special_values();
    epilogues();
    if (std::strcmp(target, "portable") != 0) threads();  // that it would be slow there is all that differs
  }
  set_shipped_target("");
  for (BFloatWay way : {BFloatWay::Converted, BFloatWay::Pairs, BFloatWay::Tiles}) {
    if (emulated && way != BFloatWay::Converted) continue;  // those processors know no other
    set_bfloat_way(way);
    small_sizes(share(100));
    special_values();
    rounding_of_sums();
    threads();
  }
  set_bfloat_way(BFloatWay::Chosen);
  large_sizes();
  batches();
  uneven_batches();
  others();
  return check::finish("gemm");
}
