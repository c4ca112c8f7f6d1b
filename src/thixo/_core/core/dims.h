// A short list of sizes or strides, without allocation up to six of them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace thixo {

class Dims {
  static constexpr int kInline = 6;
  int32_t count_ = 0;
  int32_t capacity_ = kInline;
  int64_t inline_[kInline];
  int64_t* items_ = inline_;

 public:
  Dims() = default;
  explicit Dims(int n, int64_t value = 0) { resize(n); std::fill(begin(), end(), value); }
  Dims(const int64_t* items, int n) { assign(items, n); }
  Dims(std::initializer_list<int64_t> l) { assign(l.begin(), int(l.size())); }
  Dims(const Dims& o) { copy(o); }
  Dims(Dims&& o) noexcept { take(o); }
  Dims& operator=(const Dims& o) { if (this != &o) copy(o); return *this; }
  Dims& operator=(Dims&& o) noexcept { if (this != &o) { drop(); take(o); } return *this; }
  ~Dims() { drop(); }

  int size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t* data() { return items_; }
  const int64_t* data() const { return items_; }
  int64_t* begin() { return items_; }
  int64_t* end() { return items_ + count_; }
  const int64_t* begin() const { return items_; }
  const int64_t* end() const { return items_ + count_; }
  int64_t& operator[](int i) { return items_[i]; }
  int64_t operator[](int i) const { return items_[i]; }
  bool operator==(const Dims& o) const {
    if (count_ != o.count_) return false;
    for (int i = 0; i < count_; ++i)
      if (items_[i] != o.items_[i]) return false;
    return true;
  }
  void assign(const int64_t* items, int n) {
    resize(n);
    if (n) std::memcpy(items_, items, n * sizeof(int64_t));
  }
  void resize(int n) {
    if (n > capacity_) {
      auto* larger = new int64_t[n];
      std::memcpy(larger, items_, count_ * sizeof(int64_t));
      drop();
      items_ = larger;
      capacity_ = n;
    }
    count_ = n;
  }
  void push_back(int64_t v) { int n = count_; if (n == capacity_) grow(); count_ = n + 1; items_[n] = v; }
  void insert(int at, int64_t v) {
    push_back(v);
    for (int i = count_ - 1; i > at; --i) items_[i] = items_[i - 1];
    items_[at] = v;
  }
  void erase(int at) {
    for (int i = at; i + 1 < count_; ++i) items_[i] = items_[i + 1];
    --count_;
  }

 private:
  void copy(const Dims& o) {
    if (o.items_ != o.inline_ || items_ != inline_) return assign(o.items_, o.count_);
    count_ = o.count_;
    std::memcpy(inline_, o.inline_, sizeof(inline_));  // all of them: a fixed size is a few instructions
  }
  void grow() { int n = count_; resize(2 * capacity_); count_ = n; }
  void drop() { if (items_ != inline_) delete[] items_; items_ = inline_; capacity_ = kInline; }
  void take(Dims& o) {
    count_ = o.count_;
    if (o.items_ == o.inline_) {
      std::memcpy(inline_, o.inline_, sizeof(inline_));
      items_ = inline_;
      capacity_ = kInline;
    } else {
      items_ = o.items_;
      capacity_ = o.capacity_;
      o.items_ = o.inline_;
      o.capacity_ = kInline;
    }
    o.count_ = 0;
  }
};

}  // namespace thixo
