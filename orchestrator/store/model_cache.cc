#include "orchestrator/store/model_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/store.h"

namespace sluice {
namespace {

constexpr size_t kMaxKey = 128;
constexpr std::chrono::milliseconds kPause{5};

bool is_key(const std::string& key) {
  return key.size() <= kMaxKey && std::ranges::all_of(key, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-';
         });
}

bool is_folder(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<void> take_switch(const Json& settings, const char* name, const std::string& file,
                         bool& value) {
  const Json* member = settings.find(name);
  if (member == nullptr) return {};
  if (member->as_bool() == nullptr)
    return Error{ErrorCode::kBadOption, fmt::format("'{}' is not true or false", name), {}, file};
  value = *member->as_bool();
  return {};
}

std::string text_member(const Json& entry, const char* name) {
  const Json* member = entry.find(name);
  const std::string* text = member == nullptr ? nullptr : member->as_string();
  return text == nullptr ? std::string() : *text;
}

// Returns the entries of an index. One that cannot be read has none: it is only written down again.
Json::Array entries_of(const std::string& index) {
  const Result<std::string> text = read_text(index);
  if (!text) return {};
  const Result<Json> json = json_parse(*text);
  if (!json || json->as_array() == nullptr) return {};
  return *json->as_array();
}

}  // namespace

Result<std::optional<ModelCache>> ModelCache::open(const std::string& folder,
                                                   const std::string& key,
                                                   const std::function<bool()>& stop) {
  if (folder.empty() || key.empty()) return std::optional<ModelCache>();
  if (!is_key(key)) {
    return make_error(ErrorCode::kBadOption,
                      "--graph-key is '{}', expected at most {} letters, digits, '_' and '-'", key,
                      kMaxKey);
  }
  if (!is_folder(folder)) {
    return make_error(ErrorCode::kNotFound,
                      "--graph-compiler-cache-dir is '{}', which is no folder", folder)
        .with_hint("make it: mkdir -p " + folder);
  }
  ModelCache cache(folder, key);
  SLUICE_TRY(cache.read_settings());
  SLUICE_TRY(cache.take_lock(stop));
  return std::optional<ModelCache>(std::move(cache));
}

Result<void> ModelCache::read_settings() {
  const std::string file = folder_ + "/cache.conf";
  const Result<std::string> text = read_text(file);
  if (!text) return {};
  Result<Json> settings = json_parse(*text);
  if (!settings) {
    settings.error().file = file;
    return std::move(settings).error();
  }
  SLUICE_TRY(take_switch(*settings, "cache_manual_check", file, keeps_first_));
  return take_switch(*settings, "cache_debug_mode", file, names_all_);
}

Result<void> ModelCache::take_lock(const std::function<bool()>& stop) {
  const std::string path = folder_ + "/" + key_ + ".lock";
  lock_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock_) return make_error(ErrorCode::kIo, "cannot open '{}': {}", path, std::strerror(errno));
  while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return make_error(ErrorCode::kIo, "cannot lock '{}': {}", path, std::strerror(errno));
    if (stop()) return make_error(ErrorCode::kIo, "stopped while another compile has '{}'", path);
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

Result<std::string> ModelCache::note(const Digest& compile_key, const Digest& artifact) const {
  const std::string compile = digest_hex(compile_key);
  const std::string file = store_path(folder_, artifact).substr(folder_.size() + 1);
  const Json::Array before = entries_of(index_path());
  std::string note;
  for (const Json& entry : before) {
    const bool is_this = text_member(entry, "compile_key") == compile;
    if (names_all_ || !is_this) {
      note += fmt::format("{}the graph key '{}' stood for {}, compile {}", note.empty() ? "" : "; ",
                          key_, is_this ? "this model" : "another model",
                          text_member(entry, "compile_key").substr(0, 16));
    }
    if (is_this && text_member(entry, "cache_file_name") == file) return note;
  }
  if (keeps_first_ && !before.empty())
    return note + "; it still does, since cache.conf has cache_manual_check";
  Json entry;
  entry.set("graph_key", key_);
  entry.set("cache_file_name", file);
  entry.set("compile_key", compile);
  SLUICE_TRY(write_text(index_path(), json_dump(Json(Json::Array{entry}), 2) + "\n"));
  return note;
}

}  // namespace sluice
