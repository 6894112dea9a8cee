// Slots that have the size of their largest buffer: a buffer takes the smallest free one that is
// large enough, else makes the largest free one larger, else has a new one.
#include "stages/build/memory/planners/planners.h"
#include "stages/build/memory/planners/slots.h"

namespace sluice {

OffsetPlan plan_max_slots(const PlanRequest& request) {
  return plan_slots(request.buffers, {[](uint64_t bytes) { return bytes; }, true});
}

}  // namespace sluice
