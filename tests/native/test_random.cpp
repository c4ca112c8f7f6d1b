// Philox against its published vectors, and the fills against their distributions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "../../src/thixo/_core/core/error.h"
#include "../../src/thixo/_core/core/half.h"
#include "../../src/thixo/_core/core/random.h"
#include "../../src/thixo/_core/core/random_loops.h"
#include "../../src/thixo/_core/core/thread_pool.h"
#include "check.h"

using namespace thixo;

static void test_known_answers() {
  const PhiloxBlock zero = philox_block({0, 0, 0, 0}, 0, 0);
  CHECK((zero == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t f = 0xffffffffu;
  CHECK((philox_block({f, f, f, f}, f, f) == PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  CHECK((philox_block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
         PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  const Philox generator{0x123456789abcdef0u, 77};
  uint32_t words[4 * kPhiloxBatch];
  philox_batch(generator, 0xfffffffau, words);
  for (int i = 0; i < kPhiloxBatch; ++i) {
    const PhiloxBlock block = philox_block(generator, 0xfffffffau + static_cast<uint64_t>(i));
    CHECK(std::equal(block.begin(), block.end(), words + 4 * i));
  }
}

// The loops of this processor give the bits of the portable ones, and what the C library computes.
static void test_loops() {
  const RandomLoops &own = random_loops(), &portable = portable_random_loops();
  constexpr int64_t kBatches = 64, n = kBatches * 4 * kPhiloxBatch;
  std::vector<uint32_t> words(n), again(n);
  own.words({7, 9}, 3, words.data(), kBatches);
  portable.words({7, 9}, 3, again.data(), kBatches);
  CHECK(words == again);
  for (uint32_t& word : words)  // also the ends of the range
    if (&word - words.data() < 8) word = (&word - words.data()) % 3 ? 0xffffffffu : 0;
  std::vector<float> x(n), y(n);
  own.uniform(words.data(), x.data(), n);
  portable.uniform(words.data(), y.data(), n);
  CHECK(x == y);
  own.normal(words.data(), 1, x.data(), n);
  portable.normal(words.data(), 1, y.data(), n);
  CHECK(!std::memcmp(x.data(), y.data(), n * sizeof(float)));
  for (int64_t i = 0; i < n; i += 2) {
    const double radius = std::sqrt(-2 * std::log((words[i] + 1.0) * 0x1p-32)), angle = words[i + 1] * 0x1p-32 * 6.283185307179586;
    CHECK(std::fabs(x[i] - radius * std::cos(angle)) <= 1e-6 && std::fabs(x[i + 1] - radius * std::sin(angle)) <= 1e-6);
  }
  for (uint64_t width : {uint64_t{1}, uint64_t{10}, uint64_t{0xffffffffu}, uint64_t{1} << 32}) {
    std::vector<uint64_t> a(n / 2), b(n / 2);
    own.scaled(words.data(), width, a.data(), n / 2);
    portable.scaled(words.data(), width, b.data(), n / 2);
    CHECK(a == b && *std::max_element(a.begin(), a.end()) == width - 1);
  }
}

template <class T, class Fill>
static std::vector<T> draw(int64_t n, Fill fill) {
  std::vector<T> x(static_cast<size_t>(n + 3));
  std::memset(static_cast<void*>(x.data() + n), 0x5a, 3 * sizeof(T));
  CHECK(fill(x.data(), n) == (n > 0));
  T guard[3];
  std::memset(static_cast<void*>(guard), 0x5a, sizeof(guard));
  CHECK(!std::memcmp(guard, x.data() + n, sizeof(guard)));  // nothing is written past the end
  x.resize(static_cast<size_t>(n));
  return x;
}

// Neither threads nor the number of elements change an element.
template <class T, class Fill>
static void test_independence(Fill fill) {
  set_num_threads(1);
  const auto whole = draw<T>(100001, fill);
  set_num_threads(3);
  const auto again = draw<T>(100001, fill);
  CHECK(!std::memcmp(whole.data(), again.data(), whole.size() * sizeof(T)));
  for (int64_t n : {0, 1, 2, 3, 5, 63, 64, 65, 4097}) {
    const auto part = draw<T>(n, fill);
    CHECK(n == 0 || !std::memcmp(whole.data(), part.data(), part.size() * sizeof(T)));
  }
}

static void test_uniform() {
  const Philox g{42, 5};
  test_independence<float>([&](void* p, int64_t n) { return fill_uniform(g, DType::F32, p, n); });
  test_independence<double>([&](void* p, int64_t n) { return fill_uniform(g, DType::F64, p, n); });
  const auto x = draw<double>(1000000, [&](void* p, int64_t n) { return fill_uniform(g, DType::F64, p, n); });
  double mean = 0, square = 0;
  for (double v : x) {
    CHECK(v >= 0 && v < 1);
    mean += v / 1e6;
    square += v * v / 1e6;
  }
  CHECK(std::fabs(mean - 0.5) < 1.5e-3 && std::fabs(square - 1.0 / 3) < 1.5e-3);
  const auto half = draw<Half>(100000, [&](void* p, int64_t n) { return fill_uniform(g, DType::F16, p, n); });
  const auto bfloat = draw<BFloat16>(100000, [&](void* p, int64_t n) { return fill_uniform(g, DType::BF16, p, n); });
  for (Half v : half) CHECK(static_cast<float>(v) >= 0 && static_cast<float>(v) < 1);
  for (BFloat16 v : bfloat) CHECK(static_cast<float>(v) >= 0 && static_cast<float>(v) < 1);
  Philox other{42, 6};
  const auto y = draw<double>(1000000, [&](void* p, int64_t n) { return fill_uniform(other, DType::F64, p, n); });
  double both = 0;
  for (size_t i = 0; i < x.size(); ++i) both += (x[i] - 0.5) * (y[i] - 0.5) / 1e6;
  CHECK(std::fabs(both) < 5e-4);  // another offset, another stream
  CHECK_THROWS(fill_uniform(g, DType::I32, nullptr, 0), Error);
}

template <class T>
static void test_normal(DType dtype) {
  const Philox g{7, 0};
  const auto fill = [&](void* p, int64_t n) { return fill_normal(g, dtype, p, n); };
  test_independence<T>(fill);
  const auto x = draw<T>(1000000, fill);
  double moments[5] = {};
  int beyond = 0;
  for (T v : x) {
    double power = 1;
    for (double& m : moments) m += power / 1e6, power *= static_cast<float>(v);
    beyond += std::fabs(static_cast<float>(v)) > 3;
  }
  CHECK(std::fabs(moments[1]) < 5e-3 && std::fabs(moments[2] - 1) < 8e-3);
  CHECK(std::fabs(moments[3]) < 2e-2 && std::fabs(moments[4] - 3) < 6e-2);
  CHECK(beyond > 2400 && beyond < 3000);  // 2700 expected
}

static void test_integers() {
  const Philox g{9, 1};
  test_independence<int64_t>([&](void* p, int64_t n) { return fill_integers(g, DType::I64, p, n, -5, 12); });
  test_independence<int64_t>([&](void* p, int64_t n) {
    return fill_integers(g, DType::I64, p, n, INT64_MIN, INT64_MAX);
  });
  const auto x = draw<uint8_t>(600000, [&](void* p, int64_t n) { return fill_integers(g, DType::U8, p, n, 10, 16); });
  int counts[256] = {};
  for (uint8_t v : x) ++counts[v];
  for (int v = 10; v < 16; ++v) CHECK(std::abs(counts[v] - 100000) < 1500);
  CHECK(std::accumulate(counts + 10, counts + 16, 0) == 600000);
  const int64_t three = int64_t{3} << 61;  // a width whose top third a 64-bit fraction would favour
  const auto wide = draw<int64_t>(300000, [&](void* p, int64_t n) { return fill_integers(g, DType::I64, p, n, 0, three); });
  int low = 0;
  for (int64_t v : wide) {
    CHECK(v >= 0 && v < three);
    low += v < three / 3;
  }
  CHECK(std::abs(low - 100000) < 1500);
  CHECK_THROWS(fill_integers(g, DType::I64, nullptr, 0, 3, 3), Error);
}

static void test_permutation() {
  for (int64_t n : {0, 1, 2, 10, 1000}) {
    auto x = draw<int64_t>(n, [&](int64_t* p, int64_t k) { return fill_permutation({3, 3}, p, k); });
    std::sort(x.begin(), x.end());
    for (int64_t i = 0; i < n; ++i) CHECK(x[i] == i);
  }
  int counts[6] = {};
  for (uint64_t offset = 0; offset < 60000; ++offset) {
    int64_t x[3];
    fill_permutation({1, offset}, x, 3);
    ++counts[x[0] * 2 + (x[1] > x[2])];
  }
  for (int c : counts) CHECK(std::abs(c - 10000) < 500);
}

int main() {
  test_known_answers();
  test_loops();
  test_uniform();
  test_normal<float>(DType::F32);
  test_normal<double>(DType::F64);
  test_normal<Half>(DType::F16);
  test_normal<BFloat16>(DType::BF16);
  test_integers();
  test_permutation();
  return check::finish("random");
}
