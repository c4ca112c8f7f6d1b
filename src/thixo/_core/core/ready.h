// Steps of a program as soon as what they wait for is done, several at once on the thread pool.
#pragma once
#include "program.h"

namespace thixo {

// Who waits for whom, and how long the way to the end is from each step.
struct Flow {
  std::vector<std::vector<int>> after, next;  // steps that a step waits for, and that wait for it
  std::vector<double> seconds, critical;      // of a step; from its beginning to the end
  std::vector<Band> bands;
  static constexpr int kNone = -1, kInBand = -2;
  std::vector<int> band;  // the number of the one that a step stands for; or none, or another step stands for this one
  size_t count = 0;       // of those that stand for something
  Flow(std::vector<std::vector<int>> after, const std::vector<std::unique_ptr<Step>>& steps);
  // From now on one step stands for each band: what its others wait for comes before that one, and what waits for them after it.
  void join(std::vector<std::pair<size_t, Band>> found);

 private:
  void settle();
};

void run_ready(const Program& program, const Flow& flow);

}  // namespace thixo
