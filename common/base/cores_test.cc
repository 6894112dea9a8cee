#include "common/base/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

#include "common/base/parallel.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

// A root folder with files that the kernel would show.
class Root {
 public:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_.file(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  int64_t quota() const { return quota_cores(folder_.path()); }

 private:
  TestFolder folder_;
};

constexpr char kMountV2[] =
    "24 1 0:22 / /proc rw - proc proc rw\n"
    "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kMountV1[] =
    "33 24 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
    "34 24 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

TEST(QuotaCores, OfV2IsTheTightestUpToTheRoot) {
  const Root root;
  root.write("proc/self/mountinfo", kMountV2);
  root.write("proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(root.quota(), 0);
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(root.quota(), 0);
  root.write("sys/fs/cgroup/a/cpu.max", "350000 100000\n");
  EXPECT_EQ(root.quota(), 3);
  root.write("sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
  EXPECT_EQ(root.quota(), 2);
  root.write("sys/fs/cgroup/cpu.max", "20000 100000\n");
  EXPECT_EQ(root.quota(), 1);  // a fifth of a core is still one thread
}

TEST(QuotaCores, OfV1IsItsCpuController) {
  const Root root;
  root.write("proc/self/mountinfo", kMountV1);
  root.write("proc/self/cgroup", "5:memory:/other\n4:cpu,cpuacct:/a\n0::/\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(root.quota(), 0);
  root.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(root.quota(), 4);
}

// A container sees its own group as the root of the mount, whether or not its paths are those of
// the host.
TEST(QuotaCores, OfAContainerLiesAtTheMount) {
  for (const char* group : {"/docker/1a", "/docker/1a/", "/", "/../elsewhere"}) {
    const Root root;
    root.write("proc/self/mountinfo",
               "35 24 0:30 /docker/1a /sys/fs/my\\040groups ro - cgroup2 cgroup rw\n");
    root.write("proc/self/cgroup", "0::" + std::string(group) + "\n");
    root.write("sys/fs/my groups/cpu.max", "500000 250000\n");
    EXPECT_EQ(root.quota(), 2) << group;
  }
}

TEST(QuotaCores, OfWhatCannotBeReadIsNone) {
  const Root root;
  EXPECT_EQ(root.quota(), 0);
  for (const char* text : {"", "-", "1 2", "0:", "::::\n\n", "a b c d e f - cgroup2"}) {
    root.write("proc/self/mountinfo", text);
    root.write("proc/self/cgroup", text);
    EXPECT_EQ(root.quota(), 0) << text;
  }
  root.write("proc/self/mountinfo", kMountV2);
  root.write("proc/self/cgroup", "0::/\n");
  for (const char* text : {"", "max", "x y", "0 0", "-5 100000", "100000", "100000 -3"}) {
    root.write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(root.quota(), 0) << text;
  }
}

TEST(UsableCores, RespectTheAffinity) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  EXPECT_EQ(thread_count(0), 1);
  EXPECT_EQ(thread_count(5), 5);  // an explicit number wins
  ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_LE(usable_cores(), CPU_COUNT(&before));
}

}  // namespace
}  // namespace sluice
