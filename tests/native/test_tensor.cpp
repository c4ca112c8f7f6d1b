// Tensors: sizes that overflow, windows and their bounds, broadcasting, overlap, long chains.
#include "../../src/thixo/_core/core/tensor.h"

#include <cstring>

#include "../../src/thixo/_core/core/allocator.h"
#include "../../src/thixo/_core/core/kernels.h"
#include "../../src/thixo/_core/core/tape.h"
#include "check.h"

using namespace thixo;

template <class F>
static bool refused(ErrorKind kind, const char* words, F&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.kind == kind && std::strstr(e.what(), words);
  }
  return false;
}

static void test_dims() {
  Dims d{1, 2, 3};
  for (int i = 0; i < 70; ++i) d.push_back(i);  // leaves the room inside
  CHECK(d.size() == 73 && d[2] == 3 && d[72] == 69);
  Dims copy = d, moved = std::move(d);
  CHECK(copy == moved && d.empty());
  moved.erase(0);
  moved.insert(1, 42);
  CHECK(moved[0] == 2 && moved[1] == 42 && moved.size() == 73);
  copy = copy;
  copy = std::move(moved);
  CHECK(copy.size() == 73);
  copy = Dims{7};
  CHECK(copy.size() == 1 && copy[0] == 7);
}

static void test_sizes() {
  CHECK(checked_numel({2, 3}, DType::F32, "t") == 6);
  CHECK(checked_numel({}, DType::F32, "t") == 1);
  CHECK(checked_numel({int64_t{1} << 62, int64_t{1} << 62, 0}, DType::F64, "t") == 0);
  CHECK(refused(ErrorKind::Shape, "does not fit in 64 bits",
                [] { checked_numel({int64_t{1} << 32, int64_t{1} << 32}, DType::F32, "t"); }));
  CHECK(refused(ErrorKind::Shape, "does not fit in 64 bits",
                [] { checked_numel({int64_t{1} << 61}, DType::F64, "t"); }));  // fits as a count, not in bytes
  CHECK(refused(ErrorKind::Shape, "must not be negative", [] { checked_numel({2, -1}, DType::F32, "t"); }));
  CHECK(refused(ErrorKind::Shape, "at most 64 dimensions", [] { checked_numel(Dims(65, 1), DType::F32, "t"); }));
  CHECK(refused(ErrorKind::Memory, "no memory", [] { empty({int64_t{1} << 50}, DType::F32); }));
  CHECK(refused(ErrorKind::Shape, "beyond 64 bits",
                [] { empty_strided({3, 3}, {int64_t{1} << 62, int64_t{1} << 62}, DType::F32); }));
  CHECK(refused(ErrorKind::Argument, "must not be negative", [] { empty_strided({3}, {-1}, DType::F32); }));
}

static void test_windows() {
  Ref<Tensor> base = zeros({4, 6}, DType::F64);
  Ref<Tensor> view = make_view(base, {2, 3}, {6, 2}, 7);
  CHECK(view->base == base && view->storage == base->storage && view->numel == 6);
  CHECK(make_view(view, {1}, {1}, 3)->base == base);  // the root, never a view
  make_view(base, {24}, {1}, 0);
  make_view(base, {4, 6, 5}, {6, 1, 0}, 0);
  make_view(base, {0}, {1}, 1000);  // nothing is looked at
  auto outside = [&](Dims sizes, Dims strides, int64_t offset) {
    return refused(ErrorKind::Index, "as_strided", [&] { make_view(base, sizes, strides, offset); });
  };
  CHECK(outside({25}, {1}, 0));
  CHECK(outside({1}, {1}, 24));
  CHECK(outside({1}, {1}, -1));
  CHECK(outside({0}, {1}, -1));
  CHECK(outside({3}, {12}, 0));
  CHECK(outside({2, 2}, {INT64_MAX, INT64_MAX}, 0));
  CHECK(outside({2, 2}, {INT64_MAX, INT64_MIN}, 1));
  CHECK(outside({3}, {INT64_MIN}, INT64_MAX));
  CHECK(outside({2}, {1}, INT64_MAX));
}

