// The open dims of a model's inputs, and the sizes that its user is likely to choose for them. The
// purpose of each follows from its name, as exporters write it, otherwise from its position.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/ir/module.h"
#include "common/ir/states.h"

namespace sluice {

// kStep: a sequence that continues a past, which is open itself or is appended to in a state.
enum class SizeRole : uint8_t { kBatch, kImage, kPast, kSequence, kStep, kOther };

struct OpenDim {
  SymbolId symbol = -1;
  SizeRole role = SizeRole::kOther;
  // "past + sequence": the open dims that it is the sum of, with `remainder`; empty when it is not
  // a sum.
  std::vector<size_t> summands;
  int64_t remainder = 0;
};

// Returns the open dims in the order of the inputs. sizes: of dims that are fixed already, by name.
// Dims along which a state is appended to, which --state leaves open on purpose, are left out, and
// sums of them by name.
std::vector<OpenDim> find_open_dims(const Module& module,
                                    const std::map<std::string, int64_t>& sizes,
                                    std::span<const State> states);

// Returns the size nearest to `wanted` that the symbol can have, searching upwards, then downwards;
// nothing when there is none.
std::optional<int64_t> fitting_size(const Symbol& symbol, int64_t wanted);

// Returns sizes of all dims together, the likeliest first; no two are equal. Batches are 1.
std::vector<std::vector<int64_t>> likely_sizes(const Module& module, std::span<const OpenDim> dims);

// Returns other sizes for one of the dims while the others stay as they are, the likeliest first:
// those that a node might need equal or added up, those that make up a number in `failure`, the
// message of inference about `sizes`, and the usual ones.
std::vector<int64_t> other_sizes(const Module& module, std::span<const OpenDim> dims,
                                 std::span<const int64_t> sizes, size_t varied,
                                 std::string_view failure);

}  // namespace sluice
