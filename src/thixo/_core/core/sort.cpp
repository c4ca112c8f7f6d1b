#include "sort.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "error.h"
#include "sort_keys.h"
#include "sort_lanes.h"
#include "thread_pool.h"

namespace thixo {
namespace {

constexpr int64_t kLongRow = 1 << 16;

template <class Body>
void for_real(DType dtype, Body&& body) {
  visit(dtype, [&]<class T>() {
    if constexpr (!kIsComplex<T>) body.template operator()<T>();
  });
}

template <class T>
void check_length(int64_t n) {
  if (sizeof(T) < 8 && n > int64_t(1) << 32)
    fail(ErrorKind::Shape, "sort: rows of more than 2^32 elements are not supported");
}

// Entries of a row; `differing` gets the bits in which their keys differ, the result is whether elements can be had back
// from their keys (no NaN and no -0.0, of which there are several).
template <class T>
bool make_entries(const T* from, int64_t n, int64_t first, bool descending, Entry<T>* to, uint64_t& differing) {
  using Bits = typename Key<T>::Bits;
  const Bits turn = descending ? Bits(~Bits(0)) : Bits(0);
  Bits all = 0, one = n ? Key<T>::of(from[0]) : Bits(0);
  bool unclear = false;
  for (int64_t i = 0; i < n; ++i) {
    const Bits key = Key<T>::of(from[i]);
    all |= key ^ one;
    if constexpr (Key<T>::kFloat) unclear |= (key == Key<T>::kNan) | (key == Key<T>::kTop);
    to[i] = entry<T>(key ^ turn, first + i);
  }
  differing |= uint64_t(all);
  return !unclear;
}

template <class T>
void write_out(const Entry<T>* entries, int64_t n, const T* from, bool clear, bool descending, T* values,
               int64_t* places) {
  using Bits = typename Key<T>::Bits;
  const Bits turn = descending ? Bits(~Bits(0)) : Bits(0);
  for (int64_t i = 0; i < n; ++i) places[i] = place_of(entries[i]);
  if (!values) return;
  if (clear && !kIsBool<T>) {
    for (int64_t i = 0; i < n; ++i) values[i] = element_of<T>(Bits(key_of(entries[i])) ^ turn);
  } else {
    for (int64_t i = 0; i < n; ++i) values[i] = from[place_of(entries[i])];
  }
}

int bits_of(uint64_t differing) { return 64 - std::countl_zero(differing); }

template <class T>
struct Scratch {
  std::unique_ptr<Entry<T>[]> a, b;
  explicit Scratch(int64_t n, bool two = true)
      : a(new Entry<T>[size_t(n)]), b(two ? new Entry<T>[size_t(n)] : nullptr) {}
};

// A stable sort must see its own copy: other threads may write to `from` meanwhile, so values come from the entries, or
// from places that are inside whatever happens.
template <class T>
void sort_row(const T* from, int64_t n, bool descending, Scratch<T>& s, T* values, int64_t* places) {
  uint64_t differing = 0;
  const bool clear = make_entries<T>(from, n, 0, descending, s.a.get(), differing);
  if (differing) radix_sort(s.a.get(), s.b.get(), n, bits_of(differing), false);
  write_out<T>(s.a.get(), n, from, clear, descending, values, places);
}

template <class T>
void sort_long_row(const T* from, int64_t n, bool descending, Scratch<T>& s, T* values, int64_t* places) {
  constexpr int64_t kPiece = 1 << 15;
  const int64_t pieces = (n + kPiece - 1) / kPiece;
  const std::unique_ptr<uint64_t[]> differing(new uint64_t[size_t(pieces)]);
  const std::unique_ptr<bool[]> clear(new bool[size_t(pieces)]);
  Entry<T>* a = s.a.get();
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = p * kPiece;
      differing[p] = 0;
      clear[p] = make_entries<T>(from + first, std::min(kPiece, n - first), first, descending, a + first, differing[p]);
    }
  });
  uint64_t all = 0;
  bool all_clear = true;
  for (int64_t p = 0; p < pieces; ++p) {
    all |= differing[p] | (key_of(a[p * kPiece]) ^ key_of(a[0]));
    all_clear = all_clear && clear[p];
  }
  if (all) radix_sort_on_threads(a, s.b.get(), n, bits_of(all), false);
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = p * kPiece;
      write_out<T>(a + first, std::min(kPiece, n - first), from, all_clear, descending, values ? values + first : nullptr,
                   places + first);
    }
  });
}

// body(scratch, row) for all rows.
template <class T, class Body>
void for_rows(int64_t rows, int64_t n, int64_t entries, bool two, Body&& body) {
  const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(n, 1));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    Scratch<T> scratch(entries, two);
    for (int64_t r = begin; r < end; ++r) body(scratch, r);
  });
}

