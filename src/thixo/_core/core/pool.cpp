#include "pool.h"

#include <atomic>
#include <cstring>
#include <limits>
#include <vector>

#include "conv_image.h"
#include "gemm_job.h"
#include "kernels/types.h"
#include "shipped.h"
#include "thread_pool.h"

namespace thixo {

namespace {

using MaxCall = void (*)(const void* x, const int64_t* taps, const int32_t* deltas, int64_t many, const int32_t* first,
                         int64_t base, int64_t step, void* values, int64_t* indices, int64_t count);

template <class T>
void plain_max(const void* x, const int64_t* taps, const int32_t* deltas, int64_t many, const int32_t* first, int64_t base,
               int64_t step, void* values, int64_t* indices, int64_t count) {
  for (int64_t j = 0; j < count; ++j) {
    T best = -std::numeric_limits<T>::infinity();
    int64_t delta = first[j];
    for (int64_t t = 0; t < many; ++t) {
      const T value = static_cast<const T*>(x)[j + taps[t]];
      if (value > best || value != value) {
        best = value;
        delta = deltas[t];
      }
    }
    static_cast<T*>(values)[j] = best;
    indices[j] = base + step * j + delta;
  }
}

MaxCall find_max(DType compute) {
  if (void* made = shipped(compute == DType::F64 ? "conv_f64_max" : "conv_f32_max")) return reinterpret_cast<MaxCall>(made);
  return compute == DType::F64 ? plain_max<double> : plain_max<float>;
}

using LargestCall = void (*)(const void* x, const int64_t* taps, int64_t many, void* values, int64_t count);

template <class T>
void plain_largest(const void* x, const int64_t* taps, int64_t many, void* values, int64_t count) {
  for (int64_t j = 0; j < count; ++j) {
    T best = static_cast<const T*>(x)[j + taps[0]];
    for (int64_t t = 1; t < many; ++t) {
      const T value = static_cast<const T*>(x)[j + taps[t]];
      if (value > best || value != value) best = value;
    }
    static_cast<T*>(values)[j] = best;
  }
}

LargestCall find_largest(DType compute) {
  if (void* made = shipped(compute == DType::F64 ? "conv_f64_largest" : "conv_f32_largest")) return reinterpret_cast<LargestCall>(made);
  return compute == DType::F64 ? plain_largest<double> : plain_largest<float>;
}

void fill_lowest(DType compute, char* to, size_t bytes) {
  if (compute == DType::F64) std::fill_n(reinterpret_cast<double*>(to), bytes / 8, -std::numeric_limits<double>::infinity());
  else std::fill_n(reinterpret_cast<float*>(to), bytes / 4, -std::numeric_limits<float>::infinity());
}

// The first tap of a window at `place` that lies inside.
int64_t first_inside(const Pooling& p, int axis, int64_t place) {
  const int64_t before = p.padding[axis] - place * p.stride[axis];
  return before <= 0 ? 0 : ceil_div(before, p.dilation[axis]);
}

}  // namespace

bool max_pool_fits(const Pooling& p) {
  if (!is_floating(p.dtype) || p.in[0] * p.in[1] * p.in[2] > int64_t{1} << 30) return false;
  for (int i = 0; i < 3; ++i) {
    // The first window begins inside or before, the last one before the end: each has a tap inside unless taps jump over.
    if (p.dilation[i] * (p.kernel[i] - 1) + 1 > int64_t{1} << 20) return false;
    for (int64_t o : {int64_t{0}, p.out[i] - 1})
      if (const int64_t t = first_inside(p, i, o); t >= p.kernel[i] || o * p.stride[i] - p.padding[i] + t * p.dilation[i] >= p.in[i]) return false;
    if (p.dilation[i] > 1)
      for (int64_t o = 0; o < p.out[i]; ++o)
        if (const int64_t t = first_inside(p, i, o); t >= p.kernel[i] || o * p.stride[i] - p.padding[i] + t * p.dilation[i] >= p.in[i]) return false;
  }
  return true;
}

namespace {

// Positions that a window of an axis meets inside of its plane: the first, and how many.
int64_t inside(const Pooling& p, int axis, int64_t place, int64_t& at) {
  const int64_t first = first_inside(p, axis, place);
  at = place * p.stride[axis] - p.padding[axis] + first * p.dilation[axis];
  return std::min(p.kernel[axis] - first, ceil_div(p.in[axis] - at, p.dilation[axis]));
}

}  // namespace

void max_pool(const Pooling& p, const void* x, void* values, int64_t* indices) {
  const ConvKernels& k = conv_kernels(p.dtype);
  const MaxCall largest = find_max(k.compute);
  const int64_t wide = item_size(k.compute), narrow = item_size(k.source);
  const int64_t in_size = p.in[0] * p.in[1] * p.in[2], out_size = p.out[0] * p.out[1] * p.out[2];
  PaddedImage image;
  std::vector<int64_t> meets[3], taps;
  std::vector<int32_t> deltas, first;
  for (int i = 0; i < 3; ++i)
    for (int64_t t = 0; t < p.kernel[i]; ++t) meets[i].push_back(t * p.dilation[i]);
  image.lay_out(1, p.in, p.padding, p.stride, p.out, meets);
  for (int64_t d : meets[0])
    for (int64_t h : meets[1])
      for (int64_t w : meets[2]) {
        taps.push_back(image.offset(d, h, w));
        deltas.push_back(int32_t((d * p.in[1] + h) * p.in[2] + w));
      }
  for (int64_t w = 0; w < p.out[2]; ++w) first.push_back(int32_t(first_inside(p, 2, w) * p.dilation[2]));

  const bool converts = k.source != k.compute;
  const double work = double(p.planes) * double(out_size) * double(taps.size());
  const int64_t threads = work >= 2e5 && !in_parallel_loop() ? get_num_threads() : 1;
  const int64_t grain = threads == 1 ? p.planes : std::max<int64_t>(1, p.planes / (8 * threads));
  parallel_for(p.planes, grain, [&](int64_t from, int64_t to) {
    Buffer plane(size_t((image.channel + 2 * kMostVectors * k.lanes) * wide)), row(size_t(p.out[2] * wide));
    if (rehearsing()) return;
    std::vector<int32_t> start(first.size());
    fill_lowest(k.compute, plane.data, plane.bytes);
    for (int64_t i = from; i < to; ++i) {
      image.fill(k, static_cast<const char*>(x) + i * in_size * narrow, plane.data);
      for (int64_t d = 0; d < p.out[0]; ++d)
        for (int64_t h = 0; h < p.out[1]; ++h) {
          const int64_t above = (first_inside(p, 0, d) * p.dilation[0] * p.in[1] + first_inside(p, 1, h) * p.dilation[1]) * p.in[2];
          for (size_t j = 0; j < first.size(); ++j) start[j] = first[j] + int32_t(above);
          const int64_t base = ((d * p.stride[0] - p.padding[0]) * p.in[1] + h * p.stride[1] - p.padding[1]) * p.in[2] - p.padding[2];
          const int64_t at = i * out_size + (d * p.out[1] + h) * p.out[2];
          char* result = static_cast<char*>(values) + at * narrow;
          largest(plane.data + (d * image.axes[1].extent + h) * image.axes[2].extent * wide, taps.data(), deltas.data(),
                  int64_t(taps.size()), start.data(), base, p.stride[2], converts ? row.data : result, indices + at, p.out[2]);
          if (converts) {
            const Segment whole{0, 0, p.out[2]};
            k.store(row.data, p.out[2], result, p.out[2], 1, 1, nullptr, &whole, 1);
          }
        }
    }
  });
}

void max_pool_values_last(const Pooling& p, int64_t channels, const void* x, void* values) {
  const LargestCall largest = find_largest(p.dtype);
  const int64_t item = item_size(p.dtype), lines = p.planes / channels * p.out[0] * p.out[1];
  const double work = double(lines * p.out[2]) * double(channels * p.kernel[0] * p.kernel[1] * p.kernel[2]);
  const int64_t threads = work >= 2e5 && !in_parallel_loop() ? get_num_threads() : 1;
  parallel_for(lines, threads == 1 ? lines : std::max<int64_t>(1, lines / (8 * threads)), [&](int64_t from, int64_t to) {
    if (rehearsing()) return;
    std::vector<int64_t> taps;
    for (int64_t i = from; i < to; ++i) {
      const int64_t n = i / (p.out[0] * p.out[1]);
      int64_t at[3];
      const int64_t deep = inside(p, 0, i / p.out[1] % p.out[0], at[0]), high = inside(p, 1, i % p.out[1], at[1]);
      int64_t listed = 0;  // the taps of windows that meet so many positions along the last axis
      for (int64_t w = 0; w < p.out[2]; ++w) {
        const int64_t wide = inside(p, 2, w, at[2]);
        if (wide != listed) {
          taps.clear();
          for (int64_t a = 0; a < deep; ++a)
            for (int64_t b = 0; b < high; ++b)
              for (int64_t c = 0; c < wide; ++c)
                taps.push_back(((a * p.dilation[0] * p.in[1] + b * p.dilation[1]) * p.in[2] + c * p.dilation[2]) * channels);
          listed = wide;
        }
        const int64_t place = ((n * p.in[0] + at[0]) * p.in[1] + at[1]) * p.in[2] + at[2];
        largest(static_cast<const char*>(x) + place * channels * item, taps.data(), int64_t(taps.size()),
                static_cast<char*>(values) + (i * p.out[2] + w) * channels * item, channels);
      }
    }
  });
}

void max_pool_values(const Pooling& p, const void* x, void* values) {
  const ConvKernels& k = conv_kernels(p.dtype);
  const ConvKernels& computed = conv_kernels(k.compute);
  const LargestCall largest = find_largest(k.compute);
  const int64_t wide = item_size(k.compute), narrow = item_size(k.source), step = p.stride[2];
  const int64_t in_size = p.in[0] * p.in[1] * p.in[2], out_size = p.out[0] * p.out[1] * p.out[2];
  const bool converts = k.source != k.compute;
  // A row of largest values with its padding, cut by the remainders of positions divided by the stride: each part is as long.
  const int64_t reach = std::max(p.in[2] + p.padding[2], (p.out[2] - 1) * step + (p.kernel[2] - 1) * p.dilation[2] + 1);
  const int64_t part = ceil_div(reach, step) + 2 * k.lanes;
  std::vector<int64_t> along;
  for (int64_t t = 0; t < p.kernel[2]; ++t) along.push_back(t * p.dilation[2] % step * part + t * p.dilation[2] / step);
  const double work = double(p.planes) * double(out_size) * double(p.kernel[0] * p.kernel[1] + p.kernel[2]);
  const int64_t threads = work >= 2e5 && !in_parallel_loop() ? get_num_threads() : 1;
  parallel_for(p.planes, threads == 1 ? p.planes : std::max<int64_t>(1, p.planes / (8 * threads)), [&](int64_t from, int64_t to) {
    Buffer plane(converts ? size_t(in_size * wide) : 0), row(size_t((step * part + k.lanes) * wide)),
        parts(step > 1 ? size_t(step * part * wide) : 0), result(converts ? size_t(p.out[2] * wide) : 0);
    if (rehearsing()) return;
    fill_lowest(k.compute, row.data, row.bytes);
    std::vector<int64_t> rows;
    for (int64_t i = from; i < to; ++i) {
      const char* source = static_cast<const char*>(x) + i * in_size * narrow;
      if (converts) k.rows(source, in_size, 1, plane.data, in_size, 1, in_size);
      const char* own = converts ? plane.data : source;
      for (int64_t d = 0; d < p.out[0]; ++d)
        for (int64_t h = 0; h < p.out[1]; ++h) {
          int64_t top, left;
          const int64_t deep = inside(p, 0, d, top), high = inside(p, 1, h, left);
          rows.clear();
          for (int64_t a = 0; a < deep; ++a)
            for (int64_t b = 0; b < high; ++b) rows.push_back((a * p.dilation[0] * p.in[1] + b * p.dilation[1]) * p.in[2]);
          largest(own + (top * p.in[1] + left) * p.in[2] * wide, rows.data(), int64_t(rows.size()), row.data + p.padding[2] * wide, p.in[2]);
          const char* line = row.data;
          if (step > 1) {
            for (int64_t r = 0; r < std::min(step, (p.kernel[2] - 1) * p.dilation[2] + 1); ++r)
              computed.rows(row.data + r * wide, 0, step, parts.data + r * part * wide, 0, 1, part - 2 * k.lanes);
            line = parts.data;
          }
          char* at = static_cast<char*>(values) + (i * out_size + (d * p.out[1] + h) * p.out[2]) * narrow;
          largest(line, along.data(), p.kernel[2], converts ? result.data : at, p.out[2]);
          if (converts) {
            const Segment whole{0, 0, p.out[2]};
            k.store(result.data, p.out[2], at, p.out[2], 1, 1, nullptr, &whole, 1);
          }
        }
    }
  });
}

namespace {

// Adds values to the places of one plane, or of two side by side: what comes to one place has to wait for what came before,
// and memory brings two streams of each kind sooner than one. False if a place is beyond the plane.
template <class S, class T>
bool add_values(T* plane, int64_t size, const S* values, const int64_t* places, int64_t count) {
  bool fine = true;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t at = uint64_t(places[i]);
    if (at < uint64_t(size)) [[likely]] plane[at] += T(values[i]);
    else fine = false;
  }
  return fine;
}
template <class S, class T>
bool add_to_two(T* planes, int64_t size, const S* values, const int64_t* places, int64_t count) {
  bool fine = true;
  T* other = planes + size;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t at = uint64_t(places[i]), there = uint64_t(places[count + i]);
    if (at < uint64_t(size) && there < uint64_t(size)) [[likely]] {
      planes[at] += T(values[i]);
      other[there] += T(values[count + i]);
    } else {
      fine = false;
    }
  }
  return fine;
}

