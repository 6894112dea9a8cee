#include "orchestrator/store/collect.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "common/base/files.h"
#include "common/base/store.h"
#include "common/base/store_size.h"
#include "common/store/store_pins.h"
#include "orchestrator/store/content.h"
#include "orchestrator/store/file_system.h"
#include "orchestrator/store/limit.h"

namespace sluice {
namespace {

// What is deleted together: an artifact with the records that name it, or a record alone, whose
// artifacts are missing or in a remote store.
struct Unit {
  const StoreFile* artifact = nullptr;
  std::vector<const StoreRecord*> records;
  int64_t use = 0;  // the last of all of them
  bool is_pinned = false;

  Digest first() const { return artifact != nullptr ? artifact->digest : records[0]->file.digest; }
};

class Collection {
 public:
  Collection(const StoreContent& content, const CollectRequest& request)
      : content_(content), request_(request), is_deleted_(content.records.size()) {}

  // The pins are read after the content: what a program uses later than that has a later use.
  Result<Collected> run() {
    pinned_ =
        read_pins(content_.path, request_.is_trial ? AbandonedPins::kKeep : AbandonedPins::kRemove);
    done_.left = {.artifacts = content_.artifacts.size(),
                  .records = content_.records.size(),
                  .bytes = content_.own_bytes()};
    is_over_ = request_.max_bytes && done_.left.bytes > *request_.max_bytes;
    SLUICE_TRY(delete_leftover());
    make_units();
    for (const Unit& unit : units_)
      if (is_unwanted(unit)) SLUICE_TRY(delete_unit(unit));
    if (request_.is_trial) return done_;
    for (const std::string& folder : content_.folders) ::rmdir(folder.c_str());  // empty ones only
    set_known_size(content_.path, done_.left.bytes, linked_bytes_);
    return done_;
  }

 private:
  Result<void> delete_leftover() {
    done_.leftover = content_.leftover.size();
    if (request_.is_trial) return {};
    for (const std::string& path : content_.leftover) SLUICE_TRY(remove_file(path));
    const std::string locks = content_.path + "/locks";
    return for_each_entry(locks, [&](const FolderEntry& entry) {
      // A lock that can be taken is nobody's, and its end removes the file.
      if (digest_of_name(entry.name) && S_ISREG(entry.status.st_mode))
        StoreLock::try_file(locks + "/" + entry.name, StoreLock::Making::kNever);
    });
  }

  // Those that were used longest ago come first.
  void make_units() {
    for (const StoreFile& artifact : content_.artifacts)
      units_.push_back({.artifact = &artifact,
                        .records = {},
                        .use = artifact.use,
                        .is_pinned = pinned_.holds(artifact.digest, artifact.use)});
    for (const StoreRecord& record : content_.records) add_record(record);
    std::ranges::sort(units_, {},
                      [](const Unit& unit) { return std::pair(unit.use, unit.first()); });
  }

  void add_record(const StoreRecord& record) {
    Unit alone{.records = {&record},
               .use = record.file.use,
               .is_pinned = pinned_.holds(record.file.digest, record.file.use)};
    std::vector<size_t> units;
    for (const Digest& digest : record.artifacts) {
      const StoreFile* artifact = content_.find_artifact(digest);
      if (artifact != nullptr)
        units.push_back(static_cast<size_t>(artifact - content_.artifacts.data()));
    }
    if (units.empty()) units_.push_back(alone);
    for (const size_t i : units) {
      Unit& unit = units_[i];
      unit.records.push_back(&record);
      unit.use = std::max(unit.use, alone.use);
      unit.is_pinned |= alone.is_pinned;
    }
  }

  bool is_unwanted(const Unit& unit) const {
    if (request_.older_than && unit.use < content_.now - *request_.older_than) return true;
    const bool frees_bytes = unit.artifact == nullptr || !unit.artifact->is_linked;
    return is_over_ && frees_bytes && done_.left.bytes > request_.goal_bytes;
  }

