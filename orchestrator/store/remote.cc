#include "orchestrator/store/remote.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file_kind.h"
#include "common/base/files.h"
#include "common/base/store.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/plan/compile_job.h"
#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

constexpr int kMaxTransfers = 5;  // of one artifact in a run
constexpr uint64_t kMaxRecord = uint64_t{1} << 20;
constexpr uint64_t kMaxArtifact = uint64_t{1} << 40;
constexpr uint64_t kAskedFirst = 64 << 10;  // bytes of a file that is not sent before a HEAD

std::string artifact_name(const Digest& digest) { return store_path("", digest); }
std::string record_name(const Digest& key) { return record_path("", key); }

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

void forget(const std::string& partial) {
  ::unlink(partial.c_str());
  ::unlink((partial + ".etag").c_str());
}

// Gives a whole artifact its name. Nobody shall write into it by accident.
bool give_name(const std::string& partial, int file, const std::string& path) {
  struct stat status{};
  if (::fstat(file, &status) == 0) ::fchmod(file, status.st_mode & 0555);
  const auto renamed = write_in_folder_of(path, [&]() -> Result<void> {
    if (::rename(partial.c_str(), path.c_str()) == 0) return {};
    return file_error("write", path);
  });
  forget(partial);
  return renamed.ok();
}