// Short rows: take(lanes, r, row) for each row, which is the sorted row r of `lanes`; alone(scratch, row) for those that are
// better sorted one by one, with room for so many entries. False where all of them are. Only `wanted` are looked at.
template <class T, class Take, class Alone>
bool in_lanes(const T* x, int64_t rows, int64_t n, int64_t wanted, bool descending, int64_t room, Take&& take, Alone&& alone) {
  using Lanes = LaneSort<T>;
  if (!Lanes::there(n) || !Lanes::pays(n, std::min(rows, Lanes::kSide))) return false;
  const int64_t groups = (rows + Lanes::kSide - 1) / Lanes::kSide;
  const int64_t grain = std::max<int64_t>(1, 16384 / (n * Lanes::kSide));
  parallel_for(groups, grain, [&](int64_t begin, int64_t end) {
    Lanes lanes(n);
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g * Lanes::kSide, count = std::min(Lanes::kSide, rows - first);
      if (!Lanes::pays(n, count)) {
        Scratch<T> scratch(room);
        for (int64_t r = first; r < rows; ++r) alone(scratch, r);
        return;
      }
      lanes.sort(x + first * n, count, descending, wanted);
      for (int64_t r = 0; r < count; ++r) take(lanes, r, first + r);
    }
  });
  return true;
}

}  // namespace

void sort_rows(const char* from, DType dtype, int64_t rows, int64_t n, bool descending, char* values, int64_t* places) {
  if (rows == 0 || n == 0) return;
  for_real(dtype, [&]<class T>() {
    check_length<T>(n);
    auto* x = reinterpret_cast<const T*>(from);
    auto* y = reinterpret_cast<T*>(values);
    if (n >= kLongRow && rows < 8) {
      Scratch<T> scratch(n);
      for (int64_t r = 0; r < rows; ++r)
        sort_long_row<T>(x + r * n, n, descending, scratch, y ? y + r * n : nullptr, places + r * n);
      return;
    }
    auto alone = [&](Scratch<T>& s, int64_t r) {
      sort_row<T>(x + r * n, n, descending, s, y ? y + r * n : nullptr, places + r * n);
    };
    auto take = [&](const LaneSort<T>& lanes, int64_t r, int64_t row) {
      lanes.write(r, x + row * n, n, y ? y + row * n : nullptr, places + row * n);
    };
    if (!in_lanes<T>(x, rows, n, n, descending, n, take, alone)) for_rows<T>(rows, n, n, true, alone);
  });
}

// ---- the first k

namespace {

// Leaves the k least entries of [0, count) in front.
template <class E>
void keep_least(E* entries, int64_t count, int64_t k) {
  if (k < count) std::nth_element(entries, entries + k, entries + count);
}

// The keys of some elements, kStep at most; whether one of them is below the limit.
constexpr int64_t kStep = 32;
template <class T>
inline bool keys_of(const T* from, int64_t count, typename Key<T>::Bits turn, typename Key<T>::Bits limit,
                    typename Key<T>::Bits* keys) {
  using Bits = typename Key<T>::Bits;
  Bits any = 0;
  for (int64_t j = 0; j < count; ++j) {
    keys[j] = Key<T>::of(from[j]) ^ turn;
    any |= keys[j] < limit ? Bits(~Bits(0)) : Bits(0);
  }
  return any != 0;
}

// Puts an entry that is less than the last of k into its place among them, and the last one out. Of few, all are looked at: where
// it goes cannot be foreseen.
constexpr int64_t kFewKept = 12;
template <class E>
inline void put_in_order(E* kept, int64_t k, const E& e) {
  int64_t at = k - 1;
  if (k <= kFewKept && sizeof(E) == 8) {
    for (E here = kept[at]; at > 0; --at) {
      const E before = kept[at - 1], least = e < here ? e : here;
      kept[at] = before < least ? least : before;
      here = before;
    }
    kept[0] = e < kept[0] ? e : kept[0];
    return;
  }
  for (; at > 0 && e < kept[at - 1]; --at) kept[at] = kept[at - 1];
  kept[at] = e;
}

// The k least entries of a row, in order, in `kept` (room for 2 k + kSlack). Most elements are only compared with the
// greatest key kept, a step of them at once: one that is equal to it has a later place.
constexpr int64_t kSlack = 64;
template <class T>
void top_row(const T* from, int64_t n, int64_t k, bool descending, Entry<T>* kept) {
  using Bits = typename Key<T>::Bits;
  const Bits turn = descending ? Bits(~Bits(0)) : Bits(0);
  const bool in_order = k <= 32;  // kept sorted all the time; else put in order when there is no more room
  const int64_t room = 2 * k + kSlack - kStep;
  int64_t count = 0, i = 0;
  for (; i < k; ++i) kept[count++] = entry<T>(Key<T>::of(from[i]) ^ turn, i);
  if (in_order) std::sort(kept, kept + k);
  Bits limit = Bits(key_of(*std::max_element(kept, kept + k)));
  while (i < n) {
    Bits keys[kStep];
    const int64_t step = std::min(n - i, kStep);
    const bool any = step == kStep ? keys_of(from + i, kStep, turn, limit, keys)  // a length that the compiler knows
                                   : keys_of(from + i, step, turn, limit, keys);
    for (int64_t j = 0; any && j < step; ++j) {
      if (keys[j] >= limit) continue;
      const Entry<T> e = entry<T>(keys[j], i + j);
      if (in_order) {
        put_in_order(kept, k, e);
        limit = Bits(key_of(kept[k - 1]));
      } else {
        kept[count++] = e;
      }
    }
    i += step;
    if (count > room) {
      keep_least(kept, count, k);
      count = k;
      limit = Bits(key_of(*std::max_element(kept, kept + k)));
    }
  }
  keep_least(kept, count, k);
  if (!in_order) std::sort(kept, kept + k);
}

// Whether short rows in lanes are faster than keeping the k least of each, from the cycles that each takes: an
// element that is kept for a while has a branch that is hard to foresee; where the same rows come again and again it is learnt,
// and these are the cycles of that.
template <class T>
bool lanes_find_faster(int64_t n, int64_t k) {
  const double all = double(n) * LaneSort<T>::cycles(n, k), kept = double(k) * (1 + std::log(double(n) / double(k)));
  return 4 * k > n || all < double(n) + (20 + 2 * std::min(double(k), 10.0)) * kept;
}

}  // namespace

