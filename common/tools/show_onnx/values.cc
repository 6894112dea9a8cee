#include "common/tools/show_onnx/values.h"

#include <algorithm>
#include <cstring>

#include "common/text/text.h"
#include "common/tools/show_onnx/scope.h"

namespace sluice {
namespace {

void write_shape(const Module& module, const Type& type, onnx::TypeProto::Tensor& tensor) {
  tensor.set_elem_type(static_cast<int>(type.dtype));
  if (!type.ranked) return;
  tensor.mutable_shape();  // present, though a scalar has no dims
  for (const Dim& dim : type.dims) {
    auto& written = *tensor.mutable_shape()->add_dim();
    if (dim.is_fixed()) written.set_dim_value(dim.value);
    if (dim.is_expression()) written.set_dim_param(utf8_text(print_dim(module, dim)));
  }
}

void write_dims(const Type& type, google::protobuf::RepeatedField<int64_t>& dims) {
  for (const Dim& dim : type.dims) dims.Add(dim.is_fixed() ? dim.value : 0);
}

bool can_be_sparse(const Type& type) {
  const auto has_elements = [](const Dim& dim) { return dim.is_fixed() && dim.value > 0; };
  return type.rank() > 0 && std::ranges::all_of(type.dims, has_elements);
}

void write_without_elements(const Type& type, onnx::SparseTensorProto& sparse) {
  write_dims(type, *sparse.mutable_dims());
  sparse.mutable_values()->set_data_type(static_cast<int>(type.dtype));
  sparse.mutable_values()->add_dims(0);
  sparse.mutable_indices()->set_data_type(static_cast<int>(DType::kI64));
  sparse.mutable_indices()->add_dims(0);
}

// Writes a constant of a type that no sparse tensor has: a scalar is a zero or an empty text,
// others have no elements.
void write_zero(const Type& type, onnx::TensorProto& tensor) {
  tensor.set_data_type(static_cast<int>(type.dtype));
  write_dims(type, *tensor.mutable_dims());
  if (type.rank() > 0) return;
  if (type.dtype == DType::kString) {
    tensor.add_string_data("");
  } else {
    tensor.set_raw_data(std::string(dtype_bytes(type.dtype, 1), '\0'));
  }
}

}  // namespace

bool write_type(const Module& module, TypeId id, onnx::TypeProto& proto) {
  const Type& type = module.type(id);
  switch (type.kind) {
    case TypeKind::kUnknown:
      return false;
    case TypeKind::kTensor:
      write_shape(module, type, *proto.mutable_tensor_type());
      return type.dtype != DType::kUndefined;
    case TypeKind::kSequence:
      return write_type(module, type.element, *proto.mutable_sequence_type()->mutable_elem_type());
    case TypeKind::kOptional:
      return write_type(module, type.element, *proto.mutable_optional_type()->mutable_elem_type());
    case TypeKind::kMap:
      proto.mutable_map_type()->set_key_type(static_cast<int>(type.dtype));
      return write_type(module, type.element, *proto.mutable_map_type()->mutable_value_type());
  }
  return false;
}

bool is_inline_constant(const Segment& segment) { return segment.kind == SegmentKind::kSmall; }

// A string tensor is (n + 1) ends of texts as u64, then the texts.
void write_strings(std::span<const std::byte> bytes, uint64_t count, onnx::TensorProto& tensor) {
  if (bytes.size() / 8 <= count) return;
  const uint64_t head = 8 * (count + 1);
  const auto end_of = [&](uint64_t i) {
    uint64_t end = 0;
    std::memcpy(&end, bytes.data() + 8 * i, 8);
    return std::min<uint64_t>(end, bytes.size() - head);
  };
  const auto* texts = reinterpret_cast<const char*>(bytes.data()) + head;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = end_of(i), end = std::max(begin, end_of(i + 1));
    tensor.add_string_data(texts + begin, end - begin);
  }
}

void write_tensor_type(const Type& type, onnx::TensorProto& tensor) {
  tensor.set_data_type(static_cast<int>(type.dtype));
  write_dims(type, *tensor.mutable_dims());
}

void write_dims_node(const Type& type, const std::string& name, onnx::NodeProto& node) {
  node.set_op_type("Constant");
  node.add_output(name);
  onnx::AttributeProto& dims = *node.add_attribute();
  dims.set_name("value_ints");
  dims.set_type(onnx::AttributeProto::INTS);
  write_dims(type, *dims.mutable_ints());
}

void write_tensor(const Module& module, const Segment& segment, onnx::TensorProto& tensor) {
  const Type& type = module.type(segment.type);
  write_tensor_type(type, tensor);
  const auto count = static_cast<uint64_t>(type.element_count().value_or(0));
  if (type.dtype == DType::kString) return write_strings(segment.data, count, tensor);
  tensor.set_raw_data(segment.data.data(), segment.data.size());
}

void write_constant_node(const Module& module, const Segment& segment, const std::string& name,
                         onnx::NodeProto& node) {
  const Type& type = module.type(segment.type);
  node.set_op_type("Constant");
  onnx::AttributeProto& attribute = *node.add_attribute();
  const bool is_sparse = !is_inline_constant(segment) && can_be_sparse(type);
  attribute.set_name(is_sparse ? "sparse_value" : "value");
  attribute.set_type(is_sparse ? onnx::AttributeProto::SPARSE_TENSOR
                               : onnx::AttributeProto::TENSOR);
  if (is_sparse) {
    write_without_elements(type, *attribute.mutable_sparse_tensor());
    attribute.mutable_sparse_tensor()->mutable_values()->set_name(name);
  } else if (is_inline_constant(segment)) {
    write_tensor(module, segment, *attribute.mutable_t());
  } else {
    write_zero(type, *attribute.mutable_t());
  }
}

}  // namespace sluice
