// Edits of graphs from outside, each of which leaves a graph that verifies, or fails and changes
// nothing: operands of the node's own graph, no cycle, signatures, and types that agree.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/python/module_box.h"

namespace sluice::python {

using NamedAttributes = std::vector<std::pair<std::string, AttributeValue>>;

// The op of a name, "Relu" or "com.acme::Gelu" (kForeign). Fails with the nearest names.
Op op_of(const std::string& name);
std::string op_text(const Node& node);

// Adds a node in front of `before`, or, where that is null, behind the last of its operands, with
// the types of its results. outputs: 0 for as many as the op has at least.
Node& add_node(ModuleBox& box, Graph& graph, const std::string& op,
               const std::vector<Value*>& inputs, size_t outputs, const NamedAttributes& attributes,
               Node* before, const std::string& name);

void set_operand(ModuleBox& box, Node& node, size_t index, Value* value);
// value: nothing removes it.
void set_attribute(ModuleBox& box, Node& node, const std::string& name,
                   std::optional<AttributeValue> value);
// type: nothing forgets it and infers it again.
void set_type(ModuleBox& box, Value& value, std::optional<TypeId> type);
// Makes readers of `from`, but those of `keep`, and the graph's outputs, read `to`.
void replace_uses(ModuleBox& box, Value& from, Value& to, const std::vector<Node*>& keep);
void erase_node(ModuleBox& box, Node& node);
void add_control_edge(ModuleBox& box, Node& node, Node& before);
void set_output(ModuleBox& box, Graph& graph, size_t index, Value& value);

// Erases the nodes that nothing reads, in this graph; returns how many.
size_t erase_unused(ModuleBox& box, Graph& graph);

}  // namespace sluice::python
