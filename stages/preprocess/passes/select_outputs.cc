// Keeps the outputs that --out-nodes names, and the nodes that they need.
//
//   before:  (%x) -> (%probabilities, %boxes)
//            --out-nodes "/backbone/Relu_output_0;/head/Conv:0"
//   after:   (%x) -> (%/backbone/Relu_output_0, result 0 of node /head/Conv)
//
// Names are those of the ONNX model: of a value, or of a node with the number of its result. Nodes
// that no output needs any more are erased; inputs stay, since they are the model's interface.
#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "common/base/work.h"
#include "stages/preprocess/infer/bodies.h"
#include "stages/preprocess/passes/passes.h"

namespace sluice {
namespace {

constexpr size_t kShownNames = 4;

// Returns the edit distance (Levenshtein 1965), with one row in memory.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t k = 0; k <= b.size(); ++k) row[k] = k;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t k = 1; k <= b.size(); ++k) {
      const size_t above = row[k];
      row[k] = std::min({above + 1, row[k - 1] + 1, diagonal + (a[i - 1] == b[k - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

struct Names {
  std::map<std::string, Value*> values;
  std::map<std::string, Node*> nodes;
};

Names names_of(Graph& graph) {
  Names names;
  for (Value& value : graph.values()) {
    if (!value.is_erased() && !value.name().empty()) names.values.emplace(value.name(), &value);
  }
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node& node : graph.nodes()) {
    if (!node.name().empty()) names.nodes.emplace(node.name(), &node);
  }
  return names;
}

Value* find(const Names& names, const std::string& item) {
  if (const auto value = names.values.find(item); value != names.values.end()) return value->second;
  const size_t colon = item.rfind(':');
  if (colon == std::string::npos) return nullptr;
  const auto node = names.nodes.find(item.substr(0, colon));
  size_t result = 0;
  const char* end = item.data() + item.size();
  if (node == names.nodes.end() || std::from_chars(item.data() + colon + 1, end, result).ptr != end)
    return nullptr;
  return result < node->second->output_count() ? &node->second->output(result) : nullptr;
}

Error unknown(const Names& names, const std::string& item) {
  std::vector<std::pair<size_t, std::string>> near;
  const std::string node = item.substr(0, item.rfind(':'));
  for (const auto& [name, value] : names.values)
    near.emplace_back(distance(item, name), "value '" + name + "'");
  for (const auto& [name, found] : names.nodes) {
    const size_t count = found->output_count();
    near.emplace_back(distance(node, name), fmt::format("node '{}' with {} result{}", name, count,
                                                        count == 1 ? "" : "s"));
  }
  std::sort(near.begin(), near.end());
  std::string text;
  for (size_t i = 0; i < std::min(kShownNames, near.size()); ++i)
    text += (i == 0 ? "" : ", ") + near[i].second;
  return make_error(ErrorCode::kBadOption,
                    "--out-nodes names '{}', which is neither a value nor NODE:RESULT of the model",
                    item)
      .with_hint("the nearest names are " + text);
}

}  // namespace

Result<bool> select_outputs(Graph& graph, const Options& options) {
  const std::vector<std::string> items = options.list("out-nodes", ';');
  if (items.empty()) return false;
  const Names names = names_of(graph);
  std::vector<Value*> chosen;
  for (const std::string& item : items) {
    Value* value = find(names, item);
    if (value == nullptr) return unknown(names, item);
    chosen.push_back(value);
  }
  if (chosen == graph.outputs()) return false;
  while (!graph.outputs().empty()) graph.remove_output(graph.outputs().size() - 1);
  for (Value* value : chosen) graph.add_output(*value);
  erase_dead_nodes(graph);
  return true;
}

}  // namespace sluice
