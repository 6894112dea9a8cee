// The first ONNX opset that has the forms of operators in a graph.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// The minimum opset that an exported model declares. It has the forms of all operators that are not
// in the tables of forms.cc.
inline constexpr int kFirstOpset = 17;

// Returns false when the graph's form of this op is in no ONNX operator set, such as Fused, or a
// tree ensemble with its tables as inputs.
bool has_onnx_form(const Node& node);

// Returns the first opset that has the node as it is written by write_node (nodes.h): with its
// inputs, attributes and element types. Returns kFirstOpset for nodes without form in ONNX.
int needed_opset(const Node& node);

// Returns true when the axes of a reduction are a constant; before opset 18 they are an attribute.
bool has_constant_axes(const Node& node);

// Returns true when Split's pieces have equal sizes; before opset 18 the number of results
// determines them.
bool has_equal_pieces(const Node& node);

// Returns the first IR version that has an element type.
int needed_ir_version(DType dtype);

}  // namespace sluice
