#include "program.h"

#include <mutex>

#include "profiler.h"
#include "ready.h"
#include "thread_pool.h"

namespace thixo {

Host host;
thread_local Failure failure;

namespace {

void forget(Storage*) {}

}  // namespace

void perform_step(const Program& program, Step& step) {
  if (is_profiling()) [[unlikely]] {
    ProfilerScope scope;
    const bool named = step.node >= 0 && size_t(step.node) < program.names.size();
    scope.begin(named ? program.names[size_t(step.node)] : program.name, EventKind::Operator);
    return step.run();
  }
  step.run();
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

void Program::run_section(const Section& section) {
  {
    Unlocked free(section.unlocks);
    std::mutex mutex;
    Failure first;  // of the lanes; `failure` is each thread's own
    const auto run_lanes = [&](int64_t lane, int64_t last) {
      for (; lane < last; ++lane) {
        const auto [begin, end] = section.lanes[static_cast<size_t>(lane)];
        size_t at = begin;
        try {
          for (; at < end; ++at) perform_step(*this, *steps[at]);
        } catch (...) {
          const Failure own = failure.program ? failure : Failure{this, steps[at]->node};
          failure = {};
          const std::lock_guard lock(mutex);
          if (!first.program) first = own;
          throw;
        }
      }
    };
    try {
      parallel_for(static_cast<int64_t>(section.lanes.size()), 1, run_lanes);
    } catch (...) {
      failure = first;
      throw;
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
