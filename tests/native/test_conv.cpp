// Convolutions against their definition, in every way they can be computed.
#include <vector>

#include "check.h"
#include "core/conv.h"
#include "core/conv_kernels.h"
#include "core/pool.h"
#include "core/thread_pool.h"

using namespace thixo;

namespace {

uint32_t state = 1;
float number() {
  state = state * 1664525u + 1013904223u;
  return float(int32_t(state >> 8) - (1 << 23)) / float(1 << 23);
}

std::vector<float> numbers(int64_t count) {
  std::vector<float> made(static_cast<size_t>(count));
  for (float& v : made) v = number();
  return made;
}

// Calls visit(x index, w index, y index) for every product of the definition.
template <class Visit>
void each_product(const Convolution& c, Visit&& visit) {
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t g = 0; g < c.groups; ++g)
      for (int64_t o = 0; o < c.outer; ++o)
        for (int64_t i = 0; i < c.inner; ++i)
          for (int64_t p = 0; p < c.out_size(); ++p)
            for (int64_t t = 0; t < c.taps(); ++t) {
              int64_t at = 0, rest_p = p, rest_t = t, scale = 1;
              bool inside = true;
              for (int a = 2; a >= 0; --a) {
                const int64_t place = rest_p % c.out[a] * c.stride[a] - c.padding[a] + rest_t % c.kernel[a] * c.dilation[a];
                rest_p /= c.out[a];
                rest_t /= c.kernel[a];
                inside = inside && place >= 0 && place < c.in[a];
                at += place * scale;
                scale *= c.in[a];
              }
              if (inside)
                visit(((n * c.groups + g) * c.inner + i) * c.in_size() + at, ((g * c.outer + o) * c.inner + i) * c.taps() + t,
                      ((n * c.groups + g) * c.outer + o) * c.out_size() + p);
            }
}

bool close(const std::vector<float>& a, const std::vector<double>& b) {
  double largest = 1e-6, error = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(b[i]));
    error = std::max(error, std::fabs(double(a[i]) - b[i]));
  }
  return error <= 5e-6 * largest;
}

