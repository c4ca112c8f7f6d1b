#include "sort_lanes.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <new>

#include "shipped.h"
#include "sort_keys.h"

namespace thixo {
namespace {

using Network = void (*)(int64_t* entries, int64_t count, int64_t rows);

struct Networks {
  int generation;
  Network words, pairs, least_words, least_pairs;
};

const Networks& networks() {
  static std::atomic<const Networks*> current{nullptr};  // replaced, never freed: others may be reading it
  const Networks* now = current.load(std::memory_order_acquire);
  if (!now || now->generation != shipped_generation()) {
    const auto found = [](const char* name) { return reinterpret_cast<Network>(shipped(name)); };
    now = new Networks{shipped_generation(), found("sort_words"), found("sort_pairs"), found("least_words"), found("least_pairs")};
    current.store(now, std::memory_order_release);
  }
  return *now;
}

constexpr int64_t kLeaf = 8;  // rows are filled up to a multiple of these
constexpr int64_t kLeast = 16;  // so many are found without sorting all
constexpr int64_t kPiece = 256;
constexpr std::align_val_t kLine{64};
constexpr uint64_t kSign = uint64_t(1) << 63;  // networks compare signed numbers

// How often each entry of a row is compared.
double steps_of(int64_t n) {
  const int levels = std::bit_width(uint64_t(std::max<int64_t>(n, 2) - 1));
  return levels * (levels + 1) / 2;
}

// A few: runs of them are sorted, and the lesser halves of two are put in order.
double steps_of(int64_t n, int64_t wanted) {
  return wanted <= kLeast ? std::min(steps_of(n), steps_of(kLeast) + 1 + std::bit_width(uint64_t(kLeast - 1))) : steps_of(n);
}

template <class T>
constexpr bool kPairs = sizeof(T) == 8;
template <class T>
constexpr int64_t kWords = kPairs<T> ? 2 : 1;

}  // namespace

template <class T>
LaneSort<T>::LaneSort(int64_t n)
    : n_(n),
      padded_((n + kLeaf - 1) / kLeaf * kLeaf),
      entries_(static_cast<int64_t*>(::operator new(size_t(padded_ * kSide * kWords<T> * 8), kLine))) {
  // Greater than every entry, whose place is less: what stands beyond the end stays there.
  std::fill(entries_ + n_ * kSide * kWords<T>, entries_ + padded_ * kSide * kWords<T>, std::numeric_limits<int64_t>::max());
}

template <class T>
LaneSort<T>::~LaneSort() {
  ::operator delete(entries_, kLine);
}

template <class T>
bool LaneSort<T>::there(int64_t n) {
  return n <= kMost && (kPairs<T> ? networks().pairs : networks().words) != nullptr;
}

template <class T>
double LaneSort<T>::cycles(int64_t n, int64_t wanted) {
  const double filled = double((n + kLeaf - 1) / kLeaf * kLeaf) / double(n);
  return filled * (kPairs<T> ? 6 + 3 * steps_of(n, wanted) / kSide : 4 + steps_of(n, wanted) / kSide);
}

// A step of a network takes as long for one row as for all. One by one, an element takes about the cycles that stand here.
template <class T>
bool LaneSort<T>::pays(int64_t n, int64_t rows) {
  return kPairs<T> ? 3 * steps_of(n) <= 50 * double(rows) : steps_of(n) <= 24 * double(rows);
}

template <class T>
void LaneSort<T>::sort(const T* from, int64_t rows, bool descending, int64_t wanted) {
  using Bits = typename Key<T>::Bits;
  const Bits turn = descending ? Bits(~Bits(0)) : Bits(0);
  descending_ = descending;
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = from + r * n_;
    Bits unclear = 0;
    for (int64_t first = 0; first < n_; first += kPiece) {
      const int64_t count = std::min(kPiece, n_ - first);
      Bits keys[kPiece];
      for (int64_t i = 0; i < count; ++i) {
        const Bits key = Key<T>::of(row[first + i]);
        if constexpr (Key<T>::kFloat) unclear |= Bits(key == Key<T>::kNan) | Bits(key == Key<T>::kTop);
        keys[i] = key ^ turn;
      }
      int64_t* to = entries_ + first * kSide * kWords<T> + r;
      for (int64_t i = 0; i < count; ++i, to += kSide * kWords<T>) {
        if constexpr (kPairs<T>) {
          to[0] = int64_t(keys[i] ^ kSign);
          to[kSide] = first + i;
        } else {
          to[0] = int64_t((uint64_t(keys[i]) << 32 | uint64_t(first + i)) ^ kSign);
        }
      }
    }
    clear_[r] = !unclear;
  }
  const Networks& all = networks();
  const bool few = wanted <= kLeast && n_ > kLeast;
  (kPairs<T> ? (few ? all.least_pairs : all.pairs) : (few ? all.least_words : all.words))(entries_, padded_, rows);
}

template <class T>
void LaneSort<T>::write(int64_t r, const T* from, int64_t wanted, T* values, int64_t* places) const {
  using Bits = typename Key<T>::Bits;
  constexpr int64_t step = kSide * kWords<T>;
  const Bits turn = descending_ ? Bits(~Bits(0)) : Bits(0);
  const int64_t* e = entries_ + r;
  auto place = [&](int64_t i) { return kPairs<T> ? e[i * step + kSide] : int64_t(uint32_t(e[i * step])); };
  if (values && clear_[r] && !kIsBool<T>) {
    for (int64_t i = 0; i < wanted; ++i) {
      const uint64_t key = uint64_t(e[i * step]) ^ kSign;
      places[i] = place(i);
      values[i] = element_of<T>(Bits(kPairs<T> ? key : key >> 32) ^ turn);
    }
    return;
  }
  for (int64_t i = 0; i < wanted; ++i) {
    places[i] = place(i);
    if (values) values[i] = from[place(i)];
  }
}

template <class T>
int64_t LaneSort<T>::numbers(int64_t r) const {
  if (clear_[r]) return n_;
  const auto nan = int64_t((kPairs<T> ? uint64_t(Key<T>::kNan) : uint64_t(Key<T>::kNan) << 32) ^ kSign);
  int64_t count = n_;
  while (count > 0 && entries_[(count - 1) * kSide * kWords<T> + r] >= nan) --count;
  return count;
}

template <class T>
int64_t LaneSort<T>::place(int64_t r, int64_t rank) const {
  const int64_t* e = entries_ + rank * kSide * kWords<T> + r;
  return kPairs<T> ? e[kSide] : int64_t(uint32_t(*e));
}

template class LaneSort<Boolean>;
template class LaneSort<int8_t>;
template class LaneSort<int16_t>;
template class LaneSort<int32_t>;
template class LaneSort<int64_t>;
template class LaneSort<uint8_t>;
template class LaneSort<uint16_t>;
template class LaneSort<uint32_t>;
template class LaneSort<uint64_t>;
template class LaneSort<Half>;
template class LaneSort<BFloat16>;
template class LaneSort<float>;
template class LaneSort<double>;

}  // namespace thixo