template <class S, class T>
bool add_planes(int64_t planes, int64_t count, int64_t size, const S* from, const int64_t* indices, S* to) {
  const double work = double(planes) * double(count + size);
  const int64_t threads = work >= 1e5 && !in_parallel_loop() ? get_num_threads() : 1;
  std::atomic<bool> inside{true};
  parallel_for(planes, threads == 1 ? planes : std::max<int64_t>(1, planes / (8 * threads)), [&](int64_t first, int64_t last) {
    std::vector<T> sums(std::is_same_v<S, T> ? 0 : size_t(2 * size));
    for (int64_t p = first; p < last;) {
      const int64_t some = std::min<int64_t>(2, last - p);
      T* plane;
      if constexpr (std::is_same_v<S, T>) {
        plane = to + p * size;
        std::memset(plane, 0, size_t(some * size) * sizeof(S));
      } else {
        plane = sums.data();
        std::fill(sums.begin(), sums.end(), T(0));
      }
      const S* values = from + p * count;
      const int64_t* places = indices + p * count;
      const bool fine = some == 2 ? add_to_two<S, T>(plane, size, values, places, count) : add_values<S, T>(plane, size, values, places, count);
      if (!fine) inside.store(false, std::memory_order_relaxed);
      if constexpr (!std::is_same_v<S, T>)
        for (int64_t i = 0; i < some * size; ++i) to[p * size + i] = S(plane[i]);
      p += some;
    }
  });
  return inside.load();
}

}  // namespace

