// Loops, copies, fills and sums over random shapes and strides against element-by-element code.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "../../src/thixo/_core/core/kernels.h"
#include "../../src/thixo/_core/core/kernels/tanh.h"
#include "../../src/thixo/_core/core/kernels/types.h"
#include "../../src/thixo/_core/core/thread_pool.h"
#include "check.h"

using namespace thixo;
static std::mt19937_64 random_bits(3);
static int64_t pick(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_bits() % static_cast<uint64_t>(high - low + 1));
}

// An array with its own memory, in a random layout: permuted, padded, reversed, broadcast.
struct Owned {
  std::vector<char> memory;
  std::vector<int64_t> sizes, strides;
  DType dtype;
  int64_t first = 0;
  Array array() {
    return {memory.data() + first, dtype, static_cast<int>(sizes.size()), sizes.data(), strides.data()};
  }
  char* at(const std::vector<int64_t>& index) {
    int64_t offset = first;
    for (size_t d = 0; d < sizes.size(); ++d) offset += index[d] * strides[d];
    return memory.data() + offset;
  }
};

static Owned make(const std::vector<int64_t>& sizes, DType dtype, bool wild, bool broadcast) {
  Owned a;
  a.dtype = dtype;
  a.sizes = sizes;
  const int ndim = static_cast<int>(sizes.size());
  a.strides.assign(ndim, 0);
  std::vector<int> order(ndim);
  for (int d = 0; d < ndim; ++d) order[d] = ndim - 1 - d;
  if (wild) std::shuffle(order.begin(), order.end(), random_bits);
  int64_t step = item_size(dtype), extent = step;
  for (int d : order) {
    if (broadcast && pick(0, 2) == 0) continue;
    if (wild && pick(0, 3) == 0) step += item_size(dtype) * pick(0, 2);
    a.strides[d] = step;
    if (sizes[d] > 1) extent += (sizes[d] - 1) * step;
    step *= std::max<int64_t>(1, sizes[d]);
    if (wild && sizes[d] > 1 && pick(0, 4) == 0) {
      a.first += (sizes[d] - 1) * a.strides[d];
      a.strides[d] = -a.strides[d];
    }
  }
  a.memory.resize(static_cast<size_t>(extent + 16));
  return a;
}

static void randomize(Owned& a) {
  visit(a.dtype, [&]<class T>() {
    for (size_t i = 0; i + sizeof(T) <= a.memory.size(); i += sizeof(T)) {
      T value;
      const double x = static_cast<double>(pick(-1000, 1000)) / 8;
      if constexpr (kIsBool<T>) value = Boolean{static_cast<uint8_t>(pick(0, 1))};
      else if constexpr (kIsComplex<T>) value = T(static_cast<float>(x), static_cast<float>(pick(-50, 50)));
      else if constexpr (std::is_integral_v<T>) value = static_cast<T>(random_bits());
      else value = T(static_cast<float>(x));
      store(a.memory.data() + i, value);
    }
  });
}

