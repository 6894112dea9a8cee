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
        artifact_faults_(content.artifacts.size()),
        record_faults_(content.records.size()) {}

  // Artifacts come first: a record of one that was deleted as damaged names a missing one.
  Result<StoreFaults> run() {
    SLUICE_TRY(parallel_for(content_.artifacts.size(), thread_count(0),
                            [this](size_t i) { return check_artifact(i); }));
    SLUICE_TRY(parallel_for(content_.records.size(), thread_count(0),
                            [this](size_t i) { return check_record(i); }));
    StoreFaults faults{
        .lines = {}, .artifacts = content_.artifacts.size(), .records = content_.records.size()};
    for (const auto* found : {&artifact_faults_, &record_faults_})
      for (const std::string& line : *found)
        if (!line.empty()) faults.lines.push_back(line);
    return faults;
  }

 private:
  // A file that is gone, or that somebody has replaced while it was read, is not judged.
  Result<void> check_artifact(size_t i) {
    const Digest& digest = content_.artifacts[i].digest;
    const std::string path = store_path(content_.path, digest);
    const Descriptor file = open_unnoticed(AT_FDCWD, path.c_str());
    if (!file) return note_unreadable(path, artifact_faults_[i]);
    const std::optional<Digest> found = digest_of_file(file);
    if (found == digest || !is_file_at(file, path)) return {};
    artifact_faults_[i] = found ? fmt::format("'{}' is damaged: the SHA-256 of its bytes is {}",
                                              path, digest_hex(*found))
                                : fmt::format("'{}' cannot be read", path);
    return deletes_ ? remove_file(path) : Result<void>();
  }

  Result<void> note_unreadable(const std::string& path, std::string& fault) const {
    if (::access(path.c_str(), F_OK) == 0) fault = fmt::format("'{}' cannot be opened", path);
    return {};
  }

  Result<void> check_record(size_t i) {
    const StoreRecord& record = content_.records[i];
    const std::string path = record.path(content_.path);
    std::string fault;
    if (record.kind.empty()) {
      fault = fmt::format("'{}' is damaged, or was written by another release", path);
    } else if (const Digest* missing = missing_artifact(record)) {
      fault = fmt::format("'{}' ({}) names the artifact {}, which is missing", path, record.kind,
                          digest_hex(*missing));
    }
    // A collection deletes records before their artifacts.
    if (fault.empty() || ::access(path.c_str(), F_OK) != 0) return {};
    record_faults_[i] = std::move(fault);
    return deletes_ ? remove_file(path) : Result<void>();
  }

  const Digest* missing_artifact(const StoreRecord& record) const {
    for (const Digest& digest : record.artifacts) {
      const std::string path = store_path(content_.path, digest);
      if (::access(path.c_str(), F_OK) != 0 || is_no_entry(path)) return &digest;
    }
    return nullptr;
  }

  const StoreContent& content_;
  const bool deletes_;
  std::vector<std::string> artifact_faults_;
  std::vector<std::string> record_faults_;
};

}  // namespace

Result<StoreFaults> find_faults(const std::string& store, bool deletes) {
  SLUICE_ASSIGN(const StoreContent content, read_content(store));
  return Verification(content, deletes).run();
}

}  // namespace sluice
