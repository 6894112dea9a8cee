// Reads constants, and writes constant expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ir/module.h"
#include "common/pass/number.h"

namespace sluice {

// Returns true when every element of the constant is exactly `number`, bit for bit (so -0.0 is not
// 0.0). Only splats and constants in the graph are read.
bool is_filled_with(const Value& value, double number);

// Returns true for a constant tensor of f32, f16 or bf16 and of fixed shape whose bytes may be read
// while compiling or building.
bool is_weight(const Value* value);

// Writes a constant expression: canonical ops over segments of floats, evaluated by sluice-build.
class ConstantExpression {
 public:
  ConstantExpression(Module& module, const std::string& name)
      : graph_(module.add_graph(name, GraphRole::kExpression)) {}

  Value& input(SegmentId segment);
  Value& number(float value);
  // Adds an elementwise node over operands of equal shape, or of which one is a scalar: the result
  // has the first's type.
  Value& node(Op op, const std::vector<Value*>& operands);
  Value& reshape(Value& value, const std::vector<int64_t>& extents);
  // Returns the value itself when it has the dtype.
  Value& cast(Value& value, DType dtype);
  // Adds an elementwise node with broadcasting; the result has the type of `like`.
  Value& node_like(Op op, const std::vector<Value*>& operands, const Value& like);
  SegmentId finish(Value& result);

 private:
  Graph& graph_;
  std::vector<SegmentId> segments_;
};

}  // namespace sluice
