// The tasks of buffers as small numbers, for planners that keep something for each task.
#pragma once

#include <cstdint>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

// Renumbers tasks densely from 0. Two buffers are live together exactly when one begins while the
// other is live, so only tasks in which buffers begin matter.
std::vector<Buffer> with_dense_tasks(std::vector<Buffer> buffers);

// Leaves of these only the tasks after which a buffer ends: at each of the others the next one has
// the same buffers and more.
std::vector<Buffer> with_full_tasks(std::vector<Buffer> buffers);

// Returns the number of tasks: one more than the last in which a buffer is live.
int64_t task_count(const std::vector<Buffer>& buffers);

}  // namespace sluice
