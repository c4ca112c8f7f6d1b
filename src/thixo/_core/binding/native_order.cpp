// Native paths of scans, sorts and searches.
#include <unordered_map>

#include "../core/kernels.h"
#include "../core/scan.h"
#include "../core/sort.h"
#include "moves.h"

namespace thixo {

namespace {

Ref<Tensor> contiguous(const Ref<Tensor>& t) { return t->is_contiguous() ? pinned(t) : contiguous_copy(*t, t->dtype); }

ScanShape scan_shape(const Tensor& t, int axis) {
  ScanShape s{1, 1, 1};
  for (int d = 0; d < t.ndim(); ++d) (d < axis ? s.outer : d == axis ? s.n : s.inner) *= t.sizes[d];
  return s;
}

// ---- scans

constexpr int64_t kFewest = 8;  // rows side by side, or turned to columns; fewer are better copied

// Whether rows lie side by side: neighbours on the last of the axes before the scanned one, which is the last.
bool rows_side_by_side(const Tensor& t, int axis, Axes& outer) {
  if (axis != t.ndim() - 1 || t.sizes[axis] < 2 || t.is_contiguous()) return false;
  const int64_t item = item_size(t.dtype);
  for (int d = 0; d < axis; ++d) outer.add(t.sizes[d], t.strides[d] * item);
  return outer.count && outer.strides[outer.count - 1] == item && outer.sizes[outer.count - 1] >= kFewest;
}

// Whether the elements of rows are neighbours in memory, and the axes after the scanned one are one in memory.
bool columns_turned(const Tensor& t, int axis, Axes& outer, Axes& inner) {
  if (axis == t.ndim() - 1 || t.sizes[axis] < 2 || t.strides[axis] != 1) return false;
  const int64_t item = item_size(t.dtype);
  for (int d = 0; d < t.ndim(); ++d)
    if (d != axis) (d < axis ? outer : inner).add(t.sizes[d], t.strides[d] * item);
  return inner.count == 1 && inner.total >= kFewest;
}

bool fold(PyObject* const* slots, Results& out, Scan kind, bool from_the_end) {
  Ref<Tensor> x = ref_of(slots[0]);
  int axis;
  if (!find_axis(slots[1], x->ndim(), axis)) return false;
  const bool widen = slots[2] == Py_None;
  const DType wanted = widen ? x->dtype : dtype_from(slots[2], "cumsum");
  if (!widen && is_bool(wanted)) return false;
  Axes before, outer, inner;
  const bool as_it_lies = wanted == x->dtype && x->ndim() && !from_the_end;
  const bool across = as_it_lies && rows_side_by_side(*x, axis, before);
  const bool turned = as_it_lies && !across && columns_turned(*x, axis, outer, inner);
  if (across || turned) x = pinned(x);
  else x = wanted == x->dtype ? contiguous(x) : contiguous_copy(*x, wanted);
  const bool whole = is_integer(x->dtype) || is_bool(x->dtype);
  Ref<Tensor> y = empty(x->sizes, widen && whole ? DType::I64 : x->dtype);
  {
    WithoutGil free(is_long(x->numel));
    const int64_t n = x->ndim() ? x->sizes[axis] : 1;
    if (across)
      scan_across(kind, y->data(), x->data(), x->dtype, widen, before, n, x->strides[axis] * item_size(x->dtype));
    else if (turned)
      scan_turned(kind, y->data(), x->data(), x->dtype, widen, outer, n, inner.total, inner.strides[0]);
    else
      scan(kind, y->data(), x->data(), x->dtype, widen, scan_shape(*x, axis), from_the_end);
  }
  out.push_back(y);
  return true;
}
// cumsum(input, dim, *, dtype, reverse)
bool cumsum(const Operator&, PyObject* const* slots, Results& out) { return fold(slots, out, Scan::Sum, slots[3] == Py_True); }
bool cumprod(const Operator&, PyObject* const* slots, Results& out) { return fold(slots, out, Scan::Product, false); }

bool extremes(PyObject* const* slots, Results& out, bool greatest) {
  Ref<Tensor> x = ref_of(slots[0]);
  int axis;
  if (!find_axis(slots[1], x->ndim(), axis)) return false;
  x = contiguous(x);
  Ref<Tensor> values = empty(x->sizes, x->dtype), places = empty(x->sizes, DType::I64);
  {
    WithoutGil free(is_long(x->numel));
    scan_extreme(greatest, values->data(), reinterpret_cast<int64_t*>(places->data()), x->data(), x->dtype,
                 scan_shape(*x, axis));
  }
  out.push_back(values);
  out.push_back(places);
  return true;
}
bool cummax(const Operator&, PyObject* const* slots, Results& out) { return extremes(slots, out, true); }
bool cummin(const Operator&, PyObject* const* slots, Results& out) { return extremes(slots, out, false); }

// logcumsumexp(input, dim)
bool logcumsumexp(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  int axis;
  if (!is_floating(x->dtype) || !find_axis(slots[1], x->ndim(), axis)) return false;
  x = contiguous(x);
  Ref<Tensor> y = empty(x->sizes, x->dtype);
  {
    WithoutGil free(x->numel >= kLongWork / 16);
    scan_logsumexp(y->data(), x->data(), x->dtype, scan_shape(*x, axis));
  }
  out.push_back(y);
  return true;
}

// linear_recurrence(input, decay, dim)
bool linear_recurrence(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]), decay = ref_of(slots[1]);
  int axis;
  if (!find_axis(slots[2], x->ndim(), axis) || x->dtype != decay->dtype || !(x->sizes == decay->sizes)) return false;
  x = contiguous(x);
  decay = contiguous(decay);
  Ref<Tensor> y = empty(x->sizes, x->dtype);
  {
    WithoutGil free(is_long(x->numel));
    scan_recurrence(y->data(), x->data(), decay->data(), x->dtype, scan_shape(*x, axis));
  }
  out.push_back(y);
  return true;
}

