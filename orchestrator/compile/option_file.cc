#include "orchestrator/compile/option_file.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/near_names.h"
#include "common/base/options.h"

namespace sluice {
namespace {

constexpr std::string_view kRoot = "compile options";
constexpr std::string_view kScopes[] = {"global", "session", "graph"};  // the last one wins
constexpr char kExample[] =
    R"(such as {"compile options": {"global": {"profile": "cpu-avx2"}, "graph": {"dim": "N=1"}}})";

// The options of the table that are for no stage, but for services and sandboxes.
constexpr std::string_view kOfCommandLine[] = {"key", "sandbox-memory", "sandbox-seconds",
                                               "sandbox-file-bytes"};

Error wrong(const std::string& key, const std::string& what) {
  return make_error(ErrorCode::kBadJson, "'{}' {}", key, what).with_hint(kExample);
}

class OptionFile {
 public:
  explicit OptionFile(const CommandLine& line) : line_(line) {}

  Result<void> read(const Json& json) {
    if (json.as_object() == nullptr)
      return make_error(ErrorCode::kBadJson, "this is no object").with_hint(kExample);
    const Json* scopes = json.find(kRoot);
    if (scopes == nullptr) {
      warnings_.push_back(fmt::format("'{}' is missing, so no option is taken", kRoot));
      return {};
    }
    if (scopes->as_object() == nullptr) return wrong(std::string(kRoot), "is no object");
    for (const auto& [name, options] : *scopes->as_object())
      if (std::ranges::find(kScopes, name) == std::end(kScopes))
        SLUICE_TRY(report_unknown(wrong(name, "is unknown, expected global, session or graph")));
    for (const std::string_view scope : kScopes)
      if (const Json* options = scopes->find(scope))
        SLUICE_TRY(read_scope(std::string(scope), *options));
    return {};
  }

  const std::map<std::string_view, std::string>& values() const { return values_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Result<void> read_scope(const std::string& scope, const Json& options) {
    if (options.as_object() == nullptr) return wrong(scope, "is no object");
    std::map<std::string_view, std::string> keys;
    for (const auto& [name, value] : *options.as_object()) {
      const std::string key = fmt::format("{}.{}", scope, name);
      const OptionRow* row = find_row(name);
      if (row == nullptr) {
        SLUICE_TRY(report_unknown(unknown(key, name)));
        continue;
      }
      if (const auto [other, is_new] = keys.emplace(row->name, key); !is_new)
        return wrong(key, fmt::format("and '{}' are one option", other->second));
      SLUICE_ASSIGN(values_[row->name], checked(key, *row, value));
    }
    return {};
  }

  // Returns the row of an option that may be in the file, typed with or without "--".
  const OptionRow* find_row(std::string_view name) const {
    const OptionRow* row = find_option(name.substr(name.starts_with("--") ? 2 : 0));
    return row != nullptr && is_of_file(*row) ? row : nullptr;
  }

  bool is_of_file(const OptionRow& row) const {
    return line_.knows(fmt::format("--{}", row.name)) &&
           std::ranges::find(kOfCommandLine, row.name) == std::end(kOfCommandLine);
  }

  static Result<std::string> checked(const std::string& key, const OptionRow& row,
                                     const Json& value) {
    const std::string* text = value.as_string();
    if (text == nullptr)
      return wrong(key, fmt::format("is {}, expected a text, such as \"4\"", json_dump(value)));
    if (text->find('\0') != std::string::npos) return wrong(key, "contains a byte 0");
    if (text->empty())
      return make_error(ErrorCode::kBadOption, "'{}' is given without a value", key)
          .with_hint("leave the option out for its default");
    auto fits = check_option_value(row, *text);
    if (!fits) return std::move(fits).error().within(fmt::format("'{}'", key));
    return *text;
  }

  Error unknown(const std::string& key, std::string_view name) const {
    std::vector<std::string_view> names;
    for (const OptionRow& row : option_table())
      if (is_of_file(row)) names.push_back(row.name);
    const std::string_view typed = name.substr(name.starts_with("--") ? 2 : 0);
    const std::string why = line_.knows(fmt::format("--{}", typed))
                                ? "belongs on the command line"
                                : "is no option of sluice compile";
    return make_error(ErrorCode::kBadOption, "'{}' {}", key, why)
        .with_hint(near_names_hint(typed, names, "sluice compile --help lists the options"));
  }

  Result<void> report_unknown(Error error) {
    if (!line_.flag("--options-ignore-unknown")) return error;
    warnings_.push_back(error.message + ", and is ignored");
    return {};
  }

  const CommandLine& line_;
  std::map<std::string_view, std::string> values_;  // by the names of the table
  std::vector<std::string> warnings_;
};

// A flag has no value on a command line.
void give(const OptionRow& row, const std::string& value, CommandLine& line) {
  const std::string name = fmt::format("--{}", row.name);
  if (line.has(name) || (row.is_flag && value == row.fallback)) return;
  line.give(name, row.is_flag ? std::string() : value);
}

}  // namespace

Result<void> take_option_file(CommandLine& line) {
  const std::string path = line.text("--options");
  if (path.empty()) return {};
  SLUICE_ASSIGN(const std::string text, read_text(path));
  OptionFile file(line);
  auto done = [&]() -> Result<void> {
    SLUICE_ASSIGN(const Json json, json_parse(text));
    return file.read(json);
  }();
  if (!done) {
    done.error().file = path;
    return done;
  }
  for (const auto& [name, value] : file.values()) give(*find_option(name), value, line);
  for (const std::string& warning : file.warnings())
    log_warning("sluice-compile", fmt::format("{} [{}]", warning, path));
  return {};
}

}  // namespace sluice
