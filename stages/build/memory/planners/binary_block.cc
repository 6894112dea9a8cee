// Slots of size classes: a buffer takes a free one of its own class, else has a new one, so that
// sizes which differ a little share slots, and large buffers never hold small ones.
#include <algorithm>
#include <bit>

#include "stages/build/memory/planners/planners.h"
#include "stages/build/memory/planners/slots.h"

namespace sluice {
namespace {

constexpr uint64_t kSmallestClass = 512;
constexpr uint64_t kLargestClass = uint64_t{8} << 20;

uint64_t class_bytes(uint64_t bytes) {
  return bytes > kLargestClass ? bytes : std::bit_ceil(std::max(bytes, kSmallestClass));
}

}  // namespace

OffsetPlan plan_binary_slots(const PlanRequest& request) {
  return plan_slots(request.buffers, {class_bytes, false});
}

}  // namespace sluice
