// The gradient of the input product by product: for weights that are not finite, which no zero of a padded copy may meet.
#include <algorithm>
#include <vector>

#include "conv.h"
#include "kernels/types.h"
#include "thread_pool.h"

namespace thixo {

namespace {

template <class S, class T>
void transposed_by_definition(const Convolution& c, const S* y, const S* w, S* x) {
  const int64_t channels = c.groups * c.inner, results = c.groups * c.outer, size = c.in_size(), places = c.out_size();
  parallel_for(c.batch * channels, 1, [&](int64_t from, int64_t to) {
    std::vector<T> sums(static_cast<size_t>(size));
    for (int64_t i = from; i < to; ++i) {
      const int64_t n = i / channels, channel = i % channels, g = channel / c.inner;
      std::fill(sums.begin(), sums.end(), T(0));
      for (int64_t o = g * c.outer; o < (g + 1) * c.outer; ++o)
        for (int64_t p = 0; p < places; ++p) {
          const T one = T(y[c.y_last ? (n * places + p) * results + o : (n * results + o) * places + p]);
          const int64_t at[3] = {p / (c.out[1] * c.out[2]), p / c.out[2] % c.out[1], p % c.out[2]};
          for (int64_t t = 0; t < c.taps(); ++t) {
            const int64_t tap[3] = {t / (c.kernel[1] * c.kernel[2]), t / c.kernel[2] % c.kernel[1], t % c.kernel[2]};
            int64_t place = 0;
            for (int a = 0; a < 3 && place >= 0; ++a) {
              const int64_t q = at[a] * c.stride[a] - c.padding[a] + tap[a] * c.dilation[a];
              place = q < 0 || q >= c.in[a] ? -1 : place * c.in[a] + q;
            }
            if (place >= 0) sums[size_t(place)] += one * T(w[(o * c.inner + channel % c.inner) * c.taps() + t]);
          }
        }
      for (int64_t p = 0; p < size; ++p) x[c.x_last ? (n * size + p) * channels + channel : i * size + p] = S(sums[size_t(p)]);
    }
  });
}

}  // namespace

void convolve_transposed_by_definition(const Convolution& c, const void* y, const void* w, void* x) {
  auto go = [&]<class S, class T>(S, T) {
    transposed_by_definition<S, T>(c, static_cast<const S*>(y), static_cast<const S*>(w), static_cast<S*>(x));
  };
  switch (c.dtype) {
    case DType::F64: return go(double(), double());
    case DType::F16: return go(Half(), float());
    case DType::BF16: return go(BFloat16(), float());
    default: return go(float(), float());
  }
}

}  // namespace thixo
