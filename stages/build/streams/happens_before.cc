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
    const size_t begin = clocks_.size();
    clocks_.resize(begin + streams_, -1);
    if (shared >= 0)
      std::copy_n(clocks_.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(shared) * streams_),
                  streams_, clocks_.begin() + static_cast<ptrdiff_t>(begin));
    clock_of_[position] = static_cast<int32_t>(begin / streams_);
  }
  return &clocks_[static_cast<size_t>(clock_of_[position]) * streams_];
}

void TaskClocks::wait_for(uint32_t earlier) {
  int32_t* const clock = own_clock(static_cast<uint32_t>(stream_of_.size() - 1));
  if (const int32_t other = clock_of_[earlier]; other >= 0) {
    const int32_t* const known = &clocks_[static_cast<size_t>(other) * streams_];
    for (size_t s = 0; s < streams_; ++s) clock[s] = std::max(clock[s], known[s]);
  }
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
  for (uint32_t stream = 0; stream < stream_count(); ++stream)
    if (!positions(stream).empty()) by_end_.push_back(stream);
  std::ranges::sort(by_end_, std::ranges::greater(),
                    [this](uint32_t stream) { return positions(stream).back(); });
}

}  // namespace sluice
