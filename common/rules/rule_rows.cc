#include "common/rules/rule_rows.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "common/base/file_kind.h"
#include "common/base/files.h"
#include "common/base/release.h"
#include "common/base/store.h"
#include "common/rules/apply_rules.h"
#include "common/rules/check_rules.h"
#include "common/rules/places.h"
#include "common/rules/rule_parser.h"

namespace sluice::rules {
namespace {

// What a store has of a file that was checked.
std::string check_record(const RuleFile& file) {
  return fmt::format("rules checked by sluice {}\n{}\n", kRelease, digest_hex(file.digest));
}

Result<void> check_once(const RuleFile& file, const Options& options) {
  if (options.flag("unchecked-rules")) return {};
  const std::string store = options.text("store");
  const std::string record = check_record(file);
  if (!store.empty() && note_use(store_path(store, sha256(record)))) return {};
  SLUICE_TRY(check_rules(file));
  if (store.empty()) return {};
  const auto bytes = std::as_bytes(std::span(record));
  SLUICE_TRY(put_in_store(store, sha256(record), bytes));
  return {};
}

std::string rule_sentence(const RuleFile& file) {
  std::string names;
  for (const Rule& rule : file.rules) names += (names.empty() ? "" : ", ") + rule.name;
  constexpr size_t kShown = 60;
  if (names.size() > kShown) names = names.substr(0, kShown) + " …";
  return fmt::format("rules of {}: {}", file.path, names);
}

}  // namespace

Result<RuleFile> read_rule_file(const std::string& path) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  if (!failed && size > kMaxRuleBytes) {
    Error error = make_error(ErrorCode::kLimit, "{} bytes, a file of rules has at most {}", size,
                             kMaxRuleBytes);
    error.file = path;
    return error;
  }
  if (!failed || !std::filesystem::is_character_file(path, failed)) {
    SLUICE_ASSIGN(const std::string text, read_text(path));
    if (const std::string hint = file_kind_hint(std::as_bytes(std::span(text))); !hint.empty()) {
      Error error = make_error(ErrorCode::kBadText, "this is no file of rules").with_hint(hint);
      error.file = path;
      return error;
    }
    return parse_rules(text, path);
  }
  Error error = make_error(ErrorCode::kBadOption, "a device is no file of rules");
  error.file = path;
  return error;
}

Result<bool> apply_rule_text(Graph& root, std::string_view name, std::string_view text,
                             std::vector<RuleCount>& counts) {
  SLUICE_ASSIGN(const RuleFile file, parse_rules(text, std::string(name)));
  return apply_rules(root, file, counts);
}

Result<RuleRows> RuleRows::load(std::span<const Pass> table, StageId stage,
                                const Options& options) {
  RuleRows rows;
  std::set<std::string> names;
  for (const std::string& path : options.list("rules", ';')) {
    SLUICE_ASSIGN(RuleFile file, read_rule_file(path));
    if (!names.insert(file.name).second) {
      return make_error(ErrorCode::kBadOption, "--rules has two files called '{}'", file.name)
          .with_hint("their rows are named by them: give one another name");
    }
    if (stage_of(file) != stage_name(stage)) continue;
    SLUICE_TRY(check_once(file, options));
    auto entry = std::make_unique<Entry>();
    entry->digest = digest_hex(file.digest);
    entry->sentence = rule_sentence(file);
    entry->file = std::move(file);
    rows.entries_.push_back(std::move(entry));
  }
  for (const Pass& pass : table) {
    rows.passes_.push_back(pass);
    for (const auto& entry : rows.entries_) {
      if (pass_before(entry->file) != pass.name) continue;
      rows.passes_.push_back({entry->file.name,
                              entry->sentence,
                              nullptr,
                              PassLevel::kO0,
                              {entry->file.text, entry->digest, apply_rule_text}});
    }
  }
  return rows;
}

Result<std::vector<std::string>> foreign_ops(const Options& options) {
  std::vector<std::string> ops;
  for (const std::string& path : options.list("rules", ';')) {
    SLUICE_ASSIGN(const RuleFile file, read_rule_file(path));
    for (const Rule& rule : file.rules) {
      for (const Pattern& pattern : rule.patterns) {
        for (const Statement& statement : pattern.statements)
          if (!statement.foreign.empty()) ops.push_back(statement.foreign);
      }
    }
  }
  return ops;
}

}  // namespace sluice::rules
