#include "conv.h"

#include <atomic>
#include <cmath>
#include <cstring>

#include "conv_borders.h"
#include "conv_depth.h"
#include "conv_end.h"
#include "conv_places.h"
#include "conv_sweep.h"
#include "conv_winograd.h"
#include "conv_winograd_wide.h"
#include "kernels.h"
#include "kernels/types.h"
#include "thread_pool.h"

namespace thixo {

namespace {

std::atomic<ConvPlan> forced{ConvPlan::Chosen};

// Whether nothing but the use of F(4x4, 3x3) is overruled.
bool chosen() { return conv_plan() == ConvPlan::Chosen || conv_plan() == ConvPlan::Wide; }

// The weight in what is computed in: itself, or a copy.
const char* in_compute(const ConvKernels& k, const void* w, int64_t count, Buffer& copy) {
  if (k.source == k.compute || rehearsing()) return static_cast<const char*>(w);
  k.rows(w, count, 1, copy.data, count, 1, count);
  return copy.data;
}
size_t copy_bytes(const ConvKernels& k, int64_t count) {
  return k.source == k.compute ? 0 : size_t(count * item_size(k.compute));
}

// Results of neighbours that lie side by side in both: rows are one long row.
void join_rows(const Sweep& s, SweepPhase& p) {
  p.pitch = std::max(s.image.axes[2].extent, p.grid[2]);  // more only where no tap reads the image
  if (p.pitch != p.grid[2] || s.y_strides[1] != p.grid[2] * s.y_strides[2]) return;
  p.pitch = p.grid[2] *= p.grid[1];
  p.grid[1] = 1;
}

// Whether it is a window that Winograd's products can compute.
bool winograd_window(const Convolution& c) {
  if (c.dtype != DType::F32 || c.in[0] * c.out[0] * c.kernel[0] != 1 || c.padding[0]) return false;
  for (int i = 1; i < 3; ++i)
    if (c.kernel[i] != 3 || c.stride[i] != 1 || c.dilation[i] != 1 || c.padding[i] > 2) return false;
  return true;
}

// Whether Winograd's products are taken: where they pay, or where that is forced.
bool takes_winograd(const Convolution& c, const PlacesJob& p) {
  if (!winograd_window(c)) return false;
  return conv_plan() == ConvPlan::Winograd ? winograd_fits() : chosen() && winograd_pays(p);
}

// Whether places are the rows of tiles: where that pays, or where it is forced.
bool takes_places(const PlacesJob& p) {
  const ConvPlan plan = conv_plan();
  return plan == ConvPlan::Places || (plan != ConvPlan::Planes && places_pay(p));
}

// Channels side by side where planes are needed, or the other way round: a copy of `count` channels and `size` places of each image.
void turned_copy(DType dtype, int64_t batch, int64_t count, int64_t size, const void* from, void* to, bool to_planes) {
  if (rehearsing()) return;
  const int64_t item = item_size(dtype), sizes[3] = {batch, count, size};
  const int64_t planes[3] = {count * size * item, size * item, item}, last[3] = {count * size * item, item, count * item};
  copy({static_cast<char*>(to), dtype, 3, sizes, to_planes ? planes : last},
       {static_cast<char*>(const_cast<void*>(from)), dtype, 3, sizes, to_planes ? last : planes});
}

// x and y as planes, for what knows only these; results are turned back at the end.
struct InPlanes {
  Convolution c;
  const Convolution& given;
  Buffer x, y;
  explicit InPlanes(const Convolution& conv) : c(conv), given(conv), x(conv.x_last ? x_bytes() : 0), y(conv.y_last ? y_bytes() : 0) {
    c.x_last = c.y_last = false;
  }
  size_t x_bytes() const { return size_t(given.batch * given.groups * given.inner * given.in_size() * item_size(given.dtype)); }
  size_t y_bytes() const { return size_t(given.batch * given.groups * given.outer * given.out_size() * item_size(given.dtype)); }
  const void* x_from(const void* at) const {
    if (!given.x_last) return at;
    turned_copy(c.dtype, c.batch, c.groups * c.inner, c.in_size(), at, x.data, true);
    return x.data;
  }
  const void* y_from(const void* at) const {
    if (!given.y_last) return at;
    turned_copy(c.dtype, c.batch, c.groups * c.outer, c.out_size(), at, y.data, true);
    return y.data;
  }
  void x_to(void* at) const {
    if (given.x_last) turned_copy(c.dtype, c.batch, c.groups * c.inner, c.in_size(), x.data, at, false);
  }
  void y_to(void* at) const {
    if (given.y_last) turned_copy(c.dtype, c.batch, c.groups * c.outer, c.out_size(), y.data, at, false);
  }
};

// A kernel of one tap that meets every place once: a product of matrices.
bool is_product(const Convolution& c) {
  for (int i = 0; i < 3; ++i)
    if (c.kernel[i] != 1 || c.stride[i] != 1 || c.padding[i] != 0) return false;
  return c.inner > 1 && c.outer > 1;
}

// Of images as planes, or of all of them as one matrix.
bool products_fit(const Convolution& c) { return c.x_last == c.y_last && (!c.x_last || c.groups == 1); }

void add_bias(void* part, int64_t row_stride, int64_t column_stride, int64_t row, int64_t rows, int64_t, int64_t columns, void* context) {
  const float* bias = static_cast<const float*>(context) + row;
  if (column_stride == 1) return conv_kernels(DType::F32).bias(part, row_stride, rows, columns, bias);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) static_cast<float*>(part)[i * row_stride + j * column_stride] += bias[i];
}

// Whether neither NaN nor infinity is among them.
bool all_finite(DType dtype, const void* values, int64_t count) {
  if (rehearsing()) return true;
  // An exponent of ones, looked for in integers: eight at a time without a branch.
  auto scan = [count](auto* bits, auto exponent) {
    decltype(exponent) found = 0;
    for (int64_t i = 0; i < count; ++i) found |= static_cast<decltype(exponent)>((bits[i] & exponent) == exponent);
    return found == 0;
  };
  switch (dtype) {
    case DType::F64: return scan(static_cast<const uint64_t*>(values), uint64_t{0x7ff0000000000000u});
    case DType::F32: return scan(static_cast<const uint32_t*>(values), uint32_t{0x7f800000u});
    case DType::F16: return scan(static_cast<const uint16_t*>(values), uint16_t{0x7c00u});
    case DType::BF16: return scan(static_cast<const uint16_t*>(values), uint16_t{0x7f80u});
    default: return true;
  }
}

// What both ways have in common; `turned`: from y to x.
PlacesJob places_job(const Convolution& c, const void* from, const void* w, const void* bias, void* to, bool turned) {
  PlacesJob p;
  p.kernels = &conv_kernels(c.dtype);
  p.batch = c.batch;
  p.groups = c.groups;
  p.rows = turned ? c.inner : c.outer;
  p.taps = c.taps();
  std::copy(turned ? c.in : c.out, (turned ? c.in : c.out) + 3, p.out);
  p.source = static_cast<const char*>(from);
  p.weight = static_cast<const char*>(w);
  p.turned = turned;
  p.bias = static_cast<const char*>(bias);
  p.y = static_cast<char*>(to);
  p.last = turned ? c.x_last : c.y_last;
  p.work = c.work();
  return p;
}

// Whether so many products are with zeros above and below the image that it pays to leave those around it out.
void plan_borders(const Convolution& c, PlacesJob& p) {
  constexpr double kShare = 0.03, kProducts = 16;  // of all products; of those that are saved, for each weight
  if (c.padding[1] == 0 && !p.turned) return;
  const double share = skipped_share(p);
  p.borders = share >= kShare && (p.turned || share * double(c.batch * c.out_size()) >= kProducts);
  if (p.borders) p.skipped = share;
}

void run_places(const Convolution& c, PlacesJob& p) {
  // An infinite weight makes NaN of zeros. In the gradient of the input the definition has no such products.
  p.skips = p.borders && (p.turned || all_finite(c.dtype, p.weight, c.groups * c.outer * c.inner * c.taps()));
  run_places(p);
}

PlacesJob forward_places(const Convolution& c, const void* x, const void* w, const void* bias, void* y) {
  PlacesJob p = places_job(c, x, w, bias, y, false);
  int64_t extent[3];
  PlacePhase f;
  for (int i = 0; i < 3; ++i) {
    extent[i] = (c.out[i] - 1) * c.stride[i] + (c.kernel[i] - 1) * c.dilation[i] + 1;
    f.count[i] = c.out[i];
    f.reach[i] = c.stride[i];
  }
  p.image.lay_out(c.inner, c.in, c.padding, extent, false, !c.x_last);
  if (c.x_last) p.image.set_last(*p.kernels, c.groups * c.inner);
  for (int64_t d = 0, tap = 0; d < c.kernel[0]; ++d)
    for (int64_t h = 0; h < c.kernel[1]; ++h)
      for (int64_t v = 0; v < c.kernel[2]; ++v, ++tap) f.taps.push_back({{d * c.dilation[0], h * c.dilation[1], v * c.dilation[2]}, tap});
  p.phases.push_back(std::move(f));
  plan_places(p);
  plan_borders(c, p);
  return p;
}

// Positions of x along one axis that leave the same remainder, and the taps that meet them: see convolve_transposed.
struct Part {
  int64_t first = 0, count = 0, start = 0;        // of q; the first i
  std::vector<std::pair<int64_t, int64_t>> taps;  // each with its (r - t * dilation) / stride
};

struct Remainders {
  std::vector<Part> axes[3];
  int64_t pad[3], places[3] = {1, 1, 1};  // in front of y; positions of y that are met

