// Steps of a program as soon as what they wait for is done, several at once on the thread pool.
#pragma once
#include "program.h"

namespace thixo {

// Who waits for whom, and how long the way to the end is from each step.
struct Flow {
  std::vector<std::vector<int>> next;  // steps that wait for a step
  std::vector<int> waits;              // for so many
  std::vector<double> critical;        // seconds from the beginning of a step to the end
  explicit Flow(const std::vector<std::vector<int>>& after, const std::vector<std::unique_ptr<Step>>& steps);
};

void run_ready(const Program& program, const Flow& flow);

}  // namespace thixo
