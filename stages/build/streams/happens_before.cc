#include "stages/build/streams/happens_before.h"

#include <algorithm>
#include <map>

#include "stages/build/parts.h"

namespace sluice {

HappensBefore::HappensBefore(const Graph& graph)
    : streams_(graph.streams.size()), by_stream_(graph.streams.size()) {
  const std::vector<Node*> tasks = tasks_of(graph);
  clocks_.assign(tasks.size() * streams_, -1);
  std::map<uint32_t, uint32_t> recorded;  // position, by event
  for (uint32_t position = 0; position < tasks.size(); ++position) {
    const Placement& placement = tasks[position]->placement;
    const auto stream = static_cast<uint32_t>(placement.stream);
    int64_t* clock = &clocks_[position * streams_];
    const auto join = [&](uint32_t earlier) {
      for (size_t s = 0; s < streams_; ++s)
        clock[s] = std::max(clock[s], clocks_[earlier * streams_ + s]);
      clock[stream_of_[earlier]] = std::max<int64_t>(clock[stream_of_[earlier]], earlier);
    };
    if (!by_stream_[stream].empty()) join(by_stream_[stream].back());
    for (const uint32_t event : placement.waits) {
      if (const auto found = recorded.find(event); found != recorded.end()) join(found->second);
    }
    for (const uint32_t event : placement.records) recorded.emplace(event, position);
    stream_of_.push_back(stream);
    by_stream_[stream].push_back(position);
  }
}

}  // namespace sluice