using Index = std::vector<int64_t>;
// Not a template: it is used with hundreds of dtype pairs.
static void each_index(const Index& sizes, const std::function<void(const Index&)>& body) {
  std::vector<int64_t> index(sizes.size(), 0);
  for (int64_t s : sizes) {
    if (s == 0) return;
  }
  for (;;) {
    body(index);
    int d = static_cast<int>(sizes.size()) - 1;
    while (d >= 0 && ++index[d] == sizes[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

// One element converted, and read as a number of the widest kind.
static void convert_one(DType to, char* out, DType from, const char* in) {
  visit(from, [&]<class From>() {
    visit(to, [&]<class To>() { store(out, convert<To>(load<From>(in))); });
  });
}
static std::complex<double> number(DType dtype, const char* at) {
  std::complex<double> value;
  convert_one(DType::C128, reinterpret_cast<char*>(&value), dtype, at);
  return value;
}

static std::vector<int64_t> random_sizes(int most) {
  std::vector<int64_t> sizes(static_cast<size_t>(pick(0, 4)));
  for (auto& s : sizes) s = pick(0, 20) ? pick(1, most) : 0;
  return sizes;
}

template <class T>
static T plain(bool add, T a, T b) {
  if constexpr (kIsBool<T>) return Boolean{static_cast<uint8_t>(add ? a.byte || b.byte : a.byte && b.byte)};
  else if constexpr (kIsHalf<T>) return T(add ? float(a) + float(b) : float(a) * float(b));
  else if constexpr (std::is_integral_v<T>) {
    const __uint128_t x = static_cast<__uint128_t>(a), y = static_cast<__uint128_t>(b);
    return static_cast<T>(add ? x + y : x * y);
  } else if constexpr (kIsComplex<T>) {
    return add ? a + b : T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else return add ? a + b : a * b;
}

static void test_binary() {
  for (int round = 0; round < 900; ++round) {
    const DType dtype = static_cast<DType>(round % kDTypes);
    const bool add = round % 2, wild = pick(0, 3) != 0;
    const auto sizes = random_sizes(12);
    Owned a = make(sizes, dtype, wild, wild), b = make(sizes, dtype, wild, wild);
    Owned r = make(sizes, dtype, wild, false);
    randomize(a), randomize(b);
    const bool in_place = pick(0, 3) == 0;
    Owned a2 = make(sizes, dtype, false, false);
    randomize(a2);
    const Owned a2_before = a2;
    const Array arrays[3] = {in_place ? a2.array() : a.array(), b.array(), in_place ? a2.array() : r.array()};
    run_loop(find_loop(add ? "add" : "mul", dtype), arrays, 3);
    visit(dtype, [&]<class T>() {
      each_index(sizes, [&](const Index& i) {
        const char* left = in_place ? a2_before.memory.data() + (a2.at(i) - a2.memory.data()) : a.at(i);
        const T expected = plain(add, load<T>(left), load<T>(b.at(i)));
        const T got = load<T>(in_place ? a2.at(i) : r.at(i));
        CHECK(!std::memcmp(&expected, &got, sizeof(T)));
      });
    });
  }
}

static void test_tanh() {
  for (DType dtype : {DType::C64, DType::C128}) {
    Owned x = make({50, 40}, dtype, true, false), y = make({50, 40}, dtype, true, false);
    randomize(x);
    const Array arrays[2] = {x.array(), y.array()};
    run_loop(find_loop("tanh", dtype), arrays, 2, kHeavyGrain);
    each_index(x.sizes, [&](const Index& i) {
      const std::complex<double> out = number(dtype, y.at(i)), expected = std::tanh(number(dtype, x.at(i)));
      const double eps = dtype == DType::C64 ? 3e-7 : 1e-15;
      CHECK(std::abs(out - expected) <= eps * std::abs(expected));
    });
  }
  // within 1.5 units in the last place, odd, and right at the ends
  double worst = 0;
  for (uint32_t bits = 0; bits < 0x41300000u; bits += 997) {
    const float x = std::bit_cast<float>(bits), y = tanh_of(x);
    const double d = x * 1.0000001, exact = std::tanh(static_cast<double>(x));
    const auto error = [](double got, double expected, int places) {
      const double unit = std::ldexp(1, std::ilogb(expected) + 1 - places);
      return std::fabs(got - expected) / std::fmax(unit, 0x1p-149);
    };
    if (bits == 0) continue;
    // the double is compared with libm's, which has an error of its own
    worst = std::fmax(worst, std::fmax(error(y, exact, 24), error(tanh_of(d), std::tanh(d), 53) - 1));
    CHECK(tanh_of(-x) == -y);
  }
  CHECK(worst <= 1.5);
  CHECK(tanh_of(INFINITY) == 1 && tanh_of(-20.0) == -1 && std::isnan(tanh_of(NAN)) && tanh_of(1e30f) == 1);
  CHECK(std::signbit(tanh_of(-0.0f)) && !std::signbit(tanh_of(0.0)));
  CHECK(find_loop("tanh", DType::I32) == nullptr && find_loop("tanh", DType::F32) == nullptr && find_loop("nothing", DType::F32) == nullptr);
}

static void test_copy_and_fill() {
  for (int round = 0; round < 1500; ++round) {
    const DType from = static_cast<DType>(round % kDTypes), to = static_cast<DType>(round / kDTypes % kDTypes);
    const auto sizes = round % 7 == 0 ? std::vector<int64_t>{pick(1, 90), pick(1, 90)} : random_sizes(10);
    Owned a = make(sizes, from, true, pick(0, 1)), r = make(sizes, to, pick(0, 1), false);
    randomize(a);
    copy(r.array(), a.array());
    each_index(sizes, [&](const Index& i) {
      char expected[16];
      convert_one(to, expected, from, a.at(i));
      CHECK(!std::memcmp(expected, r.at(i), static_cast<size_t>(item_size(to))));
    });
    const std::vector<char> element(r.memory.begin(), r.memory.begin() + item_size(to));
    fill(r.array(), pick(0, 1) ? element.data() : nullptr);
    fill(r.array(), element.data());
    each_index(sizes, [&](const Index& i) { CHECK(!std::memcmp(r.at(i), element.data(), element.size())); });
  }
}

static void test_conversions() {
  CHECK(convert<int32_t>(-1.9f) == -1 && convert<int32_t>(2147483648.0f) == INT32_MIN);
  CHECK(convert<int32_t>(-2147483648.5) == INT32_MIN && convert<int32_t>(2147483647.9) == INT32_MAX);
  CHECK(convert<int32_t>(NAN) == INT32_MIN && convert<int64_t>(INFINITY) == INT64_MIN);
  CHECK(convert<int64_t>(-9223372036854775808.0) == INT64_MIN && convert<int64_t>(9.3e18f) == INT64_MIN);
  CHECK(convert<uint8_t>(-1.0f) == 255 && convert<int8_t>(300.0) == 44 && convert<uint8_t>(1e20) == 0);
  CHECK(convert<uint64_t>(1.5e19) == 15000000000000000000u && convert<uint64_t>(-1.0) == UINT64_MAX);
  CHECK(convert<uint64_t>(NAN) == uint64_t{1} << 63 && convert<uint64_t>(1e30) == uint64_t{1} << 63);
  CHECK(convert<uint32_t>(4294967295.0) == 4294967295u && convert<uint32_t>(-1.0f) == 4294967295u);
  CHECK(convert<Boolean>(NAN).byte == 1 && convert<Boolean>(-0.0).byte == 0);
  CHECK(convert<Boolean>(Half(6e-8f)).byte == 1);
  CHECK(convert<Boolean>(std::complex<float>(0, 1)).byte == 1);
  // the tie of 2^62 + 2^54 with one unit added rounds up; through float it would round to even
  CHECK(convert<BFloat16>((int64_t{1} << 62) + (int64_t{1} << 54) + 1).bits == 0x5e81);
  CHECK(convert<BFloat16>((int64_t{1} << 62) + (int64_t{1} << 54)).bits == 0x5e80);
  CHECK(convert<Half>(int64_t{65519}).bits == 0x7bff && convert<Half>(INT64_MIN).bits == 0xfc00);
  CHECK(convert<BFloat16>(UINT64_MAX).bits == 0x5f80);
}

static void test_sum() {
  for (int round = 0; round < 900; ++round) {
    const DType from = static_cast<DType>(round % kDTypes);
    const DType to = is_bool(from) || is_integer(from) ? DType::I64 : from;
    auto sizes = random_sizes(16);
    if (round % 10 == 0) sizes = {pick(1, 600), pick(1, 40)};
    if (round % 11 == 0) sizes = {pick(1, 10), pick(1, 600)};
    if (round % 50 == 0) sizes = {pick(1, 300), pick(1, 300), 2};
    bool reduced[8] = {};
    auto kept = sizes;
    for (size_t d = 0; d < sizes.size(); ++d) {
      reduced[d] = pick(0, 1);
      if (reduced[d]) kept[d] = 1;
    }
    Owned a = make(sizes, from, true, pick(0, 1)), r = make(kept, to, pick(0, 1), false);
    Owned dense = make(sizes, from, false, false), r2 = make(kept, to, false, false);
    randomize(a);
    copy(dense.array(), a.array());
    set_num_threads(1 + round % 3);
    sum(r.array(), a.array(), reduced);
    set_num_threads(1);
    sum(r2.array(), dense.array(), reduced);
    each_index(kept, [&](const Index& k) {
      CHECK(!std::memcmp(r.at(k), r2.at(k), static_cast<size_t>(item_size(to))));  // no layout, no threads
      auto inner = sizes;
      for (size_t d = 0; d < sizes.size(); ++d) inner[d] = reduced[d] ? sizes[d] : 1;
      uint64_t whole = 0;
      std::complex<double> expected = 0;
      double size = 0;
      each_index(inner, [&](Index i) {
        for (size_t d = 0; d < i.size(); ++d) i[d] += k[d];
        uint64_t bits;
        convert_one(DType::U64, reinterpret_cast<char*>(&bits), from, a.at(i));
        whole += bits;
        expected += number(from, a.at(i));
        size += std::abs(number(from, a.at(i)));
      });
      if (to == DType::I64) {
        CHECK(load<uint64_t>(r.at(k)) == whole);
        return;
      }
      const double eps = to == DType::BF16 ? 4e-3 : to == DType::F16 ? 5e-4 : 0;
      const bool overflows = to == DType::F16 && std::abs(expected) > 65000;
      CHECK(overflows || std::abs(number(to, r.at(k)) - expected) <= 1e-6 * size + eps * std::abs(expected));
    });
  }
}

static void test_large() {
  // long sums in float32, over several pieces, on any number of threads and in any layout
  const int64_t n = 700, m = 1100;
  Owned a = make({n, m}, DType::F32, false, false), t = make({m, n}, DType::F32, false, false);
  for (int64_t i = 0; i < n * m; ++i) store(a.memory.data() + 4 * i, static_cast<float>(pick(0, 1000000)) * 1e-3f);
  double expected = 0;
  for (int64_t i = 0; i < n * m; ++i) expected += load<float>(a.memory.data() + 4 * i);
  Array view = t.array();
  const int64_t flipped[2] = {view.strides[1], view.strides[0]};
  Array transposed = a.array();
  transposed.data = t.memory.data();
  transposed.strides = flipped;
  copy(transposed, a.array());
  const bool both[2] = {true, true}, rows[2] = {true, false};
  Owned r = make({1, 1}, DType::F32, false, false), c = make({1, m}, DType::F32, false, false), c2 = c;
  float first = 0;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (const Array& source : {a.array(), transposed}) {
      sum(r.array(), source, both);
      const float got = load<float>(r.memory.data());
      CHECK(std::fabs(got - expected) <= 1e-6 * expected);
      if (first == 0) first = got;
      CHECK(got == first);
    }
    sum(c.array(), a.array(), rows);
    sum(c2.array(), transposed, rows);
    CHECK(c.memory == c2.memory);
  }
  // ones add up exactly far beyond 2^24 partial sums of a naive loop
  const float one = 1;
  const int64_t size[1] = {int64_t{1} << 25}, none[1] = {0}, unit[1] = {1};
  sum({r.memory.data(), DType::F32, 1, unit, none},
      {reinterpret_cast<char*>(const_cast<float*>(&one)), DType::F32, 1, size, none}, both);
  CHECK(load<float>(r.memory.data()) == 33554432.0f);
  // and large elementwise work is the same on all threads
  Owned out = make({n, m}, DType::F32, false, false), out2 = out;
  const Array one_thread[3] = {a.array(), transposed, out.array()}, many[3] = {a.array(), transposed, out2.array()};
  set_num_threads(1);
  run_loop(find_loop("mul", DType::F32), one_thread, 3);
  set_num_threads(4);
  run_loop(find_loop("mul", DType::F32), many, 3);
  CHECK(out.memory == out2.memory);
}

static void test_sum_specials() {
  const float inf = INFINITY;
  std::vector<float> x(1000, 1.0f);
  float result = -1;
  const int64_t size[1] = {1000}, stride[1] = {4}, unit[1] = {1}, empty[1] = {0};
  const bool reduced[1] = {true};
  const Array r{reinterpret_cast<char*>(&result), DType::F32, 1, unit, stride};
  const auto run = [&](const int64_t* n) {
    sum(r, {reinterpret_cast<char*>(x.data()), DType::F32, 1, n, stride}, reduced);
    return result;
  };
  CHECK(run(size) == 1000.0f && run(empty) == 0.0f && run(unit) == 1.0f);
  x[3] = inf;
  CHECK(run(size) == inf);
  x[900] = -inf;
  CHECK(std::isnan(run(size)));
  x[3] = 1, x[900] = NAN;
  CHECK(std::isnan(run(size)));
}

int main() {
  test_binary();
  test_tanh();
  test_copy_and_fill();
  test_conversions();
  test_sum();
  test_large();
  test_sum_specials();
  return check::finish("kernels");
}
