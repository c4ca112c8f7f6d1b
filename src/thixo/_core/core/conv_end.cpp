#include "conv_end.h"

#include "kernels/types.h"
#include "shipped.h"
#include "thread_pool.h"

namespace thixo {

namespace {

using EndCall = void (*)(const void* sums, int64_t ld, void* to, int64_t to_row, int64_t places, int64_t count, const void* bias, const void* more,
                         int64_t relu);

template <class S, class T>
S ended(T sum, const S* more, bool relu) {
  S value = S(sum);
  if (more) value = S(T(value) + T(*more));
  return relu && T(value) < T(0) ? S(T(0)) : value;
}

// The definition of the kernel that is shipped.
void portable_end(const void* sums, int64_t ld, void* to, int64_t to_row, int64_t places, int64_t count, const void* bias, const void* more, int64_t relu) {
  for (int64_t p = 0; p < places; ++p)
    for (int64_t i = 0; i < count; ++i) {
      const float sum = static_cast<const float*>(sums)[p * ld + i];
      static_cast<float*>(to)[p * to_row + i] = ended<float, float>(bias ? sum + static_cast<const float*>(bias)[i] : sum,
                                                                     more ? static_cast<const float*>(more) + p * to_row + i : nullptr, relu);
    }
}

EndCall end_call() {
  static thread_local int generation = -1;
  static thread_local EndCall found = portable_end;
  if (generation != shipped_generation()) {
    generation = shipped_generation();
    const auto call = reinterpret_cast<EndCall>(shipped("conv_f32_end"));
    found = call ? call : portable_end;
  }
  return found;
}

}  // namespace

void end_lines(const PlacesJob& p, const char* sums, int64_t ld, char* to, int64_t to_row, int64_t places, int64_t count, const char* bias) {
  if (p.plain_end()) return p.kernels->lines(sums, ld, to, to_row, places, count, bias);
  end_call()(sums, ld, to, to_row, places, count, bias, p.more ? p.more + (to - p.y) : nullptr, p.relu);
}

void end_all(DType dtype, char* y, const char* more, bool relu, int64_t count) {
  if (rehearsing()) return;
  constexpr int64_t grain = 1 << 15;
  auto go = [&]<class S, class T>(S, T) {
    parallel_for(count, grain, [&](int64_t from, int64_t to) {
      S* at = static_cast<S*>(static_cast<void*>(y));
      const S* other = static_cast<const S*>(static_cast<const void*>(more));
      for (int64_t i = from; i < to; ++i) at[i] = ended<S, T>(T(at[i]), other ? other + i : nullptr, relu);
    });
  };
  switch (dtype) {
    case DType::F64: return go(double(), double());
    case DType::F16: return go(Half(), float());
    case DType::BF16: return go(BFloat16(), float());
    default:
      parallel_for(count, grain, [&](int64_t from, int64_t to) {
        end_call()(y + from * 4, 0, y + from * 4, 0, 1, to - from, nullptr, more ? more + from * 4 : nullptr, relu);
      });
  }
}

void end_product(void* part, int64_t row_stride, int64_t column_stride, int64_t, int64_t rows, int64_t, int64_t columns, void* context) {
  const auto& end = *static_cast<const ProductEnd*>(context);
  auto* at = static_cast<char*>(part);
  const char* more = end.more ? end.more + (at - end.c) : nullptr;
  if (column_stride == 1) return end_call()(at, row_stride, at, row_stride, rows, columns, nullptr, more, end.relu);
  for (int64_t i = 0; i < rows; ++i)
    end_call()(at + i * row_stride * 4, column_stride, at + i * row_stride * 4, column_stride, columns, 1, nullptr, more ? more + i * row_stride * 4 : nullptr, end.relu);
}

}  // namespace thixo
