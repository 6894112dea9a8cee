#include "stages/optimize/fusion/element_groups.h"

#include <algorithm>
#include <optional>

#include "common/base/work.h"
#include "common/ir/module.h"
#include "common/ir/states.h"
#include "common/ops/small_constant.h"
#include "stages/optimize/fusion/element_roles.h"
#include "stages/optimize/fusion/fused_node.h"

namespace sluice {
namespace {

constexpr size_t kMaxGroupNodes = 64;
constexpr size_t kMaxInputs = 8;
constexpr size_t kMaxResults = 8;
constexpr size_t kMaxRepeated = 8;  // members that are computed more than once

bool gives_output(const Node& node) {
  if (node.placement.keep) return true;
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (node.output(i).is_output()) return true;
  }
  return false;
}

bool is_used(const Node& node) {
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (node.output(i).is_used()) return true;
  }
  return false;
}

bool same_placement(const Node& a, const Node& b) {
  Placement own = a.placement;
  own.keep = b.placement.keep;
  return own == b.placement;
}

// A place is where elements of a value are computed: members at one place are computed for the same
// index, each once for it. Place 0 is that of the visible results.
struct Place {
  bool repeats = false;  // several times for each element of the results
};

struct Group {
  std::vector<Node*> nodes;  // readers before producers; the first is where the group will be
  std::vector<const Value*> inputs;
  std::vector<Place> places = {{}};
  const Node* loops = nullptr;  // the member with loops of its own
  int32_t loops_place = -1;     // of its operand
  size_t repeated = 0;
  size_t results = 1;  // members with visible results
};

struct Member {
  Role role = Role::kNone;
  int32_t group = -1;
  int32_t place = -1;
  bool is_visible = false;  // a result of the group
};

class Finder {
 public:
  explicit Finder(const Graph& graph)
      : graph_(graph),
        has_states_(has_states(graph)),
        is_root_(&graph == &graph.module().root()),
        members_(graph.node_limit()) {
    if (graph.may_have_control_edges()) mark_control_edges();
  }

