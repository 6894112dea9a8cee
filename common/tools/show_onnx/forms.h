// Since which opset ONNX has the forms of operators that a graph holds.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// The smallest opset that an exported model declares. The forms of all operators that are not in
// the tables of forms.cc are in it.
inline constexpr int kFirstOpset = 17;

// False: the graph's form of this op is in no ONNX operator set, such as Fused, or a tree ensemble
// with its tables as inputs.
bool has_onnx_form(const Node& node);

// The first opset that has the node as it is written by write_node (nodes.h): with its inputs,
// attributes and element types. kFirstOpset for nodes without form in ONNX.
int needed_opset(const Node& node);

// True: the axes of a reduction are a constant, which opsets before 18 have as an attribute.
bool has_constant_axes(const Node& node);

// True: Split's pieces are equally large, which opsets before 18 take from the number of results.
bool has_equal_pieces(const Node& node);

// The first IR version that has an element type.
int needed_ir_version(DType dtype);

}  // namespace sluice
