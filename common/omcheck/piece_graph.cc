#include "common/omcheck/piece_graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

class Builder {
 public:
  Builder(const pb::FixedPart& part, std::span<const Footprint> footprints,
          const std::vector<bool>& is_made, const std::function<std::string(uint32_t)>& name)
      : footprints_(footprints),
        is_made_(is_made),
        name_(name),
        pieces_(footprints.size()),
        wholes_(footprints.size()),
        is_view_(footprints.size(), false),
        is_slice_(footprints.size(), false) {
    graph_.members.resize(footprints.size());
    graph_.member_of.resize(footprints.size());
    graph_.slices.resize(footprints.size());
    for (const uint32_t view : part.alias_value()) is_view_[view] = true;
    for (int i = 0; i < part.piece_value_size(); ++i) {
      pieces_[part.piece_of(i)].push_back(part.piece_value(i));
      wholes_[part.piece_value(i)].push_back(part.piece_of(i));
    }
  }

  PieceGraph build() {
    const std::vector<uint32_t> order = wholes_first();
    if (!graph_.faults.empty()) return std::move(graph_);
    find_grounded(order);
    for (const uint32_t whole : order) {
      if (!pieces_[whole].empty()) divide(whole);
    }
    return std::move(graph_);
  }

 private:
  // Returns the values so that wholes are before their pieces (Kahn 1962).
  std::vector<uint32_t> wholes_first() {
    std::vector<size_t> missing(wholes_.size());
    std::vector<uint32_t> order;
    for (uint32_t v = 0; v < wholes_.size(); ++v) {
      missing[v] = wholes_[v].size();
      if (missing[v] == 0) order.push_back(v);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      for (const uint32_t piece : pieces_[order[i]]) {
        if (--missing[piece] == 0) order.push_back(piece);
      }
    }
    if (order.size() < wholes_.size()) report_cycle(missing);
    return order;
  }

  // Follows wholes that are themselves pieces of something in a cycle until one comes again.
  void report_cycle(const std::vector<size_t>& missing) {
    std::vector<bool> seen(missing.size(), false);
    const auto is_left = [&](uint32_t v) { return missing[v] > 0; };
    auto v = static_cast<uint32_t>(
        std::ranges::find_if(missing, [](size_t count) { return count > 0; }) - missing.begin());
    for (; !seen[v]; v = *std::ranges::find_if(wholes_[v], is_left)) seen[v] = true;
    graph_.faults.push_back(fmt::format("{} is a piece of itself", name_(v)));
  }

  // Finds the values that are made or contain a piece that is.
  void find_grounded(const std::vector<uint32_t>& order) {
    is_grounded_ = is_made_;
    for (auto v = order.rbegin(); v != order.rend(); ++v) {
      if (!is_grounded_[*v]) continue;
      for (const uint32_t whole : wholes_[*v]) is_grounded_[whole] = true;
    }
  }

  // Divides the pieces of a whole into members and slices.
  void divide(uint32_t whole) {
    const size_t faults = graph_.faults.size();
    for (const uint32_t piece : pieces_[whole]) {
      if (!covers(footprints_[whole], footprints_[piece]))
        graph_.faults.push_back(fmt::format("{} is a piece of {}, but not within its bytes",
                                            name_(piece), name_(whole)));
    }
    const bool consists_of_members = !is_made_[whole] && !is_slice_[whole];
    uint64_t bytes = 0;
    if (consists_of_members) {
      for (const uint32_t piece : pieces_[whole]) {
        if (is_grounded_[piece]) bytes += add_member(whole, piece);
      }
    }
    const bool may_show = consists_of_members && is_view_[whole] && !is_grounded_[whole];
    for (const uint32_t piece : pieces_[whole]) {
      if (is_grounded_[piece]) continue;
      const bool is_member = consists_of_members && bytes < footprints_[whole].bytes();
      if (is_member) bytes += add_member(whole, piece);
      if (is_member && !may_show) continue;
      graph_.slices[whole].push_back(piece);
      is_slice_[piece] = true;
    }
    if (!consists_of_members || graph_.faults.size() > faults) return;
    const std::string fault = members_fault(whole, bytes);
    if (fault.empty()) return;
    if (!may_show) return graph_.faults.push_back(fault);
    for (const uint32_t member : graph_.members[whole]) graph_.member_of[member].pop_back();
    graph_.members[whole].clear();
  }

  uint64_t add_member(uint32_t whole, uint32_t piece) {
    if (footprints_[piece].is_empty()) return 0;
    graph_.members[whole].push_back(piece);
    graph_.member_of[piece].push_back(whole);
    return footprints_[piece].bytes();
  }

  // Returns what keeps the members of a whole from filling it: bytes that two share or, as they are
  // as many as the whole otherwise, a gap.
  std::string members_fault(uint32_t whole, uint64_t bytes) const {
    std::vector<uint32_t> sorted = graph_.members[whole], open;  // open: may reach the next one
    std::ranges::sort(sorted, {}, [&](uint32_t v) { return footprints_[v].begin; });
    for (const uint32_t member : sorted) {
      const Footprint& own = footprints_[member];
      std::erase_if(open, [&](uint32_t other) { return footprints_[other].end() <= own.begin; });
      for (const uint32_t other : open) {
        if (!overlap(footprints_[other], own)) continue;
        return fmt::format("{} and {} share bytes of {}, of which both are pieces", name_(other),
                           name_(member), name_(whole));
      }
      open.push_back(member);
    }
    if (bytes == footprints_[whole].bytes()) return {};
    return fmt::format("the pieces of {} fill {} of its {} bytes", name_(whole), bytes,
                       footprints_[whole].bytes());
  }

  std::span<const Footprint> footprints_;
  const std::vector<bool>& is_made_;
  const std::function<std::string(uint32_t)>& name_;
  std::vector<std::vector<uint32_t>> pieces_, wholes_;  // by value
  std::vector<bool> is_grounded_, is_view_, is_slice_;
  PieceGraph graph_;
};

}  // namespace

PieceGraph build_piece_graph(const pb::FixedPart& part, std::span<const Footprint> footprints,
                             const std::vector<bool>& is_made,
                             const std::function<std::string(uint32_t)>& name) {
  return Builder(part, footprints, is_made, name).build();
}

}  // namespace sluice
