#include "processors.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace thixo {
namespace {

// A small file as a whole; empty if there is none. No streams here or elsewhere in the core: where a process has two copies of
// the C++ library, one of them inside of this module, their locales are mixed up and a stream that reads a number crashes.
std::string text_of(const std::string& path) {
  std::string text;
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    char part[4096];
    while (const size_t n = std::fread(part, 1, sizeof(part), file)) text.append(part, n);
    std::fclose(file);
  }
  return text;
}

int64_t number_of(const std::string& path) { return std::strtoll(text_of(path).c_str(), nullptr, 10); }

int whole(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  const int64_t count = (quota - 1) / period + 1;
  return count < 1 << 20 ? static_cast<int>(count) : 0;  // more than any machine has is no limit
}

// Of one group: "max 100000" or "150000 100000", microseconds of processor time in each period.
int newer_quota(const std::string& group) {
  const std::string words = text_of(group + "/cpu.max");
  char* end = nullptr;
  const int64_t quota = std::strtoll(words.c_str(), &end, 10);
  return whole(quota, std::strtoll(end, nullptr, 10));  // "max" is no number: 0
}

// The same as older systems have it; -1 where there is no limit.
int older_quota(const std::string& group) {
  return whole(number_of(group + "/cpu.cfs_quota_us"), number_of(group + "/cpu.cfs_period_us"));
}

int smaller(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

// Of a group and all that it is in. A container may see its own group as the root, under the name it has outside: then
// nothing is found on the way, but at its end.
int quota_on_the_way(const std::string& mount, std::string path, int (*quota_of)(const std::string&)) {
  int least = 0;
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    least = smaller(least, quota_of(mount + path));
    if (path.empty()) return least;
    path.resize(path.find_last_of('/') + 1);
  }
}

}  // namespace

int quota_processors(const std::string& root) {
  const std::string mounts = root + "/sys/fs/cgroup";
  const std::string lines = text_of(root + "/proc/self/cgroup");
  int least = 0;
  for (size_t begin = 0; begin < lines.size();) {  // number:controllers:path
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::string line = lines.substr(begin, end - begin);
    begin = end + 1;
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') continue;
    if (controllers.empty()) least = smaller(least, quota_on_the_way(mounts, path, newer_quota));
    else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      least = smaller(least, quota_on_the_way(mounts + "/" + controllers, path, older_quota));
  }
  return least;
}

int usable_processors() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) count = CPU_COUNT(&allowed);
  count = smaller(count, quota_processors());
#endif
  return std::max(1, count);
}

}  // namespace thixo
