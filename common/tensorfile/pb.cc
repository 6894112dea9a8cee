// Files of ONNX's TensorProto, SequenceProto, MapProto and OptionalProto.
#include <climits>
#include <cstring>

#include "common/base/files.h"
#include "common/tensorfile/bad_file.h"
#include "common/tensorfile/pb_maps.h"
#include "common/tensorfile/tensorfile.h"
#include "onnx.pb.h"

namespace sluice {
namespace {

template <typename To, typename List>
TensorBytes narrowed(const List& list) {
  TensorBytes bytes(static_cast<size_t>(list.size()) * sizeof(To));
  for (int i = 0; i < list.size(); ++i) {
    const To element = static_cast<To>(list[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &element, sizeof(To));
  }
  return bytes;
}

// Reads the typed field that ONNX uses for this dtype. With sub-byte elements each entry is one
// packed byte.
TensorBytes typed_elements(const onnx::TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kC64:
      return narrowed<float>(proto.float_data());
    case DType::kF64:
    case DType::kC128:
      return narrowed<double>(proto.double_data());
    case DType::kI64:
      return narrowed<int64_t>(proto.int64_data());
    case DType::kU32:
      return narrowed<uint32_t>(proto.uint64_data());
    case DType::kU64:
      return narrowed<uint64_t>(proto.uint64_data());
    case DType::kI32:
      return narrowed<int32_t>(proto.int32_data());
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return narrowed<uint16_t>(proto.int32_data());
    default:
      return narrowed<uint8_t>(proto.int32_data());
  }
}

Result<Tensor> from_strings(const onnx::TensorProto& proto, std::vector<int64_t> dims,
                            uint64_t count, const std::string& path) {
  if (static_cast<uint64_t>(proto.string_data_size()) != count) {
    return bad_file(path, "tensor '{}' holds {} strings, expected {}", proto.name(),
                    proto.string_data_size(), count);
  }
  const std::vector<std::string> texts(proto.string_data().begin(), proto.string_data().end());
  return make_string_tensor(std::move(dims), texts, proto.name());
}

}  // namespace

Result<Tensor> from_proto(const onnx::TensorProto& proto, const std::string& path) {
  if (!dtype_is_valid(proto.data_type()) || proto.data_type() == 0) {
    return bad_file(path, "tensor '{}' has element type {}, which is unknown", proto.name(),
                    proto.data_type());
  }
  const DType dtype = static_cast<DType>(proto.data_type());
  std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  const std::optional<uint64_t> count = element_count(dims);
  if (!count)
    return bad_file(path, "tensor '{}' has the impossible shape {}", proto.name(), dims_text(dims));
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    return bad_file(path, "tensor '{}' keeps its elements in another file, expected them here",
                    proto.name());
  }
  if (dtype == DType::kString) return from_strings(proto, std::move(dims), *count, path);
  TensorBytes bytes;
  if (proto.has_raw_data()) {
    const auto* begin = reinterpret_cast<const std::byte*>(proto.raw_data().data());
    bytes.assign(begin, begin + proto.raw_data().size());
  } else {
    bytes = typed_elements(proto, dtype);
  }
  if (bytes.size() != dtype_bytes(dtype, *count)) {
    return bad_file(path, "tensor '{}' holds {} bytes, expected {} for {} of shape {}",
                    proto.name(), bytes.size(), dtype_bytes(dtype, *count), dtype_name(dtype),
                    dims_text(dims));
  }
  return Tensor{proto.name(), dtype, std::move(dims), std::move(bytes)};
}

