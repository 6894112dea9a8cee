// The recurrent nodes that the aicore engine supports: RNN, GRU and LSTM of f32, f16
// and bf16, whose weights have fixed shapes; sequence length and batch may be symbolic.
#pragma once

#include <string>

#include "common/ir/graph.h"
#include "common/target/recurrent_cell.h"

namespace sluice {

bool is_recurrent(Op op);  // RNN, GRU and LSTM

// Returns the recurrent node of a Fused body, or null when there is none.
const Node* find_recurrent(const Graph& body);

// Returns an empty text when aicore can lower the node, otherwise the reason.
std::string recurrent_unsupported_reason(const Node& node);

// Returns the cell of a node that is supported.
RecurrentCell read_recurrent(const Node& node);

}  // namespace sluice
