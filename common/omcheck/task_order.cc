#include "common/omcheck/task_order.h"

#include <functional>
#include <queue>

#include "common/omfile/om_events.h"

namespace sluice {
namespace {

Task read_task(const pb::FixedPart& part, int number) {
  constexpr uint32_t kAbsent = 0xffffffff;
  Task task{number, part.task_kind(number), {}, {}};
  const uint32_t begin = number == 0 ? 0 : part.task_operand_end(number - 1);
  for (uint32_t i = begin; i < part.task_operand_end(number); ++i) {
    const uint32_t value = part.operand(static_cast<int>(i));
    if (value != kAbsent)
      (i - begin < part.task_outputs(number) ? task.results : task.operands).push_back(value);
  }
  return task;
}

}  // namespace

std::vector<Task> order_tasks(const pb::FixedPart& part) {
  std::vector<std::vector<int>> streams(static_cast<size_t>(part.streams_size()));
  for (int t = part.task_kind_size(); t-- > 0;) streams[part.task_stream(t)].push_back(t);
  std::priority_queue<int, std::vector<int>, std::greater<>> next;  // of streams that can go on
  const auto advance = [&](std::vector<int>& stream) {
    if (stream.empty()) return;
    next.push(stream.back());
    stream.pop_back();
  };
  for (std::vector<int>& stream : streams) advance(stream);
  const auto events = static_cast<size_t>(part.events_size());
  std::vector<uint32_t> records(events, 0);  // made so far
  std::vector<std::vector<int>> waiting(events);
  std::vector<Task> order;
  while (!next.empty()) {
    const int t = next.top();
    next.pop();
    const uint32_t target = part.task_target(t);
    if (part.task_kind(t) == pb::TASK_WAIT) {
      if (records[target] < awaited_record(part, t)) {
        waiting[target].push_back(t);
        continue;
      }
    } else if (part.task_kind(t) == pb::TASK_RECORD) {
      ++records[target];
      for (const int wait : waiting[target]) next.push(wait);
      waiting[target].clear();
    } else {
      order.push_back(read_task(part, t));
    }
    advance(streams[part.task_stream(t)]);
  }
  return order;
}

}  // namespace sluice
