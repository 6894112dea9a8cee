// Builds chains of data movement from canonical ops; such a chain defines a packing or a layout.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// Appends nodes of fixed shape after a value; every call moves on to the new result.
class Chain {
 public:
  Chain(Graph& graph, Value& start, Node* before = nullptr);

  Chain& reshape(std::vector<int64_t> dims);
  Chain& transpose(std::vector<int64_t> permutation);
  Chain& pad_last(int64_t extent);    // appends zeros to the last axis, up to `extent`
  Chain& slice_last(int64_t extent);  // the first `extent` of the last axis
  Chain& cast(DType dtype);
  Chain& add_number(int32_t number);  // to elements of i32
  Chain& expand(std::vector<int64_t> dims);
  Chain& subtract(Value& other);  // broadcast to this shape
  Chain& sum_last();              // over the last axis, which is removed
  Graph& graph() const { return graph_; }
  Value& value() const { return *value_; }
  const std::vector<int64_t>& dims() const { return dims_; }

 private:
  Value* indices(std::vector<int64_t> numbers);
  Chain& append(Op op, const std::vector<Value*>& inputs, std::vector<int64_t> dims);
  Chain& append(Op op, const std::vector<Value*>& inputs, const Type& type);

  Graph& graph_;
  Value* value_;
  Node* before_;
  std::vector<int64_t> dims_;
};

// Makes a segment that evaluates `build` over another one: a constant expression.
template <typename Build>
SegmentId make_chain_expression(Module& module, SegmentId input, const char* name, Build build) {
  Graph& graph = module.add_graph(name, GraphRole::kExpression);
  Chain chain(graph, graph.add_input(module.segment(input).type, "in"));
  build(chain);
  graph.add_output(chain.value());
  return module.make_expression(chain.value().type_id(), graph.id(), {input});
}

}  // namespace sluice
