#include "stages/build/streams/happens_before.h"

#include <algorithm>
#include <map>

#include "stages/build/parts.h"

namespace sluice {

void TaskClocks::add(uint32_t stream) {
  const auto position = static_cast<uint32_t>(stream_of_.size());
  clocks_.resize(clocks_.size() + streams_, -1);
  stream_of_.push_back(stream);
  by_stream_[stream].push_back(position);
  const std::vector<uint32_t>& own = by_stream_[stream];
  if (own.size() > 1) wait_for(own[own.size() - 2]);
}

void TaskClocks::wait_for(uint32_t earlier) {
  int64_t* clock = &clocks_[clocks_.size() - streams_];
  for (size_t s = 0; s < streams_; ++s)
    clock[s] = std::max(clock[s], clocks_[size_t{earlier} * streams_ + s]);
  int64_t& done = clock[stream_of_[earlier]];
  done = std::max<int64_t>(done, earlier);
}

HappensBefore::HappensBefore(const Graph& graph) : clocks_(graph.streams.size()) {
  std::map<uint32_t, uint32_t> recorded;  // position, by event
  uint32_t position = 0;
  for (const Node* task : tasks_of(graph)) {
    const Placement& placement = task->placement;
    clocks_.add(static_cast<uint32_t>(placement.stream));
    for (const uint32_t event : placement.waits) {
      if (const auto found = recorded.find(event); found != recorded.end())
        clocks_.wait_for(found->second);
    }
    for (const uint32_t event : placement.records) recorded.emplace(event, position);
    ++position;
  }
}

}  // namespace sluice
