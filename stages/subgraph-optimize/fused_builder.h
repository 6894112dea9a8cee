// Makes a Fused node that computes a part of what another node computes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "common/ir/clone.h"

namespace sluice {

class FusedBuilder {
 public:
  // whole: the node, whose body's nodes, or which itself, are copied as far as they are needed.
  explicit FusedBuilder(Node& whole);

  // Returns the value of the new body for one of the whole's body (of its graph, where it has no
  // body): what was bound to it, a copy of the node that computes it, or an input.
  Value& value(const Value& source);
  void bind(const Value& source, Value& inside) { inside_[&source] = &inside; }
  // Lets a copy of the constant stand for the value of the whole's body, unless something does.
  void bind_constant(const Value& source, const Value& constant);
  // Returns a new input of the body, which is this value outside.
  Value& input(Value& outside);

  // Returns the first result of a new node of the body.
  Value& node(Op op, const std::vector<Value*>& inputs, size_t results = 1);
  Value& longs(const std::vector<int64_t>& numbers);
  Value& element(DType dtype, uint64_t bits);  // a constant without dims

  // The next result of the new node. replaced: whose uses read the result from now on, or null.
  void add_result(Value& inside, Value* replaced);
  // Adds the node before the whole, of which it takes placement and origins.
  Node& finish(const std::string& name);

 private:
  Value& copy(const Value& result, const Node& producer);
  Value& constant(DType dtype, const std::vector<int64_t>& extents, std::vector<std::byte> bytes);

  Node& whole_;
  Graph* old_body_;
  Graph& body_;
  ModuleMapper mapper_;
  std::unordered_map<const Value*, Value*> inside_;  // by value of the whole's body or graph
  std::vector<Value*> outside_;                      // by input of the body
  std::vector<Value*> replaced_;                     // by result
};

}  // namespace sluice