  std::vector<std::vector<Node*>> run() {
    add_work(Work::kNodeVisits, graph_.node_count());
    for (Node* node = graph_.last_node(); node != nullptr; node = node->previous()) {
      if (!node->is_erased()) visit(*node);
    }
    std::vector<std::vector<Node*>> found;
    for (Group& group : groups_) {
      std::reverse(group.nodes.begin(), group.nodes.end());
      drop_first_reshapes(group);
      // A Fused node has an input.
      if (group.nodes.size() > 1 && !group.inputs.empty()) found.push_back(std::move(group.nodes));
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  Member& of(const Node& node) { return members_[static_cast<size_t>(node.id())]; }

  void mark_control_edges() {
    has_control_edge_.resize(graph_.node_limit(), false);
    for (const Node& node : graph_.nodes()) {
      for (const Node* before : node.after()) {
        has_control_edge_[static_cast<size_t>(node.id())] = true;
        has_control_edge_[static_cast<size_t>(before->id())] = true;
      }
    }
  }

  void visit(Node& node) {
    if (!has_control_edge_.empty() && has_control_edge_[static_cast<size_t>(node.id())]) return;
    if (!is_used(node) || (has_states_ && may_append_to_state(node))) return;
    of(node).role = find_role(node);
    if (of(node).role == Role::kNone || (is_root_ && joins_pieces(node))) return;
    const int32_t group = group_of_readers(node);
    if (group >= 0 && join(node, group)) return;
    if (of(node).role != Role::kReshape) start(node);
  }

  template <typename Visit>
  void for_each_use(const Node& node, Visit&& visit) const {
    for (size_t i = 0; i < node.output_count(); ++i) {
      for (const Use& use : node.output(i).uses()) visit(use, node.output(i));
    }
  }

  // Returns the first group in the order of the graph that reads the node, or -1 when a reader
  // outside is before it.
  int32_t group_of_readers(const Node& node) {
    int32_t first = -1;
    for_each_use(node, [&](const Use& use, const Value&) {
      const int32_t own = of(*use.node).group;
      if (own >= 0 && (first < 0 || place_in_graph(own).is_before(place_in_graph(first))))
        first = own;
    });
    bool is_first = first >= 0;
    for_each_use(node, [&](const Use& use, const Value&) {
      is_first =
          is_first && (of(*use.node).group == first || place_in_graph(first).is_before(*use.node));
    });
    return is_first ? first : -1;
  }

  const Node& place_in_graph(int32_t group) const {
    return *groups_[static_cast<size_t>(group)].nodes[0];
  }

  bool is_visible_in(const Node& node, int32_t group) {
    bool is_visible = gives_output(node);
    for_each_use(node, [&](const Use& use, const Value&) {
      is_visible = is_visible || of(*use.node).group != group;
    });
    return is_visible;
  }

  void start(Node& node) {
    Group group;
    const auto inputs = inputs_with(group, node);
    if (!inputs) return;
    group.inputs = *inputs;
    of(node).group = static_cast<int32_t>(groups_.size());
    of(node).place = 0;
    add_loops(group, node);
    group.nodes.push_back(&node);
    groups_.push_back(std::move(group));
  }

  void add_loops(Group& group, const Node& node) {
    if (of(node).role != Role::kLoops) return;
    group.loops = &node;
    group.loops_place = static_cast<int32_t>(group.places.size());
    group.places.push_back({.repeats = !computes_once(node)});
  }

  bool join(Node& node, int32_t index) {
    Group& group = groups_[static_cast<size_t>(index)];
    if (group.nodes.size() == kMaxGroupNodes || !same_placement(node, *group.nodes[0]))
      return false;
    const bool is_visible = is_visible_in(node, index);
    std::vector<Place> places = group.places;
    const auto place = place_of(node, index, places);
    if (!place) return false;
    if (of(node).role == Role::kLoops && !(*place == 0 && can_take_loops(group, node)))
      return false;
    if (is_visible && !can_give(node, group, *place)) return false;
    bool& repeats = places[static_cast<size_t>(*place)].repeats;
    if (is_visible) repeats = false;  // further loops read it from memory
    if (repeats && (!is_cheap(node) || group.repeated == kMaxRepeated)) return false;
    const auto inputs = inputs_with(group, node);
    if (!inputs) return false;
    group.inputs = *inputs;
    group.repeated += repeats ? 1 : 0;
    group.results += is_visible ? 1 : 0;
    group.places = std::move(places);
    of(node).group = index;
    of(node).place = *place;
    of(node).is_visible = is_visible;
    add_loops(group, node);
    group.nodes.push_back(&node);
    return true;
  }

  // Returns whether a kernel can store the node's results: at the index of the others, all of which
  // come after loops if the group has some, or as the row that loops read.
  bool can_give(const Node& node, const Group& group, int32_t place) {
    const bool has_one_result = node.output_count() == 1 || of(node).role == Role::kLoops;
    if (group.results == kMaxResults || !has_one_result) return false;
    if (place == 0) return group.loops == nullptr;
    return place == group.loops_place && stores_operand(*group.loops) &&
           group.loops->input(0) == &node.output();
  }

  // Returns the place where the node's elements are computed, which may be a new one; nothing when
  // they are read in a way that elements cannot be computed for.
  std::optional<int32_t> place_of(const Node& node, int32_t index, std::vector<Place>& places) {
    const Group& group = groups_[static_cast<size_t>(index)];
    std::optional<int32_t> common;
    bool is_readable = true, repeats = false;
    std::vector<const Value*> seen;
    for_each_use(node, [&](const Use& use, const Value& value) {
      if (of(*use.node).group != index) return;
      is_readable = is_readable && (of(*use.node).role != Role::kLoops || use.input == 0 ||
                                    use.node->op() == Op::kConcat);
      const int32_t place = place_of_read(value, use, group);
      if (common && *common != place) common = -1;
      if (!common) common = place;
      const bool is_again = std::find(seen.begin(), seen.end(), &value) != seen.end();
      seen.push_back(&value);
      repeats = repeats || is_again || repeats_in(value, use, places);
    });
    if (!is_readable) return std::nullopt;
    if (*common >= 0) return common;
    places.push_back({.repeats = repeats});
    return static_cast<int32_t>(places.size()) - 1;
  }

  // Returns the place at whose index the reader reads the value, or -1: at another index.
  int32_t place_of_read(const Value& value, const Use& use, const Group& group) {
    const Member& reader = of(*use.node);
    if (reader.role == Role::kLoops) return use.node->op() == Op::kConcat ? -1 : group.loops_place;
    const bool same_index =
        reader.role == Role::kElementwise && value.type().dims == use.node->output().type().dims;
    return same_index ? reader.place : -1;
  }

  // Returns whether the reader reads elements of the value more than once.
  bool repeats_in(const Value& value, const Use& use, const std::vector<Place>& places) {
    const Member& reader = of(*use.node);
    const Value& result = use.node->output();
    const bool is_moved = reader.role == Role::kReshape || reader.role == Role::kMove ||
                          use.node->op() == Op::kConcat;
    const bool is_longer = value.type().rank() < result.type().rank() &&
                           only_splits(value.type().dims, result.type().dims);
    return !(is_moved || is_longer) || places[static_cast<size_t>(reader.place)].repeats;
  }

  // Returns whether the node's loops may give all visible results of the group.
  bool can_take_loops(const Group& group, const Node& node) {
    if (group.loops != nullptr) return false;
    for (size_t i = 1; i < node.output_count(); ++i) {
      if (node.output(i).is_used()) return false;
    }
    std::vector<const Node*> dependent = {&node};
    for (auto member = group.nodes.rbegin(); member != group.nodes.rend(); ++member) {
      const bool depends = reads_any(**member, dependent);
      if (depends) dependent.push_back(*member);
      if (!depends && (*member == group.nodes[0] || of(**member).is_visible)) return false;
    }
    return true;
  }

  static bool reads_any(const Node& node, const std::vector<const Node*>& producers) {
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Node* producer = node.input(i) == nullptr ? nullptr : node.input(i)->producer();
      if (producer != nullptr &&
          std::find(producers.begin(), producers.end(), producer) != producers.end())
        return true;
    }
    return false;
  }

  // Returns the values that the group would read with the node, or nothing when these are too many.
  static std::optional<std::vector<const Value*>> inputs_with(const Group& group,
                                                              const Node& node) {
    std::vector<const Value*> inputs = group.inputs;
    std::erase_if(inputs, [&](const Value* value) { return value->producer() == &node; });
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* value = node.input(i);
      if (value == nullptr || is_small_scalar(*value) || is_parameter(node, i) ||
          std::find(inputs.begin(), inputs.end(), value) != inputs.end())
        continue;
      inputs.push_back(value);
    }
    if (inputs.size() > kMaxInputs) return std::nullopt;
    return inputs;
  }

  // Removes the reshapes that no member feeds: alone they are views, which cost nothing.
  void drop_first_reshapes(Group& group) {
    std::erase_if(group.nodes, [&](const Node* node) {
      if (of(*node).role != Role::kReshape) return false;
      const Node* producer = node->input(0)->producer();
      if (producer != nullptr && of(*producer).group == of(*node).group) return false;
      of(*node).group = -1;
      return true;
    });
  }

  const Graph& graph_;
  const bool has_states_, is_root_;
  std::vector<Member> members_;         // by node id
  std::vector<bool> has_control_edge_;  // by node id; empty: none has one
  std::vector<Group> groups_;
};

}  // namespace

std::vector<std::vector<Node*>> find_element_groups(const Graph& graph) {
  return Finder(graph).run();
}

}  // namespace sluice