// ---- sorts

// The tensor with an axis moved to the end (and, backwards, from the end to `axis`), contiguous; a copy unless it lies like that.
Ref<Tensor> moved(const Ref<Tensor>& t, int axis, bool backwards) {
  if (axis >= t->ndim() - 1) return contiguous(t);
  Ref<Tensor> turned = alias(*t);
  const int from = backwards ? t->ndim() - 1 : axis, to = backwards ? axis : t->ndim() - 1;
  const int64_t size = turned->sizes[from], stride = turned->strides[from];
  turned->sizes.erase(from);
  turned->strides.erase(from);
  turned->sizes.insert(to, size);
  turned->strides.insert(to, stride);
  if (!backwards && turned->is_contiguous()) return turned;  // it lies like that
  Ref<Tensor> y = empty(turned->sizes, t->dtype);
  Dims a, b;
  Array target = as_array(*y, a), source = as_array(*turned, b);
  WithoutGil free(is_long(t->numel));
  copy(target, source);
  return y;
}

// Sorts along an axis; `k` is how many of the first are wanted, -1 for all.
bool order(const Ref<Tensor>& given, int axis, bool descending, int64_t k, bool with_values, Results& out) {
  const int ndim = given->ndim();
  Ref<Tensor> x = ndim ? moved(given, axis, false) : contiguous(given);
  const int64_t n = ndim ? x->sizes[ndim - 1] : 1, wanted = k < 0 ? n : k;
  const int64_t rows = n ? x->numel / n : 0;
  Dims sizes = x->sizes;
  if (ndim) sizes[ndim - 1] = wanted;
  Ref<Tensor> values = with_values ? empty(sizes, x->dtype) : Ref<Tensor>(), places = empty(sizes, DType::I64);
  {
    WithoutGil free(x->numel >= kLongWork / 16);
    auto* to = reinterpret_cast<int64_t*>(places->data());
    if (k < 0) sort_rows(x->data(), x->dtype, rows, n, descending, values ? values->data() : nullptr, to);
    else top_rows(x->data(), x->dtype, rows, n, wanted, descending, values->data(), to);
  }
  if (with_values) out.push_back(moved(values, axis, true));
  out.push_back(moved(places, axis, true));
  return true;
}

// sort(input, dim, descending, *, stable)
bool sort(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  int axis;
  if (!find_axis(slots[1], x->ndim(), axis)) return false;
  return order(x, axis, slots[2] == Py_True, -1, true, out);
}

// argsort(input, dim, descending, *, stable): a composite
bool argsort(const Operator& op, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  int axis;
  if (!(op.dtypes >> code(x->dtype) & 1) || !find_axis(slots[1], x->ndim(), axis)) return false;
  return order(x, axis, slots[2] == Py_True, -1, false, out);
}

// topk(input, k, dim, largest, sorted)
bool topk(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  int axis;
  int64_t k;
  if (x->ndim() == 0 || !find_axis(slots[2], x->ndim(), axis) || !find_int(slots[1], k)) return false;
  if (k < 0 || k > x->sizes[axis]) return false;
  return order(x, axis, slots[3] == Py_True, k, true, out);
}

