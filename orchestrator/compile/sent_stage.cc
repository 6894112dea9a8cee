#include "orchestrator/compile/sent_stage.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "common/base/files.h"
#include "common/base/options.h"
#include "common/base/store.h"
#include "common/base/weights_place.h"
#include "common/graphfile/header.h"
#include "common/passes_host/pass_file.h"
#include "common/sandbox/sandbox_options.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/farm/random_id.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Places of files that no option names.
constexpr std::string_view kOwnInput = "<in>", kInput = "<stdin>", kOutput = "<stdout>";
// Options that name what the stage writes.
constexpr std::string_view kMadeOptions[] = {"--dump-dir", "--stats", "--weights-beside"};
// Options that a job cannot have: those of services, and those that do other work.
constexpr std::string_view kNotOfJobs[] = {
    "serve",          "max-frame",       "jobs",
    "pass-host",      "allow-passes",    "key",
    "allow-keys",     "insecure",        "no-sandbox",
    "sandbox-memory", "sandbox-seconds", "sandbox-file-bytes",
    "kernel",         "kernels",         "propose-sizes",
    "split",          "new-kernels"};
constexpr std::string_view kStore = "--store", kPass = "--pass";
constexpr size_t kHexDigits = 64;

bool is_written(std::string_view option) {
  return std::ranges::find(kMadeOptions, option) != std::end(kMadeOptions);
}

// An option as it is typed: "--name=value", or "--name".
struct Typed {
  explicit Typed(std::string_view text)
      : option(text.substr(0, text.find('='))),
        value(text.substr(std::min(text.find('='), text.size() - 1) + 1)) {}
  bool is_file() const {
    return !value.empty() && value != "-" &&
           (names_file(option.substr(std::min<size_t>(2, option.size()))) ||
            (option == "--profile" && value.ends_with(".json")));
  }
  std::string with(const std::string& other) const { return option + "=" + other; }
  std::string option, value;
};

std::string base_name(const std::string& path) { return fs::path(path).filename().string(); }

// Returns the first word of a value, and what comes after the blank.
std::pair<std::string, std::string> split(const std::string& value) {
  const size_t blank = std::min(value.find(' '), value.size());
  return {value.substr(0, blank), value.substr(std::min(blank + 1, value.size()))};
}

// Returns whether it is the name of a file in a folder.
bool is_plain(const std::string& name) {
  return !name.empty() && base_name(name) == name && name != "." && name != "..";
}

// A file that is sent: "<stdin> 9ab1… name".
struct Read {
  std::string place, name;
  Digest artifact;
};
std::optional<Read> read_of(const std::string& value) {
  const auto [place, file] = split(value);
  const auto artifact = digest_from_hex(std::string_view(file).substr(0, kHexDigits));
  if (!artifact || file.size() < kHexDigits + 2) return std::nullopt;
  const std::string name = file.substr(kHexDigits + 1);
  return is_plain(name) ? std::optional(Read{place, name, *artifact}) : std::nullopt;
}

// ---- at the client

class Sender {
 public:
  Sender(const SentStage& stage, FileNaming names, Store& store, Fields& fields)
      : stage_(stage), names_(names), store_(store), fields_(fields) {}

  Result<void> send() {
    fields_.add("stage", stage_.run.name);
    fields_.add("release", version_text());
    fields_.add("run", sha256(random_id()));
    if (stage_.run.input != "-") SLUICE_TRY(send_input(kOwnInput, stage_.run.input));
    if (!stage_.input.empty()) SLUICE_TRY(send_input(kInput, stage_.input));
    if (names_ != FileNaming::kSent) {
      fields_.add("names", fmt::format("{} {}", kOutput, named(stage_.output)));
    } else {
      fields_.add("makes", fmt::format("{} output", kOutput));
    }
    for (const std::string& option : stage_.run.options) SLUICE_TRY(send_option(Typed(option)));
    if (names_ == FileNaming::kSent || !stage_.run.sandbox) return {};
    for (const std::string& path : stage_.run.sandbox->readable)
      fields_.add("readable", named(path));
    for (const std::string& path : stage_.run.sandbox->writable)
      fields_.add("writable", named(path));
    return {};
  }

 private:
  std::string named(const std::string& path) const {
    return names_ == FileNaming::kAsGiven ? path : absolute_path(path);
  }

  Result<void> send_input(std::string_view place, const std::string& file) {
    if (names_ != FileNaming::kSent)
      return fields_.add("names", fmt::format("{} {}", place, named(file))), Result<void>();
    return send_file(place, file);
  }

