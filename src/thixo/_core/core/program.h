// Programs: a graph bound to sizes, as steps that were prepared once and memory that was planned once.
//
// A value's memory is a Storage that the program owns and points to where the bytes are in this call: an input of the
// caller, a new result, or a place in the arena. Steps keep storages and offsets, so that a call patches a few pointers
// and runs. A program is one call's at a time; who wants two at once has two programs.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tensor.h"

namespace thixo {

// Bytes that move from call to call.
struct Place {
  Storage* storage = nullptr;  // kept alive by the program
  int64_t offset = 0;          // bytes
  char* at() const { return storage->data + offset; }
};
inline Place place_of(const Tensor& t) { return {t.storage.get(), t.offset * item_size(t.dtype)}; }

// What steps need besides the arena, found out without running them.
struct Needs {
  size_t prepared = 0;             // weights that never change, once more as kernels read them
  size_t here = 0, elsewhere = 0;  // scratch memory: of the calling thread, of each of those that help it
  bool in_lane = false;            // the steps that are asked now run beside others
  std::vector<const void*> seen;   // programs that several steps share count once
};

// Memory that a step reads or writes.
struct Reach {
  const Storage* storage;
  int64_t begin, bytes;
  int64_t row;  // bytes from one row of what the step computes to the next, if each is made of the same row of this; else 0
  bool written;
};

// One thing to do.
struct Step {
  int node = -1;         // of the graph, for messages
  bool python = false;   // it needs the interpreter's lock
  double seconds = 0;    // a guess
  Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;
  virtual void run() = 0;
  virtual void add_needs(Needs&) const {}
  // Whether it could be cut into so many rows, each computed by itself with the same bits; then all that it reaches.
  virtual bool cut(int64_t /* rows */, std::vector<Reach>&) const { return false; }
  virtual void run_part(int64_t /* from */, int64_t /* to */, int64_t /* rows */) {}
};

// A step that writes memory of the caller's before the run is known to succeed.
struct Undoable : Step {
  bool has_run = false;  // in this run of the program
  virtual void undo() = 0;
};

// What the host program does around native work: gives up its lock, looks whether the user wants to stop.
struct Host {
  void* (*unlock)() = nullptr;
  void (*lock)(void*) = nullptr;
  void (*check)() = nullptr;  // throws where the user interrupts; called with the lock held
};
extern Host host;

// Without the lock, if `go`.
struct Unlocked {
  void* state;
  explicit Unlocked(bool go) : state(go && host.unlock ? host.unlock() : nullptr) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    if (state) host.lock(state);
  }
};
constexpr double kLongStep = 50e-6;  // seconds from which others may have the lock meanwhile

struct Port {
  Ref<Storage> storage;
  DType dtype = DType::F32;
  Dims sizes, strides;
  size_t bytes = 0;
};

struct Flow;

// Steps that do not wait for those of other lanes, one after the other.
struct Lane {
  size_t begin, end;
};

// Steps of which each thread makes its rows, one step after the other: see join_bands.
struct Band {
  std::vector<size_t> steps;
  int64_t rows = 0;
};

// Lanes that run side by side on the thread pool. Those that need Python are the calling thread's.
struct Section {
  std::vector<Lane> lanes, python;
  size_t begin, end;
  bool unlocks;  // others may have the host's lock meanwhile: it takes long, or a step may ask for it
  Band band;     // of all its steps and some after its lanes, or without rows
};

struct Program : Counted {
  std::string name;
  std::vector<Port> inputs, outputs;
  std::vector<std::pair<Ref<Storage>, int64_t>> in_arena;  // with offsets
  std::vector<Ref<Storage>> others;                        // constants, and what nobody reads
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<Undoable*> undoable;        // those of them that are undone where a run fails
  std::vector<std::string> names, lines;  // of the nodes: operator and line of the user's program, or ""
  int64_t arena_bytes = 0;
  double seconds = 0;    // all steps
  bool python = false;   // some step needs the lock

  std::vector<Section> sections;     // in order; what is in none runs step by step
  std::shared_ptr<const Flow> flow;  // with it steps run as soon as they can, several at once

  // The arena begins here from now on.
  void settle(char* arena);
  // All steps; `failure` says of an exception whose it is.
  void run();
  void run_band(const Band& band) const;
  void add_needs(Needs& needs) const;
  char* arena = nullptr;

 private:
  void run_all();
  void run_steps(size_t begin, size_t end);
  void run_section(const Section& section);
  template <class Body>
  void run_beside(int64_t count, Body&& body) const;
};

// Where the results of a section's lanes meet in the steps after it, what one thread made would have to cross over to
// another. If all of them compute row by row, each thread makes its rows of every step, up to the last of those after
// the section that can be cut so too: that is a band. With a flow, products that only the step where they meet waits for, and
// steps that wait for nothing else. It is decided when all steps and places are known.
void join_bands(Program& program);

void perform_step(const Program& program, Step& step);  // an event of the profiler, if one runs

// Where the last exception of this thread came from: the innermost program and its node.
struct Failure {
  const Program* program = nullptr;
  int node = -1;
};
extern thread_local Failure failure;

// A program inside of another: its inputs and results are places of the outer one.
struct Inner {
  Ref<Program> program;
  Place arena;  // without storage: it needs none
  std::vector<Place> inputs, outputs;
  void run() const;
};

// ---- results where they are to be

// While one is there, the thread's next storages of these sizes are made at these places.
struct Placing {
  struct Wish {
    size_t bytes;
    char* at;
    int skip;  // so many of this size come first
  };
  std::vector<Wish> wishes;
  char* take(size_t bytes);  // null: anywhere
};

// A storage without memory of its own, for programs to point somewhere.
Ref<Storage> pointed_storage(size_t bytes);
bool is_pointed(const Storage& s);

}  // namespace thixo
