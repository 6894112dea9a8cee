#include "common/tensorfile/pb_maps.h"

#include <cstring>

#include "common/tensorfile/bad_file.h"

namespace sluice {
namespace {

template <typename T>
Tensor keys_as(const onnx::MapProto& proto, DType dtype) {
  Tensor keys = make_tensor(dtype, {proto.keys_size()});
  for (int i = 0; i < proto.keys_size(); ++i)
    keys.as<T>()[static_cast<size_t>(i)] = static_cast<T>(proto.keys(i));
  return keys;
}

Result<Tensor> keys_of(const onnx::MapProto& proto, const std::string& path) {
  const auto dtype =
      dtype_is_valid(proto.key_type()) ? static_cast<DType>(proto.key_type()) : DType::kUndefined;
  if (dtype == DType::kString) {
    const std::vector<std::string> texts(proto.string_keys().begin(), proto.string_keys().end());
    return make_string_tensor({proto.string_keys_size()}, texts);
  }
  if (!dtype_is_integer(dtype) || dtype_bits(dtype) < 8)
    return bad_file(path, "map '{}' has keys of type {}, expected integers or strings",
                    proto.name(), proto.key_type());
  if (dtype_bits(dtype) == 8) return keys_as<uint8_t>(proto, dtype);
  if (dtype_bits(dtype) == 16) return keys_as<uint16_t>(proto, dtype);
  return dtype_bits(dtype) == 32 ? keys_as<uint32_t>(proto, dtype)
                                 : keys_as<uint64_t>(proto, dtype);
}

// Returns scalars of one dtype as a tensor of one dim.
Result<Tensor> values_of(const onnx::MapProto& proto, const std::string& path) {
  const auto& list = proto.values().tensor_values();
  Tensor values =
      make_tensor(list.empty() ? DType::kF32 : static_cast<DType>(list[0].data_type()), {0});
  std::vector<std::string> texts;
  for (const onnx::TensorProto& one : list) {
    SLUICE_ASSIGN(const Tensor value, from_proto(one, path));
    if (element_count(value.dims) != 1 || value.dtype != values.dtype ||
        dtype_bits(value.dtype) % 8 != 0) {
      return bad_file(path,
                      "map '{}' has a value of type {} {}, expected single elements of one type",
                      proto.name(), dtype_name(value.dtype), dims_text(value.dims));
    }
    if (value.dtype == DType::kString) texts.emplace_back(string_at(value, 0));
    values.bytes.insert(values.bytes.end(), value.bytes.begin(), value.bytes.end());
  }
  values.dims[0] = list.size();
  return values.dtype == DType::kString ? make_string_tensor({list.size()}, texts) : values;
}

// Returns element i of a tensor of one dim as a scalar.
onnx::TensorProto element_of(const Tensor& tensor, size_t i) {
  if (tensor.dtype == DType::kString) {
    const std::string text(string_at(tensor, i));
    return to_proto(make_string_tensor({}, {&text, 1}));
  }
  Tensor scalar = make_tensor(tensor.dtype, {});
  std::memcpy(scalar.bytes.data(), tensor.bytes.data() + i * scalar.bytes.size(),
              scalar.bytes.size());
  return to_proto(scalar);
}

int64_t key_at(const Tensor& keys, size_t i) {
  const size_t width = static_cast<size_t>(dtype_bits(keys.dtype)) / 8;
  uint64_t key = 0;
  std::memcpy(&key, keys.bytes.data() + i * width, width);
  const size_t unused = 64 - 8 * width;
  return dtype_is_signed(keys.dtype) ? static_cast<int64_t>(key << unused) >> unused
                                     : static_cast<int64_t>(key);
}

}  // namespace

Result<FileValue> from_map(const onnx::MapProto& proto, const std::string& path) {
  SLUICE_ASSIGN(Tensor keys, keys_of(proto, path));
  SLUICE_ASSIGN(Tensor values, values_of(proto, path));
  if (keys.dims != values.dims) {
    return bad_file(path, "map '{}' has {} keys and {} values, which are tensors", proto.name(),
                    keys.dims[0], values.dims[0]);
  }
  FileValue map{ValueKind::kMap, true, {}};
  map.tensors.push_back(std::move(keys));
  map.tensors.push_back(std::move(values));
  return map;
}

Result<FileValue> from_maps(const onnx::SequenceProto& proto, const std::string& path) {
  if (proto.tensor_values_size() + proto.sparse_tensor_values_size() +
          proto.sequence_values_size() + proto.optional_values_size() >
      0) {
    return bad_file(path, "sequence '{}' holds something else than maps", proto.name());
  }
  FileValue maps{ValueKind::kMaps, true, {}};
  for (const onnx::MapProto& element : proto.map_values()) {
    SLUICE_ASSIGN(FileValue map, from_map(element, path));
    for (Tensor& tensor : map.tensors) maps.tensors.push_back(std::move(tensor));
  }
  return maps;
}

onnx::MapProto map_of(const Tensor& keys, const Tensor& values) {
  onnx::MapProto proto;
  proto.set_key_type(static_cast<int32_t>(keys.dtype));
  proto.mutable_values()->set_elem_type(kTensorElement);
  for (size_t i = 0; i < static_cast<size_t>(keys.dims[0]); ++i) {
    if (keys.dtype == DType::kString) {
      proto.add_string_keys(std::string(string_at(keys, i)));
    } else {
      proto.add_keys(key_at(keys, i));
    }
    *proto.mutable_values()->add_tensor_values() = element_of(values, i);
  }
  return proto;
}

onnx::SequenceProto maps_of(const std::vector<Tensor>& tensors) {
  onnx::SequenceProto proto;
  proto.set_elem_type(kMapElement);
  for (size_t i = 0; i + 1 < tensors.size(); i += 2)
    *proto.add_map_values() = map_of(tensors[i], tensors[i + 1]);
  return proto;
}

}  // namespace sluice
