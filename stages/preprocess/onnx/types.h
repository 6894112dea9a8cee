// Converts types of ONNX to types of the graph: dtypes, symbols for the dims that the model leaves
// open, and sizes that the command line fixes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "onnx.pb.h"
#include "stages/preprocess/onnx/shape_options.h"

namespace sluice {

// Returns the attribute's type. Before IR version 2 an attribute did not state it: then it is that
// of the member that is set.
onnx::AttributeProto::AttributeType attribute_type(const onnx::AttributeProto& attribute);

// Returns a type as the model declares it inside: fixed dims as they are, others unknown. Sparse
// and opaque types are kUnsupportedOp; undefined ones become the unknown type. what: "input 'x'",
// for messages.
Result<TypeId> declared_type(Module& module, const onnx::TypeProto& proto, const std::string& what);

// The inputs of the model: its graph's inputs that have no initializer, in order.
class ModelInputs {
 public:
  // Makes the inputs from those above. Rejects options that name unknown inputs or dims, listing
  // the known ones.
  static Result<ModelInputs> make(Module& module, ShapeOptions options,
                                  std::vector<const onnx::ValueInfoProto*> inputs);

  // Returns the type of input `index`. A dim that the model names is one symbol wherever the name
  // occurs; an anonymous one gets the symbol "<input>_<axis>".
  Result<TypeId> type(size_t index);

 private:
  ModelInputs(Module& module, ShapeOptions options, std::vector<const onnx::ValueInfoProto*> inputs)
      : module_(module), options_(std::move(options)), inputs_(std::move(inputs)) {}
  std::string dim_name(size_t index, int axis) const;
  Result<void> fix_by_input_shapes();
  Result<void> fix_dim(size_t index, int axis, const DimRange& range);
  Result<void> check_names() const;
  Result<std::vector<Dim>> dims(size_t index, const onnx::TensorShapeProto& shape);
  Dim named_dim(const std::string& name, size_t index, int axis);

  Module& module_;
  ShapeOptions options_;
  std::vector<const onnx::ValueInfoProto*> inputs_;
};

}  // namespace sluice
