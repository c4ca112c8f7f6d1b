#include <cstring>

#include "kernels/nest.h"
#include "program_steps.h"

namespace thixo {

namespace {

// Where an operand is; a number gets memory of its own.
Place placed(const KernelOperand& operand, std::vector<Ref<Storage>>& numbers) {
  if (operand.place.storage) return operand.place;
  numbers.push_back(Storage::allocate(sizeof(operand.element)));
  std::memcpy(numbers.back()->data, operand.element, sizeof(operand.element));
  return {numbers.back().get(), 0};
}

}  // namespace

PointwiseStep::PointwiseStep(Loop loop, int64_t grain, bool in_lines, const Dims& sizes,
                             const std::vector<KernelOperand>& operands, int results)
    : loop_(loop), grain_(grain), results_(results), how_(unaided(in_lines)) {
  const int count = static_cast<int>(operands.size());
  if (count > kMaxOperands) fail(ErrorKind::Internal, "program: " + std::to_string(count) + " operands; at most 16");
  std::vector<Array> arrays;
  for (const KernelOperand& operand : operands)
    arrays.push_back({nullptr, operand.dtype, sizes.size(), sizes.data(), operand.strides.data()});
  nest_ = std::make_unique<Nest>();
  Nest& nest = *nest_;
  build_nest(nest, arrays.data(), count);
  nest.in_lines = in_lines;
  nest.results = results;
  total_ = nest.total;
  bool lines = true;
  for (int k = 0; k < count; ++k) {
    Place place = placed(operands[static_cast<size_t>(k)], numbers_);
    place.offset += nest.data[k] - static_cast<char*>(nullptr);  // a walk from the other end begins there
    places_.push_back(place);
    lines = lines && (nest.strides[0][k] == 0 || nest.strides[0][k] == nest.item[k]);
  }
  if (nest.ndim == 1 && total_ <= grain && (lines || !in_lines)) {
    strides_.assign(nest.strides[0], nest.strides[0] + count);
    nest_.reset();
  }
}

PointwiseStep::~PointwiseStep() = default;

void PointwiseStep::run() {
  const size_t count = places_.size();
  if (!nest_) {
    char* data[kMaxOperands];
    for (size_t k = 0; k < count; ++k) data[k] = places_[k].at();
    return loop_(data, strides_.data(), total_ | how_);
  }
  for (size_t k = 0; k < count; ++k) nest_->data[k] = places_[k].at();
  run_nest(*nest_, loop_, grain_);
}

LinesStep::LinesStep(const Tensor& to, const Tensor& from, int axis, const Tensor& index)
    : to_(place_of(to)), from_(place_of(from)), index_(place_of(index)), dtype_(to.dtype) {
  const int64_t item = item_size(dtype_);
  for (int d = 0; d < to.ndim(); ++d) {
    if (d == axis) continue;
    sizes_.push_back(to.sizes[d]);
    to_strides_.push_back(to.strides[d] * item);
    from_strides_.push_back(from.strides[d] * item);
  }
  size_ = to.sizes[axis];
  to_line_ = to.strides[axis] * item;
  from_line_ = from.strides[axis] * item;
  count_ = index.sizes[0];
  stride_ = index.strides[0];
}

void LinesStep::run() {
  const auto* index = reinterpret_cast<const int64_t*>(index_.at());
  for (int64_t i = 0; i < count_; ++i) {
    const int64_t at = index[i * stride_] < 0 ? index[i * stride_] + size_ : index[i * stride_];
    if (at < 0 || at >= size_) continue;  // who made the array has refused it
    copy({to_.at() + at * to_line_, dtype_, sizes_.size(), sizes_.data(), to_strides_.data()},
         {from_.at() + at * from_line_, dtype_, sizes_.size(), sizes_.data(), from_strides_.data()});
  }
}

ReplaceStep::ReplaceStep(const Tensor& to, int axis, const Tensor& index, const Tensor& source, const Tensor& saved)
    : to_(place_of(to)), index_(place_of(index)), source_(place_of(source)), saved_(place_of(saved)), dtype_(to.dtype), axis_(axis) {
  const int64_t item = item_size(dtype_);
  for (int d = 0; d < to.ndim(); ++d) {
    if (d == axis) continue;
    sizes_.push_back(to.sizes[d]);
    to_strides_.push_back(to.strides[d] * item);
    source_strides_.push_back(source.strides[d] * item);
    saved_strides_.push_back(saved.strides[d] * item);
  }
  size_ = to.sizes[axis];
  to_line_ = to.strides[axis] * item;
  source_line_ = source.strides[axis] * item;
  saved_line_ = saved.strides[axis] * item;
  lines_.resize(size_t(index.sizes[0]));
  stride_ = index.strides[0];
}

void ReplaceStep::copy_line(const Place& to, const Dims& to_strides, int64_t to_offset, const Place& from,
                            const Dims& from_strides, int64_t from_offset) const {
  copy({to.at() + to_offset, dtype_, sizes_.size(), sizes_.data(), to_strides.data()},
       {from.at() + from_offset, dtype_, sizes_.size(), sizes_.data(), from_strides.data()});
}

void ReplaceStep::run() {
  const auto* index = reinterpret_cast<const int64_t*>(index_.at());
  const auto count = static_cast<int64_t>(lines_.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t line = lines_[size_t(i)] = index[i * stride_];
    if (line < 0 || line >= size_)
      fail(ErrorKind::Index, "index_copy: index " + std::to_string(line) + " is out of range for axis " + std::to_string(axis_) +
                                 " with size " + std::to_string(size_));
  }
  // All of them before the first is written: one may be named twice.
  for (int64_t i = 0; i < count; ++i)
    copy_line(saved_, saved_strides_, i * saved_line_, to_, to_strides_, lines_[size_t(i)] * to_line_);
  has_run = true;
  for (int64_t i = 0; i < count; ++i)
    copy_line(to_, to_strides_, lines_[size_t(i)] * to_line_, source_, source_strides_, i * source_line_);
}

void ReplaceStep::undo() {
  for (size_t i = 0; i < lines_.size(); ++i)
    copy_line(to_, to_strides_, lines_[i] * to_line_, saved_, saved_strides_, int64_t(i) * saved_line_);
}

void AttentionStep::run() {
  attention.q.data = q.at();
  attention.k.data = k.at();
  attention.v.data = v.at();
  attention.y.data = y.at();
  attention.logsumexp = logsumexp.at();
  if (mask.storage) attention.mask = mask.at();
  if (!back) return attention_forward(attention, rows);
  gradients.g.data = g.at();
  gradients.to_q.data = to_q.at();
  gradients.to_k.data = to_k.at();
  gradients.to_v.data = to_v.at();
  attention_backward(attention, gradients, back);
}

RowsStep::RowsStep(const RowKernel& given, const Dims& sizes, const bool* reduced, const std::vector<KernelOperand>& operands)
    : kernel(given) {
  std::vector<RowOperand> seen;
  for (const KernelOperand& operand : operands) {
    seen.push_back({nullptr, operand.strides.data()});
    places_.push_back(placed(operand, numbers_));
  }
  nest = std::make_unique<RowNest>();
  if (!plan_rows(*nest, kernel, seen.data(), sizes.size(), sizes.data(), reduced)) nest.reset();
}

void RowsStep::settle() {
  if (!nest || split.partial) return;
  bool plain = nest->outer == 0 && nest->rows * nest->segments * nest->columns <= kernel.grain;
  for (int k = 0; k < kernel.count; ++k)
    plain = plain && !nest->packed[k] && !(kernel.written[k] && kernel.view[k] == RowView::Column);
  if (!plain) return;
  direct_ = true;
  rows_ = nest->rows;
  segments_ = nest->segments;
  columns_ = nest->columns;
  strides_.assign(nest->strides, nest->strides + 3 * kernel.count);
  if (const size_t bytes = row_scratch(*nest, kernel)) scratch_ = Storage::allocate(bytes);
  nest.reset();
}

void RowsStep::run() {
  const size_t count = places_.size();
  if (direct_) {
    char* data[kMaxRowOperands];
    for (size_t k = 0; k < count; ++k) data[k] = places_[k].at();
    return loop(data, strides_.data(), rows_, segments_, columns_, scratch_ ? scratch_->data : nullptr);
  }
  if (!nest) return;
  for (size_t k = 0; k < count; ++k) nest->data[k] = places_[k].at();
  if (split.partial) run_split(*nest, kernel, split);
  else run_rows(*nest, kernel, loop);
}

std::unique_ptr<EndKernel> EndKernel::of(Loop loop, const Dims& sizes, const std::vector<KernelOperand>& operands, int64_t columns) {
  const int last = sizes.size() - 1;
  if (last < 1 || sizes[last] != columns || operands.size() > kMaxOperands) return nullptr;
  auto made = std::make_unique<EndKernel>();
  made->loop = loop;
  for (const KernelOperand& operand : operands) {
    const int64_t across = operand.strides[last], item = item_size(operand.dtype);
    if (across != 0 && across != item) return nullptr;
    int64_t down = 0, rows = 1;  // from one row to the next, and how many there are of the axes so far
    for (int d = last - 1; d >= 0; --d) {
      if (sizes[d] == 1) continue;
      if (rows == 1) down = operand.strides[d];
      else if (operand.strides[d] != down * rows) return nullptr;
      rows *= sizes[d];
    }
    made->places.push_back(placed(operand, made->numbers));
    made->row.push_back(down);
    made->column.push_back(across);
  }
  return made;
}

namespace {

void end_part(void*, int64_t, int64_t, int64_t row, int64_t rows, int64_t column, int64_t columns, void* context) {
  const auto& run = *static_cast<const EndKernel::Run*>(context);
  const EndKernel& end = *run.kernel;
  char* data[kMaxOperands];
  for (int64_t r = row; r < row + rows; ++r) {
    for (size_t k = 0; k < end.places.size(); ++k) data[k] = run.data[k] + r * end.row[k] + column * end.column[k];
    end.loop(data, end.column.data(), columns);
  }
}

// Lines of other matrices, which may come from afar. The result is there already, and what all rows have in common.
void fetch_part(int64_t row, int64_t rows, int64_t column, int64_t columns, void* context) {
  constexpr int64_t kLine = 64;
  const auto& run = *static_cast<const EndKernel::Run*>(context);
  const EndKernel& end = *run.kernel;
  const char* const result = run.data[end.places.size() - 1];
  for (size_t k = 0; k + 1 < end.places.size(); ++k) {
    if (run.data[k] == result || end.row[k] == 0 || end.column[k] <= 0) continue;
    for (int64_t r = row; r < row + rows; ++r) {
      const char* const at = run.data[k] + r * end.row[k] + column * end.column[k];
      for (int64_t byte = 0; byte < columns * end.column[k]; byte += kLine) __builtin_prefetch(at + byte, 0, 2);
    }
  }
}

}  // namespace

void EndKernel::Run::at(int64_t first) {
  static_assert(sizeof(data) / sizeof(data[0]) >= kMaxOperands);
  for (size_t k = 0; k < kernel->places.size(); ++k) data[k] = kernel->places[k].at() + first * kernel->row[k];
}

Epilogue EndKernel::Run::epilogue() {
  const EndKernel& end = *kernel;
  return {end_part, this, fetch_part, end.simple, end.added >= 0, end.relu, end.added >= 0 ? data[end.added] : nullptr};
}

void EndKernel::set_simple(int operand, bool with_relu, const std::vector<KernelOperand>& operands) {
  const size_t result = operands.size() - 1;
  if (operand >= 0) {
    const auto at = static_cast<size_t>(operand);
    const KernelOperand &one = operands[at], &other = operands[result];
    if (at >= result || one.dtype != other.dtype || row[at] != row[result] || column[at] != column[result]) return;
    if (!one.place.storage || (one.place.storage == other.place.storage && one.place.offset == other.place.offset)) return;
  }
  simple = true;
  added = operand;
  relu = with_relu;
}

bool ProductStep::add_end(std::unique_ptr<EndKernel> given) {
  int64_t count = 1;
  for (int64_t size : batch) count *= size;
  if (!given || (count != 1 && !joins_rows(product, batch, a_strides, b_strides))) return false;
  end = std::move(given);
  end_run.kernel = end.get();
  product.epilogue = end_run.epilogue();
  return true;
}

void ProductStep::run() {
  product.a = a.at();
  product.b = b.at();
  product.c = c.at();
  if (end) {
    end_run.at(0);
    product.epilogue = end_run.epilogue();
  }
  if (bias.storage) product.bias = bias.at();
  if (fixed) {
    fixed = false;
    packed = pack_matrix(whole());
  }
  product.packed = packed.get();
  gemm_batch(product, batch, a_strides, b_strides);
}

void ConvolutionStep::run() {
  if (kind == Kind::Weight) return convolve_weight(convolution, x.at(), y.at(), w.at());
  if (kind == Kind::Input) {
    if (!convolve_transposed(convolution, y.at(), w.at(), x.at())) convolve_transposed_by_definition(convolution, y.at(), w.at(), x.at());
    return;
  }
  if (fixed) {
    fixed = false;
    packed = pack_weight(convolution, w.at());
  }
  const ConvEnd end{more.storage ? more.at() : nullptr, relu, more_last};
  convolve(convolution, x.at(), w.at(), bias.storage ? bias.at() : nullptr, y.at(), packed.get(), end);
}

}  // namespace thixo