void top_rows(const char* from, DType dtype, int64_t rows, int64_t n, int64_t k, bool descending, char* values,
              int64_t* places) {
  if (rows == 0 || k == 0) return;
  for_real(dtype, [&]<class T>() {
    check_length<T>(n);
    auto* x = reinterpret_cast<const T*>(from);
    auto* y = reinterpret_cast<T*>(values);
    const bool all = k > 512 || 4 * k > n;
    auto alone = [&](Scratch<T>& s, int64_t r) {
      const T* row = x + r * n;
      if (all) {
        uint64_t differing = 0;
        make_entries<T>(row, n, 0, descending, s.a.get(), differing);
        if (k < n / 4) {
          keep_least(s.a.get(), n, k);
          std::sort(s.a.get(), s.a.get() + k);
        } else if (differing) {
          radix_sort(s.a.get(), s.b.get(), n, bits_of(differing), false);
        }
      } else {
        top_row<T>(row, n, k, descending, s.a.get());
      }
      write_out<T>(s.a.get(), k, row, false, descending, y + r * k, places + r * k);
    };
    auto take = [&](const LaneSort<T>& lanes, int64_t r, int64_t row) {
      lanes.write(r, x + row * n, k, y + row * k, places + row * k);
    };
    const int64_t room = all ? n : 2 * k + kSlack;
    if (lanes_find_faster<T>(n, k) && in_lanes<T>(x, rows, n, k, descending, room, take, alone)) return;
    for_rows<T>(rows, n, room, all, alone);
  });
}

// ---- one rank

namespace {

int64_t rank_of(Rank rank, int64_t given, int64_t n, int64_t numbers) {
  if (rank == Rank::Given) return given;
  if (rank == Rank::Median) return numbers < n ? numbers : (n - 1) / 2;
  return std::max<int64_t>(numbers - 1, 0) / 2;
}

// In a long row: the leading bits of all keys are counted, and only those elements that share them with the wanted one
// are looked at more closely.
template <class T>
int64_t place_in_long_row(const T* x, int64_t n, Rank rank, int64_t given) {
  using Bits = typename Key<T>::Bits;
  constexpr int kBits = sizeof(T) * 8, kLead = std::min(kBits, 12), kShift = kBits - kLead;
  const std::unique_ptr<int64_t[]> counts(new int64_t[size_t(1) << kLead]());
  int64_t nans = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Bits key = Key<T>::of(x[i]);
    nans += Key<T>::is_nan(key);
    ++counts[key >> kShift];
  }
  int64_t at = rank_of(rank, given, n, n - nans);
  int64_t lead = 0;
  while (lead + 1 < int64_t(1) << kLead && at >= counts[lead]) at -= counts[lead++];
  const int64_t size = counts[lead];
  const std::unique_ptr<Entry<T>[]> entries(new Entry<T>[size_t(std::max<int64_t>(size, 1))]);
  int64_t found = 0;
  for (int64_t i = 0; i < n && found < size; ++i) {
    const Bits key = Key<T>::of(x[i]);
    if (int64_t(key >> kShift) == lead) entries[found++] = entry<T>(key, i);
  }
  at = std::min(at, found - 1);  // the row may have changed under other threads
  if (at < 0) return 0;
  std::nth_element(entries.get(), entries.get() + at, entries.get() + found);
  return place_of(entries[at]);
}

}  // namespace