  explicit Remainders(const Convolution& c) {
    for (int i = 0; i < 3; ++i) {
      const int64_t s = c.stride[i];
      int64_t low = INT64_MAX, high = INT64_MIN;
      for (int64_t r = 0; r < s; ++r) {
        Part part;
        part.start = ((r - c.padding[i]) % s + s) % s;  // the smallest i >= 0 of this remainder
        if (part.start >= c.in[i]) continue;
        part.first = (part.start + c.padding[i] - r) / s;
        part.count = (c.in[i] - 1 - part.start) / s + 1;
        for (int64_t t = 0; t < c.kernel[i]; ++t)
          if ((t * c.dilation[i] - r) % s == 0) {
            const int64_t shift = (r - t * c.dilation[i]) / s;
            part.taps.push_back({t, shift});
            low = std::min(low, part.first + shift);
            high = std::max(high, part.first + part.count - 1 + shift);
          }
        axes[i].push_back(part);
      }
      if (low > high) low = high = 0;
      pad[i] = -low;
      places[i] = high - low + 1;
    }
  }
};

PlacesJob transposed_places(const Convolution& c, const void* y, const void* w, void* x) {
  PlacesJob p = places_job(c, y, w, nullptr, x, true);
  const Remainders parts(c);
  int64_t pad[3], extent[3];
  for (int i = 0; i < 3; ++i) {
    pad[i] = std::max<int64_t>(parts.pad[i], 0);
    extent[i] = parts.places[i] + pad[i] - parts.pad[i];
  }
  p.image.lay_out(c.outer, c.out, pad, extent, false, !c.y_last);
  if (c.y_last) p.image.set_last(*p.kernels, c.groups * c.outer);
  for (const Part& d : parts.axes[0])
    for (const Part& h : parts.axes[1])
      for (const Part& v : parts.axes[2]) {
        PlacePhase f;
        const Part* of[3] = {&d, &h, &v};
        for (int i = 0; i < 3; ++i) {
          f.start[i] = of[i]->start;
          f.step[i] = c.stride[i];
          f.count[i] = of[i]->count;
        }
        for (auto [td, sd] : d.taps)
          for (auto [th, sh] : h.taps)
            for (auto [tv, sv] : v.taps)
              f.taps.push_back({{d.first + sd + pad[0], h.first + sh + pad[1], v.first + sv + pad[2]}, (td * c.kernel[1] + th) * c.kernel[2] + tv});
        p.phases.push_back(std::move(f));
      }
  plan_places(p);
  plan_borders(c, p);
  return p;
}

// One vector of a depthwise convolution's channels.
PlacesJob depth_job(const Convolution& c, const void* from, const void* w, const void* bias, void* to, bool turned) {
  Convolution vector = c;
  vector.groups = 1;
  vector.inner = vector.outer = conv_kernels(c.dtype).lanes;
  PlacesJob p = turned ? transposed_places(vector, from, w, to) : forward_places(vector, from, w, bias, to);
  p.groups = c.groups;
  p.work = c.work();
  return p;
}

bool by_depth(const Convolution& c, const void* from, const void* w, const void* bias, void* to, bool turned) {
  const ConvPlan plan = conv_plan();
  if (c.x_last || c.y_last || c.inner != 1 || c.outer != 1 || c.groups == 1 || plan == ConvPlan::Planes || !depth_fits(c)) return false;
  const PlacesJob p = depth_job(c, from, w, bias, to, turned);
  if (plan != ConvPlan::Places && !depth_pays(p)) return false;
  run_depth(p);
  return true;
}

// y = w x for every image and group, or x = w' y.
void by_products(const Convolution& c, const void* from, const void* w, const void* bias, void* to, bool turned, const ConvEnd& end = {}) {
  Product p;
  p.dtype = c.dtype;
  if (c.x_last && c.y_last && c.groups == 1) {  // all images are one matrix, a place to a row
    p.m = c.batch * c.in_size();
    p.n = turned ? c.inner : c.outer;
    p.k = turned ? c.outer : c.inner;
    p.a = from;
    p.a_row = p.k;
    p.a_k = 1;
    p.b = w;
    p.b_k = turned ? c.inner : 1;
    p.b_n = turned ? 1 : c.inner;
    p.c = to;
    p.c_row = p.n;
    p.bias = bias;
    p.bias_n = 1;
    ProductEnd context{static_cast<const char*>(end.more), static_cast<const char*>(to), end.relu};
    if (end.more || end.relu) p.epilogue = {end_product, &context};
    return gemm(p);
  }
  p.m = turned ? c.inner : c.outer;
  p.k = turned ? c.outer : c.inner;
  p.n = c.in_size();
  p.a = w;
  p.a_row = turned ? 1 : c.inner;
  p.a_k = turned ? c.inner : 1;
  p.b = from;
  p.b_k = p.n;
  p.b_n = 1;
  p.c = to;
  p.c_row = p.n;
  if (bias) p.epilogue = {add_bias, const_cast<void*>(bias)};
  gemm_batch(p, Dims{c.batch, c.groups}, Dims{0, c.outer * c.inner}, Dims{c.groups * p.k * p.n, p.k * p.n});
}

}  // namespace