  // Records go first, so that none names an artifact that is gone. Somebody may use a file in the
  // meantime, so its use is looked at again just before it would go.
  Result<void> delete_unit(const Unit& unit) {
    bool stays = unit.is_pinned || is_used_again(unit.artifact) ||
                 std::ranges::any_of(unit.records, [this](const StoreRecord* record) {
                   return is_used_again(*record);
                 });
    for (const StoreRecord* record : unit.records) {
      const size_t i = index_of(*record);
      if (stays || is_deleted_[i]) continue;
      is_deleted_[i] = true;
      SLUICE_TRY(remove(record->path(content_.path)));
      count(record->file, &FileCount::records);
    }
    stays = stays || is_used_again(unit.artifact);
    if (stays) ++done_.in_use;
    if (stays || unit.artifact == nullptr) return {};
    SLUICE_TRY(remove(store_path(content_.path, unit.artifact->digest)));
    count(*unit.artifact, &FileCount::artifacts);
    return {};
  }

  Result<void> remove(const std::string& path) const {
    return request_.is_trial ? Result<void>() : remove_file(path);
  }

  void count(const StoreFile& file, uint64_t FileCount::* files) {
    ++(done_.deleted.*files);
    --(done_.left.*files);
    done_.deleted.bytes += file.own_bytes();
    done_.left.bytes -= file.own_bytes();
    linked_bytes_ -= file.bytes - file.own_bytes();
  }

  bool is_used_again(const StoreRecord& record) const {
    return !record.is_noticed && is_used_again(record.path(content_.path), record.file);
  }
  bool is_used_again(const StoreFile* artifact) const {
    return artifact != nullptr &&
           is_used_again(store_path(content_.path, artifact->digest), *artifact);
  }
  bool is_used_again(const std::string& path, const StoreFile& file) const {
    if (request_.is_trial) return false;
    const std::optional<int64_t> use = find_use(path, content_.now);
    return use && *use > file.use;
  }

  size_t index_of(const StoreRecord& record) const {
    return static_cast<size_t>(&record - content_.records.data());
  }

  const StoreContent& content_;
  const CollectRequest& request_;
  PinnedFiles pinned_;
  std::vector<Unit> units_;
  std::vector<bool> is_deleted_;  // records: several artifacts may have one
  bool is_over_ = false;
  uint64_t linked_bytes_ = content_.linked_bytes();  // of what is left
  Collected done_;
};

// Where files cannot be locked, several may be at it at the same time: that does no harm.
Result<StoreLock::Trial> lock_collection(const std::string& store) {
  SLUICE_TRY(make_directories(store + "/locks"));
  StoreLock::Trial trial = StoreLock::try_file(store + "/locks/gc", StoreLock::Making::kIfMissing);
  if (trial.error == EROFS || trial.error == EACCES || trial.error == EPERM) {
    return make_error(ErrorCode::kIo, "the store '{}' cannot be written: {}", store,
                      std::strerror(trial.error));
  }
  return trial;
}

}  // namespace

Result<Collected> collect(const std::string& store, const CollectRequest& request) {
  SLUICE_TRY(check_store(store));
  StoreLock::Trial trial;
  if (!request.is_trial) {
    SLUICE_ASSIGN(trial, lock_collection(store));
    if (trial.is_held) return Collected{.is_busy = true};
  }
  SLUICE_ASSIGN(const StoreContent content, read_content(store));
  return Collection(content, request).run();
}

Result<void> collect_if_full(const std::string& store) {
  const std::optional<uint64_t> limit = find_limit(store);
  const std::optional<uint64_t> size = find_store_size(store);
  if (!limit || (size && *size <= *limit)) return {};
  SLUICE_TRY(collect(
      store,
      {.max_bytes = *limit, .goal_bytes = *limit / 10 * 9, .older_than = {}, .is_trial = false}));
  return {};
}

Result<void> collect_if_full(Store& store) {
  return store.take_added_bytes() > 0 ? collect_if_full(store.path()) : Result<void>();
}

}  // namespace sluice
