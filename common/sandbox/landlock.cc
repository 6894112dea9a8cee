#include "common/sandbox/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice {
namespace {

// The numbers of linux/landlock.h, which is older than the kernels on which this runs.
constexpr long kCreateRules = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint32_t kAskVersion = 1;
constexpr int kBelowPath = 1;

enum Right : uint64_t {
  kExecute = 1 << 0,
  kWriteFile = 1 << 1,
  kReadFile = 1 << 2,
  kReadFolder = 1 << 3,
  kRemoveFolder = 1 << 4,
  kRemoveFile = 1 << 5,
  kMakeFolder = 1 << 7,
  kMakeFile = 1 << 8,
  kMoveBetween = 1 << 13,  // from version 2
  kTruncate = 1 << 14,     // from version 3
  kControlDevice = 1 << 15,
};
constexpr uint64_t kOfVersion1 = (1 << 13) - 1;
constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kControlDevice;
constexpr uint64_t kReading = kReadFile | kReadFolder;
constexpr uint64_t kWriting = kReading | kWriteFile | kTruncate | kRemoveFolder | kRemoveFile |
                              kMakeFolder | kMakeFile | kMoveBetween;
constexpr uint64_t kTcp = 3;     // bind and connect, from version 4
constexpr uint64_t kScopes = 3;  // abstract sockets and signals, from version 6

struct RulesRequest {
  uint64_t files = 0, network = 0, scopes = 0;
};

struct [[gnu::packed]] PathRule {
  uint64_t rights = 0;
  int32_t folder = -1;
};

uint64_t rights_of_version(int version) {
  uint64_t rights = kOfVersion1;
  if (version >= 2) rights |= kMoveBetween;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kControlDevice;
  return rights;
}

// An older kernel refuses a request that is longer than it knows.
size_t request_bytes(int version) {
  return sizeof(uint64_t) * (version >= 6 ? 3 : version >= 4 ? 2 : 1);
}

// What is no folder takes the rights of files alone.
bool add_path(int rules, const char* path, uint64_t rights) noexcept {
  const int file = ::open(path, O_PATH | O_CLOEXEC);
  if (file < 0) return errno == ENOENT || errno == ENOTDIR || errno == EACCES;  // none to allow
  struct stat status{};
  const bool is_folder = ::fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
  const PathRule rule{is_folder ? rights : rights & kOfFiles, file};
  const bool added = ::syscall(kAddRule, rules, kBelowPath, &rule, 0) == 0;
  ::close(file);
  return added;
}

Error landlock_error(const std::string& what) {
  return make_error(ErrorCode::kIo, "Landlock cannot allow '{}': {}", what, std::strerror(errno));
}

}  // namespace

Result<FileRules> FileRules::make(const FileAccess& access) {
  FileRules made;
  const long version = ::syscall(kCreateRules, nullptr, 0, kAskVersion);
  if (version <= 0) return made;  // the kernel has none, or it is switched off
  made.version_ = static_cast<int>(version);
  const uint64_t known = rights_of_version(made.version_);
  const RulesRequest request{known, kTcp, kScopes};
  made.rules_ = Descriptor(
      static_cast<int>(::syscall(kCreateRules, &request, request_bytes(made.version_), 0)));
  if (!made.rules_) return landlock_error("anything");
  struct Kind {
    const std::vector<std::string>& paths;
    uint64_t rights;
  };
  for (const Kind& kind : {Kind{access.readable, kReading}, Kind{access.writable, kWriting},
                           Kind{access.executable, kReading | kExecute}}) {
    for (const std::string& path : kind.paths)
      if (!add_path(made.rules_.get(), path.c_str(), kind.rights & known))
        return landlock_error(path);
  }
  return made;
}

bool FileRules::enforce() const noexcept {
  if (version_ == 0) return true;
  add_path(rules_.get(), "/proc/self/fd/0", kReadFile);  // fails for a pipe, which needs no rule
  return add_path(rules_.get(), "/proc/self", kReading) &&
         ::syscall(kRestrictSelf, rules_.get(), 0) == 0;
}

}  // namespace sluice
