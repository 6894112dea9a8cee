#include "stages/build/memory/planners/capacity_search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

constexpr uint64_t kTasksOfVisit = 256;
constexpr size_t kFailedStates = size_t{1} << 16;  // half a megabyte
constexpr uint32_t kMaxDepth = 4096;               // of the recursion, for the stack
constexpr uint64_t kLevels = 64;                   // of floors that differ in preference

// Returns a number whose bits all depend on all bits of this one (S. Vigna, "SplitMix64").
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

bool live_together(const Buffer& a, const Buffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool have_same_life(const Buffer& a, const Buffer& b) {
  return a.first == b.first && a.last == b.last;
}

bool is_live(const Buffer& buffer, size_t task) {
  return buffer.first <= static_cast<int64_t>(task) && static_cast<int64_t>(task) <= buffer.last;
}

}  // namespace

CapacitySearch::CapacitySearch(const std::vector<Buffer>& buffers, bool prefers_low)
    : bounds_(buffers),
      prefers_low_(prefers_low),
      overlapping_(buffers.size()),
      twins_(buffers.size(), -1),
      choices_(bounds_.task_count()) {
  std::map<std::tuple<int64_t, int64_t, uint64_t>, int64_t> earlier;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    const auto [found, is_new] =
        earlier.try_emplace(std::tuple(buffers[i].first, buffers[i].last, buffers[i].bytes), i);
    if (!is_new) twins_[i] = std::exchange(found->second, i);
    for (uint32_t j = 0; j < i; ++j) {
      if (!live_together(buffers[i], buffers[j])) continue;
      overlapping_[i].push_back(j);
      overlapping_[j].push_back(i);
    }
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto life = static_cast<uint64_t>(buffers[i].last - buffers[i].first);
    visits_of_.push_back(1 + (life + overlapping_[i].size()) / kTasksOfVisit);
  }
}

CapacitySearch::Outcome CapacitySearch::run(uint64_t capacity, uint64_t limit) {
  if (capacity != capacity_) failed_.assign(kFailedStates, 0);
  capacity_ = capacity;
  limit_ = limit;
  visits_ = 0;
  depth_ = 0;
  bounds_.clear(capacity);
  offsets_.assign(overlapping_.size(), 0);
  is_placed_.assign(overlapping_.size(), false);
  Ids all(overlapping_.size());
  std::iota(all.begin(), all.end(), 0u);
  std::stable_sort(all.begin(), all.end(),
                   [&](uint32_t a, uint32_t b) { return buffer(a).first < buffer(b).first; });
  return place_groups(all);
}

// Splits the buffers where none is live across, and places each group.
CapacitySearch::Outcome CapacitySearch::place_groups(const Ids& ids) {
  std::vector<BufferGroup> groups;
  for (const uint32_t id : ids) {
    const auto first = static_cast<size_t>(buffer(id).first);
    if (groups.empty() || first >= groups.back().end) groups.push_back({{}, first, first});
    groups.back().ids.push_back(id);
    groups.back().end = std::max(groups.back().end, static_cast<size_t>(buffer(id).last) + 1);
  }
  for (const BufferGroup& group : groups) {
    if (!tighten(group)) return Outcome::kImpossible;
  }
  std::stable_sort(groups.begin(), groups.end(), [](const BufferGroup& a, const BufferGroup& b) {
    return a.ids.size() < b.ids.size();
  });
  for (const BufferGroup& group : groups) {
    const Outcome outcome = place(group);
    if (outcome == Outcome::kPlaced) continue;
    for (const uint32_t id : ids) is_placed_[id] = false;  // groups before it
    return outcome;
  }
  return Outcome::kPlaced;
}

bool CapacitySearch::tighten(const BufferGroup& group) {
  uint64_t passes = 0;
  const bool may_fit = bounds_.tighten(group, passes);
  count_visits(group, passes);
  return may_fit;
}

void CapacitySearch::count_visits(const BufferGroup& group, uint64_t passes) {
  for (const uint32_t id : group.ids) visits_ += passes * visits_of_[id];
}

CapacitySearch::Outcome CapacitySearch::place(const BufferGroup& group) {
  const uint64_t state = state_of(group);
  uint64_t& failed = failed_[state % kFailedStates];
  if (failed == state) return Outcome::kImpossible;
  if (visits_ >= limit_ || depth_ == kMaxDepth) return Outcome::kStopped;
  ++depth_;
  const Outcome outcome = place_at(group, choose_task(group));
  --depth_;
  if (outcome == Outcome::kImpossible) failed = state;
  return outcome;
}

// Tries what may have the bytes at the floor of the task.
CapacitySearch::Outcome CapacitySearch::place_at(const BufferGroup& group, size_t task) {
  const uint64_t raised = raised_floor(group, task);
  const size_t mark = bounds_.mark();
  for (const uint32_t id : flat_at(group, task)) {
    if (const Outcome outcome = place_first(group, id); outcome != Outcome::kImpossible)
      return outcome;
    is_placed_[id] = false;
    bounds_.undo(mark);
  }
  if (!bounds_.may_have_floor(task, raised)) return Outcome::kImpossible;
  bounds_.raise_floor(task, raised);
  const Outcome outcome = place_groups(group.ids);
  if (outcome == Outcome::kImpossible) bounds_.undo(mark);
  return outcome;
}

