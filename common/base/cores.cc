#include "common/base/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace sluice {
namespace {

// Returns the cores in the process's affinity, or those of the machine when the system call fails.
int64_t affinity_cores() {
  for (int maximum = 1024; maximum <= 1 << 20;
       maximum *= 4) {  // the kernel rejects a set that is too small for its cores
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(static_cast<size_t>(maximum)), [](cpu_set_t* s) { CPU_FREE(s); });
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(maximum));
    if (set != nullptr && ::sched_getaffinity(0, bytes, set.get()) == 0)
      return CPU_COUNT_S(bytes, set.get());
  }
  return std::thread::hardware_concurrency();
}

bool lists(const std::string& comma_separated, std::string_view name) {
  std::istringstream items(comma_separated);
  for (std::string item; std::getline(items, item, ',');) {
    if (item == name) return true;
  }
  return false;
}

// A hierarchy of control groups at its mount point.
struct Mount {
  bool is_v2 = false;
  std::string root;  // the group that `folder` shows
  std::string folder;
};

// Decodes the octal escapes that mountinfo uses for spaces and other characters: "\040".
std::string unescaped(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_octal =
        text[i] == '\\' && i + 3 < text.size() &&
        std::all_of(&text[i + 1], &text[i + 4], [](char c) { return c >= '0' && c <= '7'; });
    plain += is_octal ? static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                          (text[i + 3] - '0'))
                      : text[i];
    i += is_octal ? 3 : 0;
  }
  return plain;
}

// Reads the rows "36 35 98:0 /root /folder options [fields] - type source super-options".
std::vector<Mount> cpu_mounts(const std::string& root) {
  std::vector<Mount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string row; std::getline(file, row);) {
    std::istringstream words(row);
    std::string skipped, group, folder, type, source, options;
    words >> skipped >> skipped >> skipped >> group >> folder;
    while (words >> skipped && skipped != "-") {
    }
    words >> type >> source >> options;
    const bool is_v2 = type == "cgroup2";
    if (is_v2 || (type == "cgroup" && lists(options, "cpu")))
      mounts.push_back({is_v2, unescaped(group), root + unescaped(folder)});
  }
  return mounts;
}

// Returns the group of the process in the hierarchy of v2 ("0::/group") or of v1's cpu controller
// ("4:cpu,cpuacct:/group").
std::optional<std::string> group_of_process(const std::string& root, bool is_v2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string row; std::getline(file, row);) {
    const size_t first = row.find(':'),
                 second = first == std::string::npos ? first : row.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = row.substr(first + 1, second - first - 1);
    if (is_v2 ? controllers.empty() : lists(controllers, "cpu")) return row.substr(second + 1);
  }
  return std::nullopt;
}

// Returns quota / period of one group, or 0 when it has no quota ("max", or -1).
double quota_of(const Mount& mount, const std::string& folder) {
  double quota = 0, period = 0;
  if (mount.is_v2) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

// Returns the path of the group below the mount. A group that the mount does not show, as in a
// container, is taken to be the mount's own group.
std::string below_mount(const Mount& mount, const std::string& group) {
  if (mount.root == "/") return group == "/" ? "" : group;
  const bool is_below = group.starts_with(mount.root) &&
                        (group.size() == mount.root.size() || group[mount.root.size()] == '/');
  return is_below ? group.substr(mount.root.size()) : "";
}

// Returns the smallest quota of the group and of its ancestors.
double tightest_quota(const Mount& mount, std::string group) {
  double minimum = 0;
  while (true) {
    const double quota = quota_of(mount, mount.folder + group);
    if (quota > 0 && (minimum == 0 || quota < minimum)) minimum = quota;
    if (group.empty()) return minimum;
    group.erase(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

}  // namespace

int64_t quota_cores(const std::string& root) {
  double minimum = 0;
  for (const Mount& mount : cpu_mounts(root)) {
    const auto group = group_of_process(root, mount.is_v2);
    const double quota = group ? tightest_quota(mount, below_mount(mount, *group)) : 0;
    if (quota > 0 && (minimum == 0 || quota < minimum)) minimum = quota;
  }
  return minimum == 0 ? 0 : static_cast<int64_t>(std::clamp(minimum, 1.0, 1e6));
}

int64_t usable_cores() {
  const int64_t cores = std::max<int64_t>(affinity_cores(), 1), quota = quota_cores("");
  return quota == 0 ? cores : std::min(cores, quota);
}

}  // namespace sluice
