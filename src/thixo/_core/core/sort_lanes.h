// Short rows sorted eight at a time, each in a lane of its own, by generated networks (codegen/llvm/order.py).
#pragma once
#include <cstdint>

namespace thixo {

// Sorts rows of n elements.
template <class T>
class LaneSort {
 public:
  static constexpr int64_t kSide = 8;  // rows side by side; these numbers are those of the generator
  static constexpr int64_t kMost = 1024;
  explicit LaneSort(int64_t n);
  ~LaneSort();
  LaneSort(const LaneSort&) = delete;
  LaneSort& operator=(const LaneSort&) = delete;

  // Whether there are networks for rows of this length.
  static bool there(int64_t n);
  // About how many cycles an element takes where kSide rows are sorted together, or their first `wanted` found.
  static double cycles(int64_t n, int64_t wanted);
  // Whether they are faster than sorting so many rows, kSide at most, one by one.
  static bool pays(int64_t n, int64_t rows);

  // Sorts the rows that follow each other at `from`, kSide at most. Who wants the first few only says how many.
  void sort(const T* from, int64_t rows, bool descending, int64_t wanted);
  // The first `wanted` of the sorted row r: values (not wanted: null) and where they were. `from` is that row.
  void write(int64_t r, const T* from, int64_t wanted, T* values, int64_t* places) const;

  // How many elements of row r, ascending, are not NaN.
  int64_t numbers(int64_t r) const;
  // Where the element of this rank in row r was.
  int64_t place(int64_t r, int64_t rank) const;

 private:
  int64_t n_, padded_;
  bool descending_ = false;
  bool clear_[kSide] = {};  // of each row: no NaN and no zero, so elements can be had back from their keys
  int64_t* entries_;
};

}  // namespace thixo
