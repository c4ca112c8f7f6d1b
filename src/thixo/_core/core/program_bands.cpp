#include "program_bands.h"

#include <algorithm>
#include <map>

#include "kernels/nest.h"
#include "program_steps.h"
#include "ready.h"

namespace thixo {

namespace {

constexpr size_t kMostLanes = 4;          // more of them keep threads busy without meeting
constexpr int64_t kMostShared = 1 << 19;  // bytes of a B that each thread reads by itself
constexpr int64_t kMostK = 256;
constexpr int64_t kNumber = 16;  // bytes of one element at most

// From the first element to the last; -1 where some lie before the first.
int64_t extent(int64_t a, int64_t a_stride, int64_t b, int64_t b_stride) {
  if (a_stride < 0 || b_stride < 0) return -1;
  return (a - 1) * a_stride + (b - 1) * b_stride + 1;
}

class Bands {
 public:
  explicit Bands(Program& program) : p_(program) {
    for (const auto& [storage, offset] : p_.in_arena) offset_[storage.get()] = offset;
  }

  void join() {
    for (size_t i = 0; i < p_.sections.size(); ++i) {
      const size_t limit = i + 1 < p_.sections.size() ? p_.sections[i + 1].begin : p_.steps.size();
      join(p_.sections[i], limit);
    }
  }

  std::shared_ptr<const Flow> joined(const Flow& flow) {
    std::vector<std::pair<size_t, Band>> found;
    std::vector<bool> taken(p_.steps.size());
    for (size_t at = 0; at < p_.steps.size(); ++at) {
      Band band;
      if (!meeting(flow, at, taken, band)) continue;
      for (size_t step : band.steps) taken[step] = true;
      settle(band);
      found.emplace_back(at, std::move(band));
    }
    auto made = std::make_shared<Flow>(flow);
    made->join(std::move(found));
    return made;
  }

 private:
  struct Seen {
    Reach reach;
    size_t lane;
  };

  // In the arena, or in memory of its own.
  std::pair<const void*, int64_t> home(const Reach& r) const {
    const auto found = offset_.find(r.storage);
    if (found == offset_.end()) return {r.storage, r.begin};
    return {nullptr, found->second + r.begin};
  }

  bool overlap(const Reach& a, const Reach& b) const {
    const auto [x, first] = home(a);
    const auto [y, second] = home(b);
    return x == y && first < second + b.bytes && second < first + a.bytes;
  }

  // Whether rows of the one may be computed while others of the other are not.
  bool apart(const Reach& a, const Reach& b) const {
    if ((!a.written && !b.written) || !overlap(a, b)) return true;
    return a.row && a.row == b.row && home(a) == home(b);
  }

  // Whether a step can be next in the band; then how many lanes made what it reads.
  bool add(size_t at, size_t lane, std::vector<Seen>& seen, size_t* met) const {
    std::vector<Reach> reaches;
    if (!p_.steps[at]->cut(rows_, reaches)) return false;
    std::vector<size_t> lanes;
    for (const Reach& r : reaches)
      for (const Seen& other : seen) {
        if (!apart(other.reach, r)) return false;
        if (met && other.reach.written && overlap(other.reach, r) && std::find(lanes.begin(), lanes.end(), other.lane) == lanes.end())
          lanes.push_back(other.lane);
      }
    for (const Reach& r : reaches) seen.push_back({r, lane});
    if (met) *met = lanes.size();
    return true;
  }

  void join(Section& section, size_t limit) {
    if (!section.python.empty() || section.lanes.size() < 2 || section.lanes.size() > kMostLanes) return;
    const auto* first = dynamic_cast<const ProductStep*>(p_.steps[section.begin].get());
    rows_ = first ? first->product.m : 0;
    if (rows_ < 2 * kBandRows) return;
    std::vector<Seen> seen;
    for (size_t lane = 0; lane < section.lanes.size(); ++lane)
      for (size_t at = section.lanes[lane].begin; at < section.lanes[lane].end; ++at)
        if (!add(at, lane, seen, nullptr)) return;
    size_t end = section.end, met = 0;
    if (end >= limit || !add(end, section.lanes.size(), seen, &met) || met < 2) return;
    while (++end < limit && add(end, section.lanes.size(), seen, nullptr)) {
    }
    section.end = end;
    section.band.rows = rows_;
    for (size_t at = section.begin; at < end; ++at) section.band.steps.push_back(at);
    settle(section.band);
  }

  // Each thread gets the same rows again.
  void settle(const Band& band) {
    for (size_t at : band.steps)
      if (auto* product = dynamic_cast<ProductStep*>(p_.steps[at].get())) product->product.c_elsewhere = false;
  }