bool add_at(DType dtype, int64_t planes, int64_t count, int64_t size, const void* from, const int64_t* indices, void* to) {
  switch (dtype) {
    case DType::F64: return add_planes<double, double>(planes, count, size, static_cast<const double*>(from), indices, static_cast<double*>(to));
    case DType::F32: return add_planes<float, float>(planes, count, size, static_cast<const float*>(from), indices, static_cast<float*>(to));
    case DType::F16: return add_planes<Half, float>(planes, count, size, static_cast<const Half*>(from), indices, static_cast<Half*>(to));
    case DType::BF16: return add_planes<BFloat16, float>(planes, count, size, static_cast<const BFloat16*>(from), indices, static_cast<BFloat16*>(to));
    default: return false;
  }
}

void adaptive_average(int64_t planes, const int64_t* in, const int64_t* out, const float* x, float* y) {
  const int64_t size = in[0] * in[1] * in[2], bins = out[0] * out[1] * out[2];
  std::vector<int64_t> starts[3], stops[3];
  for (int a = 0; a < 3; ++a)
    for (int64_t bin = 0; bin < out[a]; ++bin) {
      starts[a].push_back(bin * in[a] / out[a]);
      stops[a].push_back(ceil_div((bin + 1) * in[a], out[a]));
    }
  auto first = [&](int axis, int64_t bin) { return starts[axis][size_t(bin)]; };
  auto last = [&](int axis, int64_t bin) { return stops[axis][size_t(bin)]; };
  parallel_for(planes, std::max<int64_t>(1, (1 << 16) / size), [&](int64_t from, int64_t to) {
    std::vector<float> row(static_cast<size_t>(in[2]));
    for (int64_t p = from; p < to; ++p) {
      float* result = y + p * bins;
      for (int64_t d = 0; d < out[0]; ++d)
        for (int64_t h = 0; h < out[1]; ++h) {
          // Rows of the bin are added up first, whole.
          std::fill(row.begin(), row.end(), 0.0f);
          for (int64_t i = first(0, d); i < last(0, d); ++i)
            for (int64_t j = first(1, h); j < last(1, h); ++j) {
              const float* source = x + p * size + (i * in[1] + j) * in[2];
              for (int64_t k = 0; k < in[2]; ++k) row[size_t(k)] += source[k];
            }
          const int64_t rows = (last(0, d) - first(0, d)) * (last(1, h) - first(1, h));
          for (int64_t w = 0; w < out[2]; ++w) {
            double totals[2] = {0, 0};  // two chains of additions are done in the time of one
            const int64_t start = first(2, w), stop = last(2, w);
            int64_t k = start;
            for (; k + 1 < stop; k += 2) {
              totals[0] += row[size_t(k)];
              totals[1] += row[size_t(k + 1)];
            }
            if (k < stop) totals[0] += row[size_t(k)];
            *result++ = float((totals[0] + totals[1]) / double(rows * (stop - start)));
          }
        }
    }
  });
}

}  // namespace thixo
