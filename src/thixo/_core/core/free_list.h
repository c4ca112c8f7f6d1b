// Memory of dead objects, kept per thread for the next one of its kind.
#pragma once
#include <cstddef>
#include <new>

namespace thixo {

// The address sanitizer sees a use after death only if the memory really goes back.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

// Blocks of one size, chained through their own memory. Use one thread_local list for each type, and one `EndOfLists`
// beside it. A list has no destructor: objects may die on a thread after its thread_local ones have ended, and what a
// destructor leaves in its own object is nothing that a compiler has to keep.
struct FreeList {
  static constexpr int kMost = 256;
  void* first = nullptr;
  int count = 0;
  void* take(size_t bytes) {
    if (kSanitized || !first) return ::operator new(bytes);
    void* p = first;
    first = *static_cast<void**>(p);
    --count;
    return p;
  }
  void give(void* p) {
    if (kSanitized || count >= kMost) return ::operator delete(p);
    *static_cast<void**>(p) = first;
    first = p;
    ++count;
  }
};

// Gives the memory of lists back when their thread ends; whatever comes later is given back at once.
template <int N>
struct EndOfLists {
  FreeList* lists[N];
  ~EndOfLists() {
    for (FreeList* list : lists) {
      while (list->first) {
        void* next = *static_cast<void**>(list->first);
        ::operator delete(list->first);
        list->first = next;
      }
      list->count = FreeList::kMost;
    }
  }
  void watch() const {}  // a thread that keeps something has its end arranged for
};

}  // namespace thixo
