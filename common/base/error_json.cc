// Errors for programs that read them. A message names nodes in two ways, "node 'conv1' (Conv)" and
// "2 nodes: 'a', 'b'", and lists what else is wrong in indented lines: both are read from it, so
// that errors of all programs, and those that came from a service, are told alike.
#include <algorithm>
#include <vector>

#include "common/base/json.h"
#include "common/base/result.h"

namespace sluice {
namespace {

constexpr std::string_view kLabel = "node '", kList = "node: '", kLists = "nodes: '";
constexpr std::string_view kNext = "', '";
constexpr std::string_view kBreak = "\n  ";

// Cuts the text before the next name that follows the mark off; false: there is none.
bool skip_to(std::string_view mark, std::string_view& text) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at + mark.size());
  return true;
}

// The name at the beginning, up to its closing quote, after which the text goes on.
std::string_view take_name(std::string_view closing, std::string_view& text) {
  size_t end = text.find(closing);
  if (end == std::string_view::npos) end = std::min(text.find('\''), text.size());
  const std::string_view name = text.substr(0, end);
  text.remove_prefix(end);
  return name;
}

// The mark that comes first in the text; empty: none does.
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
    const bool is_label = mark == kLabel;  // which ends with the op: the name may hold quotes
    nodes.push_back(take_name(is_label ? "' (" : "'", text));
    while (!is_label && text.starts_with(kNext)) {
      text.remove_prefix(kNext.size());
      nodes.push_back(take_name("'", text));
    }
  }
  return nodes;
}

// The lines of a list; without a list the message itself.
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
