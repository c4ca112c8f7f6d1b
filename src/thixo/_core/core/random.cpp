#include "random.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "error.h"
#include "kernels/types.h"
#include "random_loops.h"
#include "thread_pool.h"

namespace thixo {
namespace {

constexpr int64_t kBatches = 16;  // at a time: their words stay in the nearest cache
constexpr int64_t kWords = kBatches * 4 * kPhiloxBatch;
constexpr int64_t kGrain = 4 * kWords;  // words per chunk; a whole number of the above

// Call body(words, first, count) for the random words [first, first + count), some at a time.
template <class Body>
void each_batch(const Philox& generator, int64_t word_count, Body&& body) {
  const RandomLoops& loops = random_loops();
  parallel_for(word_count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += kWords) {
      alignas(64) uint32_t words[kWords];
      const int64_t count = std::min(kWords, end - first);
      loops.words(generator, static_cast<uint64_t>(first / 4), words, (count + 4 * kPhiloxBatch - 1) / (4 * kPhiloxBatch));
      body(words, first, count);
    }
  });
}

inline uint64_t join(const uint32_t* words) {
  return words[0] | static_cast<uint64_t>(words[1]) << 32;
}

template <class T>
void uniform_words(const Philox& generator, T* data, int64_t n) {
  const RandomLoops& loops = random_loops();
  each_batch(generator, n, [&](const uint32_t* words, int64_t first, int64_t count) {
    if constexpr (std::is_same_v<T, float>) {
      loops.uniform(words, data + first, count);
    } else if constexpr (std::is_same_v<T, Half>) {
      for (int64_t i = 0; i < count; ++i) data[first + i] = Half(static_cast<float>(words[i] >> 21) * 0x1p-11f);
    } else {
      for (int64_t i = 0; i < count; ++i) data[first + i] = BFloat16(static_cast<float>(words[i] >> 24) * 0x1p-8f);
    }
  });
}

void uniform_doubles(const Philox& generator, double* data, int64_t n) {
  each_batch(generator, 2 * n, [&](const uint32_t* words, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count / 2; ++i) {
      data[first / 2 + i] = static_cast<double>(join(words + 2 * i) >> 11) * 0x1p-53;
    }
  });
}

constexpr double kTwoPi = 6.283185307179586476925286766559;

inline void normal_pair(double radius_fraction, double turn, double scale, double& a, double& b) {
  const double radius = scale * std::sqrt(-2 * std::log(radius_fraction));
  a = radius * std::cos(kTwoPi * turn);
  b = radius * std::sin(kTwoPi * turn);
}

template <class T>
void normal_words(const Philox& generator, T* data, int64_t n, double scale) {
  const RandomLoops& loops = random_loops();
  each_batch(generator, n + n % 2, [&](const uint32_t* words, int64_t first, int64_t count) {
    alignas(64) float values[kWords];
    const bool whole = first + count <= n;
    float* to = values;
    if constexpr (std::is_same_v<T, float>)
      if (whole) to = data + first;
    loops.normal(words, scale, to, count);
    if (to == values)
      for (int64_t i = 0; i < count - !whole; ++i) data[first + i] = T(values[i]);
  });
}

void normal_doubles(const Philox& generator, double* data, int64_t n, double scale) {
  each_batch(generator, 2 * (n + n % 2), [&](const uint32_t* words, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i += 4) {
      const double fraction = static_cast<double>((join(words + i) >> 11) + 1) * 0x1p-53;
      const double turn = static_cast<double>(join(words + i + 2) >> 11) * 0x1p-53;
      double a, b;
      normal_pair(fraction, turn, scale, a, b);
      const int64_t at = (first + i) / 2;
      data[at] = a;
      if (at + 1 < n) data[at + 1] = b;
    }
  });
}

struct Product {
  uint64_t high, low;
};

inline Product multiply(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return {static_cast<uint64_t>(product >> 64), static_cast<uint64_t>(product)};
#else
  const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & 0xffffffffu);
  return {a1 * b1 + (middle >> 32) + (other >> 32), (other << 32) | (low & 0xffffffffu)};
#endif
}

// floor(fraction * width), the fraction being 64 bits, or 128 bits in two halves.
inline uint64_t scale(uint64_t bits, uint64_t width) { return multiply(bits, width).high; }
inline uint64_t scale(uint64_t high, uint64_t low, uint64_t width) {
  const Product main = multiply(high, width);
  const uint64_t carry = multiply(low, width).high;
  return main.high + (main.low + carry < carry ? 1 : 0);
}

