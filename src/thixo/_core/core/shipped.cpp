#include "shipped.h"

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "cpu.h"
#include "error.h"

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#define THIXO_LIBRARIES 1
#endif

namespace thixo {

namespace {

constexpr const char* kTargets[] = {"x86-64-v4", "x86-64-v3", "aarch64"};  // the best first
constexpr const char* kPortable = "portable";

bool runs_here(const std::string& target) {
  if (target == "x86-64-v4") return cpu_features().x86_64_v4;
  if (target == "x86-64-v3") return cpu_features().x86_64_v3;
#if defined(__aarch64__)
  if (target == "aarch64") return true;
#endif
  return target == kPortable;
}

struct Library {
  void* handle = nullptr;     // matrix products and the like
  void* operators = nullptr;  // what follows from operators' declarations; may be missing
  std::string target;
};

void* open_library(const char* kind, const std::string& target) {
#if defined(THIXO_LIBRARIES)
  Dl_info here;
  if (!dladdr(reinterpret_cast<void*>(&shipped_target), &here) || !here.dli_fname) return nullptr;
  std::string path = here.dli_fname;
  const size_t slash = path.rfind('/');
  path = (slash == std::string::npos ? "./" : path.substr(0, slash + 1)) + "lib/" + kind + target + ".so";
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
#else
  (void)kind;
  (void)target;
  return nullptr;
#endif
}

const Library* open_both(const std::string& target) {
  void* handle = open_library("kernels-", target);
  return new Library{handle, open_library("operators-", target), target};
}

const Library* open(const std::string& wanted) {
  if (!wanted.empty()) {
    if (!runs_here(wanted)) {
      std::string names = kPortable;
      for (const char* name : kTargets)
        if (runs_here(name)) names += std::string(", ") + name;
      fail(ErrorKind::Argument, "target: " + wanted + " does not run on this processor; what does: " + names);
    }
    return wanted == kPortable ? new Library{nullptr, nullptr, wanted} : open_both(wanted);
  }
  for (const char* name : kTargets) {
    if (!runs_here(name)) continue;
    const Library* found = open_both(name);
    if (found->handle || found->operators) return found;
    delete found;
  }
  return new Library{nullptr, nullptr, kPortable};
}

std::mutex mutex;
std::atomic<const Library*> current{nullptr};  // never freed: kernels of a former one may still be referred to
std::atomic<int> generation{0};

const Library& library() {
  if (const Library* now = current.load(std::memory_order_acquire)) return *now;
  const std::lock_guard lock(mutex);
  if (!current.load(std::memory_order_relaxed)) {
    const char* wanted = std::getenv("THIXO_TARGET");
    current.store(open(wanted ? wanted : ""), std::memory_order_release);
  }
  return *current.load(std::memory_order_relaxed);
}

}  // namespace

void* shipped(const char* symbol) {
#if defined(THIXO_LIBRARIES)
  const Library& now = library();
  void* found = now.handle ? dlsym(now.handle, symbol) : nullptr;
  return found || !now.operators ? found : dlsym(now.operators, symbol);
#else
  (void)symbol;
  return nullptr;
#endif
}

const char* host_target() {
  for (const char* name : kTargets)
    if (runs_here(name)) return name;
  return kPortable;
}

const char* shipped_target() {
  const Library& now = library();
  return now.handle ? now.target.c_str() : kPortable;
}

void set_shipped_target(const std::string& name) {
  const char* environment = name.empty() ? std::getenv("THIXO_TARGET") : nullptr;
  const Library* chosen = open(environment ? environment : name);
  const std::lock_guard lock(mutex);
  current.store(chosen, std::memory_order_release);
  generation.fetch_add(1, std::memory_order_release);
}

int shipped_generation() { return generation.load(std::memory_order_acquire); }

}  // namespace thixo
