// A few lines of test harness: CHECK counts and reports, main returns the number of failures.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace check {

inline int failures = 0;
inline long checks = 0;

inline bool report(bool ok, const char* what, const char* file, int line) {
  ++checks;
  if (!ok && ++failures <= 20) std::printf("%s:%d: failed: %s\n", file, line, what);
  return ok;
}

inline int finish(const char* name) {
  std::printf("%s: %ld checks, %d failures\n", name, checks, failures);
  return failures ? 1 : 0;
}

}  // namespace check

#define CHECK(condition) check::report((condition), #condition, __FILE__, __LINE__)
#define CHECK_THROWS(expression, type)                               \
  do {                                                               \
    bool thrown = false;                                             \
    try {                                                            \
      expression;                                                    \
    } catch (const type&) {                                          \
      thrown = true;                                                 \
    }                                                                \
    check::report(thrown, #expression " throws", __FILE__, __LINE__); \
  } while (0)
