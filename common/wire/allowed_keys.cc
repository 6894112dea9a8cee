#include "common/wire/allowed_keys.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "common/wire/keys.h"

namespace sluice {
namespace {

constexpr std::chrono::seconds kMaxAge{1};
constexpr std::string_view kSuffix = ".pub";

// Returns the names of the folder's keys, sorted. Files with other names are none.
Result<std::vector<std::string>> key_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder, failed), end;
  for (; !failed && entry != end; entry.increment(failed)) {
    std::string name = entry->path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    name.resize(name.size() - kSuffix.size());
    if (is_key_name(name)) names.push_back(std::move(name));
  }
  if (failed) {
    const bool is_gone = failed == std::errc::no_such_file_or_directory;
    return make_error(is_gone ? ErrorCode::kNotFound : ErrorCode::kIo,
                      "cannot read the folder of allowed keys '{}': {}", folder, failed.message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<AllowedKeys> AllowedKeys::open(const std::string& folder) {
  AllowedKeys keys(folder);
  SLUICE_TRY(keys.read());
  return keys;
}

void AllowedKeys::refresh() { static_cast<void>(read().ok()); }

void AllowedKeys::refresh_if_old() {
  if (std::chrono::steady_clock::now() - read_at_ > kMaxAge) refresh();
}

const AllowedKey* AllowedKeys::find(const std::string& public_key) const {
  const auto found = keys_.find(public_key);
  return found == keys_.end() ? nullptr : &found->second;
}

Result<void> AllowedKeys::read() {
  keys_.clear();
  read_at_ = std::chrono::steady_clock::now();
  Result<void> fault;
  SLUICE_TRY(read_folder(folder_, KeyRole::kAny, fault));
  for (const auto& [folder, role] :
       {std::pair("/clients", KeyRole::kClient), std::pair("/workers", KeyRole::kWorker)}) {
    std::error_code failed;
    if (std::filesystem::exists(folder_ + folder, failed))
      SLUICE_TRY(read_folder(folder_ + folder, role, fault));
  }
  return fault;
}

// Goes on after a file that is no key, and keeps its error as the fault.
Result<void> AllowedKeys::read_folder(const std::string& folder, KeyRole role,
                                      Result<void>& fault) {
  SLUICE_ASSIGN(const std::vector<std::string> names, key_names(folder));
  for (const std::string& name : names) {
    auto key = read_public_key(folder + "/" + name + std::string(kSuffix));
    if (!key) {
      fault = std::move(key).error();
      continue;
    }
    const auto [entry, is_new] = keys_.try_emplace(*key, AllowedKey{name, role});
    // A key in two folders is that of a client and of a worker.
    if (!is_new && entry->second.role != role) entry->second.role = KeyRole::kAny;
  }
  return {};
}

}  // namespace sluice
