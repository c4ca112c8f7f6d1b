#include "program.h"

#include "profiler.h"
#include "ready.h"

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
  if (flow) return run_ready(*this, *flow);
  size_t at = 0;
  try {
    for (const size_t count = steps.size(); at < count; ++at) {
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

void Inner::run() const {
  Program& p = *program;
  if (arena.storage) p.settle(arena.at());
  for (size_t i = 0; i < inputs.size(); ++i) p.inputs[i].storage->data = inputs[i].at();
  for (size_t i = 0; i < outputs.size(); ++i) p.outputs[i].storage->data = outputs[i].at();
  p.run();
}

}  // namespace thixo
