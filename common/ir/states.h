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
  uint32_t input = 0;   // index among its inputs that are no constants
};

// text: the value of --state, pairs OUTPUT=INPUT separated by commas. A "*" stands for the same
// text on both sides, several for several in their order: present.*=past_key_values.* pairs
// present.0.key with past_key_values.0.key. By input. Errors: kBadOption for a pair that fits
// nothing, an input paired twice, or types that differ in dtype or rank.
Result<std::vector<State>> find_states(const Graph& root, const std::string& text);

// Whether a pair of --state names this input. A pair that find_states refuses names none.
bool is_state_input(const std::string& text, std::string_view input);

// The value of --state, empty without.
std::string state_option(const Module& module);

// Whether the model of this root graph keeps states.
bool has_states(const Graph& root);

}  // namespace sluice
