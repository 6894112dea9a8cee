// Types and constants of a graph as those of ONNX.
#pragma once

#include "common/ir/module.h"
#include "onnx.pb.h"

namespace sluice {

// Dims that are no numbers are dim_param, as the text of a graph prints them; unknown ones have
// neither. False: the type is not known, and nothing was written.
bool write_type(const Module& module, TypeId id, onnx::TypeProto& proto);

// True: the bytes lie in the graph, so that the constant is exported with its elements.
bool is_inline_constant(const Segment& segment);

// Of an inline constant.
void write_tensor(const Module& module, const Segment& segment, onnx::TensorProto& tensor);

// A node of type Constant, without outputs: the elements of an inline constant, else only dtype and
// dims, as a sparse tensor that has no element but zeros. ONNX has no other form of a constant
// whose bytes are elsewhere that checkers take: external data must be there.
void write_constant_node(const Module& module, const Segment& segment, const std::string& name,
                         onnx::NodeProto& node);

}  // namespace sluice
