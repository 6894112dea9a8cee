#include "common/stage/resume.h"

#include <algorithm>
#include <filesystem>

#include "common/base/digest.h"
#include "common/base/files.h"

namespace sluice {
namespace {

std::string travelling_name(StageId stage, const OptionRow& row) {
  return row.kind == OptionKind::kSemantic ? std::string(row.name)
                                           : fmt::format("{}.{}", stage_name(stage), row.name);
}

bool is_of_files(const OptionRow& row) {
  return row.name == "rules" || row.name == "unchecked-rules" || row.name == "pass";
}

// A file of annotations is in the graph's provenance by its digest, files of rules and passes are
// in the list of passes.
bool is_recorded_by_digest(const OptionRow& row) {
  return row.name == "annotate" || is_of_files(row);
}
bool is_in_list(const OptionRow& row) { return row.name == "opt-level" || is_of_files(row); }

bool is_recorded(const OptionRow& row, StageId stage) {
  return row.kind != OptionKind::kSemantic && !is_recorded_by_digest(row) &&
         last_reader(row.name) == stage_name(stage);
}

// Returns the value as a graph records it: a folder by its place, from wherever it is named.
std::string recorded_value(const OptionRow& row, const Options& options) {
  std::string value = options.text(row.name);
  if (row.kind == OptionKind::kSemantic || value == row.fallback || !names_file(row.name))
    return value;
  std::error_code failed;
  const std::filesystem::path place = std::filesystem::weakly_canonical(value, failed);
  return failed ? value : place.string();
}

Error begun_otherwise(StageId stage, const OptionRow& row, const Options& given,
                      const std::string& how) {
  return make_error(ErrorCode::kBadOption,
                    "--{} is '{}', and sluice-{} had begun {} when this graph was written",
                    row.name, given.text(row.name), stage_name(stage), how)
      .with_hint("begin with what the stage read, or leave the option out");
}

// The provenance of a half-way graph is the model and, after it, the rules.
Result<void> check_digest(StageId stage, const OptionRow& row, const Module& module,
                          const Options& given) {
  SLUICE_ASSIGN(const std::string text, read_text(given.text(row.name)));
  if (module.made_from.size() < 2) return begun_otherwise(stage, row, given, "without it");
  const auto begun = module.made_from.begin() + 1;
  if (std::find(begun, module.made_from.end(), sha256(text)) != module.made_from.end()) return {};
  return begun_otherwise(stage, row, given, "with another content of such a file");
}

Result<void> check_value(StageId stage, const OptionRow& row, const Module& module,
                         const Options& given) {
  const auto recorded = module.options.find(travelling_name(stage, row));
  if (recorded == module.options.end()) return begun_otherwise(stage, row, given, "without it");
  if (recorded->second == recorded_value(row, given)) return {};
  return begun_otherwise(stage, row, given, fmt::format("with '{}'", recorded->second));
}

}  // namespace

Result<void> check_resumed(StageId stage, const Module& module, const Options& given) {
  const bool is_ours = static_cast<int>(module.last_stage) + 1 == static_cast<int>(stage);
  if (!module.is_mid_stage() || !is_ours) return {};
  for (const OptionRow& row : option_table()) {
    if (last_reader(row.name) != stage_name(stage) || given.text(row.name) == row.fallback ||
        is_in_list(row))
      continue;
    SLUICE_TRY(is_recorded_by_digest(row) ? check_digest(stage, row, module, given)
                                          : check_value(stage, row, module, given));
  }
  return {};
}

void record_options_read(StageId stage, const Options& options, Module& module) {
  for (const OptionRow& row : option_table()) {
    if (!is_recorded(row, stage)) continue;
    const std::string name = travelling_name(stage, row);
    const std::string value = recorded_value(row, options);
    if (!module.is_mid_stage())
      module.options.erase(name);
    else if (value != row.fallback)
      module.options.try_emplace(name, value);
  }
}

Result<void> inherit_record(StageId stage, const std::map<std::string, std::string>& travelling,
                            Options& options) {
  for (const OptionRow& row : option_table()) {
    if (!is_recorded(row, stage) || options.text(row.name) != row.fallback) continue;
    const auto recorded = travelling.find(travelling_name(stage, row));
    if (recorded == travelling.end()) continue;
    if (auto taken = options.set(row.name, recorded->second); !taken) {
      return make_error(ErrorCode::kBadFile, "the file carries an option that cannot be: {}",
                        taken.error().message);
    }
  }
  return {};
}

bool is_record(StageId stage, std::string_view name) {
  return std::ranges::any_of(option_table(), [&](const OptionRow& row) {
    return is_recorded(row, stage) && travelling_name(stage, row) == name;
  });
}

}  // namespace sluice
