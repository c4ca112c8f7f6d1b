// A vector whose first N items live inside it: tape nodes have one or two of everything.
#pragma once
#include <cstddef>
#include <new>
#include <utility>

namespace thixo {

template <class T, int N>
class SmallVector {
  alignas(T) char inline_[N * sizeof(T)];
  T* items_ = reinterpret_cast<T*>(inline_);
  int count_ = 0;
  int capacity_ = N;

  bool is_inline() const { return items_ == reinterpret_cast<const T*>(inline_); }
  void grow() {
    int capacity = 2 * capacity_;
    T* larger = static_cast<T*>(::operator new(capacity * sizeof(T), std::align_val_t(alignof(T))));
    for (int i = 0; i < count_; ++i) {
      new (larger + i) T(std::move(items_[i]));
      items_[i].~T();
    }
    if (!is_inline()) ::operator delete(items_, std::align_val_t(alignof(T)));
    items_ = larger;
    capacity_ = capacity;
  }

 public:
  SmallVector() = default;
  SmallVector(SmallVector&& o) noexcept {
    if (o.is_inline()) {
      for (T& item : o) emplace_back(std::move(item));
      o.clear();
    } else {
      items_ = std::exchange(o.items_, reinterpret_cast<T*>(o.inline_));
      count_ = std::exchange(o.count_, 0);
      capacity_ = std::exchange(o.capacity_, N);
    }
  }
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;
  ~SmallVector() {
    clear();
    if (!is_inline()) ::operator delete(items_, std::align_val_t(alignof(T)));
  }
  void clear() {
    while (count_) items_[--count_].~T();
  }
  template <class... A>
  T& emplace_back(A&&... a) {
    if (count_ == capacity_) grow();
    T* made = new (items_ + count_) T(std::forward<A>(a)...);
    ++count_;
    return *made;
  }
  void push_back(T item) { emplace_back(std::move(item)); }
  size_t size() const { return size_t(count_); }
  bool empty() const { return count_ == 0; }
  T& operator[](size_t i) { return items_[i]; }
  const T& operator[](size_t i) const { return items_[i]; }
  T& back() { return items_[count_ - 1]; }
  T* begin() { return items_; }
  T* end() { return items_ + count_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + count_; }
};

}  // namespace thixo
