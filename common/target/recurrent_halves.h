// The two Fused nodes that stand for a recurrent cell (split-recurrent-cells of
// sluice-subgraph-optimize), as the aicore engine supports them:
//
//   products   body: MatMul(%x, Transpose(Reshape(%w)))
//   walk       body: the cell over products, the identity in the place of W, R and the rest
//
// Bodies compute in f32: they cast what they read and what they give, where that has 16 bits.
#pragma once

#include <string>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Returns the value before a Cast, or the value itself.
const Value& before_cast(const Value& value);

// Returns whether the node has the form of the first half. Its inputs are x, [rows, rows, inputs],
// and w, [directions, columns of one, inputs].
bool is_recurrent_products(const Node& node);
// Returns an empty text when the node is a first half that aicore can lower, otherwise the reason.
std::string products_unsupported_reason(const Node& node);

// Returns an empty text when aicore can lower the node, whose body has a cell, otherwise the
// reason. Its inputs are the products, R, and the inputs of the cell after R that are present.
std::string walk_unsupported_reason(const Node& node);
// Returns which result of the cell each result of the node is.
std::vector<size_t> walk_results(const Node& node);

}  // namespace sluice