  Result<void> send_file(std::string_view place, const std::string& file) {
    SLUICE_ASSIGN(const MappedFile map, MappedFile::open(file));
    const Digest artifact = store_.keep(map.bytes());
    fields_.add("reads", fmt::format("{} {} {}", place, digest_hex(artifact), base_name(file)));
    return {};
  }

  Result<void> send_option(const Typed& typed) {
    if (typed.option == kPass) return send_pass(typed);
    if (!typed.is_file()) {
      fields_.add("option", typed.value.empty() ? typed.option : typed.with(typed.value));
    } else if (names_ != FileNaming::kSent) {
      fields_.add("option", typed.with(named(typed.value)));
    } else if (typed.option == kStore) {
      fields_.add("store", "of the worker");
    } else if (is_written(typed.option)) {
      fields_.add("makes", fmt::format("{} {}", typed.option, base_name(typed.value)));
    } else if (fs::is_directory(typed.value)) {
      return make_error(ErrorCode::kBadOption, "{} names a folder, which is not sent to a service",
                        typed.with(typed.value))
          .with_hint("give the service an endpoint ipc://PATH, where files are named");
    } else {
      return send_file(typed.option, typed.value);
    }
    return {};
  }

  Result<void> send_pass(const Typed& typed) {
    SLUICE_ASSIGN(const PassFile pass, read_pass_file(typed.value));
    const std::string point = std::string(pass.option.point->name) + "=";
    if (names_ != FileNaming::kSent) {
      fields_.add("option", typed.with(point + pass.option.path));
      return {};
    }
    SLUICE_ASSIGN(const std::vector<std::byte> packed, pack_pass(pass));
    fields_.add("reads", fmt::format("{} {} {}{}", kPass, digest_hex(store_.keep(packed)), point,
                                     pass.option.name));
    return {};
  }

  const SentStage& stage_;
  const FileNaming names_;
  Store& store_;
  Fields& fields_;
};

// Returns where something belongs that came as `name` of a place: for the run's output its file,
// for an option a file or a folder of the value that it was given, and nothing for all others.
std::optional<std::string> place_of(const SentStage& stage, const std::string& place,
                                    const std::string& name) {
  if (place == kOutput && name == "output") return stage.output;
  const fs::path path(name);
  if (path.is_absolute() || path.lexically_normal() != path || *path.begin() == "..")
    return std::nullopt;
  for (const std::string& option : stage.run.options) {
    const Typed typed(option);
    if (typed.option != place || !typed.is_file() || !is_written(place)) continue;
    const fs::path whole = fs::path(absolute_path(typed.value)).parent_path() / path;
    const std::string allowed = place == "--weights-beside"
                                    ? weights_place(absolute_path(typed.value)).folder
                                    : absolute_path(typed.value);
    const bool is_inside = whole == allowed || whole.string().starts_with(allowed + "/");
    return is_inside ? std::optional(whole.string()) : std::nullopt;
  }
  return std::nullopt;
}

// ---- at the worker

Error bad_job(const std::string& why) {
  return make_error(ErrorCode::kBadRequest, "the job {}", why);
}

class Receiver {
 public:
  Receiver(const Record& record, const SentPlaces& places, Store& store)
      : record_(record), places_(places), store_(store) {}

  Result<SentStage> receive() {
    SLUICE_TRY(take_stage());
    StageRun& run = sent_.run;
    run.input = "-";
    if (places_.limits) run.sandbox = *places_.limits;
    for (const auto& [name, value] : record_.fields.rows()) SLUICE_TRY(take_row(name, value));
    if (sent_.output.empty()) return bad_job("has no output");
    SLUICE_ASSIGN(run.program, find_program("sluice-" + run.name));
    return std::move(sent_);
  }

 private:
  Result<void> take_stage() {
    const std::string* const stage = record_.fields.find("stage");
    const std::string* const release = record_.fields.find("release");
    if (record_.kind != kStageKind || stage == nullptr || release == nullptr)
      return bad_job(
          fmt::format("is of kind '{}', a worker that listens runs stages", record_.kind));
    if (*release != version_text())
      return bad_job(fmt::format("is of release {}, the worker of {}", *release, version_text()));
    if (std::ranges::find(kStageNames, *stage) == kStageNames.end())
      return bad_job(fmt::format("is for '{}', which is no stage", *stage));
    if (!places_.stage.empty() && *stage != places_.stage)
      return bad_job(
          fmt::format("is for '{}' and this is a service of '{}'", *stage, places_.stage));
    sent_.run.name = *stage;
    return {};
  }

