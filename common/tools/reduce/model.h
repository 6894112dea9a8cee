// An ONNX model for reduction: its graphs, the readers and the types of its values.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "onnx.pb.h"

namespace sluice {

// The path to a graph: the nodes whose bodies lead to it, from the model's graph on. Empty: the
// model's graph.
struct BodyStep {
  int node = 0;
  int attribute = 0;
  int graph = -1;  // of an attribute with several graphs; -1: of one with a single graph
};
using GraphPath = std::vector<BodyStep>;

onnx::GraphProto& graph_at(onnx::ModelProto& model, const GraphPath& path);
const onnx::GraphProto& graph_at(const onnx::ModelProto& model, const GraphPath& path);
std::vector<GraphPath> graph_paths(const onnx::ModelProto& model);  // outer before inner
std::vector<GraphPath> bodies_of(const onnx::NodeProto& node, const GraphPath& path, int index);

size_t count_nodes(const onnx::ModelProto& model);  // bodies' nodes included
// Returns the names that a node reads: its inputs, and the outer values that its bodies read.
std::set<std::string> reads_of(const onnx::NodeProto& node);
// Returns how often each name is defined: by a node, an input or an initializer.
std::map<std::string, int> definitions(const onnx::ModelProto& model);
// Replaces reads of `from` by reads of `to`, in nodes, bodies and outputs.
void rename_reads(onnx::GraphProto& graph, const std::map<std::string, std::string>& names);

using Types = std::map<std::string, onnx::TypeProto>;  // by value name
// Adds an input of the model's graph, which bodies capture, too. Returns false when its type is
// unknown, or another value has its name.
bool add_input(onnx::ModelProto& model, const std::string& name, const Types& types);
// Removes unused parts: inputs and initializers that nothing reads, types of removed values,
// functions without a call.
void drop_unread(onnx::ModelProto& model);

// Reads the model of a file. External data becomes part of it, since the reduced models are written
// elsewhere. Errors: kNotFound, kBadModel, kLimit.
Result<onnx::ModelProto> read_whole_model(const std::string& path);

}  // namespace sluice
