// Parallel loops. A loop over n items is cut into chunks of `grain` items, whoever runs them: the
// borders depend on n and grain alone, so results never depend on the number of threads.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

namespace thixo {

// Threads that work on one loop, the caller included. At first: one for each processor that the process may use (see
// processors.h). Loops that several threads of a program run at once share them: each gets what the others leave, at
// least itself.
int get_num_threads();
void set_num_threads(int count);
// Whether the calling thread is inside a parallel loop (a nested one runs inline).
bool in_parallel_loop();

// The calling thread counts as one that is inside of a loop, while this is there.
class InLoop {
 public:
  InLoop();
  ~InLoop();
  InLoop(const InLoop&) = delete;
  InLoop& operator=(const InLoop&) = delete;

 private:
  bool before_;
};

namespace detail {
using ChunkBody = void (*)(void* context, int64_t begin, int64_t end);
void run_chunks(int64_t n, int64_t grain, ChunkBody body, void* context);
int64_t even_grain(int64_t n, int64_t grain);
}  // namespace detail

// Call body(begin, end) for each chunk of [0, n), in any order and on any thread. An exception of
// the body reaches the caller after the running chunks end; chunks not yet begun are skipped.
template <class Body>
void parallel_for(int64_t n, int64_t grain, Body&& body) {
  if (n <= 0) return;
  if (n <= grain) {
    body(int64_t{0}, n);
    return;
  }
  using Plain = std::remove_reference_t<Body>;
  detail::run_chunks(
      n, grain,
      [](void* context, int64_t begin, int64_t end) { (*static_cast<Plain*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

// The same where results do not depend on the borders of chunks: `n` items in even shares, for loops of more than
// `grain` items.
template <class Body>
void parallel_evenly(int64_t n, int64_t grain, Body&& body) {
  parallel_for(n, n > grain && get_num_threads() > 1 ? detail::even_grain(n, grain) : grain, body);
}

}  // namespace thixo
