// The bytes of a value: rows of equal length at equal distances. Written for the checkers alone, so
// that they share no formula with what they check.
#pragma once

#include <cstdint>
#include <optional>

#include "model.pb.h"

namespace sluice {

// Bytes [begin + i * pitch, begin + i * pitch + row_bytes) of a region for each row i. One row, or
// rows that follow each other without a gap, are written as one row, whose pitch is its length.
struct Footprint {
  uint32_t region = 0;
  uint64_t begin = 0;
  uint64_t rows = 1;
  uint64_t row_bytes = 0;
  uint64_t pitch = 0;

  bool is_empty() const { return row_bytes == 0; }
  uint64_t bytes() const { return rows * row_bytes; }
  uint64_t end() const { return is_empty() ? begin : begin + (rows - 1) * pitch + row_bytes; }
  bool operator==(const Footprint&) const = default;
};

// Returns the footprint of a value; nullopt: its capacity is wider along several stored axes, so
// that the distances of its rows differ. Sizes are known, the capacity is no narrower than the
// type.
std::optional<Footprint> footprint_of(const pb::ModelDef& model, const pb::FixedPart& part,
                                      uint32_t value);

// Returns whether two footprints have a byte in common. Constant time, but for different pitches,
// where it is linear in the smaller number of rows up to the first common byte.
bool overlap(const Footprint& a, const Footprint& b);

// Returns whether every byte of a piece is one of the whole; likewise linear in the piece's rows
// for different pitches.
bool covers(const Footprint& whole, const Footprint& piece);

}  // namespace sluice
