// A graph as a list of named entries with facts, for comparison. Internal to sluice-diff.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/ir/module.h"
#include "common/text/printer.h"

namespace sluice {

struct DiffEntry {
  std::string name;
  std::string text;  // a short form, for entries that the other side does not have
  // Pairs of a name for messages and a text.
  std::vector<std::pair<std::string, std::string>> facts;
};

class DiffSide {
 public:
  DiffSide(const Module& module, bool ignores_constants);
  const std::map<std::string, GraphId>& graphs() const { return graphs_; }  // by name in the text
  // Returns the graph's own facts, its constants and its nodes, in order.
  std::vector<DiffEntry> entries(GraphId id) const;

 private:
  std::vector<std::string> names_of(const Graph& graph) const;
  std::string attribute(const AttributeValue& value) const;
  void add_value(DiffEntry& entry, const std::string& what, const Value& value) const;
  void add_placement(DiffEntry& entry, const Placement& placement) const;
  void add_schedule(DiffEntry& entry, const Node& node) const;
  DiffEntry graph_entry(const Graph& graph, const std::vector<std::string>& names) const;
  DiffEntry constant_entry(const Value& value, const std::vector<std::string>& names) const;
  DiffEntry node_entry(const Node& node, const std::vector<std::string>& names,
                       size_t position) const;

  const Module& module_;
  const bool ignores_constants_;
  text::ModulePrinter printer_;
  std::map<std::string, GraphId> graphs_;
};

}  // namespace sluice