CapacitySearch::Outcome CapacitySearch::place_first(const BufferGroup& group, uint32_t id) {
  offsets_[id] = bounds_.floor(static_cast<size_t>(buffer(id).first));
  is_placed_[id] = true;
  bounds_.put(id);
  Ids others;
  others.reserve(group.ids.size() - 1);
  std::ranges::copy_if(group.ids, std::back_inserter(others),
                       [&](uint32_t other) { return other != id; });
  return place_groups(others);
}

bool CapacitySearch::waits_for_twin(uint32_t id) const {
  return twins_[id] >= 0 && !is_placed_[static_cast<size_t>(twins_[id])];
}

// Returns whether the flat buffer lies on another one, which has a smaller index if it has the same
// life.
bool CapacitySearch::may_lie(uint32_t id) const {
  const Buffer& upper = buffer(id);
  const auto first = static_cast<size_t>(upper.first), last = static_cast<size_t>(upper.last);
  const uint32_t lower = bounds_.top_id(first);
  if (bounds_.top(first) == bounds_.floor(first) && lower != OffsetBounds::kNone &&
      have_same_life(buffer(lower), upper))
    return lower < id;
  for (size_t task = first; task <= last; ++task) {
    if (bounds_.top(task) == bounds_.floor(task)) return true;
  }
  return false;
}

// Returns the buffers that may have the bytes at the floor of the task, in the order.
CapacitySearch::Ids CapacitySearch::flat_at(const BufferGroup& group, size_t task) const {
  Ids flat;
  for (const uint32_t id : group.ids) {
    if (is_live(buffer(id), task) && bounds_.is_flat(id) && !waits_for_twin(id) && may_lie(id))
      flat.push_back(id);
  }
  std::sort(flat.begin(), flat.end());
  return flat;
}

// Returns the lowest offset of a buffer at the task if none has the bytes at its floor: a flat one
// then lies on one that is not live at the task.
uint64_t CapacitySearch::raised_floor(const BufferGroup& group, size_t task) const {
  uint64_t raised = UINT64_MAX;
  for (const uint32_t id : group.ids) {
    if (!is_live(buffer(id), task)) continue;
    if (!bounds_.is_flat(id)) {
      raised = std::min(raised, bounds_.lowest(id));
      continue;
    }
    for (const uint32_t other : overlapping_[id]) {
      if (!is_placed_[other] && !is_live(buffer(other), task))
        raised = std::min(raised, bounds_.lowest(other) + buffer(other).bytes);
    }
  }
  return raised;
}

void CapacitySearch::count_choices(uint32_t id) {
  const bool waits = waits_for_twin(id), is_flat = bounds_.is_flat(id);
  const uint64_t lowest = bounds_.lowest(id);
  const uint64_t lifted = is_flat ? bounds_.lowest_end_below(id) : lowest;
  for (auto task = static_cast<size_t>(buffer(id).first);
       task <= static_cast<size_t>(buffer(id).last); ++task) {
    Choices& choices = choices_[task];
    const bool is_low = lowest == bounds_.floor(task);
    if (is_low && !waits) ++(is_flat ? choices.flat : choices.slopes);
    if (is_flat || !is_low) choices.raised = std::min(choices.raised, lifted);
  }
}

// Returns the task with the fewest choices, divided by the failures there. There is one: where the
// floor of the group is lowest, all that may lie there is flat.
size_t CapacitySearch::choose_task(const BufferGroup& group) {
  std::fill(choices_.begin() + static_cast<ptrdiff_t>(group.begin),
            choices_.begin() + static_cast<ptrdiff_t>(group.end), Choices{});
  for (const uint32_t id : group.ids) count_choices(id);
  count_visits(group, 1);
  size_t best = group.begin;
  uint64_t best_cost = 0;  // 0: none was found
  for (size_t task = group.begin; task < group.end; ++task) {
    const Choices& choices = choices_[task];
    if (choices.flat == 0 || choices.slopes > 0) continue;
    const bool may_be_empty = bounds_.may_have_floor(task, choices.raised);
    if (choices.flat == 1 && !may_be_empty) return task;
    const uint64_t cost = cost_of(choices.flat + (may_be_empty ? 1 : 0), bounds_.floor(task));
    if (best_cost > 0 && cost * bounds_.failures(best) >= best_cost * bounds_.failures(task))
      continue;
    best = task;
    best_cost = cost;
  }
  return best;
}

// Returns the number of choices, which counts up to twice the more the higher the floor is where
// low ones are preferred.
uint64_t CapacitySearch::cost_of(uint64_t choices, uint64_t floor) const {
  return prefers_low_ ? choices * (kLevels + floor / (capacity_ / kLevels + 1)) : choices;
}

// Returns a digest of all that decides whether the buffers fit: which they are, what lies below
// them, and which may not lie on what is there.
uint64_t CapacitySearch::state_of(const BufferGroup& group) const {
  uint64_t state = 0;
  for (const uint32_t id : group.ids) {
    state += mixed(id);
    const uint32_t lower = bounds_.top_id(static_cast<size_t>(buffer(id).first));
    if (lower != OffsetBounds::kNone && have_same_life(buffer(lower), buffer(id)))
      state += mixed(mixed(id) ^ lower);
  }
  for (size_t task = group.begin; task < group.end; ++task) {
    state = mixed(state ^ bounds_.floor(task));
    if (bounds_.top(task) != bounds_.floor(task)) state = mixed(state ^ ~bounds_.top(task));
  }
  return state;
}

}  // namespace sluice