bool ranked(const Ref<Tensor>& given, int axis, bool keep, Rank rank, int64_t at, Results& out) {
  Ref<Tensor> x = moved(given, axis, false);
  const int ndim = x->ndim();
  const int64_t n = x->sizes[ndim - 1];
  if (n == 0) return false;
  Dims sizes = given->sizes;
  if (keep) sizes[axis] = 1;
  else sizes.erase(axis);
  Ref<Tensor> values = empty(sizes, x->dtype), places = empty(sizes, DType::I64);
  {
    WithoutGil free(x->numel >= kLongWork / 16);
    rank_rows(x->data(), x->dtype, x->numel / n, n, rank, at, values->data(), reinterpret_cast<int64_t*>(places->data()));
  }
  out.push_back(values);
  out.push_back(places);
  return true;
}

// kthvalue(input, k, dim, keepdim)
bool kthvalue(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  int axis;
  int64_t k;
  if (x->ndim() == 0 || !find_axis(slots[2], x->ndim(), axis) || !find_int(slots[1], k)) return false;
  if (k < 1 || k > x->sizes[axis]) return false;
  return ranked(x, axis, slots[3] == Py_True, Rank::Given, k - 1, out);
}

// median_dim(input, dim, keepdim); nanmedian_dim(input, dim, keepdim)
bool median(PyObject* const* slots, Results& out, Rank rank) {
  Ref<Tensor> x = ref_of(slots[0]);
  if (x->ndim() == 0 || x->numel == 0) return false;
  int axis = 0;
  if (slots[1] == Py_None) {
    if (slots[2] == Py_True) return false;
    Ref<Tensor> line = alias(*contiguous(x));
    line->sizes = Dims{line->numel};
    line->strides = Dims{1};
    return ranked(line, 0, false, rank, 0, out);
  }
  if (!find_axis(slots[1], x->ndim(), axis)) return false;
  return ranked(x, axis, slots[2] == Py_True, rank, 0, out);
}
bool median_dim(const Operator&, PyObject* const* slots, Results& out) { return median(slots, out, Rank::Median); }
bool nanmedian_dim(const Operator&, PyObject* const* slots, Results& out) {
  return median(slots, out, Rank::MedianOfNumbers);
}

// ---- sets, searches, counts

// The first `count` elements, in memory of their own size.
Ref<Tensor> head(const Ref<Tensor>& t, int64_t count) {
  Ref<Tensor> part = alias(*t);
  part->numel = count;
  part->sizes = Dims{count};
  return contiguous_copy(*part, part->dtype);
}

// unique_all(input, dim)
bool unique_all(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  if (slots[1] != Py_None || is_complex(x->dtype)) return false;
  x = contiguous(x);
  const int64_t n = x->numel;
  Ref<Tensor> firsts = empty(Dims{n}, DType::I64), counts = empty(Dims{n}, DType::I64), inverse = empty(x->sizes, DType::I64);
  auto line = [](const Ref<Tensor>& t) { return reinterpret_cast<int64_t*>(t->data()); };
  int64_t groups;
  {
    WithoutGil free(n >= kLongWork / 16);
    groups = unique_line(x->data(), x->dtype, n, line(firsts), line(counts), line(inverse));
  }
  firsts = head(firsts, groups);
  Ref<Tensor> flat = alias(*x);
  flat->sizes = Dims{n};
  flat->strides = Dims{1};
  SmallVector<Ref<Tensor>, 2> picks;
  picks.push_back(firsts);
  Ref<Tensor> values = take_places(flat, 0, picks, Dims{groups}, false);
  if (!values) return false;
  out.push_back(values);
  out.push_back(firsts);
  out.push_back(inverse);
  out.push_back(head(counts, groups));
  return true;
}

// searchsorted(sorted_sequence, input, *, out_int32, right, side, sorter)
bool searchsorted(const Operator&, PyObject* const* slots, Results& out) {
  if (!is_tensor(slots[1]) || slots[4] != Py_None || slots[5] != Py_None) return false;
  Ref<Tensor> sequence = ref_of(slots[0]), values = ref_of(slots[1]);
  if (sequence->ndim() == 0 || sequence->dtype != values->dtype) return false;
  const int last = sequence->ndim() - 1;
  if (last > 0) {
    if (values->ndim() != sequence->ndim()) return false;
    for (int d = 0; d < last; ++d)
      if (values->sizes[d] != sequence->sizes[d]) return false;
  }
  sequence = contiguous(sequence);
  values = contiguous(values);
  const int64_t length = sequence->sizes[last], per_row = last ? values->sizes[last] : values->numel;
  Ref<Tensor> y = empty(values->sizes, DType::I64);
  {
    WithoutGil free(is_long(values->numel));
    search_rows(sequence->data(), length, last ? length : 0, values->data(), per_row ? values->numel / per_row : 0, per_row,
                values->dtype, slots[3] == Py_True, reinterpret_cast<int64_t*>(y->data()));
  }
  out.push_back(slots[2] == Py_True ? contiguous_copy(*y, DType::I32) : y);
  return true;
}

