// Defects on purpose: a sanitized build must report them (see CMakeLists.txt). Not part of the other builds.
#include <cstdio>
#include <cstring>

#include "../../../src/thixo/_core/core/tape.h"

using namespace thixo;

struct Leaf final : Node {
  std::string name() const override { return "Leaf"; }
  void apply(std::vector<Ref<Tensor>>&, std::vector<Ref<Tensor>>&) override {}
};

// The memory of a tensor is read after its last owner is gone.
static int read_dead_data() {
  Ref<Tensor> t = zeros({4}, DType::F32);
  const float* data = reinterpret_cast<const float*>(t->data());
  t = nullptr;
  return data[1] == 0.0f;
}

// A tensor itself is used after its last owner is gone: free lists must not hide it.
static int use_dead_tensor() {
  Tensor* t = zeros({4}, DType::F32).get();
  return int(t->numel);
}

// So is a node of the tape.
static int use_dead_node() {
  Node* node = make<Leaf>().get();
  return int(node->sequence);
}

// One element too far.
static int read_beyond() {
  Ref<Tensor> t = zeros({16}, DType::F32);
  volatile int past = 16;
  return reinterpret_cast<const float*>(t->data())[past] == 0.0f;
}

static int overflow() {
  volatile int64_t large = INT64_MAX;
  return int(large + 1);
}

int main(int count, char** arguments) {
  const char* which = count > 1 ? arguments[1] : "";
  if (!std::strcmp(which, "data")) return read_dead_data();
  if (!std::strcmp(which, "tensor")) return use_dead_tensor();
  if (!std::strcmp(which, "node")) return use_dead_node();
  if (!std::strcmp(which, "beyond")) return read_beyond();
  if (!std::strcmp(which, "overflow")) return overflow();
  std::printf("data, tensor, node, beyond or overflow\n");
  return 2;
}
