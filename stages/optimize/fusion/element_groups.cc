#include "stages/optimize/fusion/element_groups.h"

#include <algorithm>
#include <optional>

#include "common/base/work.h"
#include "common/ir/module.h"
#include "common/loop/lowering.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/target/aicore.h"
#include "stages/optimize/fusion/fused_node.h"

namespace sluice {
namespace {

constexpr size_t kMaxNodes = 64;
constexpr size_t kMaxInputs = 8;
constexpr size_t kMaxRepeated = 8;  // members that are computed more than once
constexpr int64_t kSmallElements = 8;

enum class Role : uint8_t {
  kNone,         // takes no part
  kElementwise,  // element i of the result needs elements i of the inputs, with broadcasting
  kReshape,      // a view that only splits dims
  kPermute,      // a Transpose that leaves the last axis in its place
  kSpread,       // an Expand
  kLoops,        // has loops of its own
};

// Returns whether every dim of `from` is the product of consecutive dims of `to`, so that an index
// of `to` becomes one of `from` without divisions.
bool only_splits(const std::vector<Dim>& from, const std::vector<Dim>& to) {
  size_t k = 0;
  for (const Dim& whole : from) {
    if (whole == Dim::fixed(1)) continue;
    while (k < to.size() && to[k] == Dim::fixed(1)) ++k;
    if (k < to.size() && to[k] == whole) {
      ++k;
      continue;
    }
    int64_t product = 1;
    while (k < to.size() && to[k].is_fixed() && whole.is_fixed() && product < whole.value)
      product *= std::max<int64_t>(to[k++].value, 1);
    if (!whole.is_fixed() || product != whole.value) return false;
  }
  return std::all_of(to.begin() + static_cast<std::ptrdiff_t>(k), to.end(),
                     [](const Dim& dim) { return dim == Dim::fixed(1); });
}

bool keeps_last_axis(const Node& transpose) {
  const std::vector<int64_t> order = transpose_order(transpose);
  return !order.empty() && order.back() == static_cast<int64_t>(order.size()) - 1;
}

bool is_small(const Type& type) {
  if (const auto count = type.element_count()) return *count <= kSmallElements;
  return type.rank() <= 1 && !dtype_is_float(type.dtype);
}

bool computes_sizes(const Node& node) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && !node.input(i)->is_constant() &&
        !is_small(node.input(i)->type()))
      return false;
  }
  return is_small(node.output().type());
}

Role find_role(const Node& node) {
  const loop::LoweringRow* row = loop::find_lowering(node.op());
  if (row == nullptr || !loop::unsupported_reason(node).empty() || computes_sizes(node))
    return Role::kNone;
  if (row->nests != nullptr) return Role::kLoops;
  const OpRow* op = find_op(node.op());
  if (node.output_count() != 1 || op == nullptr) return Role::kNone;
  if (node.op() == Op::kTranspose) return keeps_last_axis(node) ? Role::kPermute : Role::kNone;
  if (node.op() == Op::kExpand) return is_parameter(node, 1) ? Role::kSpread : Role::kNone;
  if ((op->flags & kElementwise) != 0) return Role::kElementwise;
  const bool is_split = (op->flags & kView) != 0 &&
                        (node.input(1) == nullptr || is_parameter(node, 1)) &&
                        only_splits(node.input(0)->type().dims, node.output().type().dims);
  return is_split ? Role::kReshape : Role::kNone;
}

// Returns whether computing an element again costs less than reading it again.
bool is_cheap(const Node& node) {
  switch (node.op()) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kMax:
    case Op::kMin:
    case Op::kClip:
    case Op::kRelu:
    case Op::kLeakyRelu:
    case Op::kHardSigmoid:
    case Op::kHardSwish:
    case Op::kPRelu:
    case Op::kWhere:
    case Op::kCast:
    case Op::kCastLike:
    case Op::kIdentity:
    case Op::kNot:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kEqual:
    case Op::kLess:
    case Op::kLessOrEqual:
    case Op::kGreater:
    case Op::kGreaterOrEqual:
    case Op::kExpand:
    case Op::kTranspose:
    case Op::kReshape:
    case Op::kFlatten:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
      return true;
    default:
      return false;
  }
}

// Returns whether the node's loops read each element of its operand once.
bool reads_once(Op op) {
  switch (op) {
    case Op::kReduceSum:
    case Op::kReduceProd:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kReduceMean:
    case Op::kReduceL1:
    case Op::kReduceL2:
    case Op::kReduceSumSquare:
    case Op::kReduceLogSum:
    case Op::kArgMax:
    case Op::kArgMin:
      return true;
    default:
      return false;
  }
}

bool has_visible_result(const Node& node) {
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
  std::vector<Node*> nodes;  // readers before producers
  std::vector<const Value*> inputs;
  std::vector<Place> places = {{}};
  const Node* loops = nullptr;  // the member with loops of its own
  int32_t loops_place = -1;     // of its operand
  size_t repeated = 0;
};

