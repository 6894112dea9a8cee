#include "common/ir/piece_groups.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sluice {
namespace {

// A group of more ranges takes no others: every join looks at all of them.
constexpr size_t kMaxOwned = 4096, kMaxSymbolicOwned = 64;

constexpr std::string_view kGiven = "its memory is given from outside",
                           kElsewhere = "it is at another place of the same memory already";

}  // namespace

void PieceGroups::add_owner(int32_t value, ExpressionId extent) {
  node(value).owned = {{table_.constant(0), extent}};
}

void PieceGroups::pin(int32_t value, ExpressionId extent) {
  const Place place = locate(value);
  node(place.root).pinned = {place.distance, table_.add(place.distance, extent)};
}

PieceGroups::Place PieceGroups::locate(int32_t value) {
  ExpressionId distance = table_.constant(0);
  int32_t root = value;
  while (node(root).parent >= 0) {
    distance = table_.add(distance, node(root).distance);
    root = node(root).parent;
  }
  if (root != value) node(value).parent = root, node(value).distance = distance;
  return {root, distance};
}

std::vector<PieceGroups::Range> PieceGroups::moved(const std::vector<Range>& ranges,
                                                   ExpressionId by) {
  std::vector<Range> result;
  for (const Range& range : ranges)
    result.push_back({table_.add(range.begin, by), table_.add(range.end, by)});
  return result;
}

bool PieceGroups::are_numbers(const std::vector<Range>& ranges) const {
  return std::ranges::all_of(
      ranges, [&](const Range& range) { return is_number(range.begin) && is_number(range.end); });
}

bool PieceGroups::is_not_above(ExpressionId a, ExpressionId b) const {
  if (a == b) return true;
  if (is_number(a) && is_number(b)) return table_[a].value <= table_[b].value;
  ExpressionTable& table = table_;
  return table.bounds(table.subtract(b, a)).low >= 0;
}

bool PieceGroups::is_within(const Range& part, const Range& whole) const {
  return is_not_above(whole.begin, part.begin) && is_not_above(part.end, whole.end);
}

// Returns whether ranges may have common units.
bool PieceGroups::overlap(const std::vector<Range>& a, const std::vector<Range>& b) const {
  const auto are_apart = [&](const Range& x, const Range& y) {
    return is_not_above(x.end, y.begin) || is_not_above(y.end, x.begin);
  };
  if (!are_numbers(a) || !are_numbers(b)) {
    return std::ranges::any_of(a, [&](const Range& x) {
      return std::ranges::any_of(b, [&](const Range& y) { return !are_apart(x, y); });
    });
  }
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (!are_apart(*x, *y)) return true;
    is_not_above(x->end, y->begin) ? ++x : ++y;
  }
  return false;
}

void PieceGroups::merge(std::vector<Range>& into, const std::vector<Range>& ranges) const {
  const auto middle = static_cast<int64_t>(into.size());
  into.insert(into.end(), ranges.begin(), ranges.end());
  if (!are_numbers(into)) return;
  std::inplace_merge(into.begin(), into.begin() + middle, into.end(),
                     [&](const Range& x, const Range& y) {
                       return table_[x.begin].value < table_[y.begin].value;
                     });
}

// Moves a group into another one. Returns an empty text, or the reason why that cannot be.
std::string_view PieceGroups::add(Union& group, const Node& moving, ExpressionId by) {
  const std::vector<Range> ranges = moved(moving.owned, by);
  const bool has_numbers = are_numbers(group.owned) && are_numbers(ranges);
  if (group.owned.size() + ranges.size() > (has_numbers ? kMaxOwned : kMaxSymbolicOwned))
    return "its memory would have too many parts";
  std::optional<Range> pinned = group.pinned;
  if (moving.pinned) {
    if (pinned) return kGiven;
    pinned = moved({*moving.pinned}, by)[0];
  }
  const auto is_given = [&](const Range& range) { return !pinned || is_within(range, *pinned); };
  if (!std::ranges::all_of(ranges, is_given) || !std::ranges::all_of(group.owned, is_given))
    return kGiven;
  if (overlap(group.owned, ranges)) return "its place is that of another value";
  merge(group.owned, ranges);
  group.pinned = pinned;
  return "";
}

