#include "profiler.h"

#include <chrono>
#include <mutex>

#include "allocator.h"

namespace thixo {

std::atomic<uint32_t> profiling{0};

namespace {

// Nothing that was written down is moved when more comes.
constexpr size_t kPageEvents = 256;
struct Page {
  size_t count = 0;
  ProfilerEvent events[kPageEvents];
};

// Some are kept for the next profiler: to touch fresh memory takes as long as many an event.
constexpr size_t kSparePages = 64;
struct Spare {
  std::mutex lock;
  std::vector<std::unique_ptr<Page>> pages;
};
Spare& spare() {
  static Spare* made = new Spare;  // never destroyed: threads may end after main
  return *made;
}

std::unique_ptr<Page> new_page() {
  Spare& all = spare();
  {
    const std::lock_guard hold(all.lock);
    if (!all.pages.empty()) {
      auto page = std::move(all.pages.back());
      all.pages.pop_back();
      return page;
    }
  }
  return std::make_unique<Page>();
}

// Its events have been moved away.
void keep_page(std::unique_ptr<Page> page) {
  Spare& all = spare();
  const std::lock_guard hold(all.lock);
  page->count = 0;
  if (all.pages.size() < kSparePages) all.pages.push_back(std::move(page));
}

// The events of one thread. It outlives its thread, so that what a thread did is not lost with it.
struct Buffer {
  std::mutex lock;  // its own thread writes, the one that stops the profiler reads
  uint64_t session = 0;
  uint32_t thread = 0;
  std::vector<std::unique_ptr<Page>> pages;

  void add(ProfilerEvent&& event) {
    if (pages.empty() || pages.back()->count == kPageEvents) pages.push_back(new_page());
    Page& page = *pages.back();
    page.events[page.count++] = std::move(event);
  }
};

struct State {
  std::mutex lock;
  uint64_t session = 0;  // of the profiler that runs, or ran last
  uint32_t threads = 0;
  std::vector<std::shared_ptr<Buffer>> buffers;
};

State& state() {
  static State* made = new State;  // never destroyed: threads may end after main
  return *made;
}

std::atomic<uint64_t> current_session{0};
thread_local std::shared_ptr<Buffer> own_buffer;
thread_local int backward_depth = 0;

Buffer& buffer_of(uint64_t session) {
  if (!own_buffer || own_buffer->session != session) {
    auto made = std::make_shared<Buffer>();
    State& all = state();
    std::lock_guard hold(all.lock);
    made->session = session;
    made->thread = all.threads++;
    if (all.session == session) all.buffers.push_back(made);
    own_buffer = made;
  }
  return *own_buffer;
}

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

bool start_profiler(uint32_t flags) {
  State& all = state();
  std::lock_guard hold(all.lock);
  if (is_profiling()) return false;
  all.buffers.clear();
  all.threads = 0;
  current_session = ++all.session;
  profiling = flags | kProfilerOn;
  return true;
}

std::vector<ProfilerEvent> stop_profiler() {
  State& all = state();
  std::lock_guard hold(all.lock);
  profiling = 0;
  std::vector<ProfilerEvent> events;
  for (auto& buffer : all.buffers) {
    std::lock_guard writing(buffer->lock);
    for (auto& page : buffer->pages) {
      for (size_t i = 0; i < page->count; ++i) events.push_back(std::move(page->events[i]));
      keep_page(std::move(page));
    }
    buffer->pages.clear();
    buffer->session = 0;  // what ends from now on is not this profiler's
  }
  all.buffers.clear();
  return events;
}

void ProfilerScope::begin(std::string name, EventKind kind, std::vector<std::vector<int64_t>> shapes) {
  uint32_t flags = profiling;
  if (!flags) return;
  ProfilerEvent& event = *new (&event_) ProfilerEvent;
  is_open_ = true;
  session_ = current_session;
  measures_memory_ = flags & kProfilerMemory;
  event.name = std::move(name);
  event.kind = kind;
  event.shapes = std::move(shapes);
  event.in_backward = backward_depth > 0 || kind == EventKind::Backward;
  if (kind == EventKind::Backward) ++backward_depth;
  if (measures_memory_) event.bytes = -allocator_stats().in_use;
  event.start = now();
}

void ProfilerScope::close() noexcept {
  event_.end = now();
  if (event_.kind == EventKind::Backward) --backward_depth;
  if (measures_memory_) event_.bytes += allocator_stats().in_use;
  try {
    Buffer& buffer = buffer_of(session_);
    std::lock_guard writing(buffer.lock);
    event_.thread = buffer.thread;
    if (buffer.session == session_) buffer.add(std::move(event_));
  } catch (...) {  // no memory left for an event: the program goes on without it
  }
  event_.~ProfilerEvent();
  is_open_ = false;
}

}  // namespace thixo
