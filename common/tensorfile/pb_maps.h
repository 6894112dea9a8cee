// ONNX's MapProto, and the SequenceProto of maps. Internal to this folder.
#pragma once

#include "common/tensorfile/tensorfile.h"
#include "onnx.pb.h"

namespace sluice {

// DataType of SequenceProto and of OptionalProto, from onnx-data.proto.
inline constexpr int32_t kTensorElement = 1, kSequenceElement = 3, kMapElement = 4;

Result<Tensor> from_proto(const onnx::TensorProto& proto, const std::string& path);
onnx::TensorProto to_proto(const Tensor& tensor);

// Convert maps whose values are scalars of one dtype.
Result<FileValue> from_map(const onnx::MapProto& proto, const std::string& path);
Result<FileValue> from_maps(const onnx::SequenceProto& proto, const std::string& path);
onnx::MapProto map_of(const Tensor& keys, const Tensor& values);
onnx::SequenceProto maps_of(const std::vector<Tensor>& tensors);

}  // namespace sluice