// Counts of numbers below kFew in one pass; false if there are others. Two tables, since equal neighbours would wait for
// each other.
constexpr int64_t kFew = 4096;
bool count_few(const int64_t* numbers, int64_t n, int64_t* counts) {
  uint32_t even[kFew] = {}, odd[kFew] = {};
  constexpr int64_t kStep = 1 << 16;
  for (int64_t first = 0; first < n; first += kStep) {
    const int64_t stop = std::min(n, first + kStep);
    bool others = false;
    for (int64_t i = first; i + 1 < stop; i += 2) {
      const uint64_t a = uint64_t(numbers[i]), b = uint64_t(numbers[i + 1]);
      others |= (a | b) >= uint64_t(kFew);
      ++even[a & (kFew - 1)];
      ++odd[b & (kFew - 1)];
    }
    if ((stop - first) % 2) {
      const uint64_t a = uint64_t(numbers[stop - 1]);
      others |= a >= uint64_t(kFew);
      ++even[a & (kFew - 1)];
    }
    if (others) return false;
  }
  for (int64_t k = 0; k < kFew; ++k) counts[k] = int64_t(even[k]) + int64_t(odd[k]);
  return true;
}

// bincount(input, weights, minlength)
bool bincount(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  int64_t least;
  if (x->ndim() != 1 || slots[1] != Py_None || !find_int(slots[2], least) || least < 0) return false;
  x = index_line(x);
  const auto* numbers = reinterpret_cast<const int64_t*>(x->data());
  const int64_t n = x->numel;
  if (n >= kFew && n < int64_t(1) << 32) {
    Ref<Tensor> few = empty(Dims{kFew}, DType::I64);
    auto* counts = reinterpret_cast<int64_t*>(few->data());
    bool good;
    {
      WithoutGil free(is_long(n));
      good = count_few(numbers, n, counts);
    }
    if (good && least <= kFew) {
      int64_t size = kFew;
      while (size > least && counts[size - 1] == 0) --size;
      out.push_back(head(few, size));
      return true;
    }
  }
  int64_t low = 0, high = -1;
  for (int64_t i = 0; i < n; ++i) {
    low = std::min(low, numbers[i]);
    high = std::max(high, numbers[i]);
  }
  if (low < 0 || high >= int64_t(1) << 40) return false;
  Ref<Tensor> y = zeros(Dims{std::max(least, high + 1)}, DType::I64);
  auto* counts = reinterpret_cast<int64_t*>(y->data());
  const uint64_t size = uint64_t(y->numel);
  out.push_back(y);
  WithoutGil free(is_long(n));
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t at = uint64_t(numbers[i]);  // read once: others may write meanwhile
    if (at < size) ++counts[at];
  }
  return true;
}

// one_hot(input, num_classes)
bool one_hot(const Operator&, PyObject* const* slots, Results& out) {
  Ref<Tensor> x = ref_of(slots[0]);
  int64_t classes;
  if (x->dtype != DType::I64 || !find_int(slots[1], classes) || classes < 1) return false;
  x = index_line(x);
  Dims sizes = x->sizes;
  sizes.push_back(classes);
  checked_numel(sizes, DType::I64, "one_hot");
  Ref<Tensor> y = zeros_of(sizes, DType::I64);
  const auto* numbers = reinterpret_cast<const int64_t*>(x->data());
  auto* to = reinterpret_cast<int64_t*>(y->data());
  for (int64_t i = 0; i < x->numel; ++i) {
    const int64_t at = numbers[i];
    if (uint64_t(at) >= uint64_t(classes)) return false;
    to[i * classes + at] = 1;
  }
  out.push_back(y);
  return true;
}

}  // namespace

NativeCall find_native_order(const std::string& name) {
  static const std::unordered_map<std::string, NativeCall> table = {
      {"cumsum", cumsum},
      {"cumprod", cumprod},
      {"cummax", cummax},
      {"cummin", cummin},
      {"logcumsumexp", logcumsumexp},
      {"linear_recurrence", linear_recurrence},
      {"sort", sort},
      {"argsort", argsort},
      {"topk", topk},
      {"kthvalue", kthvalue},
      {"median_dim", median_dim},
      {"nanmedian_dim", nanmedian_dim},
      {"unique_all", unique_all},
      {"searchsorted", searchsorted},
      {"bincount", bincount},
      {"nn.functional.one_hot", one_hot}};
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace thixo
