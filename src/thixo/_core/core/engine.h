// Runs a tape backwards.
#pragma once
#include "tape.h"

namespace thixo {

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
};

// From each root with its gradient. With `inputs` empty, leaves accumulate into .grad and nothing is returned;
// otherwise the gradients of `inputs` are returned (null where the roots do not depend on one) and no .grad
// changes, unless `accumulate` is set: then exactly those inputs accumulate.
std::vector<Ref<Tensor>> run_backward(const std::vector<Ref<Tensor>>& roots,
                                      std::vector<Ref<Tensor>> gradients,
                                      const std::vector<Ref<Tensor>>& inputs, bool accumulate,
                                      BackwardOptions options);

}  // namespace thixo
