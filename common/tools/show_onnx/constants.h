// The constants of a model that runs: each once, with one name in all graphs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "common/tools/show_onnx/nodes.h"
#include "common/tools/show_onnx/weights.h"

namespace sluice {

class ConstantsWriter {
 public:
  struct Initializer {
    SegmentId segment;
    std::string name;
  };

  ConstantsWriter(const Module& module, const NodeWriter& nodes)
      : module_(module), nodes_(nodes), weights_(module) {}

  // Makes an initializer of a constant, or nodes that compute it, the first time that it is asked
  // for, with a name like that of the value. Returns its name.
  const std::string& name_of(const Value& value, OnnxScope& scope);

  const std::vector<Initializer>& initializers() const { return initializers_; }
  // The nodes that compute constants, which come before all others of the model's graph.
  const google::protobuf::RepeatedPtrField<onnx::NodeProto>& computing() const {
    return computing_;
  }

 private:
  const std::string& name_of(SegmentId id, const std::string& like, OnnxScope& scope);
  void compute_splat(const Segment& segment, const std::string& name, OnnxScope& scope);
  std::string compute_expression(const Segment& segment, const std::string& like, OnnxScope& scope);

  const Module& module_;
  const NodeWriter& nodes_;
  Weights weights_;
  std::vector<Initializer> initializers_;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> computing_;
  std::unordered_map<SegmentId, std::string> names_;
};

}  // namespace sluice