  // The band around a step where products meet. Only this step waits for them, so none of them waits for another, and what the
  // others wait for is in the band.
  bool meeting(const Flow& flow, size_t at, const std::vector<bool>& taken, Band& band) {
    const std::vector<int>& before = flow.after[at];
    double work = 0;
    if (before.size() < 2 || before.size() > kMostLanes || taken[at]) return false;
    std::vector<Seen> seen;
    rows_ = 0;
    for (int one : before) {
      const auto lane = static_cast<size_t>(one);
      const auto* product = dynamic_cast<const ProductStep*>(p_.steps[lane].get());
      if (!product || flow.next[lane].size() > 1 || taken[lane]) continue;
      if (rows_ == 0) rows_ = product->product.m;
      if (rows_ < 2 * kBandRows || !add(lane, lane, seen, nullptr)) return false;
      band.steps.push_back(lane);
      work += work_of(product->product);
    }
    size_t met = 0;
    if (band.steps.size() < 2 || work < kWorkForThreads || !add(at, at, seen, &met) || met < band.steps.size()) return false;
    band.rows = rows_;
    band.steps.push_back(at);
    for (size_t i = band.steps.size() - 1; i < band.steps.size(); ++i) {  // also those that are added
      for (int later : flow.next[band.steps[i]]) {
        const auto inside = [&](int step) { return std::find(band.steps.begin(), band.steps.end(), size_t(step)) != band.steps.end(); };
        const std::vector<int>& waits = flow.after[static_cast<size_t>(later)];
        if (inside(later) || taken[static_cast<size_t>(later)] || !std::all_of(waits.begin(), waits.end(), inside)) continue;
        if (add(static_cast<size_t>(later), at, seen, nullptr)) band.steps.push_back(static_cast<size_t>(later));
      }
    }
    return true;
  }

  Program& p_;
  std::map<const Storage*, int64_t> offset_;
  int64_t rows_ = 0;
};

}  // namespace

void join_bands(Program& program) {
  if (program.flow) program.flow = Bands(program).joined(*program.flow);
  else if (!program.sections.empty()) Bands(program).join();
}

bool ProductStep::cut(int64_t rows, std::vector<Reach>& reaches) const {
  const Product& p = product;
  const int64_t item = item_size(p.dtype);
  if (p.m != rows || p.n < 1 || p.k < 1 || p.k > kMostK || p.k * p.n * item > kMostShared || p.c_n != 1 || p.c_row < p.n || fixed || packed) return false;
  if (p.dtype != DType::F32 && p.dtype != DType::F64) return false;
  for (int64_t size : batch)
    if (size != 1) return false;
  const int64_t a_all = extent(p.m, p.a_row, p.k, p.a_k), b_all = extent(p.k, p.b_k, p.n, p.b_n);
  if (a_all < 0 || b_all < 0 || p.bias_n < 0) return false;
  const bool in_rows = p.a_k == 1 && p.a_row >= p.k;
  reaches.push_back({a.storage, a.offset, a_all * item, in_rows ? p.a_row * item : 0, false});
  reaches.push_back({b.storage, b.offset, b_all * item, 0, false});
  if (bias.storage) reaches.push_back({bias.storage, bias.offset, ((p.n - 1) * p.bias_n + 1) * item, 0, false});
  for (size_t k = 0; end && k < end->places.size(); ++k) {
    const int64_t row = end->row[k], column = end->column[k];
    const bool is_c = end->places[k].storage == c.storage && end->places[k].offset == c.offset;
    if (row < 0) return false;
    if (!is_c) reaches.push_back({end->places[k].storage, end->places[k].offset, (p.m - 1) * row + (p.n - 1) * column + kNumber, row, false});
  }
  reaches.push_back({c.storage, c.offset, ((p.m - 1) * p.c_row + p.n) * item, p.c_row * item, true});
  return true;
}

void ProductStep::run_part(int64_t from, int64_t to, int64_t) {
  const int64_t item = item_size(product.dtype);
  Product p = product;
  p.m = to - from;
  p.a = a.at() + from * p.a_row * item;
  p.b = b.at();
  p.c = c.at() + from * p.c_row * item;
  if (bias.storage) p.bias = bias.at();
  EndKernel::Run rest = end_run;
  if (end) {
    rest.at(from);
    p.epilogue = rest.epilogue();
  }
  gemm(p);
}

bool PointwiseStep::cut(int64_t rows, std::vector<Reach>& reaches) const {
  if (nest_ || total_ % rows) return false;
  const int64_t each = total_ / rows;
  for (size_t k = 0; k < places_.size(); ++k) {
    if (strides_[k] < 0) return false;
    const bool written = k + static_cast<size_t>(results_) >= places_.size();
    if (written && strides_[k] == 0) return false;
    reaches.push_back({places_[k].storage, places_[k].offset, strides_[k] ? total_ * strides_[k] : kNumber, each * strides_[k], written});
  }
  return true;
}

void PointwiseStep::run_part(int64_t from, int64_t to, int64_t rows) {
  const int64_t each = total_ / rows;
  char* data[kMaxOperands];
  for (size_t k = 0; k < places_.size(); ++k) data[k] = places_[k].at() + from * each * strides_[k];
  loop_(data, strides_.data(), (to - from) * each | how_);
}

}  // namespace thixo
