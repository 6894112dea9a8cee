#include "common/store/record.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::string_view kFirstLine = "sluice record 1\n";

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\')
      text += "\\\\";
    else if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      value += text[i];
      continue;
    }
    value += text[++i] == 'n' ? '\n' : text[i];
  }
  return value;
}

std::string lines_of(const Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields.rows()) text += name + " " + escaped(value) + "\n";
  return text;
}

std::string key_text(const Record& record) {
  return std::string(kFirstLine) + record.kind + "\n" + lines_of(record.fields);
}

// Takes the first line from the text.
std::optional<std::string_view> take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

// Takes lines up to an empty one, or all.
bool take_fields(std::string_view& text, Fields& fields) {
  while (!text.empty()) {
    const auto line = take_line(text);
    if (!line) return false;
    if (line->empty()) return true;
    const size_t blank = line->find(' ');
    if (blank == 0 || blank == std::string_view::npos) return false;
    fields.add(std::string(line->substr(0, blank)), unescaped(line->substr(blank + 1)));
  }
  return true;
}

// Takes the last line, "sum DIGEST", from a text that has this digest without it.
bool take_sum(std::string_view& text) {
  const size_t start = text.rfind("\nsum ");
  if (start == std::string_view::npos) return false;
  const std::string_view content = text.substr(0, start + 1);
  const std::string sum = "sum " + digest_hex(sha256(content)) + "\n";
  if (text.substr(start + 1) != sum) return false;
  text = content;
  return true;
}

}  // namespace

const std::string* Fields::find(std::string_view name) const {
  const auto row =
      std::ranges::find_if(rows_, [&](const auto& each) { return each.first == name; });
  return row == rows_.end() ? nullptr : &row->second;
}

std::optional<Digest> Fields::find_digest(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? std::nullopt : digest_from_hex(*value);
}

Digest Record::key() const { return sha256(key_text(*this)); }

std::vector<Digest> Record::artifacts() const {
  std::vector<Digest> digests;
  for (const auto& [name, value] : results.rows()) {
    const std::optional<Digest> digest = digest_from_hex(value);
    if (digest && name != "graph") digests.push_back(*digest);
  }
  return digests;
}

std::string record_text(const Record& record) {
  const std::string text = key_text(record) + "\n" + lines_of(record.results);
  return text + "sum " + digest_hex(sha256(text)) + "\n";
}

std::optional<Record> parse_record(std::string_view text) {
  if (!text.starts_with(kFirstLine) || !take_sum(text)) return std::nullopt;
  text.remove_prefix(kFirstLine.size());
  Record record;
  const auto kind = take_line(text);
  if (!kind || kind->empty()) return std::nullopt;
  record.kind = *kind;
  if (!take_fields(text, record.fields) || !take_fields(text, record.results)) return std::nullopt;
  return record;
}

}  // namespace sluice
