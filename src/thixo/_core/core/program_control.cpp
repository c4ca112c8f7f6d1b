#include <cstring>
#include <utility>

#include "program_steps.h"

namespace thixo {

namespace {

constexpr int64_t kTurnsBetweenLooks = 4096;  // at whether the user wants to stop

void look(int64_t turn) {
  if (turn % kTurnsBetweenLooks == kTurnsBetweenLooks - 1 && host.check) host.check();
}

// Where each value of the state is before and after a turn.
class State {
 public:
  explicit State(const std::vector<Carried>& carried) : carried_(carried) {
    now_.reserve(carried.size());
    for (const Carried& c : carried) now_.push_back(c.first.at());
  }
  char* now(size_t i) const { return now_[i]; }
  char* next(size_t i) const { return odd_ ? carried_[i].other.at() : carried_[i].last.at(); }
  void turn() {
    for (size_t i = 0; i < now_.size(); ++i) now_[i] = next(i);
    odd_ = !odd_;
  }
  // To where the results are.
  void finish() const {
    for (size_t i = 0; i < now_.size(); ++i)
      if (char* last = carried_[i].last.at(); now_[i] != last && carried_[i].bytes)
        std::memmove(last, now_[i], carried_[i].bytes);
  }

 private:
  const std::vector<Carried>& carried_;
  std::vector<char*> now_;
  bool odd_ = false;
};

void give(Program& p, size_t first, const std::vector<Place>& captured) {
  for (size_t i = 0; i < captured.size(); ++i) p.inputs[first + i].storage->data = captured[i].at();
}

// Room for one more row.
char* grow(Stacked& s) {
  const size_t used = static_cast<size_t>(s.turns) * s.bytes;
  if (!s.grown || used + s.bytes > s.grown->bytes) {
    constexpr size_t kFirstTurns = 8;
    Ref<Storage> larger = Storage::allocate(s.grown ? 2 * s.grown->bytes : kFirstTurns * s.bytes);
    if (used) std::memcpy(larger->data, s.grown->data, used);
    s.grown = std::move(larger);
  }
  return s.grown->data + used;
}

}  // namespace

CopyStep::CopyStep(const Tensor& target, const Tensor& source)
    : to(place_of(target)), from(place_of(source)), to_dtype(target.dtype), from_dtype(source.dtype), sizes(target.sizes) {
  for (int d = 0; d < target.ndim(); ++d) {
    to_strides.push_back(target.strides[d] * item_size(target.dtype));
    from_strides.push_back(source.strides[d] * item_size(source.dtype));
  }
  if (to_dtype == from_dtype && target.is_contiguous() && source.is_contiguous())
    plain = static_cast<size_t>(target.numel) * item_size(to_dtype);
}

void CopyStep::run() {
  if (plain && plain < (1 << 15)) {
    std::memcpy(to.at(), from.at(), plain);
    return;
  }
  copy({to.at(), to_dtype, sizes.size(), sizes.data(), to_strides.data()},
       {from.at(), from_dtype, sizes.size(), sizes.data(), from_strides.data()});
}

void SwitchStep::run() {
  size_t chosen = branches.size() - 1;
  if (is_bool) {
    chosen = *index.at() ? 0 : 1;
  } else {
    int64_t number;
    std::memcpy(&number, index.at(), sizeof(number));
    if (number >= 0 && static_cast<size_t>(number) < branches.size()) chosen = static_cast<size_t>(number);
  }
  branches[chosen].run();
}

void WhileStep::run() {
  State now(state);
  turns = 0;
  for (Stacked& s : stacked) s.turns = 0;
  if (test_arena.storage) test->settle(test_arena.at());
  if (body_arena.storage) body->settle(body_arena.at());
  const size_t count = state.size();
  give(*test, count, captured);
  test->outputs[0].storage->data = verdict.at();
  for (;;) {
    if (limit >= 0 && turns >= limit) break;
    for (size_t i = 0; i < count; ++i) test->inputs[i].storage->data = now.now(i);
    test->run();
    if (!*verdict.at()) break;
    give(*body, count, captured);
    for (size_t i = 0; i < count; ++i) {
      body->inputs[i].storage->data = now.now(i);
      body->outputs[i].storage->data = now.next(i);
    }
    for (size_t i = 0; i < stacked.size(); ++i) body->outputs[count + i].storage->data = grow(stacked[i]);
    body->run();
    now.turn();
    look(++turns);
    for (Stacked& s : stacked) ++s.turns;
  }
  now.finish();
}

void ScanStep::run() {
  State now(state);
  if (arena.storage) body->settle(arena.at());
  const size_t count = state.size();
  give(*body, count + slices.size(), captured);
  for (int64_t turn = 0; turn < length; ++turn) {
    const int64_t row = reverse ? length - 1 - turn : turn;
    for (size_t i = 0; i < count; ++i) {
      body->inputs[i].storage->data = now.now(i);
      body->outputs[i].storage->data = now.next(i);
    }
    for (size_t i = 0; i < slices.size(); ++i)
      body->inputs[count + i].storage->data = slices[i].from.at() + row * slices[i].stride;
    for (size_t i = 0; i < stacked.size(); ++i)
      body->outputs[count + i].storage->data = stacked[i].whole.at() + row * static_cast<int64_t>(stacked[i].bytes);
    body->run();
    now.turn();
    look(turn);
  }
  now.finish();
}

}  // namespace thixo
