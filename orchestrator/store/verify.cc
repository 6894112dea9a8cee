#include "orchestrator/store/verify.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/base/parallel.h"
#include "common/base/store.h"
#include "orchestrator/store/content.h"
#include "orchestrator/store/file_system.h"

namespace sluice {
namespace {

class Verification {
 public:
  Verification(const StoreContent& content, bool deletes)
      : content_(content),
        deletes_(deletes),
        damaged_artifacts_(content.artifacts.size()),
        damaged_records_(content.records.size()),
        missing_(content.records.size()) {}

  // Artifacts come first: a record of one that was deleted as damaged names a missing one.
  Result<StoreFaults> run() {
    SLUICE_TRY(parallel_for(content_.artifacts.size(), thread_count(0),
                            [this](size_t i) { return check_artifact(i); }));
    SLUICE_TRY(parallel_for(content_.records.size(), thread_count(0),
                            [this](size_t i) { return check_record(i); }));
    StoreFaults faults{.damaged = {},
                       .missing = {},
                       .artifacts = content_.artifacts.size(),
                       .records = content_.records.size()};
    take(damaged_artifacts_, faults.damaged);
    take(damaged_records_, faults.damaged);
    take(missing_, faults.missing);
    return faults;
  }

 private:
  static void take(const std::vector<std::string>& found, std::vector<std::string>& lines) {
    for (const std::string& line : found)
      if (!line.empty()) lines.push_back(line);
  }

  // A file that is gone, or that somebody has replaced while it was read, is not judged.
  Result<void> check_artifact(size_t i) {
    const Digest& digest = content_.artifacts[i].digest;
    const std::string path = store_path(content_.path, digest);
    const Descriptor file = open_unnoticed(AT_FDCWD, path.c_str());
    if (!file) {
      if (is_there(path)) damaged_artifacts_[i] = fmt::format("'{}' cannot be opened", path);
      return {};
    }
    const std::optional<Digest> found = digest_of_file(file);
    if (found == digest || !is_file_at(file, path)) return {};
    damaged_artifacts_[i] = found ? fmt::format("'{}' is damaged: the SHA-256 of its bytes is {}",
                                                path, digest_hex(*found))
                                  : fmt::format("'{}' cannot be read", path);
    return deletes_ ? remove_file(path) : Result<void>();
  }

  Result<void> check_record(size_t i) {
    const StoreRecord& record = content_.records[i];
    const std::string path = record.path(content_.path);
    if (!is_there(path)) return {};
    if (record.kind.empty()) {
      damaged_records_[i] = fmt::format("'{}' is damaged, or was written by another release", path);
      return deletes_ ? remove_file(path) : Result<void>();
    }
    for (const Digest& digest : record.artifacts) {
      const std::string artifact = store_path(content_.path, digest);
      if (is_there(artifact) && !is_no_entry(artifact)) continue;
      missing_[i] = fmt::format("'{}' ({}) names the artifact {}, which is not here", path,
                                record.kind, digest_hex(digest));
      break;
    }
    return {};
  }

  static bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

  const StoreContent& content_;
  const bool deletes_;
  std::vector<std::string> damaged_artifacts_;
  std::vector<std::string> damaged_records_;
  std::vector<std::string> missing_;
};

}  // namespace

Result<StoreFaults> find_faults(const std::string& store, bool deletes) {
  SLUICE_ASSIGN(const StoreContent content, read_content(store));
  return Verification(content, deletes).run();
}

}  // namespace sluice
