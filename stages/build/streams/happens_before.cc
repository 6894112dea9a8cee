#include "stages/build/streams/happens_before.h"

#include <algorithm>
#include <map>

#include "stages/build/parts.h"

namespace sluice {

void TaskClocks::add(uint32_t stream) {
  const auto position = static_cast<uint32_t>(stream_of_.size());
  std::vector<uint32_t>& own = by_stream_[stream];
  stream_of_.push_back(stream);
  before_.push_back(own.empty() ? -1 : static_cast<int32_t>(own.back()));
  clock_of_.push_back(own.empty() ? -1 : clock_of_[own.back()]);
  own.push_back(position);
}

// Returns the clock of a task that no other task shares.
int32_t* TaskClocks::own_clock(uint32_t position) {
  const int32_t shared = clock_of_[position];
  const int32_t before =
      before_[position] < 0 ? -1 : clock_of_[static_cast<size_t>(before_[position])];
  if (shared < 0 || shared == before) {
    auto clock = std::make_unique_for_overwrite<int32_t[]>(streams_);
    if (shared < 0) {
      std::fill_n(clock.get(), streams_, -1);
    } else {
      std::ranges::copy(known_by(position), clock.get());
    }
    clock_of_[position] = static_cast<int32_t>(clocks_.size());
    clocks_.push_back(std::move(clock));
  }
  return clocks_[static_cast<size_t>(clock_of_[position])].get();
}

void TaskClocks::wait_for(uint32_t earlier) {
  int32_t* const clock = own_clock(static_cast<uint32_t>(stream_of_.size() - 1));
  const std::span<const int32_t> known = known_by(earlier);
  for (size_t s = 0; s < known.size(); ++s) clock[s] = std::max(clock[s], known[s]);
  int32_t& done = clock[stream_of_[earlier]];
  done = std::max(done, static_cast<int32_t>(earlier));
}

HappensBefore::HappensBefore(const Graph& graph) : clocks_(graph.streams.size()) {
  std::map<uint32_t, std::vector<uint32_t>> recorded;  // positions, by event
  uint32_t position = 0;
  for (const Node* task : tasks_of(graph)) {
    const Placement& placement = task->placement;
    clocks_.add(static_cast<uint32_t>(placement.stream));
    for (const EventWait& wait : placement.waits) {
      const auto found = recorded.find(wait.event);
      if (found != recorded.end() && wait.record - 1 < found->second.size())
        clocks_.wait_for(found->second[wait.record - 1]);
    }
    for (const uint32_t event : placement.records) recorded[event].push_back(position);
    ++position;
  }
}

}  // namespace sluice
