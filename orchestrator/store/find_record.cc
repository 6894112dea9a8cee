#include "orchestrator/store/find_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/files.h"
#include "common/store/store.h"
#include "fmt/ranges.h"
#include "orchestrator/store/file_system.h"

namespace sluice {
namespace {

constexpr size_t kMinDigits = 8;
constexpr size_t kMaxDigits = 64;
constexpr size_t kShown = 4;

bool can_be_key(const std::string& text) {
  return text.size() >= kMinDigits && text.size() <= kMaxDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::vector<std::string> keys_with_start(const StoreContent& content, const std::string& start) {
  std::vector<std::string> keys;
  for (const StoreRecord& record : content.records) {
    std::string key = digest_hex(record.file.digest);
    if (key.starts_with(start)) keys.push_back(std::move(key));
  }
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());  // a job, and what became of it
  return keys;
}

Error unclear_key(const std::string& text, std::vector<std::string> keys) {
  const size_t count = keys.size();
  keys.resize(std::min(count, kShown));
  return make_error(ErrorCode::kBadOption, "{} keys begin with '{}': {}{}", count, text,
                    fmt::join(keys, ", "), count > kShown ? ", …" : "")
      .with_hint("give more digits");
}

// A stage says more about a file than the whole compile.
auto rank_of(const StoreRecord& record) {
  return std::tuple(record.folder == kRecords, record.kind != "compile", record.file.use);
}

Result<Digest> key_of_file(const StoreContent& content, const std::string& path) {
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  const Digest digest = sha256(file.bytes());
  const StoreRecord* found = nullptr;
  for (const StoreRecord& record : content.records) {
    if (std::ranges::find(record.artifacts, digest) == record.artifacts.end()) continue;
    if (found == nullptr || rank_of(record) > rank_of(*found)) found = &record;
  }
  if (found != nullptr) return found->file.digest;
  return make_error(ErrorCode::kNotFound,
                    "no record of the store '{}' has made '{}', whose SHA-256 is {}", content.path,
                    path, digest_hex(digest))
      .with_hint("it was compiled without this store, or its record has been deleted since");
}

}  // namespace

Result<Digest> find_key(const StoreContent& content, const std::string& text) {
  if (can_be_key(text)) {
    const std::vector<std::string> keys = keys_with_start(content, text);
    if (keys.size() == 1) return *digest_from_hex(keys[0]);
    if (keys.size() > 1) return unclear_key(text, keys);
  }
  if (::access(text.c_str(), F_OK) == 0) return key_of_file(content, text);
  return make_error(ErrorCode::kNotFound,
                    "'{}' is neither a file nor the start of a key of the store '{}'", text,
                    content.path)
      .with_hint("sluice compile --store prints 16 digits of every key; 8 are enough");
}

std::optional<Record> find_record(const StoreContent& content, const Digest& key) {
  for (const std::string_view folder : {kRecords, kJobs, kFailures}) {
    const std::string path = record_path(content.path, key, folder);
    const std::optional<std::string> text = read_unnoticed(AT_FDCWD, path.c_str());
    std::optional<Record> record = text ? parse_record(*text) : std::nullopt;
    if (record && record->key() == key) return record;
  }
  return std::nullopt;
}

}  // namespace sluice
