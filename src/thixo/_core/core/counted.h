// Intrusive reference counting: one word inside the object, a pointer-sized handle.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace thixo {

struct Counted {
  static constexpr bool kShared = true;  // several threads may count at once
  std::atomic<uint32_t> references{0};
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  virtual ~Counted() = default;
  virtual void destroy() { delete this; }  // overridden where memory or recursion needs care
};

template <class T>
void retain(T* p) {
  if constexpr (T::kShared) p->references.fetch_add(1, std::memory_order_relaxed);
  else p->references.store(p->references.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
template <class T>
void release(T* p) {
  // The last owner need not pay for an atomic subtraction.
  const uint32_t count = p->references.load(std::memory_order_acquire);
  if (count == 1) return p->destroy();
  if constexpr (!T::kShared) p->references.store(count - 1, std::memory_order_relaxed);
  else if (p->references.fetch_sub(1, std::memory_order_acq_rel) == 1) p->destroy();
}

template <class T>
class Ref {
  T* p_ = nullptr;

 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) { if (p_) retain(p_); }
  Ref(const Ref& o) : p_(o.p_) { if (p_) retain(p_); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U> Ref(const Ref<U>& o) : p_(o.get()) { if (p_) retain(p_); }
  template <class U> Ref(Ref<U>&& o) noexcept : p_(o.detach()) {}
  ~Ref() { if (p_) release(p_); }
  Ref& operator=(Ref o) noexcept { std::swap(p_, o.p_); return *this; }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }
  T* detach() { return std::exchange(p_, nullptr); }  // hands over the reference
  static Ref adopt(T* p) { Ref r; r.p_ = p; return r; }
};

// A new object and the one reference to it. Without arguments members have what they are declared with: `T()` would
// first fill the whole of it with zeros.
template <class T, class... A>
Ref<T> make(A&&... a) {
  T* made;
  if constexpr (sizeof...(A) == 0) made = new T;
  else made = new T(std::forward<A>(a)...);
  made->references.store(1, std::memory_order_relaxed);  // nobody else knows it yet
  return Ref<T>::adopt(made);
}

inline bool is_unique(const Counted* p) { return p->references.load(std::memory_order_acquire) == 1; }

}  // namespace thixo