  Result<void> take_row(const std::string& name, const std::string& value) {
    if (name == "option") return take_option(value);
    if (name == "reads") return take_read(value);
    if (name == "makes") return take_makes(value);
    if (name == "store") return take_store();
    const bool names = name == "names" || name == "readable" || name == "writable";
    if (!names) return {};
    if (!places_.names_files) return named();
    if (name == "names") return take_name(value);
    if (sent_.run.sandbox)
      (name == "readable" ? sent_.run.sandbox->readable : sent_.run.sandbox->writable)
          .push_back(value);
    return {};
  }

  static Error named() {
    return bad_job("names files, and this service is not at ipc://PATH: they are to be sent");
  }

  static Result<void> check_option(const std::string& option) {
    const std::string name = option.substr(std::min<size_t>(2, option.size()));
    if (!option.starts_with("--") || find_option(name) == nullptr)
      return bad_job(fmt::format("has the option '{}', which no stage has", option));
    if (std::ranges::find(kNotOfJobs, name) == std::end(kNotOfJobs)) return {};
    return make_error(ErrorCode::kBadOption, "{} cannot be asked of a service", option);
  }

  Result<void> check_passes(const std::string& option) const {
    if (option != kPass || places_.allows_passes) return {};
    return make_error(ErrorCode::kBadOption, "the service takes no jobs with passes of users")
        .with_hint("start it with --allow-passes, if its clients are trusted with code");
  }

  static Error sent_here() {
    return bad_job("sends files, and this service is at ipc://PATH: they are to be named");
  }

  Result<void> take_option(const std::string& text) {
    const Typed typed(text);
    SLUICE_TRY(check_option(typed.option));
    SLUICE_TRY(check_passes(typed.option));
    if ((typed.is_file() || typed.option == kPass) && !places_.names_files) return named();
    sent_.run.options.push_back(text);
    return {};
  }

  Result<void> take_name(const std::string& value) {
    const auto [place, path] = split(value);
    if (place == kOwnInput) sent_.run.input = path;
    if (place == kInput) sent_.input = path;
    if (place == kOutput) sent_.output = path;
    return {};
  }

  Result<void> take_read(const std::string& value) {
    const auto read = read_of(value);
    if (!read) return bad_job("has an input that is damaged");
    if (places_.names_files) return sent_here();
    if (read->place != kInput && read->place != kOwnInput) {
      SLUICE_TRY(check_option(read->place));
      SLUICE_TRY(check_passes(read->place));
      if (is_written(read->place) || read->place == kStore)
        return bad_job(fmt::format("reads '{}'", value));
    }
    const std::string artifact = store_path(store_.path(), read->artifact);
    if (::access(artifact.c_str(), R_OK) != 0)
      return make_error(ErrorCode::kIo, "the store '{}' has lost an input of the job",
                        store_.path());
    if (read->place == kInput) return sent_.input = artifact, Result<void>();
    const std::string folder = fmt::format("{}/in/{}", places_.folder, inputs_++);
    SLUICE_TRY(make_directories(folder));
    if (read->place == kPass) return take_pass(*read, artifact, folder);
    const std::string file = folder + "/" + read->name;
    std::error_code failed;
    fs::create_symlink(artifact, file, failed);
    if (failed) return file_error("write", file);
    if (sent_.run.sandbox) {
      sent_.run.sandbox->readable.push_back(artifact);
      sent_.run.sandbox->readable.push_back(folder);
    }
    if (read->place == kOwnInput) return sent_.run.input = file, Result<void>();
    sent_.run.options.push_back(read->place + "=" + file);
    return {};
  }

  Result<void> take_pass(const Read& read, const std::string& artifact, const std::string& folder) {
    const size_t equals = read.name.find('=');
    if (equals == std::string::npos) return bad_job(fmt::format("reads '{}'", read.name));
    SLUICE_ASSIGN(const MappedFile packed, MappedFile::open(artifact));
    SLUICE_TRY(unpack_pass(packed.bytes(), folder));
    if (sent_.run.sandbox) sent_.run.sandbox->readable.push_back(folder);
    sent_.run.options.push_back(fmt::format("{}={}={}/{}", kPass, read.name.substr(0, equals),
                                            folder, read.name.substr(equals + 1)));
    return {};
  }

