// The part of the memory checker that looks at places alone, whatever the tasks do in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/omcheck/footprint.h"
#include "common/omcheck/piece_graph.h"

namespace sluice {

struct Places {
  std::vector<uint64_t> region_bytes;
  uint32_t first_output = 0;          // region of the first output
  std::vector<Footprint> footprints;  // by value
  std::vector<bool> is_result;        // by value: of a task
  PieceGraph pieces;
  std::vector<std::string> faults;  // with those of `pieces`, a sentence each

  // Returns whether no task may write to a region: weights and inputs.
  bool is_read_only(uint32_t region) const {
    return region != pb::REGION_ARENA && region < first_output;
  }
};

// Returns the places of a part's values. With faults, what follows from them is incomplete.
Places check_places(const pb::ModelDef& model, const pb::FixedPart& part, uint64_t weights_bytes);

// Returns the bytes of a dense tensor; dims are known.
uint64_t dense_bytes_of(const pb::TypeDef& type);

}  // namespace sluice
