// Native path of matrix products. What does not fit is left to the declaration, which says what is wrong.
#include "../core/gemm.h"
#include "operator.h"

namespace thixo {

namespace {

constexpr double kLongProduct = 1 << 20;  // multiplications and additions from which the GIL is given up

void compute(const Product& p, const Dims& batch, const Dims& a_strides, const Dims& b_strides, double work,
             const Ref<Tensor>& a, const Ref<Tensor>& b, const Ref<Tensor>& c, const Tensor* bias) {
  if (work < kLongProduct) return gemm_batch(p, batch, a_strides, b_strides);
  // Another thread may give these tensors other memory meanwhile; what they have now must stay.
  Ref<Storage> kept[4] = {a->storage, b->storage, c->storage, bias ? bias->storage : Ref<Storage>()};
  WithoutGil free(true);
  gemm_batch(p, batch, a_strides, b_strides);
}

// The axes of a batch, of size 1 where the tensor has none; strides 0 where it is broadcast.
Dims batch_strides(const Tensor& t, const Dims& sizes) {
  Dims strides(sizes.size());
  const int own = t.ndim() - 2, shift = sizes.size() - own;
  for (int i = 0; i < own; ++i)
    strides[i + shift] = t.sizes[i] == 1 && sizes[i + shift] != 1 ? 0 : t.strides[i];
  return strides;
}

// Joins the sizes of two batches; false if they do not broadcast.
bool join_batches(const Tensor& a, const Tensor& b, Dims& sizes) {
  const int na = std::max(a.ndim() - 2, 0), nb = std::max(b.ndim() - 2, 0), n = std::max(na, nb);
  sizes = Dims(n, 1);
  for (int i = 0; i < n; ++i) {
    const int64_t x = i < n - na ? 1 : a.sizes[i - (n - na)], y = i < n - nb ? 1 : b.sizes[i - (n - nb)];
    if (x != y && x != 1 && y != 1) return false;
    sizes[i] = x == 1 ? y : x;
  }
  return true;
}

// Computes a @ b (+ bias) where a may be a vector, or b; null if shapes or dtypes do not fit.
Ref<Tensor> product(const Ref<Tensor>& a, const Ref<Tensor>& b, const Tensor* bias) {
  const int na = a->ndim(), nb = b->ndim();
  if (na == 0 || nb == 0 || a->dtype != b->dtype || is_bool(a->dtype)) return {};
  Product p;
  p.dtype = a->dtype;
  p.m = na == 1 ? 1 : a->sizes[na - 2];
  p.k = a->sizes[na - 1];
  p.a_row = na == 1 ? 0 : a->strides[na - 2];
  p.a_k = a->strides[na - 1];
  p.n = nb == 1 ? 1 : b->sizes[nb - 1];
  p.b_k = b->strides[nb == 1 ? 0 : nb - 2];
  p.b_n = nb == 1 ? 0 : b->strides[nb - 1];
  if (b->sizes[nb == 1 ? 0 : nb - 2] != p.k) return {};
  Dims batch;
  if ((na > 2 || nb > 2) && !join_batches(*a, *b, batch)) return {};
  Dims sizes = batch;
  if (na > 1) sizes.push_back(p.m);
  if (nb > 1) sizes.push_back(p.n);
  const int64_t count = checked_numel(sizes, p.dtype, "matmul");
  Ref<Tensor> c = empty(sizes, p.dtype);
  p.a = a->data();
  p.b = b->data();
  p.c = c->data();
  p.c_row = p.n;
  if (bias) {
    p.bias = bias->data();
    p.bias_n = bias->numel == 1 ? 0 : bias->strides[0];
  }
  const double work = 2.0 * double(count) * double(p.k);
  if (batch.size() == 0) {
    compute(p, batch, batch, batch, work, a, b, c, bias);
  } else {
    // A vector, or one matrix for the whole batch.
    const Dims a_strides = na > 2 ? batch_strides(*a, batch) : Dims(batch.size());
    const Dims b_strides = nb > 2 ? batch_strides(*b, batch) : Dims(batch.size());
    compute(p, batch, a_strides, b_strides, work, a, b, c, bias);
  }
  return c;
}

// matmul(input, other)
bool matmul(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> made = product(ref_of(slots[0]), ref_of(slots[1]), nullptr);
  if (!made) return false;
  out.push_back(std::move(made));
  return true;
}

// linear(input, weight, bias): the bias is added while the product is in the cache.
bool linear(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> input = ref_of(slots[0]), weight = ref_of(slots[1]);
  if (input->ndim() == 0 || weight->ndim() != 2 || input->sizes[input->ndim() - 1] != weight->sizes[1]) return false;
  Ref<Tensor> bias;
  if (slots[2] != Py_None) {
    bias = ref_of(slots[2]);
    const int64_t outputs = weight->sizes[0];
    if (bias->ndim() > 1 || bias->dtype != input->dtype || (bias->numel != 1 && bias->numel != outputs)) return false;
  }
  Dims sizes{weight->sizes[1], weight->sizes[0]}, strides{weight->strides[1], weight->strides[0]};
  Ref<Tensor> turned = alias(*weight);
  turned->sizes = sizes;
  turned->strides = strides;
  Ref<Tensor> made = product(input, turned, bias.get());
  if (!made) return false;
  out.push_back(std::move(made));
  return true;
}

}  // namespace

NativeCall find_native_product(const std::string& name) {
  return name == "matmul" ? matmul : name == "nn.functional.linear" ? linear : nullptr;
}

}  // namespace thixo