void set_conv_plan(ConvPlan plan) { forced.store(plan, std::memory_order_relaxed); }
ConvPlan conv_plan() { return forced.load(std::memory_order_relaxed); }

PackedWeight::~PackedWeight() {
  if (data) release(data, bytes);
}

std::shared_ptr<const PackedWeight> pack_weight(const Convolution& c, const void* w) {
  if (!chosen() || is_product(c) || c.outer < 2 || c.batch == 0) return nullptr;
  const PlacesJob job = forward_places(c, nullptr, w, nullptr, nullptr);
  auto made = std::make_shared<PackedWeight>();
  const bool window = winograd_window(c);
  made->winograd = window && winograd_pays(job, true);
  made->wide = window && (conv_plan() == ConvPlan::Wide ? job.last : c.wide && wide_pays(job));
  if (!made->wide && !made->winograd && !places_pay(job, true)) return nullptr;
  made->lanes = job.kernels->lanes;
  made->vectors = job.vectors;
  made->bytes = made->wide ? wide_kernel_bytes(job) : made->winograd ? winograd_kernel_bytes(job) : packed_bytes(job);
  if (!rehearsing()) made->data = static_cast<char*>(allocate(made->bytes));
  if (made->wide) wide_kernels(job, made->data);
  else if (made->winograd) winograd_kernels(job, made->data);
  else pack_places(job, made->data, get_num_threads() > 1);
  return made;
}

