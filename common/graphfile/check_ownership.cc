#include "common/graphfile/reader.h"

namespace sluice::graphfile {
namespace {

constexpr int kNestingLimit = 200;  // bodies in bodies, expressions over expressions

// Traverses graphs and the expressions they need, depth first.
class OwnershipCheck {
 public:
  explicit OwnershipCheck(const Module& module)
      : module_(module),
        graphs_(static_cast<size_t>(module.graph_limit())),
        segments_(module.segment_count()) {}

  Result<void> run() {
    for (GraphId id = 0; id < module_.graph_limit(); ++id) {
      const Graph& graph = module_.graph(id);
      if (id == 0 || graph.role == GraphRole::kRoot) SLUICE_TRY(enter_graph(id));
    }
    for (GraphId id = 0; id < module_.graph_limit(); ++id) {
      if (graphs_[static_cast<size_t>(id)] == State::kNew)
        return bad_file("graph {} ('{}') has no owner", id, module_.graph(id).name());
    }
    return {};
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };

  Result<void> enter_graph(GraphId id) {
    State& state = graphs_[static_cast<size_t>(id)];
    if (state == State::kDone) return {};
    if (state == State::kOpen) return bad_file("graph {} contains itself", id);
    if (++depth_ > kNestingLimit)
      return bad_file("graphs are nested deeper than {}", kNestingLimit);
    state = State::kOpen;
    for (const Value& value : module_.graph(id).values())
      SLUICE_TRY(enter_segment(value.segment()));
    for (const Node& node : module_.graph(id).nodes()) {
      if (node.placement.kernel >= 0)
        SLUICE_TRY(enter_segment(module_.kernel(node.placement.kernel).object));
      for (const Attribute& attribute : node.attributes()) {
        if (const auto* ref = std::get_if<SegmentRef>(&attribute.value))
          SLUICE_TRY(enter_segment(ref->id));
      }
      for (const GraphId body : node.bodies()) SLUICE_TRY(enter_graph(body));
    }
    --depth_;
    graphs_[static_cast<size_t>(id)] = State::kDone;
    return {};
  }

  Result<void> enter_segment(SegmentId id) {
    if (id < 0 || module_.segment(id).kind != SegmentKind::kExpression) return {};
    State& state = segments_[static_cast<size_t>(id)];
    if (state == State::kDone) return {};
    if (state == State::kOpen) return bad_file("a constant is made from itself");
    if (++depth_ > kNestingLimit)
      return bad_file("constants are nested deeper than {}", kNestingLimit);
    state = State::kOpen;
    SLUICE_TRY(enter_graph(module_.segment(id).graph));
    for (const SegmentId input : module_.segment(id).inputs) SLUICE_TRY(enter_segment(input));
    --depth_;
    segments_[static_cast<size_t>(id)] = State::kDone;
    return {};
  }

  const Module& module_;
  std::vector<State> graphs_;
  std::vector<State> segments_;
  int depth_ = 0;
};

}  // namespace

Result<void> check_ownership(const Module& module) { return OwnershipCheck(module).run(); }

}  // namespace sluice::graphfile
