// Converts types and constants of a graph to ONNX.
#pragma once

#include "common/ir/module.h"
#include "onnx.pb.h"

namespace sluice {

// Writes a type. Dims that are not numbers are dim_param, as in the text of a graph; unknown dims
// have neither. Returns false when the type is not known, and writes nothing.
bool write_type(const Module& module, TypeId id, onnx::TypeProto& proto);

// Returns true when the bytes are in the graph, so that the constant is exported with its elements.
bool is_inline_constant(const Segment& segment);

// Writes an inline constant.
void write_tensor(const Module& module, const Segment& segment, onnx::TensorProto& tensor);
// Writes dtype and dims, without elements.
void write_tensor_type(const Type& type, onnx::TensorProto& tensor);
// Writes a string tensor of `count` elements.
void write_strings(std::span<const std::byte> bytes, uint64_t count, onnx::TensorProto& tensor);

// Writes a node of type Constant whose output, `name`, is the dims of a fixed type.
void write_dims_node(const Type& type, const std::string& name, onnx::NodeProto& node);

// Writes a node of type Constant without outputs: the elements of an inline constant, otherwise
// only dtype and dims, as a sparse tensor without nonzero elements. Checkers accept no other form
// of a constant whose bytes are elsewhere, since external data must exist.
void write_constant_node(const Module& module, const Segment& segment, const std::string& name,
                         onnx::NodeProto& node);

}  // namespace sluice