void convolve(const Convolution& c, const void* x, const void* w, const void* bias, void* y, const PackedWeight* packed, const ConvEnd& end) {
  if (end.more && end.more_last != c.y_last) {
    const int64_t results = c.groups * c.outer;
    Buffer turned(size_t(c.batch * results * c.out_size() * item_size(c.dtype)));
    turned_copy(c.dtype, c.batch, results, c.out_size(), end.more, turned.data, !c.y_last);
    return convolve(c, x, w, bias, y, packed, {turned.data, end.relu, c.y_last});
  }
  // What has its channels side by side is ended where it is written; all else when all of it is there.
  const bool ends = end.more || end.relu;
  if (ends && !(c.dtype == DType::F32 && c.y_last && c.outer > 1 && (!is_product(c) || (c.x_last && c.groups == 1)) && chosen())) {
    convolve(c, x, w, bias, y, packed);
    return end_all(c.dtype, static_cast<char*>(y), static_cast<const char*>(end.more), end.relu, c.batch * c.groups * c.outer * c.out_size());
  }
  if (is_product(c) && products_fit(c) && chosen() && (!bias || (c.dtype == DType::F32 && c.groups == 1)))
    return by_products(c, x, w, bias, y, false, end);
  if (c.outer > 1) {
    PlacesJob job = forward_places(c, x, w, bias, y);
    job.more = static_cast<const char*>(end.more);
    job.relu = end.relu;
    if (packed && chosen() && packed->lanes == job.kernels->lanes && packed->vectors == job.vectors &&
        (packed->wide || !packed->winograd || winograd_fits())) {
      job.packed = rehearsing() ? reinterpret_cast<const char*>(packed) : packed->data;  // nothing is read then
      if (!packed->wide && !packed->winograd) return run_places(c, job);
      if (packed->wide ? winograd_wide(job) : winograd(job)) return;
      job.packed = nullptr;  // made for the other way
    } else if (takes_winograd(c, job) && winograd(job)) {
      return;
    }
    if (takes_places(job)) return run_places(c, job);
  }
  if (by_depth(c, x, w, bias, y, false)) return;
  if (c.x_last || c.y_last) {
    const InPlanes planes(c);
    convolve(planes.c, planes.x_from(x), w, bias, c.y_last ? planes.y.data : y, nullptr);
    planes.y_to(y);
    if (ends) end_all(c.dtype, static_cast<char*>(y), static_cast<const char*>(end.more), end.relu, c.batch * c.groups * c.outer * c.out_size());
    return;
  }
  const ConvKernels& k = conv_kernels(c.dtype);
  const int64_t wide = item_size(k.compute), taps = c.taps(), weights = c.groups * c.outer * c.inner * taps;
  Buffer copy(copy_bytes(k, weights));
  Sweep s;
  s.kernels = &k;
  s.batch = c.batch;
  s.groups = c.groups;
  s.work = c.work();
  std::vector<int64_t> meets[3];
  for (int i = 0; i < 3; ++i)
    for (int64_t t = 0; t < c.kernel[i]; ++t) meets[i].push_back(t * c.dilation[i]);
  s.image.lay_out(c.inner, c.in, c.padding, c.stride, c.out, meets);
  s.source = static_cast<const char*>(x);
  s.a = in_compute(k, w, weights, copy);
  s.a_row = c.inner * taps;
  s.a_group = c.outer * s.a_row;
  s.rows = c.outer;
  s.y = static_cast<char*>(y);
  s.y_row = c.out_size();
  s.y_image = c.groups * c.outer * s.y_row;
  s.y_strides[0] = c.out[1] * c.out[2];
  s.y_strides[1] = c.out[2];
  s.bias = static_cast<const char*>(bias);
  SweepPhase p;
  std::copy(c.out, c.out + 3, p.grid);
  join_rows(s, p);
  for (int64_t i = 0, at = 0; i < c.inner; ++i)
    for (int64_t p0 : meets[0])
      for (int64_t p1 : meets[1])
        for (int64_t p2 : meets[2])
          p.table.push_back({at++ * wide, (i * s.image.channel + s.image.offset(p0, p1, p2)) * wide});
  s.phases.push_back(std::move(p));
  sweep(s);
}

