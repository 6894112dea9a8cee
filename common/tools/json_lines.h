// JSON that people read with grep and diff: each row is on a separate line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"

namespace sluice {

// An object whose members, and the elements of whose lists, are on separate lines. indent is that
// of its closing brace.
class JsonLines {
 public:
  explicit JsonLines(int indent) : indent_(static_cast<size_t>(indent), ' ') {}

  void add(std::string_view key, const Json& value) { add_text(key, json_dump(value)); }
  void add_text(std::string_view key, std::string_view value) {
    text_ +=
        fmt::format("{}\n{}  {}: {}", text_.empty() ? "" : ",", indent_, json_quote(key), value);
  }
  void add_lines(std::string_view key, const std::vector<std::string>& lines) {
    std::string list;
    for (const std::string& line : lines) {
      list += fmt::format("{}\n{}    {}", list.empty() ? "" : ",", indent_, line);
    }
    add_text(key, list.empty() ? "[]" : fmt::format("[{}\n{}  ]", list, indent_));
  }
  template <typename Row>
  void add_rows(std::string_view key, int count, const Row& row) {
    std::vector<std::string> lines;
    for (int i = 0; i < count; ++i) lines.push_back(json_dump(row(i)));
    add_lines(key, lines);
  }
  std::string text() const { return fmt::format("{{{}\n{}}}", text_, indent_); }

 private:
  std::string indent_, text_;
};

}  // namespace sluice
