// An ONNX model as something to cut pieces from: its graphs, who reads what, what types values
// have.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "onnx.pb.h"

namespace sluice {

// Where a graph lies: the nodes whose bodies lead to it, from the model's graph on. Empty: the
// model's graph.
struct BodyStep {
  int node = 0;
  int attribute = 0;
  int graph = -1;  // of an attribute that holds several; -1: of one that holds one
};
using GraphPath = std::vector<BodyStep>;

onnx::GraphProto& graph_at(onnx::ModelProto& model, const GraphPath& path);
const onnx::GraphProto& graph_at(const onnx::ModelProto& model, const GraphPath& path);
std::vector<GraphPath> graph_paths(const onnx::ModelProto& model);  // outer before inner
std::vector<GraphPath> bodies_of(const onnx::NodeProto& node, const GraphPath& path, int index);

size_t count_nodes(const onnx::ModelProto& model);  // bodies' nodes included
// What a node reads: its inputs, and what its bodies take from outside.
std::set<std::string> reads_of(const onnx::NodeProto& node);
// How often each name is defined anywhere: by a node, an input or an initializer.
std::map<std::string, int> definitions(const onnx::ModelProto& model);
// Reads of `from` become reads of `to`, in nodes, bodies and outputs.
void rename_reads(onnx::GraphProto& graph, const std::map<std::string, std::string>& names);

using Types = std::map<std::string, onnx::TypeProto>;  // by value name
// A new input of the model's graph, which bodies capture, too. False when nothing says its type, or
// another value has its name.
bool add_input(onnx::ModelProto& model, const std::string& name, const Types& types);
// What can be left out unseen: inputs and initializers that nothing reads, types of values that are
// gone, functions without a call.
void drop_unread(onnx::ModelProto& model);

// Reads the model of a file; external data becomes part of it, since what is made of it lies
// elsewhere. Errors: kNotFound, kBadModel, kLimit.
Result<onnx::ModelProto> read_whole_model(const std::string& path);

}  // namespace sluice