Convolution make(int64_t batch, int64_t groups, int64_t inner, int64_t outer, int64_t size, int64_t kernel, int64_t stride,
                 int64_t padding, int64_t dilation) {
  Convolution c;
  c.batch = batch;
  c.groups = groups;
  c.inner = inner;
  c.outer = outer;
  for (int a = 1; a < 3; ++a) {
    c.in[a] = size + a;
    c.kernel[a] = kernel;
    c.stride[a] = stride;
    c.padding[a] = padding;
    c.dilation[a] = dilation;
    c.out[a] = (c.in[a] + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
  return c;
}

// The same numbers with channels side by side, or back from there.
std::vector<float> turned(const std::vector<float>& from, int64_t batch, int64_t channels, int64_t places, bool back) {
  std::vector<float> made(from.size());
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < places; ++p) {
        const size_t plane = size_t((n * channels + c) * places + p), last = size_t((n * places + p) * channels + c);
        made[back ? plane : last] = from[back ? last : plane];
      }
  return made;
}

void test_convolution(const Convolution& planes) {
  Convolution c = planes;
  const int64_t nx = c.batch * c.groups * c.inner * c.in_size(), nw = c.groups * c.outer * c.inner * c.taps(),
                ny = c.batch * c.groups * c.outer * c.out_size();
  const std::vector<float> x = numbers(nx), w = numbers(nw), g = numbers(ny), bias = numbers(c.groups * c.outer);
  std::vector<double> y(static_cast<size_t>(ny)), dx(static_cast<size_t>(nx)), dw(static_cast<size_t>(nw));
  for (int64_t i = 0; i < ny; ++i) y[size_t(i)] = bias[size_t(i / c.out_size() % (c.groups * c.outer))];
  each_product(c, [&](int64_t ix, int64_t iw, int64_t iy) {
    y[size_t(iy)] += double(x[size_t(ix)]) * w[size_t(iw)];
    dx[size_t(ix)] += double(g[size_t(iy)]) * w[size_t(iw)];
    dw[size_t(iw)] += double(g[size_t(iy)]) * x[size_t(ix)];
  });
  std::vector<float> first_y, first_dx, first_dw;
  for (int last : {0, 1, 2, 3})
  for (ConvPlan plan : {ConvPlan::Planes, ConvPlan::Places, ConvPlan::Winograd, ConvPlan::Chosen}) {
    set_conv_plan(plan);
    c.x_last = last & 1;
    c.y_last = last & 2;
    const std::vector<float> in_x = c.x_last ? turned(x, c.batch, c.groups * c.inner, c.in_size(), false) : x;
    const std::vector<float> in_g = c.y_last ? turned(g, c.batch, c.groups * c.outer, c.out_size(), false) : g;
    for (int threads : {1, 2, 5}) {
      set_num_threads(threads);
      std::vector<float> to_y(static_cast<size_t>(ny), 9), to_x(static_cast<size_t>(nx), 9), to_w(static_cast<size_t>(nw), 9);
      convolve(c, in_x.data(), w.data(), bias.data(), to_y.data());
      convolve_transposed(c, in_g.data(), w.data(), to_x.data());
      convolve_weight(c, in_x.data(), in_g.data(), to_w.data());
      if (c.y_last) to_y = turned(to_y, c.batch, c.groups * c.outer, c.out_size(), true);
      if (c.x_last) to_x = turned(to_x, c.batch, c.groups * c.inner, c.in_size(), true);
      CHECK(close(to_y, y));
      CHECK(close(to_x, dx));
      CHECK(close(to_w, dw));
      if (threads == 1) {
        first_y = to_y;
        first_dx = to_x;
        first_dw = to_w;
      }
      CHECK(to_y == first_y);
      CHECK(to_x == first_dx);
      CHECK(to_w == first_dw);
    }
  }
  set_conv_plan(ConvPlan::Chosen);
}

// Weights that are packed, by F(4x4, 3x3) where the window allows it, and what follows the sums.
void test_ends(const Convolution& planes) {
  Convolution c = planes;
  const int64_t nx = c.batch * c.groups * c.inner * c.in_size(), nw = c.groups * c.outer * c.inner * c.taps(), results = c.groups * c.outer,
                ny = c.batch * results * c.out_size();
  const std::vector<float> x = numbers(nx), w = numbers(nw), more = numbers(ny), bias = numbers(results);
  std::vector<double> y(static_cast<size_t>(ny));
  for (int64_t i = 0; i < ny; ++i) y[size_t(i)] = bias[size_t(i / c.out_size() % results)] + more[size_t(i)];
  each_product(c, [&](int64_t ix, int64_t iw, int64_t iy) { y[size_t(iy)] += double(x[size_t(ix)]) * w[size_t(iw)]; });
  for (double& v : y) v = std::max(v, 0.0);
  for (int last = 0; last < 8; ++last)
    for (ConvPlan plan : {ConvPlan::Wide, ConvPlan::Chosen, ConvPlan::Places}) {
      set_conv_plan(plan);
      c.x_last = last & 1;
      c.y_last = last & 2;
      const bool more_last = last & 4;
      const std::vector<float> in_x = c.x_last ? turned(x, c.batch, c.groups * c.inner, c.in_size(), false) : x;
      const std::vector<float> added = more_last ? turned(more, c.batch, results, c.out_size(), false) : more;
      const auto packed = pack_weight(c, w.data());
      std::vector<float> first;
      for (int threads : {1, 2, 3, 7}) {
        set_num_threads(threads);
        std::vector<float> made(static_cast<size_t>(ny), 9);
        convolve(c, in_x.data(), w.data(), bias.data(), made.data(), packed.get(), {added.data(), true, more_last});
        if (c.y_last) made = turned(made, c.batch, results, c.out_size(), true);
        CHECK(close(made, y));
        if (threads == 1) first = made;
        CHECK(made == first);
      }
    }
  set_conv_plan(ConvPlan::Chosen);
}

void test_pool() {
  Pooling p;
  p.planes = 3;
  for (int a = 1; a < 3; ++a) {
    p.in[a] = 9 + a;
    p.kernel[a] = 3;
    p.stride[a] = 2;
    p.padding[a] = 1;
    p.out[a] = (p.in[a] + 2 - 3) / 2 + 1;
  }
  CHECK(max_pool_fits(p));
  const int64_t size = p.in[1] * p.in[2], count = p.out[1] * p.out[2];
  const std::vector<float> x = numbers(p.planes * size);
  std::vector<float> values(static_cast<size_t>(p.planes * count)), back(static_cast<size_t>(p.planes * size), 9);
  std::vector<int64_t> indices(values.size());
  max_pool(p, x.data(), values.data(), indices.data());
  for (size_t i = 0; i < values.size(); ++i) {
    CHECK(indices[i] >= 0 && indices[i] < size);
    CHECK(x[i / size_t(count) * size_t(size) + size_t(indices[i])] == values[i]);
  }
  CHECK(add_at(DType::F32, p.planes, count, size, values.data(), indices.data(), back.data()));
  double sum = 0, wanted = 0;
  for (float v : back) sum += v;
  for (float v : values) wanted += v;
  CHECK(std::fabs(sum - wanted) < 1e-4);
  indices[0] = size;
  CHECK(!add_at(DType::F32, p.planes, count, size, values.data(), indices.data(), back.data()));
}

}  // namespace

int main() {
  test_convolution(make(2, 1, 3, 5, 11, 3, 1, 1, 1));
  test_convolution(make(3, 1, 17, 40, 7, 3, 1, 1, 1));
  test_convolution(make(2, 2, 5, 9, 13, 3, 2, 1, 1));
  test_convolution(make(1, 1, 6, 7, 12, 5, 3, 2, 2));
  test_convolution(make(4, 6, 1, 1, 15, 3, 1, 1, 1));
  test_convolution(make(2, 35, 1, 1, 9, 5, 2, 2, 1));
  test_convolution(make(1, 3, 1, 1, 70, 3, 2, 1, 2));
  test_convolution(make(2, 1, 8, 20, 9, 1, 1, 0, 1));
  test_convolution(make(2, 1, 100, 90, 6, 3, 2, 1, 1));
  test_convolution(make(1, 1, 37, 150, 7, 5, 1, 2, 1));
  test_convolution(make(2, 1, 8, 20, 9, 1, 2, 0, 1));
  test_convolution(make(0, 1, 3, 4, 8, 3, 1, 1, 1));
  test_ends(make(2, 1, 3, 5, 11, 3, 1, 1, 1));
  test_ends(make(3, 1, 17, 40, 7, 3, 1, 1, 1));
  test_ends(make(1, 2, 8, 12, 16, 3, 1, 2, 1));
  test_ends(make(2, 1, 16, 16, 5, 3, 1, 0, 1));
  test_ends(make(2, 1, 8, 20, 9, 1, 1, 0, 1));
  test_ends(make(2, 2, 5, 9, 13, 3, 2, 1, 1));
  test_ends(make(2, 6, 1, 1, 15, 3, 1, 1, 1));
  test_ends(make(0, 1, 8, 8, 8, 3, 1, 1, 1));
  test_pool();
  return check::finish("conv");
}
