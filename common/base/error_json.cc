// Errors for programs that read them. A message names nodes in two forms, "node 'conv1' (Conv)" and
// "2 nodes: 'a', 'b'", and lists further errors in indented lines. Both are parsed from the
// message, so that errors of all programs, including those of a service, have the same JSON.
#include <algorithm>
#include <vector>

#include "common/base/json.h"
#include "common/base/result.h"

namespace sluice {
namespace {

constexpr std::string_view kLabel = "node '", kList = "node: '", kLists = "nodes: '";
constexpr std::string_view kNext = "', '";
constexpr std::string_view kBreak = "\n  ";

// Removes the text up to the end of the next mark. Returns false when there is no mark.
bool skip_to(std::string_view mark, std::string_view& text) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at + mark.size());
  return true;
}

// Returns the name at the beginning, up to its closing quote, and removes it from the text.
std::string_view take_name(std::string_view closing, std::string_view& text) {
  size_t end = text.find(closing);
  if (end == std::string_view::npos) end = std::min(text.find('\''), text.size());
  const std::string_view name = text.substr(0, end);
  text.remove_prefix(end);
  return name;
}

// Returns the mark that comes first in the text, or an empty text.
std::string_view nearest_mark(std::string_view text) {
  size_t nearest = std::string_view::npos;
  std::string_view found;
  for (const std::string_view mark : {kLabel, kList, kLists}) {
    const size_t at = text.find(mark);
    if (at < nearest) nearest = at, found = mark;
  }
  return found;
}

std::vector<std::string_view> named_nodes(std::string_view text) {
  std::vector<std::string_view> nodes;
  for (std::string_view mark = nearest_mark(text); !mark.empty(); mark = nearest_mark(text)) {
    skip_to(mark, text);
    // A label ends with the op, because the name may contain quotes.
    const bool is_label = mark == kLabel;
    nodes.push_back(take_name(is_label ? "' (" : "'", text));
    while (!is_label && text.starts_with(kNext)) {
      text.remove_prefix(kNext.size());
      nodes.push_back(take_name("'", text));
    }
  }
  return nodes;
}

// Returns the lines of a list or, without a list, the message itself.
std::vector<std::string_view> listed_errors(std::string_view message) {
  std::vector<std::string_view> lines;
  for (std::string_view text = message; skip_to(kBreak, text);) {
    lines.push_back(text.substr(0, text.find(kBreak)));
  }
  if (lines.empty()) lines.push_back(message);
  return lines;
}

}  // namespace

std::string error_json(const Error& error) {
  const std::vector<std::string_view> nodes = named_nodes(error.message);
  Json json, errors{Json::Array{}};
  json.set("code", fmt::format("SL{:04}", static_cast<int>(error.code)));
  json.set("message", error.message);
  json.set("hint", error.hint);
  json.set("file", error.file);
  json.set("node", nodes.empty() ? Json() : Json(nodes[0]));
  for (const std::string_view each : listed_errors(error.message)) {
    Json listed, named{Json::Array{}};
    for (const std::string_view node : named_nodes(each)) named.push(node);
    listed.set("message", each);
    listed.set("nodes", std::move(named));
    errors.push(std::move(listed));
  }
  json.set("errors", std::move(errors));
  return json_dump(json);
}

}  // namespace sluice
