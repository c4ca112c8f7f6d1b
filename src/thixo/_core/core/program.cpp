#include "program.h"

#include <algorithm>
#include <mutex>

#include "profiler.h"
#include "program_bands.h"
#include "ready.h"
#include "thread_pool.h"

namespace thixo {

Host host;
thread_local Failure failure;

namespace {

void forget(Storage*) {}

// An event of the profiler, if one runs.
template <class Run>
void perform(const Program& program, Step& step, Run&& run) {
  if (is_profiling()) [[unlikely]] {
    ProfilerScope scope;
    const bool named = step.node >= 0 && size_t(step.node) < program.names.size();
    scope.begin(named ? program.names[size_t(step.node)] : program.name, EventKind::Operator);
    return run(step);
  }
  run(step);
}

}  // namespace

void perform_step(const Program& program, Step& step) {
  perform(program, step, [](Step& one) { one.run(); });
}

Ref<Storage> pointed_storage(size_t bytes) {
  Ref<Storage> made = Storage::allocate(0);
  made->free(made.get());
  made->data = nullptr;
  made->bytes = bytes;
  made->free = forget;
  return made;
}

// Whoever makes a tensor while this is there gets a place of the program, if the size fits.
constinit thread_local Placing* placing = nullptr;

char* Placing::take(size_t bytes) {
  for (Wish& wish : wishes) {
    if (!wish.at || wish.bytes != bytes) continue;
    if (wish.skip-- > 0) continue;
    return std::exchange(wish.at, nullptr);
  }
  return nullptr;
}

bool is_pointed(const Storage& s) { return s.free == forget; }

void Program::settle(char* at) {
  if (at == arena) return;
  arena = at;
  for (auto& [storage, offset] : in_arena) storage->data = at + offset;
}

void Program::run() {
  for (Undoable* step : undoable) step->has_run = false;
  try {
    run_all();
  } catch (...) {
    for (Undoable* step : undoable)
      if (step->has_run) step->undo();
    throw;
  }
}

void Program::run_all() {
  if (flow) return run_ready(*this, *flow);
  size_t at = 0;
  for (const Section& section : sections) {
    run_steps(at, section.begin);
    run_section(section);
    at = section.end;
  }
  run_steps(at, steps.size());
}

void Program::run_steps(size_t at, size_t end) {
  try {
    for (; at < end; ++at) {
      Step& step = *steps[at];
      if (step.python || step.seconds < kLongStep) {
        perform_step(*this, step);
      } else {
        Unlocked free(true);
        perform_step(*this, step);
      }
    }
  } catch (...) {
    if (!failure.program) failure = {this, steps[at]->node};
    throw;
  }
}

// body(number, at) for each number, on any thread; `at` is to be the step under way, should it fail.
template <class Body>
void Program::run_beside(int64_t count, Body&& body) const {
  std::mutex mutex;
  Failure first;  // of all threads; `failure` is each thread's own
  try {
    parallel_for(count, 1, [&](int64_t number, int64_t last) {
      for (; number < last; ++number) {
        size_t at = 0;
        try {
          body(number, at);
        } catch (...) {
          const Failure own = failure.program ? failure : Failure{this, steps[at]->node};
          failure = {};
          const std::lock_guard lock(mutex);
          if (!first.program) first = own;
          throw;
        }
      }
    });
  } catch (...) {
    failure = first;
    throw;
  }
}

void Program::run_band(const Band& band) const {
  const int64_t parts = std::min<int64_t>(band.rows / kBandRows, get_num_threads());
  if (parts < 2 || in_parallel_loop()) {
    run_beside(1, [&](int64_t, size_t& at) {
      for (size_t step : band.steps) perform_step(*this, *steps[at = step]);
    });
  } else {
    run_beside(parts, [&](int64_t part, size_t& at) {
      const int64_t from = band.rows * part / parts, to = band.rows * (part + 1) / parts;
      for (size_t step : band.steps) perform(*this, *steps[at = step], [&](Step& one) { one.run_part(from, to, band.rows); });
    });
  }
}

void Program::run_section(const Section& section) {
  {
    Unlocked free(section.unlocks);
    if (section.band.rows) {
      run_band(section.band);
    } else {
      run_beside(static_cast<int64_t>(section.lanes.size()), [&](int64_t number, size_t& at) {
        const auto [begin, end] = section.lanes[static_cast<size_t>(number)];
        for (at = begin; at < end; ++at) perform_step(*this, *steps[at]);
      });
    }
  }
  for (const Lane& lane : section.python) run_steps(lane.begin, lane.end);
}

void Inner::run() const {
  Program& p = *program;
  if (arena.storage) p.settle(arena.at());
  for (size_t i = 0; i < inputs.size(); ++i) p.inputs[i].storage->data = inputs[i].at();
  for (size_t i = 0; i < outputs.size(); ++i) p.outputs[i].storage->data = outputs[i].at();
  p.run();
}

}  // namespace thixo
