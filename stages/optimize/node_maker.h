// Adds the nodes that take the place of one node: before it, with its name, placement and origins.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ir/clone.h"
#include "common/ir/module.h"
#include "common/pass/editor.h"

namespace sluice {

// Returns the target of a Reshape: at most one dim may be neither fixed nor the same at its place.
std::vector<int64_t> reshape_target(const std::vector<Dim>& from, const std::vector<Dim>& to);

class NodeMaker {
 public:
  NodeMaker(Editor& editor, Node& model) : editor_(editor), model_(model), graph_(model.graph()) {}

  // Makes readers of result `output` of the node read the value instead, which has its type.
  void give(size_t output, Value& value);
  // Erases the node, whose results are given.
  void finish();
  // Does the same where the nodes, of which the node is one, became those made.
  void finish(const std::vector<Node*>& replaced);
  // Erases what was made, which nothing else reads.
  void abandon();

  Node& node(Op op, const std::vector<Value*>& inputs, const Type& type);
  Value& add(Op op, const std::vector<Value*>& inputs, const Type& type);
  // A copy of a node of another graph; see ModuleMapper::clone_node.
  void copy(const Node& node, ModuleMapper& mapper, std::vector<Value*>& values);
  // An elementwise node over operands that broadcast as written: of two dims one is 1, or both are
  // the same. The dtype is that of the result.
  Value& elementwise(Op op, const std::vector<Value*>& inputs, DType dtype);
  Value& cast(Value& x, DType dtype);  // x when it has that dtype
  Value& reshape(Value& x, const std::vector<Dim>& dims);
  Value& transpose(Value& x, const std::vector<int64_t>& order);
  // Adds elements after the last ones along the last axis.
  Value& pad_end(Value& x, int64_t count, Value& element);
  // The size along an axis as i64 of rank 1; that, and the numbers from 0 up to it, as i32.
  Value& extent(Value& x, size_t axis);
  Value& size(Value& x, size_t axis);
  Value& places(Value& x, size_t axis);

  // As many copies of a single element as x has along an axis.
  Value& copies(Value& element, Value& x, size_t axis);

  Value& number(float number);                  // a scalar constant
  Value& integer(DType dtype, int64_t number);  // the same of an integer dtype, or bool

 private:
  Editor& editor_;
  Node& model_;
  Graph& graph_;
  std::vector<Node*> made_;
};

}  // namespace sluice
