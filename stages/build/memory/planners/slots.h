// Slots: ranges of the arena, one after the other, that buffers have one at a time. They are what
// the documents of GE call blocks.
#pragma once

#include <cstdint>

#include "stages/build/memory/planners/planners.h"

namespace sluice {

struct SlotRule {
  uint64_t (*slot_bytes)(uint64_t bytes);  // the bytes of a new slot for a buffer of so many
  bool takes_any;  // a buffer also takes larger slots, and else the largest free one, which grows
};

// Walks over time: a buffer takes the smallest free slot that the rule allows, or a new one, the
// largest buffer of a task first, and leaves it when it ends. Buffers without bytes need none.
OffsetPlan plan_slots(const std::vector<Buffer>& buffers, const SlotRule& rule);

}  // namespace sluice
