#include "common/stage/option_files.h"

#include <algorithm>
#include <map>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/ir/op.h"
#include "common/ir/precision.h"
#include "common/stage/switch_file.h"
#include "common/target/engine_table.h"
#include "common/target/profile.h"

namespace sluice {
namespace {

struct FileOption {
  std::string_view name;
  Result<std::string> (*lines)(std::string_view text);
};
constexpr FileOption kFileOptions[] = {{"modify-mixlist", mixlist_lines},
                                       {"customize-dtypes", node_dtype_lines},
                                       {"fusion-switch-file", fusion_switch_lines}};

// A list of the file of --modify-mixlist, and what it makes of the operators in it.
struct ListKey {
  std::string_view list, change, word;
};
constexpr ListKey kListKeys[] = {
    {"white-list", "to-add", "allow"}, {"white-list", "to-remove", "gray"},
    {"black-list", "to-add", "deny"},  {"black-list", "to-remove", "gray"},
    {"gray-list", "to-add", "gray"},
};

bool is_list(std::string_view name) {
  return std::ranges::find(kListKeys, name, &ListKey::list) != std::end(kListKeys);
}

std::string_view word_of(std::string_view list, std::string_view change) {
  for (const ListKey& key : kListKeys)
    if (key.list == list && key.change == change) return key.word;
  return {};
}

Error unknown_key(std::string_view list, std::string_view change) {
  return make_error(ErrorCode::kBadJson, "'{}{}{}' is no list of operators", list,
                    change.empty() ? "" : ".", change)
      .with_hint(R"(such as {"white-list": {"to-add": ["Softmax"]}, )"
                 R"("black-list": {"to-remove": ["Exp"]}}; "gray-list" has "to-add" alone)");
}

using WordsByOp = std::map<std::string, std::string_view>;

Result<void> add_operators(const Json& names, const std::string& key, std::string_view word,
                           WordsByOp& words) {
  const Json::Array* list = names.as_array();
  if (list == nullptr) return make_error(ErrorCode::kBadJson, "'{}' must be a list", key);
  for (const Json& each : *list) {
    const std::string* name = each.as_string();
    if (name == nullptr || !op_from_name(*name)) {
      return make_error(ErrorCode::kBadJson, "'{}' has {}, which is no operator", key,
                        json_dump(each));
    }
    if (const auto [known, is_new] = words.emplace(*name, word); !is_new && known->second != word) {
      return make_error(ErrorCode::kBadJson, "'{}' has '{}', which another list has too", key,
                        *name);
    }
  }
  return {};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

// Splits at the last blank, since names of nodes may have blanks.
std::pair<std::string, std::string> split_line(std::string_view line) {
  const size_t blank = line.find_last_of(" \t");
  if (blank == std::string_view::npos) return {std::string(line), ""};
  return {std::string(trimmed(line.substr(0, blank))), std::string(line.substr(blank + 1))};
}

}  // namespace

Result<std::string> mixlist_lines(std::string_view text) {
  SLUICE_ASSIGN(const Json json, json_parse(text));
  if (json.as_object() == nullptr)
    return make_error(ErrorCode::kBadJson, "lists of operators are an object");
  WordsByOp words;
  for (const auto& [list, changes] : *json.as_object()) {
    if (changes.as_object() == nullptr || !is_list(list)) return unknown_key(list, "");
    for (const auto& [change, names] : *changes.as_object()) {
      const std::string_view word = word_of(list, change);
      if (word.empty()) return unknown_key(list, change);
      SLUICE_TRY(add_operators(names, fmt::format("{}.{}", list, change), word, words));
    }
  }
  std::string lines;
  for (const auto& [op, word] : words) lines += fmt::format("{} {}\n", op, word);
  return lines;
}

Result<std::string> node_dtype_lines(std::string_view text) {
  std::string result;
  const std::vector<std::string_view> lines = lines_of(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (line.empty() || line[0] == '#') continue;
    const auto [name, word] = split_line(line);
    if (!precision_from_name(word)) {
      return make_error(ErrorCode::kBadOption,
                        "line {} is '{}', expected a node and keep, f32, f16 or bf16", i + 1, line)
          .with_hint("such as: /encoder/*/MatMul f16, or OpType::Softmax keep");
    }
    result += fmt::format("{} {}\n", name, word);
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> named_words(std::string_view lines) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string_view line : lines_of(lines)) pairs.push_back(split_line(line));
  return pairs;
}

namespace {

// Puts the content of a profile's file in place of its path: what the graph is made for is then the
// same wherever the file is.
Result<void> read_profile(Options& options) {
  const std::string path = options.text("profile");
  if (!path.ends_with(".json")) return {};
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(path));
  SLUICE_TRY(
      make_engine_table(profile));  // its errors name the file, which later stages do not know
  SLUICE_ASSIGN(const std::string text, read_text(path));
  SLUICE_ASSIGN(const Json json, json_parse(text));
  return options.set("profile", json_dump(json));
}

}  // namespace

Result<void> read_option_files(Options& options) {
  SLUICE_TRY(read_profile(options));
  for (const FileOption& option : kFileOptions) {
    const std::string path = options.text(option.name);
    if (path.empty()) continue;
    SLUICE_ASSIGN(const std::string text, read_text(path));
    auto lines = option.lines(text);
    if (!lines) {
      Error error = std::move(lines).error().within(fmt::format("--{}", option.name));
      error.file = path;
      return error;
    }
    SLUICE_TRY(options.set(option.name, *lines));
  }
  return {};
}

}  // namespace sluice
