// Memory for the time of one operation: each thread has a stack of it, whose pages stay with the thread.
//
// Operations of many sizes follow each other in a program. Blocks of the allocator would be kept for each size; here the
// largest of them is all that a thread ever holds.
#pragma once
#include <cstddef>

namespace thixo {

// 64-byte aligned; given back by the same thread, in any order. Null in a rehearsal.
void* take_scratch(size_t bytes);
void give_scratch(void* block, size_t bytes) noexcept;
// The most that each thread had in use at a time since the last reset, added up; loops that run now are not asked to wait.
size_t scratch_peak();
void reset_scratch_peak();
// What the stack of a thread holds of which so many bytes were in use: whole pages.
size_t scratch_pages(size_t bytes);

// How much would that be? While one of these is there, operations of this thread that know it take no memory, look at none
// and compute nothing: they come as far as asking for all that they need. Of a parallel loop one chunk is rehearsed, as a
// part of each thread that takes part.
struct Rehearsal {
  size_t here = 0, elsewhere = 0;  // most at one time: on the calling thread; on each of those that help it
  Rehearsal();
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

  void take(size_t bytes);
  void give(size_t bytes);
  size_t held = 0, held_elsewhere = 0;  // now
  bool shared = false;                  // what is taken now, every thread takes
};
extern constinit thread_local Rehearsal* rehearsal;
inline bool rehearsing() { return rehearsal != nullptr; }

// What is rehearsed while this is there belongs to every thread, if `go`.
struct Shared {
  bool before;
  explicit Shared(bool go) : before(rehearsal->shared) { rehearsal->shared = before || go; }
  ~Shared() { rehearsal->shared = before; }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
};

}  // namespace thixo