void rank_rows(const char* from, DType dtype, int64_t rows, int64_t n, Rank rank, int64_t given, char* values,
               int64_t* places) {
  if (rows == 0 || n == 0) return;
  for_real(dtype, [&]<class T>() {
    check_length<T>(n);
    auto* x = reinterpret_cast<const T*>(from);
    auto* y = reinterpret_cast<T*>(values);
    const bool is_long = n >= 16384;
    auto alone = [&](Scratch<T>& s, int64_t r) {
      if (is_long) {
        places[r] = place_in_long_row(x + r * n, n, rank, given);
        y[r] = x[r * n + places[r]];
        return;
      }
      Entry<T>* entries = s.a.get();
      int64_t numbers = 0;
      for (int64_t i = 0; i < n; ++i) {
        const auto key = Key<T>::of(x[r * n + i]);
        numbers += !Key<T>::is_nan(key);
        entries[i] = entry<T>(key, i);
      }
      const int64_t at = rank_of(rank, given, n, numbers);
      std::nth_element(entries, entries + at, entries + n);
      places[r] = place_of(entries[at]);
      y[r] = x[r * n + places[r]];
    };
    auto take = [&](const LaneSort<T>& lanes, int64_t r, int64_t row) {
      places[row] = lanes.place(r, rank_of(rank, given, n, lanes.numbers(r)));
      y[row] = x[row * n + places[row]];
    };
    constexpr double kSelection = 20;  // cycles for an element
    if (LaneSort<T>::cycles(n, n) < kSelection && in_lanes<T>(x, rows, n, n, false, n, take, alone)) return;
    for_rows<T>(rows, n, is_long ? 1 : n, false, alone);
  });
}

// ---- groups of equals

int64_t unique_line(const char* from, DType dtype, int64_t n, int64_t* firsts, int64_t* counts, int64_t* inverse) {
  int64_t groups = 0;
  if (n == 0) return 0;
  for_real(dtype, [&]<class T>() {
    check_length<T>(n);
    auto* x = reinterpret_cast<const T*>(from);
    Scratch<T> s(n);
    Entry<T>* entries = s.a.get();
    uint64_t differing = 0;
    make_entries<T>(x, n, 0, false, entries, differing);
    if (differing && n >= kLongRow) radix_sort_on_threads(entries, s.b.get(), n, bits_of(differing), false);
    else if (differing) radix_sort(entries, s.b.get(), n, bits_of(differing), false);
    uint64_t before = 0;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t key = key_of(entries[i]);
      const int64_t place = place_of(entries[i]);
      if (i == 0 || key != before || Key<T>::is_nan(typename Key<T>::Bits(key))) {
        firsts[groups] = place;
        counts[groups++] = 0;
        before = key;
      }
      ++counts[groups - 1];
      inverse[place] = groups - 1;
    }
  });
  return groups;
}

// ---- searching

namespace {

template <class T, bool right>
int64_t search(const T* sequence, int64_t length, T value) {
  const auto key = Key<T>::of(value);
  const T* at = sequence;
  while (length > 1) {
    const int64_t half = length / 2;
    const auto middle = Key<T>::of(at[half - 1]);
    at += (right ? middle <= key : middle < key) ? half : 0;
    length -= half;
  }
  if (length == 1) {
    const auto last = Key<T>::of(*at);
    at += right ? last <= key : last < key;
  }
  return at - sequence;
}

}  // namespace

void search_rows(const char* sequence, int64_t length, int64_t row_stride, const char* values, int64_t rows,
                 int64_t per_row, DType dtype, bool right, int64_t* found) {
  if (rows == 0 || per_row == 0) return;
  for_real(dtype, [&]<class T>() {
    auto* s = reinterpret_cast<const T*>(sequence);
    auto* v = reinterpret_cast<const T*>(values);
    parallel_for(rows * per_row, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = s + (row_stride ? i / per_row * row_stride : 0);
        found[i] = right ? search<T, true>(row, length, v[i]) : search<T, false>(row, length, v[i]);
      }
    });
  });
}

}  // namespace thixo
