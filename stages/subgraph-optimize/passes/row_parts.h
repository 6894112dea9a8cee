// Parts of rows that are reduced, which threads share. They depend on the model alone, so the
// results are the same for any number of threads.
#pragma once

#include <optional>
#include <vector>

#include "stages/subgraph-optimize/fused_builder.h"

namespace sluice {

// What a launch is divided into.
inline constexpr int64_t kWantedParts = 64;

struct Division {
  size_t axis;    // of the value
  int64_t parts;  // 0: each entry of the axis is one
};

// The number of elements of a value, at nominal sizes.
double nominal_elements(const Value& x);
double nominal_extent(const Value& x, size_t axis);

// Chooses the axis to divide, one of those that are reduced, into about so many parts. Nothing:
// each is too short, or its size is open.
std::optional<Division> find_division(const Value& x, const std::vector<bool>& reduced,
                                      int64_t wanted);

// Returns a number of parts, of which the extent is a multiple where possible. No part is empty
// where the extent is more than the square of `parts`.
int64_t even_parts(int64_t extent, int64_t parts);

// The number of elements in a part of an axis of fixed size.
int64_t part_extent(const std::vector<Dim>& dims, const Division& division);
// Makes two axes of one of fixed size: the parts, and their elements. The end is filled up with
// `fill`. dims: those of x, whose type may not be known yet.
Value& add_divided(FusedBuilder& b, Value& x, const std::vector<Dim>& dims,
                   const Division& division, Value& fill);

}  // namespace sluice