void PieceGroups::unite(const Place& to, const Place& from, ExpressionId by, Union group) {
  Node &into = node(to.root), &moving = node(from.root);
  into.owned = std::move(group.owned);
  into.pinned = group.pinned;
  into.members += moving.members;
  moving.owned = {};
  moving.parent = to.root;
  moving.distance = by;
}

std::string_view PieceGroups::join(int32_t whole, int32_t part, ExpressionId distance) {
  const Place to = locate(whole), from = locate(part);
  const ExpressionId by = table_.subtract(table_.add(to.distance, distance), from.distance);
  if (to.root == from.root) return by == table_.constant(0) ? "" : kElsewhere;
  Union group{node(to.root).owned, node(to.root).pinned};
  const std::string_view reason = add(group, node(from.root), by);
  if (reason.empty()) unite(to, from, by, std::move(group));
  return reason;
}

std::vector<std::string_view> PieceGroups::reasons(int32_t whole, const std::vector<Part>& parts) {
  const Place to = locate(whole);
  Union merged{node(to.root).owned, node(to.root).pinned};
  std::map<int32_t, ExpressionId> joined = {{to.root, table_.constant(0)}};
  const auto add_part = [&](const Part& part) -> std::string_view {
    const ExpressionId distance = table_.add(to.distance, part.distance);
    if (part.value < 0) {
      Node fresh;
      fresh.owned = {{table_.constant(0), part.extent}};
      return add(merged, fresh, distance);
    }
    const Place from = locate(part.value);
    const ExpressionId by = table_.subtract(distance, from.distance);
    const auto known = joined.find(from.root);
    if (known != joined.end()) return known->second == by ? "" : kElsewhere;
    const std::string_view reason = add(merged, node(from.root), by);
    if (reason.empty()) joined.emplace(from.root, by);
    return reason;
  };
  const auto turn_of = [&](const Part& part) {
    if (part.value < 0) return 0;
    const Node& own = group(part.value);
    return own.pinned ? 2 : own.members > 1 ? 1 : 0;
  };
  std::vector<std::string_view> found(parts.size());
  for (const int turn : {0, 1, 2}) {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (turn_of(parts[i]) == turn) found[i] = add_part(parts[i]);
    }
  }
  return found;
}

void PieceGroups::overlay(int32_t base, int32_t value) {
  const Place to = locate(base), from = locate(value);
  if (to.root == from.root) return;
  const ExpressionId by = table_.subtract(to.distance, from.distance);
  const Node& moving = node(from.root);
  Union group{node(to.root).owned, node(to.root).pinned};
  merge(group.owned, moved(moving.owned, by));
  if (moving.pinned) group.pinned = moved({*moving.pinned}, by)[0];
  unite(to, from, by, std::move(group));
}

std::optional<ExpressionId> PieceGroups::offset(int32_t value) {
  const Place place = locate(value);
  const Node& own = node(place.root);
  if (own.pinned) return table_.subtract(place.distance, own.pinned->begin);
  const auto first = std::ranges::find_if(own.owned, [&](const Range& range) {
    return std::ranges::all_of(
        own.owned, [&](const Range& other) { return is_not_above(range.begin, other.begin); });
  });
  if (first == own.owned.end()) return std::nullopt;
  return table_.subtract(place.distance, first->begin);
}

std::optional<ExpressionId> PieceGroups::extent(int32_t value) {
  const Node& own = group(value);
  if (own.pinned) return table_.subtract(own.pinned->end, own.pinned->begin);
  const auto last = std::ranges::find_if(own.owned, [&](const Range& range) {
    return std::ranges::all_of(
        own.owned, [&](const Range& other) { return is_not_above(other.end, range.end); });
  });
  const auto distance = offset(value);
  if (last == own.owned.end() || !distance) return std::nullopt;
  // Distances of the value and of the last unit are both from the root.
  return table_.add(table_.subtract(last->end, locate(value).distance), *distance);
}

}  // namespace sluice
