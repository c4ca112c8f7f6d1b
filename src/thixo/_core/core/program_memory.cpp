// How much memory a program needs besides its arena, before it runs.
#include <algorithm>

#include "program_steps.h"
#include "scratch.h"
#include "thread_pool.h"

namespace thixo {

namespace {

template <class Run>
void rehearse(Needs& needs, Run&& run) {
  Rehearsal found;
  found.shared = needs.in_lane;
  run();
  needs.here = std::max(needs.here, found.here);
  needs.elsewhere = std::max(needs.elsewhere, found.elsewhere);
}

}  // namespace

void Program::add_needs(Needs& needs) const {
  if (std::find(needs.seen.begin(), needs.seen.end(), this) != needs.seen.end()) return;
  needs.seen.push_back(this);
  const bool outer = needs.in_lane;
  auto section = sections.begin();
  for (size_t i = 0; i < steps.size(); ++i) {
    while (section != sections.end() && i >= section->end) ++section;
    // With a flow it is known only then whether a step has all threads for itself or runs beside others.
    const bool beside = flow || (section != sections.end() && i >= section->begin);
    if (!beside || flow) steps[i]->add_needs(needs);
    if (!beside) continue;
    const InLoop loop;
    needs.in_lane = true;
    const size_t prepared = needs.prepared;
    steps[i]->add_needs(needs);
    if (flow) needs.prepared = prepared;
    needs.in_lane = outer;
  }
}

Product ProductStep::whole() const {
  Product all = product;
  for (int64_t size : batch) all.m *= size;
  return all;
}

void ProductStep::add_needs(Needs& needs) const {
  rehearse(needs, [&] {
    const auto made = fixed ? pack_matrix(whole()) : packed;
    Product p = product;
    p.packed = made.get();
    if (made) needs.prepared += made->bytes;
    gemm_batch(p, batch, a_strides, b_strides);
  });
}

void ConvolutionStep::add_needs(Needs& needs) const {
  rehearse(needs, [&] {
    if (kind == Kind::Weight) return convolve_weight(convolution, nullptr, nullptr, nullptr);
    if (kind == Kind::Input) return void(convolve_transposed(convolution, nullptr, nullptr, nullptr));
    const auto made = fixed ? pack_weight(convolution, nullptr) : packed;
    if (made) needs.prepared += made->bytes;
    convolve(convolution, nullptr, nullptr, nullptr, nullptr, made.get(), {more.storage ? &needs : nullptr, relu, more_last});
  });
}

void PoolStep::add_needs(Needs& needs) const {
  rehearse(needs, [&] {
    if (channels) max_pool_values_last(pooling, channels, nullptr, nullptr);
    else max_pool_values(pooling, nullptr, nullptr);
  });
}

void AttentionStep::add_needs(Needs& needs) const {
  rehearse(needs, [&] {
    if (back) attention_backward(attention, gradients, back);
    else attention_forward(attention, rows);
  });
}

void RowsStep::add_needs(Needs& needs) const {
  if (!nest) return;  // what it needs, it has already
  const size_t bytes = row_scratch(*nest, kernel);
  needs.here = std::max(needs.here, bytes);
  needs.elsewhere = std::max(needs.elsewhere, bytes);
}

}  // namespace thixo