[[noreturn]] void refuse(const char* function, DType dtype) {
  fail(ErrorKind::DType,
       std::string(function) + ": got dtype " + short_name(dtype) + "; needs a floating or complex dtype");
}

int64_t used(int64_t n) { return n > 0 ? 1 : 0; }

}  // namespace

int64_t fill_uniform(const Philox& generator, DType dtype, void* data, int64_t n) {
  switch (dtype) {
    case DType::F16: uniform_words(generator, static_cast<Half*>(data), n); break;
    case DType::BF16: uniform_words(generator, static_cast<BFloat16*>(data), n); break;
    case DType::F32: uniform_words(generator, static_cast<float*>(data), n); break;
    case DType::F64: uniform_doubles(generator, static_cast<double*>(data), n); break;
    case DType::C64: uniform_words(generator, static_cast<float*>(data), 2 * n); break;
    case DType::C128: uniform_doubles(generator, static_cast<double*>(data), 2 * n); break;
    default: refuse("fill_uniform", dtype);
  }
  return used(n);
}

int64_t fill_normal(const Philox& generator, DType dtype, void* data, int64_t n) {
  constexpr double half = 0.70710678118654752440;  // each part of a complex number
  switch (dtype) {
    case DType::F16: normal_words(generator, static_cast<Half*>(data), n, 1); break;
    case DType::BF16: normal_words(generator, static_cast<BFloat16*>(data), n, 1); break;
    case DType::F32: normal_words(generator, static_cast<float*>(data), n, 1); break;
    case DType::F64: normal_doubles(generator, static_cast<double*>(data), n, 1); break;
    case DType::C64: normal_words(generator, static_cast<float*>(data), 2 * n, half); break;
    case DType::C128: normal_doubles(generator, static_cast<double*>(data), 2 * n, half); break;
    default: refuse("fill_normal", dtype);
  }
  return used(n);
}

int64_t fill_bits32(const Philox& generator, uint32_t* data, int64_t n) {
  each_batch(generator, n, [&](const uint32_t* words, int64_t first, int64_t count) {
    std::copy_n(words, count, data + first);
  });
  return used(n);
}

int64_t fill_bits64(const Philox& generator, uint64_t* data, int64_t n) {
  each_batch(generator, 2 * n, [&](const uint32_t* words, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count / 2; ++i) data[first / 2 + i] = join(words + 2 * i);
  });
  return used(n);
}

int64_t fill_integers(const Philox& generator, DType dtype, void* data, int64_t n, int64_t low,
                      int64_t high) {
  if (low >= high) {
    fail(ErrorKind::Argument, "fill_integers: the range from " + std::to_string(low) + " to " +
                                  std::to_string(high) + " is empty; low must be less than high");
  }
  const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const bool wide = width > uint64_t{1} << 32;
  const int64_t each = wide ? 4 : 2;  // words per element
  visit(dtype, [&]<class T>() {
    T* to = static_cast<T*>(data);
    each_batch(generator, each * n, [&](const uint32_t* words, int64_t first, int64_t count) {
      alignas(64) uint64_t values[kWords / 2];
      const int64_t here = count / each;
      if (wide) {
        for (int64_t i = 0; i < here; ++i) values[i] = scale(join(words + 4 * i + 2), join(words + 4 * i), width);
      } else {
        random_loops().scaled(words, width, values, here);
      }
      T* out = to + first / each;
      const uint64_t base = static_cast<uint64_t>(low);  // of its own: `out` might be where the captured one is
      for (int64_t i = 0; i < here; ++i) out[i] = convert<T>(static_cast<int64_t>(base + values[i]));
    });
  });
  return used(n);
}

int64_t fill_permutation(const Philox& generator, int64_t* data, int64_t n) {
  for (int64_t i = 0; i < n; ++i) data[i] = i;
  const RandomLoops& loops = random_loops();
  constexpr int64_t kDraws = kWords / 2, kSoon = 16;
  alignas(64) uint32_t words[kWords];
  uint64_t places[kDraws];
  for (int64_t first = 0; first < n - 1; first += kDraws) {
    const int64_t count = std::min(kDraws, n - 1 - first);
    loops.words(generator, static_cast<uint64_t>(first / 2), words, (2 * count + 4 * kPhiloxBatch - 1) / (4 * kPhiloxBatch));
    for (int64_t k = 0; k < count; ++k) places[k] = scale(join(words + 2 * k), static_cast<uint64_t>(n - first - k));
    for (int64_t k = 0; k < count; ++k) {
      if (k + kSoon < count) __builtin_prefetch(data + places[k + kSoon], 1);
      std::swap(data[n - 1 - first - k], data[places[k]]);
    }
  }
  return used(n);
}

}  // namespace thixo
