// Makes parts of nodes with known shapes and of nodes without: the known/unknown split of the
// catalogue.
//
//   before:  %a = Conv(%x, %w)   %b = NonZero(%a)   %c = Gather(%t, %b)
//   after:   %a = Call(%x, %w) {graph = @main_sub_0_know}
//            %c = Call(%a, %t) {graph = @main_sub_1_unknow}, of class dynamic
//
// A known part is lowered whole to a task list, an unknown one runs op by op. A known part is of
// class fixed, or symbolic when some of its sizes follow from the dims of the model's inputs (not
// with --symbolic=off: then such sizes are unknown). shape_kinds.h defines which nodes are unknown,
// shape_clusters.h which nodes become one part; a part named _input reads nothing while the model
// runs. Without unknown nodes the root is one part: left as it is when all is fixed and no states
// are kept, otherwise called as <graph>_sub_0_know. Without known parts (all were unknown, or
// smaller than --static-model-ops-lower-limit) the root is one part too, of class dynamic; so it is
// with limit -1, when fewer than --host-scheduling-max-threshold nodes are known and none is
// control flow, and when it came as dynamic. Parts that the user marked as stages stay. Legal
// because clusters are convex: a Call needs no result of nodes that wait for it, and known parts
// take and return tensors of known sizes alone.
#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/work.h"
#include "common/ir/module.h"
#include "common/ir/states.h"
#include "stages/partition/check_convexity.h"
#include "stages/partition/cut.h"
#include "stages/partition/passes/passes.h"
#include "stages/partition/shape_clusters.h"
#include "stages/partition/shape_kinds.h"

namespace sluice {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

bool calls_parts(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    const Graph* callee = called_graph(node);
    return callee != nullptr && callee->role == GraphRole::kPart;
  });
}

// Returns whether too few nodes are known for a task list to pay.
Result<bool> is_scheduled_by_host(const Graph& graph, const std::vector<ShapeKind>& kinds,
                                  const Options& options) {
  SLUICE_ASSIGN(const int64_t threshold, options.integer("host-scheduling-max-threshold", 0, kMax));
  int64_t known = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op() != Op::kFused && !node.bodies().empty()) return false;
    if (kinds[static_cast<size_t>(node.id())] != ShapeKind::kUnknown) known += operations_of(node);
  }
  return known < threshold;
}

// Returns whether one of the clusters of these nodes is of the kind.
bool has_cluster(const Graph& graph, const ShapeClusters& clusters, ShapeKind kind) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    return clusters.kind[static_cast<size_t>(clusters.cluster[static_cast<size_t>(node.id())])] ==
           kind;
  });
}

bool is_fixed(const Value* value) {
  return value == nullptr || (value->type().is_fixed() && value->type().dtype != DType::kString);
}

// Returns whether all inputs and outputs are fixed, including inputs that are outputs and inputs
// that nothing reads.
bool takes_and_gives_fixed(const Graph& graph) {
  return std::all_of(graph.inputs().begin(), graph.inputs().end(), is_fixed) &&
         std::all_of(graph.outputs().begin(), graph.outputs().end(), is_fixed);
}

bool is_fixed_throughout(const Node& node) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!is_fixed(node.input(i))) return false;
  }
  for (size_t k = 0; k < node.output_count(); ++k) {
    if (node.output(k).type().kind != TypeKind::kUnknown && !is_fixed(&node.output(k)))
      return false;
  }
  return true;
}

// Returns the shape classes by cluster.
std::vector<ShapeClass> shape_classes(const Graph& graph, const ShapeClusters& clusters) {
  std::vector<ShapeClass> classes(clusters.kind.size(), ShapeClass::kFixed);
  for (const Node& node : graph.nodes()) {
    const auto cluster = static_cast<size_t>(clusters.cluster[static_cast<size_t>(node.id())]);
    if (clusters.kind[cluster] == ShapeKind::kUnknown) {
      classes[cluster] = ShapeClass::kDynamic;
    } else if (!is_fixed_throughout(node)) {
      classes[cluster] = ShapeClass::kSymbolic;
    }
  }
  return classes;
}

ShapeClusters one_cluster(const Graph& graph) {
  return {std::vector<int32_t>(graph.node_limit(), 0), {ShapeKind::kKnown}};
}

// The clusters that become parts; without clusters the graph is one part, of class `shapes`.
struct Split {
  ShapeClusters clusters;
  ShapeClass shapes = ShapeClass::kDynamic;
};

Result<Split> find_split(const Graph& graph, const KnownTypes& known, const Options& options) {
  SLUICE_ASSIGN(const int64_t min_nodes, options.integer("static-model-ops-lower-limit", -1, kMax));
  if (graph.shapes == ShapeClass::kDynamic || min_nodes < 0) return Split{};
  const std::vector<ShapeKind> kinds = find_shape_kinds(graph, known);
  SLUICE_ASSIGN(const bool by_host, is_scheduled_by_host(graph, kinds, options));
  if (by_host) return Split{};
  add_work(Work::kNodeVisits, 4 * graph.node_count());
  const bool is_known_throughout =
      std::none_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
        return kinds[static_cast<size_t>(node.id())] == ShapeKind::kUnknown;
      });
  if (is_known_throughout) {
    const bool is_all_fixed =
        std::all_of(graph.nodes().begin(), graph.nodes().end(), is_fixed_throughout);
    if (is_all_fixed && (!has_states(graph) || graph.node_count() == 0))
      return Split{{}, takes_and_gives_fixed(graph) ? ShapeClass::kFixed : ShapeClass::kDynamic};
    return Split{one_cluster(graph)};
  }
  ShapeClusters clusters = options.flag("stable-order")
                               ? find_shape_runs(graph, kinds, min_nodes)
                               : find_shape_clusters(graph, kinds, min_nodes);
  if (!has_cluster(graph, clusters, ShapeKind::kKnown)) return Split{};
  return Split{std::move(clusters)};
}

}  // namespace

Result<bool> split_shapes(Graph& graph, const Options& options) {
  if (calls_parts(graph)) return false;
  const bool symbolic = options.text("symbolic") != "off";
  const KnownTypes known(graph, symbolic);
  const bool marked = mark_dynamic_bodies(graph, known);
  SLUICE_ASSIGN(const Split split, find_split(graph, known, options));
  const ShapeClass before = std::exchange(graph.shapes, split.shapes);
  if (split.clusters.kind.empty()) return marked || graph.shapes != before;
  SLUICE_TRY(check_convexity(graph, split.clusters.cluster, options));
  const std::vector<ShapeClass> classes = shape_classes(graph, split.clusters);
  int number = 0;
  const auto describe = [&](int32_t cluster) {
    constexpr std::string_view kNames[] = {"know", "unknow", "input"};
    const ShapeKind kind = split.clusters.kind[static_cast<size_t>(cluster)];
    return CutCluster{.name = fmt::format("{}_sub_{}_{}", graph.name(), number++,
                                          kNames[static_cast<size_t>(kind)]),
                      .role = GraphRole::kPart,
                      .shapes = classes[static_cast<size_t>(cluster)]};
  };
  SLUICE_TRY(cut_clusters(graph, split.clusters.cluster, describe, symbolic));
  return true;
}

}  // namespace sluice