struct Member {
  Role role = Role::kNone;
  int32_t group = -1;
  int32_t place = -1;
};

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), members_(graph.node_limit()) {
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
      if (group.nodes.size() > 1) found.push_back(std::move(group.nodes));
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
    if (!is_used(node)) return;
    of(node).role = find_role(node);
    if (of(node).role == Role::kNone) return;
    const int32_t group = group_of_readers(node);
    if (group >= 0 && join(node, group)) return;
    if (of(node).role != Role::kReshape) start(node);
  }

  // Returns the group that contains all readers, or -1.
  int32_t group_of_readers(const Node& node) {
    int32_t group = -1;
    for (size_t i = 0; i < node.output_count(); ++i) {
      for (const Use& use : node.output(i).uses()) {
        const int32_t own = of(*use.node).group;
        if (own < 0 || (group >= 0 && own != group)) return -1;
        group = own;
      }
    }
    return group;
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
    group.places.push_back({.repeats = !reads_once(node.op())});
  }

  bool join(Node& node, int32_t index) {
    Group& group = groups_[static_cast<size_t>(index)];
    if (group.nodes.size() == kMaxNodes || !same_placement(node, *group.nodes[0])) return false;
    std::vector<Place> places = group.places;
    const auto place = place_of(node, group, places);
    if (!place) return false;
    const bool is_first = *place == 0;
    if (has_visible_result(node) && (!is_first || group.loops != nullptr)) return false;
    if (of(node).role == Role::kLoops && !(is_first && can_take_loops(group, node))) return false;
    const bool repeats = places[static_cast<size_t>(*place)].repeats;
    if (repeats && (!is_cheap(node) || group.repeated == kMaxRepeated)) return false;
    const auto inputs = inputs_with(group, node);
    if (!inputs) return false;
    group.inputs = *inputs;
    group.places = std::move(places);
    group.repeated += repeats ? 1 : 0;
    of(node).group = index;
    of(node).place = *place;
    add_loops(group, node);
    group.nodes.push_back(&node);
    return true;
  }

  // Returns the place where the node's elements are computed, which may be a new one; nothing when
  // they are read in a way that elements cannot be computed for.
  std::optional<int32_t> place_of(const Node& node, const Group& group,
                                  std::vector<Place>& places) {
    std::optional<int32_t> common;
    const std::vector<Use>& uses = node.output().uses();
    for (const Use& use : uses) {
      if (of(*use.node).role == Role::kLoops && use.input != 0) return std::nullopt;
      const int32_t place = place_of_read(node, use, group);
      if (common && *common != place) common = -1;
      if (!common) common = place;
    }
    if (!common || *common >= 0) return common;
    const bool repeats = uses.size() > 1 || repeats_in(node, uses[0], places);
    places.push_back({.repeats = repeats});
    return static_cast<int32_t>(places.size()) - 1;
  }

  // Returns the place at whose index the reader reads the node's result, or -1: at another index.
  int32_t place_of_read(const Node& node, const Use& use, const Group& group) {
    const Member& reader = of(*use.node);
    if (reader.role == Role::kLoops) return group.loops_place;
    const bool same_index = reader.role == Role::kElementwise &&
                            node.output().type().dims == use.node->output().type().dims;
    return same_index ? reader.place : -1;
  }

  // Returns whether the only reader reads elements more than once.
  bool repeats_in(const Node& node, const Use& use, const std::vector<Place>& places) {
    const Member& reader = of(*use.node);
    const bool is_moved = reader.role == Role::kReshape || reader.role == Role::kPermute;
    const bool is_longer = node.output().type().rank() < use.node->output().type().rank() &&
                           only_splits(node.output().type().dims, use.node->output().type().dims);
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
      if (!depends && (*member == group.nodes[0] || has_visible_result(**member))) return false;
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
      if (value == nullptr || belongs_in_body(*value) || is_parameter(node, i) ||
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
  std::vector<Member> members_;         // by node id
  std::vector<bool> has_control_edge_;  // by node id; empty: none has one
  std::vector<Group> groups_;
};

}  // namespace

bool is_parameter(const Node& node, size_t input) {
  const Value* value = node.input(input);
  if (input == 0 || value == nullptr || !value->is_constant() || value->is_input()) return false;
  const loop::LoweringRow* row = loop::find_lowering(node.op());
  const OpRow* op = find_op(node.op());
  const bool has_parameters = node.op() == Op::kExpand ||
                              (row != nullptr && row->nests != nullptr) ||
                              (op != nullptr && (op->flags & kView) != 0);
  return has_parameters && value->type().dtype == DType::kI64;
}

std::vector<std::vector<Node*>> find_element_groups(const Graph& graph) {
  return Finder(graph).run();
}

}  // namespace sluice