  Result<void> take_makes(const std::string& value) {
    const auto [place, name] = split(value);
    const std::string folder = fmt::format("{}/out/{}", places_.folder, place);
    if (places_.names_files) return sent_here();
    if (!is_plain(name) || (place != kOutput && !is_written(place)))
      return bad_job(fmt::format("makes '{}'", value));
    SLUICE_TRY(make_directories(folder));
    const std::string file = folder + "/" + name;
    if (place == kOutput) return sent_.output = file, Result<void>();
    if (place == "--dump-dir") SLUICE_TRY(make_directories(file));
    if (sent_.run.sandbox) sent_.run.sandbox->writable.push_back(folder);
    sent_.run.options.push_back(place + "=" + file);
    return {};
  }

  Result<void> take_store() {
    if (places_.store.empty())
      return make_error(ErrorCode::kBadOption,
                        "the job needs a store, which this service does not have")
          .with_hint("give both sides the same --store");
    sent_.run.options.push_back(fmt::format("{}={}", kStore, places_.store));
    if (!sent_.run.sandbox) return {};
    sent_.run.sandbox->readable.push_back(places_.store);
    allow_constants(places_.store, *sent_.run.sandbox);
    return {};
  }

  const Record& record_;
  const SentPlaces& places_;
  Store& store_;
  SentStage sent_;
  size_t inputs_ = 0;
};

// Returns them sorted; links lead elsewhere and are left out.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (auto entry = fs::recursive_directory_iterator(folder, failed);
       !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed))
    if (!entry->is_symlink() && entry->is_regular_file(failed)) files.push_back(entry->path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<Record> record_of(const SentStage& stage, FileNaming names, Store& store) {
  Record record{.kind = kStageKind, .fields = {}, .results = {}};
  SLUICE_TRY(Sender(stage, names, store, record.fields).send());
  return record;
}

Result<void> take_made(const SentStage& stage, const Record& made, Store& store) {
  for (const auto& [name, hex] : made.results.rows()) {
    if (!name.starts_with("made.")) continue;
    const std::string* const path = made.results.find("path." + name.substr(5));
    const auto [place, name_there] = split(path == nullptr ? std::string() : *path);
    const auto target = place_of(stage, place, name_there);
    const auto artifact = digest_from_hex(hex);
    if (!target || !artifact) {
      return make_error(ErrorCode::kBadReply,
                        "sluice-{} says that it wrote '{}', which nobody asked for", stage.run.name,
                        path == nullptr ? name : *path);
    }
    const auto file = store.find_artifact(*artifact);
    if (!file)
      return make_error(ErrorCode::kIo, "{}", store.fault().value_or("the store lost a product"));
    if (place == kOutput) {
      if (const auto written = write_file(*target, file->bytes()); !written)
        return make_error(written.error().code, "the output of sluice-{} cannot be written: {}",
                          stage.run.name, std::strerror(errno));
      continue;
    }
    SLUICE_TRY(make_directories(fs::path(*target).parent_path().string()));
    SLUICE_TRY(write_file(*target, file->bytes()));
  }
  return {};
}

std::vector<Digest> artifacts_read(const Record& record) {
  std::vector<Digest> artifacts;
  for (const auto& [name, value] : record.fields.rows()) {
    const auto read = name == "reads" ? read_of(value) : std::nullopt;
    if (read) artifacts.push_back(read->artifact);
  }
  return artifacts;
}

Result<SentStage> sent_stage_of(const Record& record, const SentPlaces& places, Store& store) {
  return Receiver(record, places, store).receive();
}

Result<void> keep_made(const Record& record, const SentPlaces& places, Store& store,
                       Fields& results) {
  size_t number = 0;
  for (const auto& [row, value] : record.fields.rows()) {
    if (row != "makes") continue;
    const std::string place = split(value).first;
    const fs::path folder = fmt::format("{}/out/{}", places.folder, place);
    for (const fs::path& file : files_below(folder)) {
      const auto artifact = store.keep_file(file.string());
      if (!artifact)
        return make_error(ErrorCode::kIo, "{}", store.fault().value_or("the store keeps nothing"));
      results.add(fmt::format("made.{}", number), *artifact);
      results.add(fmt::format("path.{}", number),
                  fmt::format("{} {}", place, file.lexically_relative(folder).string()));
      ++number;
    }
  }
  return {};
}

}  // namespace sluice
