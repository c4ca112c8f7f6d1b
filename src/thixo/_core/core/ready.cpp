#include "ready.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <queue>
#include <thread>
#include <utility>

#include "thread_pool.h"

namespace thixo {

Flow::Flow(std::vector<std::vector<int>> given, const std::vector<std::unique_ptr<Step>>& steps)
    : after(std::move(given)), band(steps.size(), kNone), count(steps.size()) {
  for (const auto& step : steps) seconds.push_back(step->seconds);
  settle();
}

void Flow::settle() {
  next.assign(after.size(), {});
  critical = seconds;
  for (size_t i = 0; i < after.size(); ++i)
    for (int before : after[i]) next[static_cast<size_t>(before)].push_back(static_cast<int>(i));
  for (size_t i = after.size(); i-- > 0;) {  // a step waits only for earlier ones
    double longest = 0;
    for (int later : next[i]) longest = std::max(longest, critical[static_cast<size_t>(later)]);
    critical[i] += longest;
  }
}

void Flow::join(std::vector<std::pair<size_t, Band>> found) {
  std::vector<int> stands(after.size());
  std::iota(stands.begin(), stands.end(), 0);
  for (auto& [at, one] : found) {
    for (size_t step : one.steps) {
      if (step == at) continue;
      stands[step] = static_cast<int>(at);
      band[step] = kInBand;
      seconds[at] += std::exchange(seconds[step], 0);
      --count;
    }
    band[at] = static_cast<int>(bands.size());
    bands.push_back(std::move(one));
  }
  std::vector<std::vector<int>> whole(after.size());
  for (size_t i = 0; i < after.size(); ++i)
    for (int before : after[i])
      if (stands[static_cast<size_t>(before)] != stands[i]) whole[static_cast<size_t>(stands[i])].push_back(stands[static_cast<size_t>(before)]);
  for (auto& one : whole) {
    std::sort(one.begin(), one.end());
    one.erase(std::unique(one.begin(), one.end()), one.end());
  }
  after = std::move(whole);
  settle();
}

namespace {

constexpr double kCheap = 20e-6;   // seconds up to which a step is done by whoever made it ready
constexpr double kHeavy = 500e-6;  // from here on a step may have all threads for itself
constexpr int kSpins = 4000;

// One run of a program. Steps that need Python, and those that are better off with all threads for themselves, are the
// caller's; all others go to whoever is free.
class Run {
 public:
  Run(const Program& program, const Flow& flow)
      : program_(program), flow_(flow), left_(flow.count), waits_(new std::atomic<int>[program.steps.size()]),
        ready_(Later{&flow}), mine_(Later{&flow}) {
    for (size_t i = 0; i < program.steps.size(); ++i) {
      waits_[i].store(static_cast<int>(flow.after[i].size()), std::memory_order_relaxed);
      if (flow.after[i].empty() && flow.band[i] != Flow::kInBand) put(static_cast<int>(i));
    }
  }

  // On the calling thread, which has the host's lock.
  void run() {
    while (left_) {
      if (ready_.empty() || alone()) {
        const int step = take_own();
        if (step < 0) fail(ErrorKind::Internal, "program " + program_.name + ": steps wait for each other");
        const bool frees = !at(step).python && seconds(step) >= kLongStep;
        Unlocked free(frees);
        perform(step, false);
        --left_;
      } else {
        Unlocked free(true);
        together();
      }
      if (error_) rethrow();
    }
  }

 private:
  struct Later {
    const Flow* flow;
    bool operator()(int a, int b) const {
      const double x = flow->critical[static_cast<size_t>(a)], y = flow->critical[static_cast<size_t>(b)];
      return x != y ? x < y : a > b;  // the longest way first, then first come
    }
  };
  using Queue = std::priority_queue<int, std::vector<int>, Later>;

  Step& at(int step) const { return *program_.steps[static_cast<size_t>(step)]; }

  double seconds(int step) const { return flow_.seconds[static_cast<size_t>(step)]; }

  void put(int step) { (at(step).python ? mine_ : ready_).push(step); }

  // Whether one step is all there is to do, or is so much more than the others that it should have all threads.
  bool alone() const {
    if (!mine_.empty()) return false;
    if (ready_.size() == 1) return true;
    if (ready_.size() > 4 || seconds(ready_.top()) < kHeavy) return false;
    Queue others = ready_;
    const double first = seconds(others.top());
    double rest = 0;
    for (others.pop(); !others.empty(); others.pop()) rest += seconds(others.top());
    return rest < first / 2;
  }

  int take_own() {
    Queue& from = ready_.empty() ? mine_ : ready_;
    if (from.empty()) return -1;
    const int step = from.top();
    from.pop();
    return step;
  }

  // Until nothing is ready that others could do.
  void together() {
    running_ = 0;
    const int threads = get_num_threads();
    parallel_for(threads, 1, [this](int64_t, int64_t) { help(); });
  }

  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (error_) return;
      if (ready_.empty()) {
        if (running_ == 0) return;
        // Others may make more ready.
        lock.unlock();
        for (int spins = 0; spins < kSpins && ready_count_.load(std::memory_order_relaxed) == 0 &&
                            running_count_.load(std::memory_order_relaxed) != 0; ++spins) {
          if (spins % 64 == 63) std::this_thread::yield();
        }
        lock.lock();
        continue;
      }
      int step = ready_.top();
      ready_.pop();
      count();
      ++running_;
      running_count_.store(running_, std::memory_order_relaxed);
      lock.unlock();
      size_t done = 0;  // told to the others at the end: a line that all threads write at every step would go to and fro
      for (; step >= 0; ++done) step = perform(step, true);
      lock.lock();
      left_ -= done;
      --running_;
      running_count_.store(running_, std::memory_order_relaxed);
    }
  }

  void count() { ready_count_.store(static_cast<int>(ready_.size()), std::memory_order_relaxed); }

  // Run a step and tell those that wait for it. A cheap one that is ready now is returned, to be next.
  int perform(int step, bool shared) {
    try {
      const int band = flow_.band[static_cast<size_t>(step)];
      if (band >= 0) program_.run_band(flow_.bands[static_cast<size_t>(band)]);
      else perform_step(program_, at(step));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) {
        error_ = std::current_exception();
        failed_ = failure.program ? failure : Failure{&program_, at(step).node};
      }
      failure = {};
      return -1;
    }
    int next = -1;
    std::unique_lock lock(mutex_, std::defer_lock);
    for (int later : flow_.next[static_cast<size_t>(step)]) {
      if (waits_[static_cast<size_t>(later)].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      if (shared && next < 0 && !at(later).python && seconds(later) < kCheap) {
        next = later;
        continue;
      }
      if (!lock.owns_lock()) lock.lock();
      put(later);
      count();
    }
    return next;
  }

  void rethrow() {
    failure = failed_;
    std::rethrow_exception(error_);
  }

  const Program& program_;
  const Flow& flow_;
  size_t left_;  // steps that are not done; under the mutex while several threads run
  std::unique_ptr<std::atomic<int>[]> waits_;
  std::mutex mutex_;
  Queue ready_, mine_;
  int running_ = 0;
  std::atomic<int> ready_count_{0}, running_count_{0};
  std::exception_ptr error_;
  Failure failed_;
};

}  // namespace

void run_ready(const Program& program, const Flow& flow) { Run(program, flow).run(); }

}  // namespace thixo
