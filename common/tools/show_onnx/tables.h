// The operators of ai.onnx.ml, whose tables are operands in a graph and attributes in ONNX.
#pragma once

#include <unordered_map>
#include <vector>

#include "common/base/tensor.h"
#include "common/ir/module.h"
#include "onnx.pb.h"

namespace sluice {

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

// The tables of each node of ai.onnx.ml, in the order of its operands after the first. A table that
// is absent has no dtype.
using Tables = std::unordered_map<const Node*, std::vector<Tensor>>;

// Returns true when all operands after the first are constants or absent.
bool has_constant_tables(const Node& node);
// Takes the tables out of the operands of all nodes of ai.onnx.ml, which must be constants.
// Errors: those of reading constants.
Result<Tables> take_tables(Module& module);

// Writes the attributes that the tables of a node are.
void write_tables(const Node& node, const std::vector<Tensor>& tables, onnx::NodeProto& proto);
// Returns the first version of ai.onnx.ml that has the node with these tables.
int needed_ml_version(const Node& node, const std::vector<Tensor>& tables);

}  // namespace sluice
