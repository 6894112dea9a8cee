#include "orchestrator/plan/compile_job.h"

#include <algorithm>

#include "common/base/files.h"
#include "common/base/options.h"
#include "common/passes_host/pass_file.h"
#include "common/store/build_id.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/plan/stage_job.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

constexpr std::string_view kContent = "content ";
constexpr size_t kHexDigits = 64;

struct Argument {
  std::string name, value;
};

Argument argument_of(const std::string& text) {
  const size_t equals = std::min(text.find('='), text.size());
  return {text.substr(2, equals - 2), text.substr(std::min(equals + 1, text.size()))};
}

// Keeps a file that an option names, and returns what stands for it in a record.
Result<std::string> keep_content(const std::string& path, Store& store) {
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  return std::string(kContent) + digest_hex(store.keep(file.bytes()));
}

Result<std::string> write_content(const std::string& value, Store& store, const std::string& path) {
  const auto digest = digest_from_hex(std::string_view(value).substr(kContent.size(), kHexDigits));
  const auto file = digest ? store.find_artifact(*digest) : std::nullopt;
  if (!file) {
    return make_error(ErrorCode::kBadFile, "the store '{}' has lost the file sha256:{}",
                      store.path(), value.substr(kContent.size()))
        .with_hint("run sluice compile-all again");
  }
  SLUICE_TRY(write_file(path, file->bytes()));
  return path;
}

// Returns where a file of an option is put: files of rules keep their names, each in a folder.
Result<std::string> place_of(const std::string& name, const std::string& value,
                             const std::string& folder,
                             const std::vector<std::vector<std::string>>& arguments) {
  if (name != "rules") return folder + "/" + name;
  size_t number = 0;
  for (const std::vector<std::string>& stage : arguments) number += stage.size();
  const std::string place = fmt::format("{}/rules.{}", folder, number);
  SLUICE_TRY(make_directories(place));
  return place + "/" + value.substr(value.find_last_of(" /") + 1);
}

// Keeps a file of passes with what it imports, and returns what stands for "POINT=FILE".
Result<std::string> keep_pass(const std::string& value, Store& store) {
  SLUICE_ASSIGN(const PassFile pass, read_pass_file(value));
  SLUICE_ASSIGN(const std::vector<std::byte> packed, pack_pass(pass));
  return fmt::format("{}{} {}={}", kContent, digest_hex(store.keep(packed)),
                     pass.option.point->name, pass.option.name);
}

// Puts them into a folder of their own, and returns "POINT=FILE".
Result<std::string> write_pass(const std::string& value, Store& store, const std::string& folder) {
  const auto digest = digest_from_hex(std::string_view(value).substr(kContent.size(), kHexDigits));
  const auto packed = digest ? store.find_artifact(*digest) : std::nullopt;
  const size_t equals = value.find('=');
  if (!packed || equals == std::string::npos || value.find('/') != std::string::npos)
    return make_error(ErrorCode::kBadFile, "the store '{}' has lost the passes {}", store.path(),
                      value)
        .with_hint("run sluice compile-all again");
  SLUICE_TRY(unpack_pass(packed->bytes(), folder));
  const size_t point = kContent.size() + kHexDigits + 1;
  return fmt::format("{}={}/{}", value.substr(point, equals - point), folder,
                     value.substr(equals + 1));
}

Result<void> add_builds(Fields& fields) {
  for (size_t i = 1; i < kStageNames.size(); ++i) {
    const std::string stage(kStageNames[i]);
    SLUICE_ASSIGN(const std::string program, find_program("sluice-" + stage));
    SLUICE_ASSIGN(std::string build, build_id(program));
    fields.add("program." + stage, std::move(build));
  }
  return {};
}

}  // namespace

Result<Record> record_of(const CompileJob& job, Store& store) {
  Record record{kCompileKind, {}, {}};
  SLUICE_TRY(add_builds(record.fields));
  record.fields.add("input", job.graph);
  SLUICE_ASSIGN(std::string profile, profile_field(job.profile));
  record.fields.add("profile", std::move(profile));
  if (job.profile.ends_with(".json")) SLUICE_TRY(keep_content(job.profile, store));
  for (size_t i = 1; i < kStageNames.size(); ++i) {
    std::vector<std::string> arguments = job.arguments[i];
    sort_arguments(arguments);
    for (const std::string& text : arguments) {
      auto [name, value] = argument_of(text);
      if (name == "profile") continue;
      if (names_file(name)) {
        const std::string file = value.substr(value.find_last_of('/') + 1);
        SLUICE_ASSIGN(value, keep_content(value, store));
        if (name == "rules") value += " " + file;
      }
      if (name == "pass") {
        SLUICE_ASSIGN(value, keep_pass(value, store));
      }
      record.fields.add(fmt::format("{}.{}", kStageNames[i], name), std::move(value));
    }
  }
  record.results.add("graph", job.artifact);
  if (!job.constants.is_zero()) record.results.add("constants", job.constants);
  if (!job.model.empty()) record.results.add("model", job.model);
  return record;
}

Result<CompileJob> job_of(const Record& record, Store& store, const std::string& folder) {
  const auto graph = record.fields.find_digest("input");
  const auto artifact = record.results.find_digest("graph");
  const std::string* profile = record.fields.find("profile");
  if (record.kind != kCompileKind || !graph || !artifact || profile == nullptr)
    return make_error(ErrorCode::kBadFile, "the record {} is of no compile",
                      digest_hex(record.key()));
  CompileJob job{.graph = *graph,
                 .artifact = *artifact,
                 .constants = {},
                 .model = {},
                 .arguments = {},
                 .profile = {}};
  job.arguments.resize(kStageNames.size());
  if (const std::string* model = record.results.find("model")) job.model = *model;
  job.profile = profile_option(*profile);
  if (job.profile.starts_with(kContent)) {
    SLUICE_ASSIGN(job.profile, write_content(job.profile, store, folder + "/profile.json"));
  }
  if (job.profile != "native") job.arguments[1].push_back("--profile=" + job.profile);
  for (const auto& [field, text] : record.fields.rows()) {
    const size_t dot = field.find('.');
    const auto* stage = std::ranges::find(kStageNames, std::string_view(field).substr(0, dot));
    if (dot == std::string::npos || stage == kStageNames.end()) continue;
    const std::string name = field.substr(dot + 1);
    std::string value = text;
    if (names_file(name)) {
      SLUICE_ASSIGN(const std::string path, place_of(name, value, folder, job.arguments));
      SLUICE_ASSIGN(value, write_content(value, store, path));
    }
    const auto i = static_cast<size_t>(stage - kStageNames.begin());
    if (name == "pass") {
      SLUICE_ASSIGN(value,
                    write_pass(value, store,
                               fmt::format("{}/passes.{}.{}", folder, i, job.arguments[i].size())));
    }
    const OptionRow* row = find_option(name);
    job.arguments[i].push_back(row == nullptr ? fmt::format("--{}={}", name, value)
                                              : option_argument(*row, value));
  }
  return job;
}

}  // namespace sluice