namespace {

template <typename Proto>
Result<Proto> parsed(std::span<const std::byte> bytes, const std::string& path,
                     const char* message) {
  if (bytes.size() > INT_MAX)
    return bad_file(path, "the file has {} bytes, more than a protobuf message may", bytes.size());
  Proto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return bad_file(path, "the file is no ONNX {}", message);
  return proto;
}

Result<FileValue> from_sequence(const onnx::SequenceProto& proto, const std::string& path) {
  if (proto.sparse_tensor_values_size() + proto.sequence_values_size() + proto.map_values_size() +
          proto.optional_values_size() >
      0) {
    return bad_file(path, "sequence '{}' holds something else than tensors", proto.name());
  }
  FileValue value{ValueKind::kSequence, true, {}};
  for (const onnx::TensorProto& element : proto.tensor_values()) {
    SLUICE_ASSIGN(Tensor tensor, from_proto(element, path));
    value.tensors.push_back(std::move(tensor));
  }
  return value;
}

Result<FileValue> from_optional(const onnx::OptionalProto& proto, const std::string& path) {
  if (proto.has_tensor_value()) {
    SLUICE_ASSIGN(Tensor tensor, from_proto(proto.tensor_value(), path));
    return FileValue{ValueKind::kOptional, true, {std::move(tensor)}};
  }
  if (proto.has_sequence_value()) {
    SLUICE_ASSIGN(FileValue value, from_sequence(proto.sequence_value(), path));
    value.kind = ValueKind::kOptional;
    value.element = ValueKind::kSequence;
    return value;
  }
  if (proto.has_sparse_tensor_value() || proto.has_map_value() || proto.has_optional_value()) {
    return bad_file(path, "optional '{}' holds neither a tensor nor a sequence", proto.name());
  }
  return FileValue{ValueKind::kOptional, false, {}};
}

}  // namespace

Result<Tensor> parse_pb(std::span<const std::byte> bytes, const std::string& path) {
  SLUICE_ASSIGN(const onnx::TensorProto proto,
                parsed<onnx::TensorProto>(bytes, path, "TensorProto"));
  return from_proto(proto, path);
}

Result<FileValue> read_value(const std::string& path, ValueKind kind) {
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  if (kind == ValueKind::kSequence || kind == ValueKind::kMaps) {
    SLUICE_ASSIGN(const onnx::SequenceProto proto,
                  parsed<onnx::SequenceProto>(file.bytes(), path, "SequenceProto"));
    return kind == ValueKind::kMaps ? from_maps(proto, path) : from_sequence(proto, path);
  }
  if (kind == ValueKind::kMap) {
    SLUICE_ASSIGN(const onnx::MapProto proto,
                  parsed<onnx::MapProto>(file.bytes(), path, "MapProto"));
    return from_map(proto, path);
  }
  if (kind == ValueKind::kOptional) {
    SLUICE_ASSIGN(const onnx::OptionalProto proto,
                  parsed<onnx::OptionalProto>(file.bytes(), path, "OptionalProto"));
    return from_optional(proto, path);
  }
  SLUICE_ASSIGN(Tensor tensor, parse_pb(file.bytes(), path));
  return FileValue{ValueKind::kTensor, true, {std::move(tensor)}};
}

onnx::TensorProto to_proto(const Tensor& tensor) {
  onnx::TensorProto proto;
  proto.set_name(tensor.name);
  proto.set_data_type(static_cast<int32_t>(tensor.dtype));
  for (int64_t dim : tensor.dims) proto.add_dims(dim);
  if (tensor.dtype == DType::kString) {
    const uint64_t count = element_count(tensor.dims).value_or(0);
    for (uint64_t i = 0; i < count; ++i) proto.add_string_data(std::string(string_at(tensor, i)));
  } else {
    proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  }
  return proto;
}

namespace {

onnx::SequenceProto sequence_of(const std::vector<Tensor>& tensors) {
  onnx::SequenceProto proto;
  proto.set_elem_type(kTensorElement);
  for (const Tensor& tensor : tensors) *proto.add_tensor_values() = to_proto(tensor);
  return proto;
}

onnx::OptionalProto optional_of(const FileValue& value) {
  onnx::OptionalProto proto;
  if (!value.present) return proto;
  if (value.element == ValueKind::kSequence) {
    proto.set_elem_type(kSequenceElement);
    *proto.mutable_sequence_value() = sequence_of(value.tensors);
  } else {
    proto.set_elem_type(kTensorElement);
    *proto.mutable_tensor_value() = to_proto(value.tensors[0]);
  }
  return proto;
}

}  // namespace

std::string pb_bytes(const Tensor& tensor) { return to_proto(tensor).SerializeAsString(); }

Result<void> write_value(const std::string& path, const FileValue& value) {
  if (value.kind == ValueKind::kSequence)
    return write_text(path, sequence_of(value.tensors).SerializeAsString());
  if (value.kind == ValueKind::kMap)
    return write_text(path, map_of(value.tensors[0], value.tensors[1]).SerializeAsString());
  if (value.kind == ValueKind::kMaps)
    return write_text(path, maps_of(value.tensors).SerializeAsString());
  if (value.kind == ValueKind::kOptional)
    return write_text(path, optional_of(value).SerializeAsString());
  return write_text(path, pb_bytes(value.tensors[0]));
}

}  // namespace sluice
