// How many processors a process may use: what control groups say, in the files of newer and older systems.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "../../src/thixo/_core/core/processors.h"
#include "check.h"

using namespace thixo;
namespace fs = std::filesystem;

// A system's files, gone with this object.
struct System {
  fs::path root = fs::temp_directory_path() / ("thixo-processors-" + std::to_string(::getpid()));
  System() { fs::remove_all(root); }
  ~System() { fs::remove_all(root); }
  System& has(const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
    return *this;
  }
  int quota() const { return quota_processors(root.string()); }
};

static void test_newer() {
  const std::string groups = "sys/fs/cgroup/";
  CHECK(System().quota() == 0);  // no control groups at all
  CHECK(System().has("proc/self/cgroup", "0::/\n").quota() == 0);
  CHECK(System().has("proc/self/cgroup", "0::/\n").has(groups + "cpu.max", "max 100000\n").quota() == 0);
  CHECK(System().has("proc/self/cgroup", "0::/\n").has(groups + "cpu.max", "200000 100000\n").quota() == 2);
  CHECK(System().has("proc/self/cgroup", "0::/\n").has(groups + "cpu.max", "250000 100000\n").quota() == 3);
  CHECK(System().has("proc/self/cgroup", "0::/\n").has(groups + "cpu.max", "1000 100000\n").quota() == 1);
  System nested;
  nested.has("proc/self/cgroup", "0::/outer/inner\n").has(groups + "outer/inner/cpu.max", "800000 100000\n");
  CHECK(nested.quota() == 8);
  CHECK(nested.has(groups + "outer/cpu.max", "300000 100000\n").quota() == 3);  // the least of all counts
  CHECK(nested.has(groups + "cpu.max", "max 100000\n").quota() == 3);
  // A container that sees its own group as the root, under the name that it has outside.
  CHECK(System().has("proc/self/cgroup", "0::/docker/abc\n").has(groups + "cpu.max", "50000 25000\n").quota() == 2);
}

static void test_older() {
  const std::string lines = "4:memory:/box\n3:cpu,cpuacct:/box\n0::/box\n", group = "sys/fs/cgroup/cpu,cpuacct/box/";
  System limited;
  limited.has("proc/self/cgroup", lines).has(group + "cpu.cfs_quota_us", "350000\n").has(group + "cpu.cfs_period_us", "100000\n");
  CHECK(limited.quota() == 4);
  CHECK(limited.has(group + "cpu.cfs_quota_us", "-1\n").quota() == 0);
}

static void test_nonsense() {
  for (const char* line : {"", "\n", "::", "0:", "0::", "0::box", "x:cpu:y:z\n:::\n"})
    CHECK(System().has("proc/self/cgroup", line).has("sys/fs/cgroup/cpu.max", "100000 100000\n").quota() <= 1);
  for (const char* text : {"", "max", "100000", "0 0", "-5 100000", "100000 0", "many 100000", "99999999999999999999 1"})
    CHECK(System().has("proc/self/cgroup", "0::/\n").has("sys/fs/cgroup/cpu.max", text).quota() == 0);
}

int main() {
  test_newer();
  test_older();
  test_nonsense();
  CHECK(usable_processors() >= 1);
  return check::finish("processors");
}