namespace {

// By sums themselves. The element i of x gets y[o] * w[t] where i + padding = o * stride + t * dilation. For all i whose
// i + padding leaves the same remainder r, the same taps matter: those with t * dilation = r (mod stride), at o = q + (r -
// t * dilation) / stride where i + padding = q * stride + r. So each remainder is a convolution of its own, of stride 1,
// with fewer taps.
void transposed_sums(const Convolution& c, PlacesJob job, const void* y, const void* w, void* x) {
  if (c.inner > 1 && takes_places(job)) return run_places(c, job);
  if (by_depth(c, y, w, nullptr, x, true)) return;
  if (c.x_last || c.y_last) {
    const InPlanes planes(c);
    const void* from = planes.y_from(y);
    void* to = c.x_last ? planes.x.data : x;
    transposed_sums(planes.c, c.inner > 1 ? transposed_places(planes.c, from, w, to) : PlacesJob(), from, w, to);
    return planes.x_to(x);
  }
  const ConvKernels& k = conv_kernels(c.dtype);
  const int64_t wide = item_size(k.compute), taps = c.taps(), weights = c.groups * c.outer * c.inner * taps;
  const Remainders parts(c);
  // With a stride each remainder has some of the taps. As [groups][taps][outer][inner], what a tile reads of one lies
  // together; for few places that is not worth while. Without a stride all taps are read anyway.
  const int64_t spread = round_up(c.inner, k.lanes) + k.lanes, blocks = ceil_div(c.inner, k.lanes);
  const bool turns = c.stride[0] * c.stride[1] * c.stride[2] > 1 && taps > 1 && c.batch * c.out_size() >= 400;
  Buffer copy(turns ? size_t(c.groups * c.outer * taps * spread * wide) : copy_bytes(k, weights));
  if (turns && !rehearsing()) {
    const int64_t all = c.groups * c.outer;
    parallel_for(all, weights < 1 << 16 ? all : std::max<int64_t>(1, all / 32), [&](int64_t from, int64_t to) {
      for (int64_t o = from; o < to; ++o)
        for (int64_t b = 0; b < blocks; ++b)
          k.turn(static_cast<const char*>(w) + (o * c.inner + b * k.lanes) * taps * item_size(k.source), taps,
                 copy.data + ((o / c.outer * taps * c.outer + o % c.outer) * spread + b * k.lanes) * wide, c.outer * spread, taps, std::min(k.lanes, c.inner - b * k.lanes));
    });
  }
  Sweep s;
  s.kernels = &k;
  s.batch = c.batch;
  s.groups = c.groups;
  s.work = c.work();
  const int64_t ones[3] = {1, 1, 1}, *pad = parts.pad;
  const std::vector<int64_t> meets[3] = {{0}, {0}, {0}};
  s.image.lay_out(c.outer, c.out, pad, ones, parts.places, meets);
  s.source = static_cast<const char*>(y);
  s.a = turns ? copy.data : in_compute(k, w, weights, copy);
  s.a_row = turns ? 1 : taps;
  s.a_group = c.outer * taps * (turns ? spread : c.inner);
  s.rows = c.inner;
  s.y = static_cast<char*>(x);
  s.y_row = c.in_size();
  s.y_image = c.groups * c.inner * s.y_row;
  s.y_strides[0] = c.stride[0] * c.in[1] * c.in[2];
  s.y_strides[1] = c.stride[1] * c.in[2];
  s.y_strides[2] = c.stride[2];
  for (const Part& d : parts.axes[0])
    for (const Part& h : parts.axes[1])
      for (const Part& v : parts.axes[2]) {
        SweepPhase p;
        p.grid[0] = d.count;
        p.grid[1] = h.count;
        p.grid[2] = v.count;
        join_rows(s, p);
        p.y_start = (d.start * c.in[1] + h.start) * c.in[2] + v.start;
        // Positions in the copy are o + pad; taps reach back from the first window, so the table holds whole places.
        for (int64_t o = 0; o < c.outer; ++o)
          for (auto [td, sd] : d.taps)
            for (auto [th, sh] : h.taps)
              for (auto [tv, sv] : v.taps) {
                const int64_t tap = (td * c.kernel[1] + th) * c.kernel[2] + tv;
                p.table.push_back({(turns ? (tap * c.outer + o) * spread : o * c.inner * taps + tap) * wide,
                                   (o * s.image.channel + s.image.offset(d.first + sd + pad[0], h.first + sh + pad[1],
                                                                         v.first + sv + pad[2])) * wide});
              }
        s.phases.push_back(std::move(p));
      }
  sweep(s);
}

}  // namespace

bool convolve_transposed(const Convolution& c, const void* y, const void* w, void* x) {
  if (is_product(c) && products_fit(c) && conv_plan() == ConvPlan::Chosen) {
    by_products(c, y, w, nullptr, x, true);
    return true;
  }
  const PlacesJob job = c.inner > 1 ? transposed_places(c, y, w, x) : PlacesJob();
  if (c.inner > 1 && takes_winograd(c, job) && winograd(job)) return true;
  // A weight that is not finite makes all results so that it meets: the fewer of both are looked at.
  const int64_t weights = c.groups * c.outer * c.inner * c.taps(), results = c.batch * c.groups * c.inner * c.in_size();
  if (weights <= results && !all_finite(c.dtype, w, weights)) return false;
  transposed_sums(c, job, y, w, x);
  return weights <= results || all_finite(c.dtype, x, results) || all_finite(c.dtype, w, weights);
}

}  // namespace thixo
