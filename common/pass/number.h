// Reads and adds small constants of numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// Returns the elements of an i64 constant in the graph.
std::optional<std::vector<int64_t>> constant_ints(const Value* value);

// Returns the element of a constant of one float, or i32 or i64, that is in the graph.
std::optional<double> find_number(const Value* value);

// Returns whether two numbers are equal up to the rounding of constants of the dtype, and of a
// product of two of them. Only 0 is close to 0.
bool is_close(DType dtype, double number, double expected);

// Returns true for a constant of one float that is close to the number.
bool is_number(const Value* value, double expected);

// Returns the bytes of one element; none for a dtype other than floats of 16 to 64 bits and
// integers of 8 to 64.
std::vector<std::byte> number_bytes(DType dtype, double number);

// Adds a new constant to the graph: a scalar of such a dtype. Returns null for others.
Value* add_number(Graph& graph, DType dtype, double number);

// Adds a new constant to the graph: a vector of i64.
Value& add_ints(Graph& graph, const std::vector<int64_t>& numbers);

}  // namespace sluice
