#include "stages/build/memory/planners/time_slab.h"

#include <algorithm>
#include <span>

namespace sluice {
namespace {

constexpr size_t kGroupBuffers = 64;
constexpr size_t kFewGroups = 4;  // of fewer all are looked at

uint64_t last_end(const std::vector<PlacedBuffer>& buffers) {
  uint64_t end = 0;
  for (const PlacedBuffer& buffer : buffers) end = std::max(end, buffer.end);
  return end;
}

}  // namespace

// A search for what is live in some task of [first, last], group by group.
class TimeSlab::Scan {
 public:
  Scan(int32_t first, int32_t last, Runs& runs) : first_(first), last_(last), runs_(runs) {}

  void look_at(const Group& group) {
    const int32_t first = first_, last = last_;
    const uint64_t min_gap = runs_.min_gap();
    uint64_t end = runs_.end();
    for (const PlacedBuffer& buffer : group.buffers) {
      // A mask saves a branch, which would often be predicted wrongly.
      const bool is_live = (buffer.first <= last) & (buffer.last >= first);
      const uint64_t mask = uint64_t{0} - static_cast<uint64_t>(is_live);
      const uint64_t begin = buffer.begin & mask;
      if (begin >= end + min_gap) {
        runs_.extend(end);
        runs_.begin_next(begin);
      }
      end = std::max(end, buffer.end & mask);
    }
    runs_.extend(end);
    visits_ += group.buffers.size();
  }

  // Returns whether no gap before or within the group is large enough.
  bool can_pass(const Solid& solid) const {
    return solid.max_gap < runs_.min_gap() && runs_.reaches(solid.begin);
  }
  // Passes over a group, buffers of which may end after its solid part.
  void pass(const Group& group, const Solid& solid) {
    runs_.extend(solid.end);
    reach_ = std::max(reach_, group.end);
    ++visits_;
  }
  // Looks at those of the groups that it has passed over which end after the run so far. What ends
  // there may begin after a gap in the last of them alone: in the others it begins before the solid
  // part of the next one, which the run reached.
  void look_back(std::span<const Group> passed) {
    for (; reach_ > runs_.end() && !passed.empty(); passed = passed.subspan(1)) {
      if (passed.front().end > runs_.end()) look_at(passed.front());
    }
    reach_ = 0;
  }

  uint64_t visits() const { return visits_; }

 private:
  int32_t first_, last_;
  Runs& runs_;
  uint64_t reach_ = 0;  // the end of what it has passed over
  uint64_t visits_ = 0;
};

TimeSlab::TimeSlab(int32_t first, int32_t last) {
  for (size_t i = 0; i < kPoints; ++i)
    points_[i] = first + static_cast<int32_t>(int64_t{last - first} * static_cast<int64_t>(i) /
                                              static_cast<int64_t>(kPoints - 1));
}

void TimeSlab::add(const PlacedBuffer& buffer) {
  if (groups_.empty()) groups_.push_back({.id = ids_++});
  const auto is_below = [&](const PlacedBuffer& placed) { return placed.begin <= buffer.begin; };
  const auto next =
      std::partition_point(groups_.begin() + 1, groups_.end(),
                           [&](const Group& group) { return is_below(group.buffers.front()); });
  Group& group = *(next - 1);
  group.buffers.insert(std::ranges::partition_point(group.buffers, is_below), buffer);
  group.end = std::max(group.end, buffer.end);
  ++group.version;
  if (group.buffers.size() == kGroupBuffers) split(static_cast<size_t>(next - groups_.begin()) - 1);
}

void TimeSlab::split(size_t index) {
  Group& lower = groups_[index];
  const auto middle = lower.buffers.begin() + kGroupBuffers / 2;
  Group upper = {.buffers = {middle, lower.buffers.end()}, .id = ids_++};
  lower.buffers.erase(middle, lower.buffers.end());
  lower.end = last_end(lower.buffers);
  upper.end = last_end(upper.buffers);
  ++lower.version;
  groups_.insert(groups_.begin() + static_cast<ptrdiff_t>(index) + 1, std::move(upper));
}

uint64_t TimeSlab::find(int32_t first, int32_t last, Runs& runs) {
  Scan scan(first, last, runs);
  if (groups_.size() < kFewGroups) {
    for (const Group& group : groups_) scan.look_at(group);
    return scan.visits();
  }
  // The first point of [first, last] and the last one; where none is within, those around it.
  const auto low = std::ranges::lower_bound(points_, first) - points_.begin();
  const auto high = std::ranges::upper_bound(points_, last) - points_.begin() - 1;
  const Points points = {static_cast<size_t>(low), static_cast<size_t>(high)};
  std::vector<Solid>& solids = solids_of(points);
  size_t passed = 0;  // the first group that was passed over since it last looked
  for (size_t i = 0; i < groups_.size(); ++i) {
    prefetch(i + 1);
    const Group& group = groups_[i];
    Solid& solid = solids[group.id];
    if (!scan.can_pass(solid)) {
      scan.look_back(std::span(groups_).subspan(passed, i - passed));
      passed = i;
      if (solid.version != group.version) solid = find_solid(group, points);
    }
    if (scan.can_pass(solid)) {
      scan.pass(group, solid);
    } else {
      scan.look_at(group);
      passed = i + 1;
    }
  }
  scan.look_back(std::span(groups_).subspan(passed));
  return scan.visits();
}

// Lets the begin of a group be loaded while the one before it is looked at: groups lie apart.
void TimeSlab::prefetch(size_t index) const {
  if (index >= groups_.size()) return;
  for (const size_t i : {0, 3, 6}) __builtin_prefetch(&groups_[index].buffers[i]);
}

std::vector<TimeSlab::Solid>& TimeSlab::solids_of(Points points) {
  solids_.resize(kPoints * kPoints);
  std::vector<Solid>& solids = solids_[points.low * kPoints + points.high];
  solids.resize(ids_);
  return solids;
}

TimeSlab::Solid TimeSlab::find_solid(const Group& group, Points points) const {
  Solid solid = {.version = group.version};
  for (const PlacedBuffer& buffer : group.buffers) {
    if (buffer.first > points_[points.high] || buffer.last < points_[points.low]) continue;
    if (solid.end == 0) {
      solid.begin = buffer.begin;
      solid.max_gap = 0;
    } else if (buffer.begin > solid.end) {
      solid.max_gap = std::max(solid.max_gap, buffer.begin - solid.end);
    }
    solid.end = std::max(solid.end, buffer.end);
  }
  return solid;
}

}  // namespace sluice
