// The tasks of a part as the checkers of memory replay them.
#pragma once

#include <cstdint>
#include <vector>

#include "model.pb.h"

namespace sluice {

struct Task {
  int number;  // in the part
  pb::TaskKind kind;
  std::vector<uint32_t> results;
  std::vector<uint32_t> operands;  // absent ones left out
};

// Returns the tasks that touch memory, in an order that streams and events allow: of those that can
// run, the one of the smallest number comes first. With one stream that is the order of the stream.
// What waits for an event that is never recorded is left out. O(tasks log streams).
std::vector<Task> order_tasks(const pb::FixedPart& part);

}  // namespace sluice