static void test_view_strides() {
  Dims out;
  CHECK(view_strides({2, 3, 4}, {12, 4, 1}, {6, 4}, out) && out == (Dims{4, 1}));
  CHECK(view_strides({2, 3, 4}, {12, 4, 1}, {2, 12}, out) && out == (Dims{12, 1}));
  CHECK(view_strides({4, 6}, {12, 2}, {4, 2, 3}, out) && out == (Dims{12, 6, 2}));
  CHECK(!view_strides({4, 6}, {12, 1}, {24}, out));
  CHECK(!view_strides({3, 4}, {1, 3}, {12}, out));
  CHECK(view_strides({3, 1, 4}, {4, 100, 1}, {12}, out) && out == Dims{1});
  CHECK(view_strides({}, {}, {1, 1}, out) && out.size() == 2);
  CHECK(view_strides({1, 1}, {5, 9}, {}, out) && out.empty());
  CHECK(view_strides({0, 3}, {3, 1}, {5, 0}, out));
  CHECK(view_strides({3, 5}, {1, 0}, {3, 5, 1}, out));
  // whatever view_strides accepts must show the elements in the same order
  Ref<Tensor> base = empty({120}, DType::I64);
  for (int64_t i = 0; i < 120; ++i) reinterpret_cast<int64_t*>(base->data())[i] = i;
  const Dims shapes[] = {{4, 6}, {24}, {2, 12}, {2, 2, 6}, {1, 24, 1}, {3, 8}, {6, 4}, {4, 2, 3}};
  for (int64_t outer : {6, 12, 18})
    for (int64_t inner : {1, 2, 3})
      for (const Dims& shape : shapes) {
        Dims strides;
        if (!view_strides({4, 6}, {outer, inner}, shape, strides)) continue;
        Ref<Tensor> from = contiguous_copy(*make_view(base, {4, 6}, {outer, inner}, 0), DType::I64);
        Ref<Tensor> seen = contiguous_copy(*make_view(base, shape, strides, 0), DType::I64);
        CHECK(!std::memcmp(from->data(), seen->data(), 24 * sizeof(int64_t)));
      }
}

static void test_broadcast() {
  CHECK(broadcast({2, 1, 4}, {3, 1}, "t") == (Dims{2, 3, 4}));
  CHECK(broadcast({}, {3}, "t") == Dims{3});
  CHECK(broadcast({0}, {1}, "t") == Dims{0});
  CHECK(refused(ErrorKind::Shape, "sizes 2 and 3 at axis -1", [] { broadcast({2}, {3}, "t"); }));
  CHECK(refused(ErrorKind::Shape, "sizes 0 and 3", [] { broadcast({0}, {3}, "t"); }));
  Ref<Tensor> t = zeros({3, 1}, DType::F32);
  CHECK(expanded_strides(*t, {2, 3, 4}) == (Dims{0, 1, 0}));
}

static void test_overlap() {
  Ref<Tensor> base = zeros({10}, DType::F32);
  Ref<Tensor> low = make_view(base, {5}, {1}, 0), high = make_view(base, {5}, {1}, 5), middle = make_view(base, {3}, {1}, 4);
  CHECK(!may_overlap(*low, *high) && may_overlap(*low, *middle) && may_overlap(*high, *middle));
  CHECK(same_elements(*low, *make_view(base, {5}, {1}, 0)) && !same_elements(*low, *high));
  CHECK(!may_overlap(*base, *zeros({10}, DType::F32)));
  CHECK(!may_overlap(*base, *make_view(base, {0}, {1}, 3)));
  CHECK(has_internal_overlap(*make_view(base, {3, 5}, {0, 1}, 0)));
  CHECK(!has_internal_overlap(*make_view(base, {1, 5}, {0, 1}, 0)));
  CHECK(!has_internal_overlap(*base));
}

// Gradients of gradients of gradients: dropped without going deep into the stack.
static void test_long_chains() {
  const int64_t before = allocator_stats().in_use;
  Ref<Tensor> top = zeros({1}, DType::F32);
  for (int i = 0; i < 1000000; ++i) {
    Ref<Tensor> above = zeros({1}, DType::F32);
    above->grad_state().grad = std::move(top);
    top = std::move(above);
  }
  top = nullptr;
  CHECK(allocator_stats().in_use == before);
}

static void test_alias() {
  Ref<Tensor> t = zeros({2, 2}, DType::C64);
  Ref<Tensor> other = alias(*t);
  CHECK(other->storage == t->storage && !other->base && !other->grad_fn && !other->autograd);
  t = nullptr;
  CHECK(is_unique(other->storage.get()) && reinterpret_cast<float*>(other->data())[7] == 0.0f);
}

int main() {
  test_dims();
  test_sizes();
  test_windows();
  test_view_strides();
  test_broadcast();
  test_overlap();
  test_long_chains();
  test_alias();
  return check::finish("tensor");
}