uint64_t bytes_of(int file) {
  struct stat status{};
  return ::fstat(file, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

bool has_digest(const std::string& file, const Digest& digest) {
  const Result<MappedFile> map = MappedFile::open(file);
  return map && sha256(map->bytes()) == digest;
}

bool is_of_model(const Record& record) {
  return record.kind == kStageNames.back() || record.kind == kCompileKind;
}

// Returns what is wrong with a file that should be a compiled model.
std::optional<std::string> fault_of_model(const std::string& path) {
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.error().message;
  if (file_kind(file->bytes()) != FileKind::kCompiledModel) return "it is no compiled model";
  const Result<std::string> program = find_program("sluice-verify");
  if (!program) return program.error().message;
  const Result<pid_t> child = start_process({*program, path}, {});
  if (!child) return child.error().message;
  const Ending ending = wait_for(*child);
  if (ending.clean()) return std::nullopt;
  return "sluice-verify ended with " + ending_text(ending);
}

}  // namespace

RemoteStore::RemoteStore(RemoteUrl url, Store& store)
    : url_(std::move(url)), store_(store), reads_(!url_.base.empty()), writes_(reads_) {
  if (!reads_ || !store.is_used()) return;
  store.connect({.fetch_record = [this](const Digest& key) { return fetch_record(key); },
                 .fetch_artifact = [this](const Digest& digest) { return fetch_artifact(digest); },
                 .kept_record =
                     [this](const Digest& key) {
                       const std::lock_guard lock(mutex_);
                       kept_.push_back(key);
                     }});
}

bool RemoteStore::is_used() const {
  const std::lock_guard lock(mutex_);
  return reads_ || writes_;
}

std::optional<std::string> RemoteStore::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

// ---- fetching

bool RemoteStore::fetch_record(const Digest& key) {
  const std::lock_guard lock(mutex_);
  if (!may_ask(record_name(key))) return false;
  const std::optional<Record> record = receive_record(key);
  if (!record || (is_of_model(*record) && !has_good_model(*record))) return false;
  const std::string path = record_path(store_.path(), key), text = record_text(*record);
  if (!write_in_folder_of(path, [&] { return write_text(path, text); })) return false;
  store_.count_added(text.size());
  return true;
}

bool RemoteStore::fetch_artifact(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  return bring_artifact(digest);
}

std::optional<Record> RemoteStore::receive_record(const Digest& key) {
  const std::string name = record_name(key);
  const Result<Descriptor> file = make_memory_file();
  if (!file) return std::nullopt;
  HttpTarget target{.file = file->get(), .max_bytes = kMaxRecord, .etag = {}, .begins = {}};
  if (!receive(name, target)) return std::nullopt;
  std::optional<Record> record = parse_record(memory_file_text(*file));
  if (record && record->key() == key) return record;
  note(fmt::format("has damaged bytes for {}; they are not used", name));
  return std::nullopt;
}

// A record may name any artifact, and only a check of the artifact shows whether it is a model.
bool RemoteStore::has_good_model(const Record& record) {
  const auto digest = record.results.find_digest("output");
  if (!digest) return false;
  const std::string path = store_path(store_.path(), *digest);
  const bool was_there = is_there(path);
  if (!was_there && !bring_artifact(*digest)) return false;
  const auto fault = fault_of_model(path);
  if (!fault) return true;
  if (interrupted()) return false;
  if (!was_there) ::unlink(path.c_str());
  note(fmt::format("has a model that does not verify, {}: {}; it was compiled anew",
                   artifact_name(*digest), *fault));
  return false;
}

// Others who want the same artifact wait, and then find it.
bool RemoteStore::bring_artifact(const Digest& digest) {
  const std::string name = artifact_name(digest), path = store_path(store_.path(), digest);
  if (!may_ask(name)) return false;
  const StoreLock lock = store_.lock(digest, interrupted);
  if (is_there(path)) return true;
  const std::string partial = store_.path() + "/partial/" + digest_hex(digest);
  if (!make_directories(store_.path() + "/partial")) return false;
  const Descriptor file(::open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) return false;
  HttpTarget target{.file = file.get(), .max_bytes = kMaxArtifact, .etag = {}, .begins = {}};
  if (const auto etag = read_text(partial + ".etag")) target.etag = *etag;
  target.begins = [&](const std::string& etag) {
    target.etag = etag;
    ::unlink((partial + ".etag").c_str());
    if (!etag.empty()) static_cast<void>(write_text(partial + ".etag", etag).ok());
  };
  if (!receive(name, target)) {
    if (target.etag.empty()) forget(partial);
    return false;
  }
  if (has_digest(partial, digest)) {
    if (!give_name(partial, file.get(), path)) return false;
    store_.count_added(bytes_of(file.get()));
    return true;
  }
  forget(partial);
  note(fmt::format("has damaged bytes for {}; they are not used", name));
  return false;
}

// Goes on where a transfer was cut off.
bool RemoteStore::receive(const std::string& name, HttpTarget& target) {
  if (!connect()) return false;
  HttpAnswer answer;
  for (int i = 0; i < kMaxTransfers; ++i) {
    answer = client_->get(name, target);
    const bool is_past_end = answer.status == 416;  // the object has become shorter
    if (is_past_end) target.etag.clear();
    if (!answer.is_cut && !is_past_end) break;
  }
  if (!take(answer, "GET", name)) return false;
  fetched_.insert(name);
  return true;
}

// ---- pushing

void RemoteStore::push() {
  const std::lock_guard lock(mutex_);
  for (const Digest& key : kept_)
    if (interrupted() || !writes_ || !push_record(key)) break;
  kept_.clear();
}

bool RemoteStore::push_record(const Digest& key) {
  const Result<std::string> text = read_text(record_path(store_.path(), key));
  const auto record = text ? parse_record(*text) : std::nullopt;
  if (!record) return true;  // the store could not keep it
  for (const Digest& artifact : record->artifacts())
    if (!push_file(artifact_name(artifact))) return false;
  return push_file(record_name(key));
}

bool RemoteStore::push_file(const std::string& name) {
  if (pushed_.contains(name)) return true;
  const Descriptor file(::open((store_.path() + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || !connect()) return false;
  const uint64_t bytes = bytes_of(file.get());
  if (bytes >= kAskedFirst && !fetched_.contains(name)) {
    const HttpAnswer answer = client_->head(name);
    if (answer.status == 0) return take(answer, "HEAD", name);
    if (answer.status == 200) return true;
  }
  if (!take(put(name, file.get(), bytes), "PUT", name)) return false;
  pushed_.insert(name);
  return true;
}

HttpAnswer RemoteStore::put(const std::string& name, int file, uint64_t bytes) {
  constexpr int kNotImplemented = 501;  // some servers know no conditions
  const bool if_absent = !fetched_.contains(name);
  const HttpAnswer answer = client_->put(name, file, bytes, if_absent);
  if (!if_absent || answer.status != kNotImplemented) return answer;
  return client_->put(name, file, bytes, false);
}

// ---- both

bool RemoteStore::may_ask(const std::string& name) {
  return reads_ && !interrupted() && asked_.insert(name).second;
}

bool RemoteStore::connect() {
  if (client_) return true;
  Result<HttpClient> client = HttpClient::create(url_);
  if (client) {
    client_.emplace(std::move(client).value());
    return true;
  }
  reads_ = writes_ = false;
  note(fmt::format("cannot be asked: {}; {}", client.error().message, client.error().hint));
  return false;
}

// Returns whether the server has done what it was asked for. Having nothing of a name, or having
// that already, is no trouble.
bool RemoteStore::take(const HttpAnswer& answer, const char* method, const std::string& name) {
  const bool is_put = method == std::string_view("PUT");
  if (answer.has_come() && answer.status / 100 == 2) return true;
  if (is_put && answer.status == 412) return true;
  if (!is_put && (answer.status == 404 || answer.status == 410)) return false;
  if (interrupted()) return false;
  (is_put ? writes_ : reads_) = false;
  if (answer.status >= 300) {
    note(fmt::format("answers {} to {} {}{}; went on without it", answer.status, method, name,
                     answer.status < 400 ? ", and redirections are not followed" : ""));
    return false;
  }
  reads_ = writes_ = false;
  note(answer.status == 0 ? fmt::format("does not answer: {}; went on without it", answer.failure)
                          : fmt::format("did not finish {} {}: {}; went on without it", method,
                                        name, answer.failure));
  return false;
}

void RemoteStore::note(const std::string& text) {
  if (!trouble_) trouble_ = fmt::format("the remote store '{}' {}", url_.base, text);
}

}  // namespace sluice
