#include "runtime/program/value_kinds.h"

namespace sluice {
namespace {

HostValue::Kind host_kind(const FileValue& value) {
  using enum HostValue::Kind;
  if (!value.present) return kNone;
  const ValueKind kind = value.kind == ValueKind::kOptional ? value.element : value.kind;
  if (kind == ValueKind::kMap) return kMap;
  if (kind == ValueKind::kMaps) return kMaps;
  return kind == ValueKind::kSequence ? kSequence : kTensor;
}

}  // namespace

ValueKind value_kind(const pb::ModelDef& model, uint32_t type) {
  const pb::TypeDef& def = model.types(static_cast<int>(type));
  if (def.kind() == pb::VALUE_MAP) return ValueKind::kMap;
  if (def.kind() == pb::VALUE_OPTIONAL) return ValueKind::kOptional;
  if (def.kind() != pb::VALUE_SEQUENCE) return ValueKind::kTensor;
  return model.types(static_cast<int>(def.element())).kind() == pb::VALUE_MAP
             ? ValueKind::kMaps
             : ValueKind::kSequence;
}

HostValue host_value(const FileValue& value) {
  HostValue host{host_kind(value), {}};
  for (const Tensor& tensor : value.tensors)
    host.tensors.push_back({tensor.dtype, tensor.dims, tensor.bytes, nullptr});
  return host;
}

FileValue file_value(const HostValue& host, ValueKind kind, const std::string& name) {
  FileValue value;
  value.kind = kind;
  value.present = host.kind != HostValue::Kind::kNone;
  value.element =
      host.kind == HostValue::Kind::kSequence ? ValueKind::kSequence : ValueKind::kTensor;
  for (const HostTensor& tensor : host.tensors) {
    value.tensors.push_back(
        {name, tensor.dtype, tensor.dims, {tensor.bytes.begin(), tensor.bytes.end()}});
  }
  return value;
}

}  // namespace sluice
