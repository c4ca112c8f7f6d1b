// The tape and its engine, with nodes written in C++: order, sums, targets, hooks, saved values, teardown.
#include "../../src/thixo/_core/core/tape.h"

#include <cmath>
#include <cstring>
#include <functional>

#include "../../src/thixo/_core/core/allocator.h"
#include "../../src/thixo/_core/core/engine.h"
#include "check.h"

using namespace thixo;

static Ref<Tensor> number(double value) {
  Ref<Tensor> t = empty({}, DType::F64);
  *reinterpret_cast<double*>(t->data()) = value;
  return t;
}
static double value(const Ref<Tensor>& t) { return *reinterpret_cast<double*>(t->data()); }

// A node that is whatever function it is given.
struct Step final : Node {
  using Rule = std::function<void(std::vector<Ref<Tensor>>&, std::vector<Ref<Tensor>>&)>;
  Rule rule;
  bool released = false;
  std::string name() const override { return "Step"; }
  void apply(std::vector<Ref<Tensor>>& gradients, std::vector<Ref<Tensor>>& out) override {
    if (released) fail(ErrorKind::Autograd, "already freed");
    rule(gradients, out);
  }
  void release_saved() override { released = true; }
};

static Ref<Tensor> record(const std::vector<Ref<Tensor>>& inputs, double result, Step::Rule rule) {
  Ref<Step> node = make<Step>();
  node->rule = std::move(rule);
  for (const Ref<Tensor>& t : inputs) node->edges.push_back(gradient_edge(*t));
  Ref<Tensor> y = number(result);
  node->results.push_back(result_type(*y));
  set_history(*y, node, 0);
  return y;
}
static Ref<Tensor> leaf(double v) {
  Ref<Tensor> t = number(v);
  t->grad_state().requires_grad = true;
  return t;
}
static Ref<Tensor> add(const Ref<Tensor>& a, const Ref<Tensor>& b) {
  return record({a, b}, value(a) + value(b), [](auto& g, auto& out) { out[0] = out[1] = g[0]; });
}
static Ref<Tensor> scale(const Ref<Tensor>& a, double k) {
  return record({a}, value(a) * k, [k](auto& g, auto& out) { out[0] = number(value(g[0]) * k); });
}

static void install() {
  tape_operators.add = [](const Ref<Tensor>& a, const Ref<Tensor>& b) { return number(value(a) + value(b)); };
  tape_operators.add_ = [](const Ref<Tensor>& a, const Ref<Tensor>& b) {
    *reinterpret_cast<double*>(a->data()) += value(b);
  };
  tape_operators.clone = [](const Ref<Tensor>& a) { return number(value(a)); };
  tape_operators.zeros = [](const ResultType&) { return number(0); };
  tape_operators.match = [](const Ref<Tensor>& g, const ResultType&, const Node&) { return g; };
  tape_operators.has_nan = [](const Ref<Tensor>& g) { return std::isnan(value(g)); };
  tape_operators.interrupted = [] { return false; };
}

static void backward(const Ref<Tensor>& root, BackwardOptions options = {}) {
  run_backward({root}, {number(1)}, {}, true, options);
}

static void test_sums_and_order() {
  Ref<Tensor> x = leaf(3);
  Ref<Tensor> y = add(scale(x, 2), add(x, scale(x, 5)));
  backward(y);
  CHECK(value(x->autograd->grad) == 8);
  Ref<Tensor> diamond = scale(leaf(1), 1);
  Ref<Tensor> z = leaf(1);
  diamond = z;
  for (int i = 0; i < 60; ++i) diamond = add(diamond, diamond);  // 2^60 paths, 60 nodes
  backward(diamond);
  CHECK(value(z->autograd->grad) == std::pow(2.0, 60));
}

static void test_second_time() {
  Ref<Tensor> x = leaf(1), y = scale(x, 3);
  BackwardOptions keep;
  keep.keep_graph = true;
  backward(y, keep);
  backward(y);
  CHECK(value(x->autograd->grad) == 6);
  CHECK_THROWS(backward(y), Error);
  CHECK(modes.grad);  // restored also after a failure
}

static void test_targets() {
  Ref<Tensor> x = leaf(1), w = leaf(2);
  int behind = 0;
  Ref<Tensor> early = record({w}, 2, [&](auto& g, auto& out) {
    ++behind;
    out[0] = g[0];
  });
  Ref<Tensor> h = scale(x, 3), y = add(scale(h, 5), early);
  auto found = run_backward({y}, {number(1)}, {h, x}, false, {});
  CHECK(found.size() == 2 && value(found[0]) == 5 && value(found[1]) == 15);
  CHECK(behind == 0 && !x->autograd->grad && !w->autograd->grad);
  Ref<Tensor> lonely = leaf(1);
  found = run_backward({scale(x, 2)}, {number(1)}, {lonely}, false, {});
  CHECK(found.size() == 1 && !found[0]);
}

