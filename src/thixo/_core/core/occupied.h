#pragma once
#include <map>
#include "tensor.h"

namespace thixo {

// Memory that somebody has, as stretches that do not touch: asked of many tensors, it looks at each once.
class Occupied {
 public:
  void hold(const Tensor& t);  // its bytes are taken
  bool take(const Tensor& t);  // whether they were free; if so they are taken now

 private:
  std::map<const void*, std::map<intptr_t, intptr_t>> spaces;  // begin -> end; bytes that are not there yet lie apart
};

}  // namespace thixo
