// Native path of matrix products. What does not fit is left to the declaration, which says what is wrong.
#include "../core/gemm.h"
#include "program.h"

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

struct Planned {
  Product p;
  Dims batch, a_strides, b_strides, sizes;
  double work = 0;
};

// How a @ b (+ bias) is computed, where a may be a vector, or b; false if shapes or dtypes do not fit.
bool plan_product(const Tensor& a, const Tensor& b, const Tensor* bias, Planned& made) {
  const int na = a.ndim(), nb = b.ndim();
  if (na == 0 || nb == 0 || a.dtype != b.dtype || is_bool(a.dtype)) return false;
  Product& p = made.p;
  p.dtype = a.dtype;
  p.m = na == 1 ? 1 : a.sizes[na - 2];
  p.k = a.sizes[na - 1];
  p.a_row = na == 1 ? 0 : a.strides[na - 2];
  p.a_k = a.strides[na - 1];
  p.n = nb == 1 ? 1 : b.sizes[nb - 1];
  p.b_k = b.strides[nb == 1 ? 0 : nb - 2];
  p.b_n = nb == 1 ? 0 : b.strides[nb - 1];
  if (b.sizes[nb == 1 ? 0 : nb - 2] != p.k) return false;
  if ((na > 2 || nb > 2) && !join_batches(a, b, made.batch)) return false;
  made.sizes = made.batch;
  if (na > 1) made.sizes.push_back(p.m);
  if (nb > 1) made.sizes.push_back(p.n);
  p.c_row = p.n;
  if (bias) p.bias_n = bias->numel == 1 ? 0 : bias->strides[0];
  made.work = 2.0 * double(checked_numel(made.sizes, p.dtype, "matmul")) * double(p.k);
  if (made.batch.size()) {
    // A vector, or one matrix for the whole batch.
    made.a_strides = na > 2 ? batch_strides(a, made.batch) : Dims(made.batch.size());
    made.b_strides = nb > 2 ? batch_strides(b, made.batch) : Dims(made.batch.size());
  }
  return true;
}

// Computes a @ b (+ bias); null if shapes or dtypes do not fit.
Ref<Tensor> product(const Ref<Tensor>& a, const Ref<Tensor>& b, const Tensor* bias) {
  Planned made;
  if (!plan_product(*a, *b, bias, made)) return {};
  Ref<Tensor> c = empty(made.sizes, made.p.dtype);
  made.p.a = a->data();
  made.p.b = b->data();
  made.p.c = c->data();
  if (bias) made.p.bias = bias->data();
  compute(made.p, made.batch, made.a_strides, made.b_strides, made.work, a, b, c, bias);
  return c;
}

// matmul(input, other)
bool matmul(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> made = product(ref_of(slots[0]), ref_of(slots[1]), nullptr);
  if (!made) return false;
  out.push_back(std::move(made));
  return true;
}

// What linear(input, weight, bias) multiplies by; null where it does not fit.
Ref<Tensor> turned_weight(PyObject* const* slots, Ref<Tensor>& bias) {
  Ref<Tensor> input = ref_of(slots[0]), weight = ref_of(slots[1]);
  if (input->ndim() == 0 || weight->ndim() != 2 || input->sizes[input->ndim() - 1] != weight->sizes[1]) return {};
  if (slots[2] != Py_None) {
    bias = ref_of(slots[2]);
    const int64_t outputs = weight->sizes[0];
    if (bias->ndim() > 1 || bias->dtype != input->dtype || (bias->numel != 1 && bias->numel != outputs)) return {};
  }
  Dims sizes{weight->sizes[1], weight->sizes[0]}, strides{weight->strides[1], weight->strides[0]};
  Ref<Tensor> turned = alias(*weight);
  turned->sizes = sizes;
  turned->strides = strides;
  return turned;
}

// linear(input, weight, bias): the bias is added while the product is in the cache.
bool linear(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> bias, turned = turned_weight(slots, bias);
  if (!turned) return false;
  Ref<Tensor> made = product(ref_of(slots[0]), turned, bias.get());
  if (!made) return false;
  out.push_back(std::move(made));
  return true;
}

}  // namespace

std::unique_ptr<Step> prepare_product(const Operator& op, PyObject* const* slots, const Tensor& result, const IsFixed& is_fixed) {
  Ref<Tensor> bias, a, b;
  if (op.full_name == "matmul") b = ref_of(slots[1]);
  else if (op.full_name == "nn.functional.linear") b = turned_weight(slots, bias);
  if (!b) return nullptr;
  a = ref_of(slots[0]);
  Planned made;
  if (!plan_product(*a, *b, bias.get(), made) || !(made.sizes == result.sizes) || result.numel == 0) return nullptr;
  auto step = std::make_unique<ProductStep>();
  step->product = made.p;
  step->batch = made.batch;
  step->a_strides = made.a_strides;
  step->b_strides = made.b_strides;
  step->a = place_of(*a);
  step->b = place_of(*b);
  step->c = place_of(result);
  if (bias) step->bias = place_of(*bias);
  bool one = true;  // matrix for the whole batch
  for (int d = 0; d < made.batch.size(); ++d) one = one && (made.batch[d] == 1 || made.b_strides[d] == 0);
  step->fixed = one && is_fixed(*b);
  return step;
}

NativeCall find_native_product(const std::string& name) {
  return name == "matmul" ? matmul : name == "nn.functional.linear" ? linear : nullptr;
}

}  // namespace thixo