struct Times final : GradHook {
  double k;
  explicit Times(double k) : k(k) {}
  Ref<Tensor> call(const Ref<Tensor>& g) override { return number(value(g) * k); }
};

static void test_hooks() {
  Ref<Tensor> x = leaf(1), h = scale(x, 3);
  h->grad_fn->hooks.push_back(Ref<GradHook>(new Times(10)));
  x->autograd->hooks.push_back(Ref<GradHook>(new Times(7)));
  Ref<GradHook> keeper = make<GradHook>();
  keeper->target = h.get();
  h->grad_state().retainer = keeper;
  h->grad_fn->hooks.insert(h->grad_fn->hooks.begin(), keeper);
  backward(scale(h, 2));
  CHECK(value(h->autograd->grad) == 20 && value(x->autograd->grad) == 420);
  // the keeper outlives its tensor
  Ref<Tensor> y = scale(h, 1);
  h = nullptr;
  CHECK(!keeper->target);
  BackwardOptions keep;
  keep.keep_graph = true;
  CHECK_THROWS(backward(y, keep), Error);  // the graph behind was freed above
}

static void test_leaves_that_die() {
  Ref<Tensor> x = leaf(1), y = scale(x, 3);
  x = nullptr;
  backward(y);  // nobody is there to be told
  Ref<Tensor> z = leaf(1);
  z->autograd->after_hooks.push_back(Ref<GradHook>(new Times(1)));
  Ref<Tensor> w = scale(z, 2);
  backward(w);
  CHECK(value(z->autograd->grad) == 2);
}

static void test_saved() {
  Ref<Tensor> x = leaf(2), y = scale(x, 3);
  Node* node = y->grad_fn.get();
  Saved input = save_input(y), output = save_output(y, 0);
  CHECK(unpack(input, node) == y && unpack(output, node)->storage == y->storage);
  CHECK(unpack(output, node)->grad_fn.get() == node);
  bump_version(*y, {});
  for (const Saved& s : {input, output}) {
    bool found = false;
    try {
      unpack(s, node);
    } catch (const Error& e) {
      found = e.kind == ErrorKind::Inplace && std::strstr(e.what(), "overwritten in place");
    }
    CHECK(found);
  }
  CHECK_THROWS(unpack(Saved{}, node), Error);
  Ref<Tensor> made = number(1);
  made->inference = true;
  CHECK_THROWS(save_input(made), Error);
}

static void test_writes() {
  Ref<Tensor> x = leaf(1), y = scale(x, 2), plain = number(1);
  CHECK_THROWS(check_inplace(*x, "t", true), Error);
  check_inplace(*y, "t", true);
  check_inplace(*plain, "t", true);
  modes.grad = false;
  check_inplace(*x, "t", false);
  modes.grad = true;
  plain->storage->writable = false;
  CHECK_THROWS(check_inplace(*plain, "t", false), Error);
  CHECK_THROWS(check_inplace(*make_view(zeros({3}, DType::F32), {2, 3}, {0, 1}, 0), "t", false), Error);
}

static void test_nested_too_deeply() {
  Ref<Tensor> x = leaf(1);
  int depth = 0;
  std::function<void()> again = [&] {
    ++depth;
    Ref<Tensor> y = record({x}, 1, [&](auto& g, auto& out) {
      again();
      out[0] = g[0];
    });
    backward(y);
  };
  CHECK_THROWS(again(), Error);
  CHECK(depth == 61);
  backward(scale(x, 1));  // and then all is well
}

static void test_million() {
  const int64_t before = allocator_stats().in_use;
  Ref<Tensor> x = leaf(1), y = x;
  for (int i = 0; i < 1000000; ++i) y = scale(y, 1);
  backward(y);
  CHECK(value(x->autograd->grad) == 1);
  y = x;
  for (int i = 0; i < 1000000; ++i) y = add(y, x);
  y = nullptr;
  x = nullptr;
  CHECK(allocator_stats().in_use == before);
}

int main() {
  install();
  test_sums_and_order();
  test_second_time();
  test_targets();
  test_hooks();
  test_leaves_that_die();
  test_saved();
  test_writes();
  test_nested_too_deeply();
  test_million();
  return check::finish("tape");
}
