#include "orchestrator/conformance/model_signature.h"

#include <climits>
#include <cstring>
#include <set>

#include "common/base/dtype.h"
#include "onnx.pb.h"

namespace sluice {
namespace {

using Bytes = std::span<const std::byte>;

// Walks over the fields of an encoded protobuf message. Only fields with a length have a payload;
// numbers are stepped over.
class Fields {
 public:
  explicit Fields(Bytes bytes) : remaining_(bytes) {}
  bool damaged() const { return damaged_; }

  // Reads the next field; false at the end or on damage.
  bool next(uint32_t& number, Bytes& payload) {
    uint64_t key = 0;
    if (damaged_ || remaining_.empty() || !take_varint(key)) return false;
    number = static_cast<uint32_t>(key >> 3);
    payload = {};
    uint64_t length = 0;
    switch (key & 7) {
      case 0:
        return take_varint(length);
      case 1:
        return take(8, payload);
      case 2:
        return take_varint(length) && take(length, payload);
      case 5:
        return take(4, payload);
      default:
        damaged_ = true;
        return false;
    }
  }

 private:
  bool take_varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !remaining_.empty(); shift += 7) {
      const auto byte = static_cast<uint64_t>(remaining_.front());
      remaining_ = remaining_.subspan(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    damaged_ = true;
    return false;
  }
  bool take(uint64_t length, Bytes& payload) {
    damaged_ = length > remaining_.size();
    if (damaged_) return false;
    payload = remaining_.first(length);
    remaining_ = remaining_.subspan(length);
    return true;
  }
  Bytes remaining_;
  bool damaged_ = false;
};

constexpr uint32_t kModelGraph = 7, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12,
                   kGraphSparse = 15, kSparseValues = 1, kTensorName = 8;

std::string name_of_tensor(Bytes tensor) {
  std::string name;
  uint32_t field = 0;
  Bytes payload;
  for (Fields fields(tensor); fields.next(field, payload);) {
    if (field == kTensorName)
      name.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
  }
  return name;
}

std::string name_of_sparse(Bytes sparse) {
  std::string name;
  uint32_t field = 0;
  Bytes payload;
  for (Fields fields(sparse); fields.next(field, payload);) {
    if (field == kSparseValues) name = name_of_tensor(payload);
  }
  return name;
}

bool is_fixed(const onnx::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return false;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (!dim.has_dim_value() || dim.dim_value() < 0) return false;
  }
  return true;
}

bool is_float(const onnx::TypeProto& type) {
  const int number = type.has_tensor_type() ? type.tensor_type().elem_type() : 0;
  return dtype_is_valid(number) && dtype_is_float(static_cast<DType>(number));
}

bool add_value(Bytes bytes, std::vector<SignatureValue>& values) {
  onnx::ValueInfoProto proto;
  if (bytes.size() > INT_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return false;
  SignatureValue value{proto.name(), ValueKind::kTensor, is_fixed(proto.type()),
                       is_float(proto.type())};
  if (proto.type().has_map_type()) value.kind = ValueKind::kMap;
  if (proto.type().has_sequence_type()) {
    value.kind = proto.type().sequence_type().elem_type().has_map_type() ? ValueKind::kMaps
                                                                         : ValueKind::kSequence;
  }
  if (proto.type().has_optional_type()) value.kind = ValueKind::kOptional;
  values.push_back(std::move(value));
  return true;
}

bool read_graph(Bytes graph, ModelSignature& signature, std::set<std::string>& initializers) {
  uint32_t field = 0;
  Bytes payload;
  Fields fields(graph);
  while (fields.next(field, payload)) {
    if (field == kGraphInitializer) initializers.insert(name_of_tensor(payload));
    if (field == kGraphSparse) initializers.insert(name_of_sparse(payload));
    if (field == kGraphInput && !add_value(payload, signature.inputs)) return false;
    if (field == kGraphOutput && !add_value(payload, signature.outputs)) return false;
  }
  return !fields.damaged();
}

}  // namespace

Result<ModelSignature> read_model_signature(Bytes model) {
  ModelSignature signature;
  std::set<std::string> initializers;
  uint32_t field = 0;
  Bytes payload;
  Fields fields(model);
  bool graph = false;
  while (fields.next(field, payload)) {
    if (field != kModelGraph) continue;
    graph = true;
    if (!read_graph(payload, signature, initializers))
      return make_error(ErrorCode::kBadModel, "the model's graph is damaged");
  }
  if (fields.damaged() || !graph)
    return make_error(ErrorCode::kBadModel, "the file is no ONNX model");
  std::erase_if(signature.inputs,
                [&](const SignatureValue& input) { return initializers.contains(input.name); });
  return signature;
}

}  // namespace sluice
