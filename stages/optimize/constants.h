// Reads small constants, and writes constants and constant expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// Returns true when every element of the constant is exactly `number`, bit for bit (so -0.0 is not
// 0.0). Only splats and constants in the graph are read.
bool is_filled_with(const Value& value, double number);

// Returns the elements of an i64 constant in the graph.
std::optional<std::vector<int64_t>> constant_ints(const Value* value);

// Returns the element of a constant of one float, or i32 or i64, that is in the graph.
std::optional<double> find_number(const Value* value);

// Returns whether two numbers are equal up to the rounding of constants of the dtype, and of a
// product of two of them. Only 0 is close to 0.
bool is_close(DType dtype, double number, double expected);

// Returns true for a constant of one float that is close to the number.
bool is_number(const Value* value, double expected);

// Adds a new constant to the graph: a scalar 1 of a float dtype.
Value& add_one(Graph& graph, DType dtype);

// Adds a new constant to the graph: a vector of i64.
Value& add_ints(Graph& graph, const std::vector<int64_t>& numbers);

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
