#include "orchestrator/store/content.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "common/base/files.h"
#include "common/base/parallel.h"
#include "common/base/program.h"
#include "common/store/record.h"
#include "common/store/store.h"
#include "orchestrator/store/file_system.h"

namespace sluice {
namespace {

constexpr int64_t kDay = int64_t{24} * 3600 * 1'000'000'000;
constexpr std::string_view kTemporary = ".tmp";

// "ab", the first two digits of what is in the folder.
bool is_name_of_folder(std::string_view name) {
  return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Returns whether nobody writes the file any more that has the name of an unfinished one
// (common/base/temporary_file.h): that of its target, ".tmp" and the number of a process.
bool is_leftover(const FolderEntry& entry, const auto& is_target, int64_t now) {
  const std::string_view name = entry.name;
  const size_t end = name.rfind(kTemporary);
  if (end == std::string_view::npos || !is_target(name.substr(0, end))) return false;
  const std::string_view number = name.substr(end + kTemporary.size());
  return !number.empty() && number.find_first_not_of("0123456789-") == std::string_view::npos &&
         use_of(entry.status) < now - kDay;
}

bool is_target_at_top(std::string_view name) { return name == "limit" || name == "job"; }

constexpr std::array<std::string_view, 3> kRecordFolders = {kRecords, kJobs, kFailures};
constexpr std::array<std::string_view, 7> kFolders = {kRecords, kJobs,     kFailures, "locks",
                                                      "pins",   "batches", "partial"};
constexpr std::array<std::string_view, 3> kFiles = {"limit", "size", "cache.conf"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// A link to a store is one, and its folders are not looked for behind links.
std::string plain_path(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return behind_links(path);
}

std::string kind_of(const Record& record, std::string_view folder) {
  return folder == kJobs ? "job" : folder == kFailures ? "failure" : record.kind;
}

// A job needs its graph, and the files that its options name (orchestrator/plan/compile_job.h).
std::vector<Digest> artifacts_of_job(const Record& record) {
  constexpr std::string_view kContent = "content ";
  std::vector<Digest> digests;
  if (const auto graph = record.results.find_digest("graph")) digests.push_back(*graph);
  for (const auto& [name, value] : record.fields.rows()) {
    const bool is_file = value.starts_with(kContent);
    const auto digest = digest_from_hex(is_file ? value.substr(kContent.size()) : "");
    if (digest) digests.push_back(*digest);
  }
  return digests;
}

// Looks at the files of one folder.
class FolderReading {
 public:
  // records: the folder of records that this one is in; empty for artifacts.
  FolderReading(const std::string& path, std::string_view name, std::string_view records,
                int64_t now)
      : folder_(fmt::format("{}/{}", path, name)), name_(name), records_in_(records), now_(now) {}

  Result<void> read() {
    return for_each_entry(folder_, [&](const FolderEntry& entry) {
      if (!S_ISREG(entry.status.st_mode)) return;
      const auto digest = digest_of_name(entry.name);
      const bool is_here = digest && name_ == std::string_view(entry.name, name_.size());
      if (is_here && !records_in_.empty()) {
        records_.push_back(record_of(entry, *digest));
      } else if (is_here) {
        artifacts_.push_back(file_of(entry, *digest));
      } else if (is_leftover(entry, digest_of_name, now_)) {
        leftover_.push_back(fmt::format("{}/{}", folder_, entry.name));
      }
    });
  }

  void move_to(StoreContent& content) {
    std::ranges::move(artifacts_, std::back_inserter(content.artifacts));
    std::ranges::move(records_, std::back_inserter(content.records));
    std::ranges::move(leftover_, std::back_inserter(content.leftover));
    content.folders.push_back(std::move(folder_));
  }

 private:
  StoreFile file_of(const FolderEntry& entry, const Digest& digest) const {
    return {.digest = digest,
            .bytes = static_cast<uint64_t>(entry.status.st_size),
            .use = std::min(use_of(entry.status), now_),
            .is_linked = entry.status.st_nlink > 1};
  }

  StoreRecord record_of(const FolderEntry& entry, const Digest& key) const {
    StoreRecord row{.file = file_of(entry, key), .folder = records_in_};
    row.is_noticed = ::geteuid() != 0 && entry.status.st_uid != ::geteuid();
    const auto text = read_unnoticed(entry.folder, entry.name);
    const auto record = text ? parse_record(*text) : std::nullopt;
    if (!record || record->key() != key) return row;
    row.kind = kind_of(*record, records_in_);
    row.artifacts = records_in_ == kJobs ? artifacts_of_job(*record) : record->artifacts();
    if (records_in_ == kRecords) row.graph = record->results.find_digest("graph");
    return row;
  }

  std::string folder_;
  std::string name_;  // the first digits of what is in the folder
  std::string_view records_in_;
  int64_t now_;
  std::vector<StoreFile> artifacts_;
  std::vector<StoreRecord> records_;
  std::vector<std::string> leftover_;
};

Result<void> list_folders(const std::string& path, std::string_view records, int64_t now,
                          std::vector<FolderReading>& folders) {
  return for_each_entry(path, [&](const FolderEntry& entry) {
    if (is_name_of_folder(entry.name) && S_ISDIR(entry.status.st_mode))
      folders.emplace_back(path, entry.name, records, now);
  });
}

Result<void> read_folders(std::vector<FolderReading> folders, StoreContent& content) {
  SLUICE_TRY(
      parallel_for(folders.size(), thread_count(0), [&](size_t i) { return folders[i].read(); }));
  for (FolderReading& folder : folders) folder.move_to(content);
  return {};
}

Result<void> read_top(StoreContent& content) {
  return for_each_entry(content.path, [&](const FolderEntry& entry) {
    if (S_ISREG(entry.status.st_mode) && is_leftover(entry, is_target_at_top, content.now))
      content.leftover.push_back(fmt::format("{}/{}", content.path, entry.name));
  });
}

// What has come of artifacts, "abcd…" and "abcd….etag" (orchestrator/store/remote.h).
Result<void> read_partial(StoreContent& content) {
  constexpr std::string_view kEtag = ".etag";
  const std::string folder = content.path + "/partial";
  return for_each_entry(folder, [&](const FolderEntry& entry) {
    std::string_view name = entry.name;
    if (name.ends_with(kEtag)) name.remove_suffix(kEtag.size());
    if (S_ISREG(entry.status.st_mode) && digest_of_name(name) &&
        use_of(entry.status) < content.now - kDay)
      content.leftover.push_back(fmt::format("{}/{}", folder, entry.name));
  });
}

}  // namespace

const StoreFile* StoreContent::find_artifact(const Digest& digest) const {
  const auto found = std::ranges::lower_bound(artifacts, digest, {}, &StoreFile::digest);
  return found == artifacts.end() || found->digest != digest ? nullptr : &*found;
}

uint64_t StoreContent::own_bytes() const {
  uint64_t bytes = 0;
  for (const StoreFile& artifact : artifacts) bytes += artifact.own_bytes();
  for (const StoreRecord& record : records) bytes += record.file.own_bytes();
  return bytes;
}

uint64_t StoreContent::linked_bytes() const {
  uint64_t bytes = 0;
  for (const StoreFile& artifact : artifacts) bytes += artifact.bytes - artifact.own_bytes();
  for (const StoreRecord& record : records) bytes += record.file.bytes - record.file.own_bytes();
  return bytes;
}

Result<void> check_store(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return file_error("open", path);
  if (!S_ISDIR(status.st_mode)) return make_error(ErrorCode::kNotFound, "'{}' is no folder", path);
  size_t entries = 0, known = 0;
  SLUICE_TRY(for_each_entry(plain_path(path), [&](const FolderEntry& entry) {
    ++entries;
    const std::string_view name = entry.name;
    if (S_ISDIR(entry.status.st_mode) ? is_name_of_folder(name) || is_one_of(kFolders, name)
                                      : is_one_of(kFiles, name))
      ++known;
  }));
  if (entries == 0 || known > 0) return {};
  return make_error(ErrorCode::kBadFile, "'{}' is no store: it has neither records nor artifacts",
                    path)
      .with_hint("give the folder that --store of sluice compile names");
}

Result<StoreContent> read_content(const std::string& path) {
  SLUICE_TRY(check_store(path));
  StoreContent content{.path = plain_path(path), .now = now_ns()};
  // Records come first: an artifact is there before the record that names it.
  std::vector<FolderReading> of_records, of_artifacts;
  for (const std::string_view folder : kRecordFolders)
    SLUICE_TRY(
        list_folders(fmt::format("{}/{}", content.path, folder), folder, content.now, of_records));
  SLUICE_TRY(read_folders(std::move(of_records), content));
  SLUICE_TRY(list_folders(content.path, {}, content.now, of_artifacts));
  SLUICE_TRY(read_folders(std::move(of_artifacts), content));
  SLUICE_TRY(read_top(content));
  SLUICE_TRY(read_partial(content));
  std::ranges::sort(content.artifacts, {}, &StoreFile::digest);
  std::ranges::sort(content.records, {},
                    [](const StoreRecord& record) { return record.file.digest; });
  std::ranges::sort(content.leftover);
  return content;
}

std::optional<int64_t> find_use(const std::string& path, int64_t now) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return std::min(use_of(status), now);
}

}  // namespace sluice
