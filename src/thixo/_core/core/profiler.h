// What a profiler writes down: one event for each operator call, step of backward and range that a user names, on every
// thread. When none runs, a scope costs the test of one flag.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace thixo {

enum class EventKind : uint8_t { Operator, Backward, Range };

struct ProfilerEvent {
  std::string name;
  EventKind kind = EventKind::Operator;
  bool in_backward = false;    // it ran inside a step of backward, or is one
  uint32_t thread = 0;         // threads are numbered by their first event
  int64_t start = 0, end = 0;  // nanoseconds of a clock that never goes back
  int64_t bytes = 0;           // memory in use at its end less that at its start, where that is asked for
  std::vector<std::vector<int64_t>> shapes;  // of its tensors, where that is asked for
};

constexpr uint32_t kProfilerOn = 1, kProfilerShapes = 2, kProfilerMemory = 4;
extern std::atomic<uint32_t> profiling;  // 0: no profiler runs
inline bool is_profiling() { return profiling.load(std::memory_order_relaxed) != 0; }

// False: one runs already.
bool start_profiler(uint32_t flags);
// The events that began and ended since the start, on all threads; each thread's in the order of their ends.
std::vector<ProfilerEvent> stop_profiler();

// From begin to its end it is one event; without begin it is nothing.
class ProfilerScope {
 public:
  ProfilerScope() {}
  ProfilerScope(const ProfilerScope&) = delete;
  ProfilerScope& operator=(const ProfilerScope&) = delete;
  ~ProfilerScope() {
    if (is_open_) close();
  }
  void begin(std::string name, EventKind kind, std::vector<std::vector<int64_t>> shapes = {});

 private:
  void close() noexcept;
  // Events of short steps follow each other closely: what lies between two of them shows in a trace as time in which
  // nothing runs. So there is nothing to allocate.
  union {
    ProfilerEvent event_;  // from begin on
  };
  uint64_t session_;
  bool measures_memory_, is_open_ = false;
};

}  // namespace thixo
