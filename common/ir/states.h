// States: outputs whose value a run keeps for an input of its next execution, as --state pairs
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

struct State {
  uint32_t output = 0;  // of the root graph
  uint32_t input = 0;   // index among its inputs that are not constants
};

// Parses the value of --state, pairs OUTPUT=INPUT separated by commas, and returns the states by
// input. A "*" matches the same text on both sides, several match several in their order:
// present.*=past_key_values.* pairs present.0.key with past_key_values.0.key. Errors: kBadOption
// for a pair that matches nothing, an input paired twice, or types that differ in dtype or rank.
Result<std::vector<State>> find_states(const Graph& root, const std::string& text);

// Returns true when a pair of --state names this input. A pair that find_states rejects names none.
bool is_state_input(const std::string& text, std::string_view input);

// Returns the value of --state, empty when it is absent.
std::string state_option(const Module& module);

// Returns true when the model of this root graph keeps states.
bool has_states(const Graph& root);

// Returns whether the node may append to a state in its memory, which costs less than any kernel,
// in a model that keeps states: a Concat of an input whose result is an output.
bool may_append_to_state(const Node& node);

}  // namespace sluice
