// Where in the user's program something happened: an opaque handle the binding can turn into file and line.
#pragma once
#include <cstdint>
#include <utility>

namespace thixo {

struct SourceHooks {
  void (*retain)(void*) = nullptr;
  void (*release)(void*) = nullptr;
};
inline SourceHooks source_hooks;

class Source {
 public:
  void* handle = nullptr;
  int32_t position = 0;

  Source() = default;
  static Source adopt(void* handle, int32_t position) {
    Source s;
    s.handle = handle;
    s.position = position;
    return s;
  }
  Source(const Source& o) : handle(o.handle), position(o.position) {
    if (handle) source_hooks.retain(handle);
  }
  Source(Source&& o) noexcept : handle(std::exchange(o.handle, nullptr)), position(o.position) {}
  Source& operator=(Source o) noexcept {
    std::swap(handle, o.handle);
    position = o.position;
    return *this;
  }
  ~Source() { if (handle) source_hooks.release(handle); }
};

}  // namespace thixo
