#include "common/tools/check_model.h"

#include <algorithm>
#include <set>

#include "common/ir/dynamic_dims.h"
#include "common/ir/fixed.h"
#include "common/loop/lowering.h"
#include "common/ops/view.h"
#include "common/symbolic/nominal.h"
#include "common/target/aicore.h"
#include "common/target/multiply_adds.h"
#include "common/target/profile.h"
#include "common/target/recurrent.h"
#include "common/target/vector.h"
#include "common/text/text.h"

namespace sluice {
namespace {

uint64_t bytes_of(const Value& value) {
  return nominal_type(value.graph().module(), value.type()).dense_bytes().value_or(0);
}

// Returns true for work in the order of multiply-adds that count_multiply_adds does not count.
bool has_uncounted_work(const Node& node) {
  constexpr Op kHeavy[] = {
      Op::kCausalConvWithState, Op::kDFT, Op::kDeformConv, Op::kEinsum, Op::kFlexAttention,
      Op::kLinearAttention,     Op::kSTFT};
  if (std::find(std::begin(kHeavy), std::end(kHeavy), node.op()) != std::end(kHeavy)) return true;
  return node.op() != Op::kFused && node.op() != Op::kCall && !node.bodies().empty();
}

// Returns why a node is not on an engine that generates code.
std::string host_reason(const Node& node) {
  if (is_contraction(node.op()) || is_recurrent(node.op())) return aicore_unsupported_reason(node);
  if (node.op() == Op::kConvTranspose || node.op() == Op::kEinsum)
    return "its dtype, sizes or attributes do not allow to compute it by convolutions or products";
  return loop::find_lowering(node.op()) == nullptr ? "no code is generated for this operator"
                                                   : vector_unsupported_reason(node);
}

// Returns the value whose bytes a view shows.
const Value& viewed_base(const Value& value) {
  const Value* base = &value;
  while (base->producer() != nullptr && is_view(*base->producer()) &&
         base->producer()->input(0) != nullptr)
    base = base->producer()->input(0);
  return *base;
}

// Returns the peak of the memory that a run owns, without inputs and outputs, which a caller owns,
// and without constants.
uint64_t peak_bytes(const Graph& graph) {
  std::vector<size_t> readers_left(graph.value_limit(), 0);  // of a value and its views
  for (const Value& value : graph.values()) {
    const Value& base = viewed_base(value);
    readers_left[static_cast<size_t>(base.id())] +=
        value.uses().size() - (&base == &value ? 0 : 1) + (value.is_output() ? 1 : 0);
  }
  const auto is_counted = [](const Value& value) {
    return value.producer() != nullptr && !value.is_output();
  };
  uint64_t alive = 0, peak = 0;
  for (const Node& node : graph.nodes()) {
    if (is_view(node)) continue;
    for (size_t k = 0; k < node.output_count(); ++k)
      alive += is_counted(node.output(k)) ? bytes_of(node.output(k)) : 0;
    const Graph* callee = called_graph(node);
    peak = std::max(peak, alive + (callee == nullptr ? 0 : peak_bytes(*callee)));
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (node.input(i) == nullptr) continue;
      const Value& base = viewed_base(*node.input(i));
      if (--readers_left[static_cast<size_t>(base.id())] == 0 && is_counted(base))
        alive -= bytes_of(base);
    }
    for (size_t k = 0; k < node.output_count(); ++k) {
      const Value& output = node.output(k);
      if (readers_left[static_cast<size_t>(output.id())] == 0 && is_counted(output))
        alive -= bytes_of(output);
    }
  }
  return peak;
}

// Abbreviates a type whose dims would fill a line.
std::string short_type(const Module& module, TypeId id) {
  constexpr size_t kLong = 40;
  const Type& type = module.type(id);
  if (!type.is_tensor() || !type.ranked) return print_type(module, id);
  std::string dims;
  for (const Dim& dim : type.dims) {
    const std::string text = print_dim(module, dim);
    dims += (dims.empty() ? "" : ", ") + (text.size() > kLong ? "…" : text);
  }
  return fmt::format("{}[{}]", dtype_name(type.dtype), dims);
}

class Checker {
 public:
  explicit Checker(const Module& module) : module_(module) {}

  ModelCheck run() {
    const Graph& root = module_.root();
    for (const Value* input : root.inputs()) {
      if (!input->is_constant()) check_.inputs.push_back(describe(*input));
    }
    for (const Value* output : root.outputs()) check_.outputs.push_back(describe(*output));
    visit(root);
    check_.fixing_options = open_dims_hint(module_);
    for (const SymbolId id : open_symbols(module_)) {
      const Symbol& symbol = module_.expressions.symbol(id);
      check_.open_dims.push_back(
          {symbol.name, symbol.low, symbol.high, symbol.divisor, nominal_size(symbol)});
    }
    for (const Value* input : unranked_inputs(module_)) check_.unranked.push_back(input->name());
    check_.is_symbolic = !dynamic_values(root).empty();
    count_walked(root);
    std::stable_sort(
        check_.host_nodes.begin(), check_.host_nodes.end(),
        [](const HostNode& a, const HostNode& b) { return a.multiply_adds > b.multiply_adds; });
    check_.arena_bytes = peak_bytes(root);
    return std::move(check_);
  }

 private:
  std::string describe(const Value& value) const {
    return fmt::format("{}: {}", printable(value.name()), short_type(module_, value.type_id()));
  }

  // Counts a graph of class dynamic, which is run node by node except for its fixed and symbolic
  // parts; its subgraphs take the place of their Calls.
  void count_walked(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      const Graph* callee = called_graph(node);
      if (callee == nullptr) {
        count_walked(node);
      } else if (callee->role == GraphRole::kPart ? callee->shapes == ShapeClass::kDynamic
                                                  : graph.shapes == ShapeClass::kDynamic) {
        count_walked(*callee);
      }
    }
  }

  void count_walked(const Node& node) {
    ++check_.walked;
    bool is_sized = true;
    for (size_t k = 0; k < node.output_count(); ++k)
      is_sized =
          is_sized && (!node.output(k).is_used() || has_computed_size(node.output(k).type()));
    if (!is_sized) ++check_.unsized;
  }

  void visit(const Graph& graph) {
    count_weights(graph);
    for (const Node& node : graph.nodes()) {
      if (const Graph* callee = called_graph(node)) {
        visit(*callee);
      } else {
        count(node);
      }
    }
  }

  // Counts the weights of the graph and of the bodies of control flow.
  void count_weights(const Graph& graph) {
    for (const Value& value : graph.values()) count_weight(value);
    if (!graph.may_have_bodies()) return;
    for (const Node& node : graph.nodes()) {
      for (const GraphId body : node.op() == Op::kCall ? std::vector<GraphId>() : node.bodies())
        count_weights(module_.graph(body));
    }
  }

  void count_weight(const Value& value) {
    if (value.is_erased() || !value.is_constant() || !value.is_used()) return;
    const Segment& segment = module_.segment(value.segment());
    if (segment.kind != SegmentKind::kParameter && weights_.insert(value.segment()).second)
      check_.weight_bytes += segment.size;
  }

  void count(const Node& node) {
    if (is_view(node)) return;  // nothing runs
    const uint64_t multiply_adds = nominal_multiply_adds(node);
    if (has_uncounted_work(node)) ++check_.uncounted;
    EngineShare& share = check_.engines[std::string(engine_name(node.placement.engine))];
    ++share.nodes;
    share.multiply_adds += multiply_adds;
    check_.multiply_adds += multiply_adds;
    if (node.placement.engine != EngineId::kHostCpu) return;
    check_.host_nodes.push_back({name_text(node), op_text(node), host_reason(node), multiply_adds});
  }

  const Module& module_;
  ModelCheck check_;
  std::set<SegmentId> weights_;
};

}  // namespace

Result<ModelCheck> check_model(const Module& module) {
  if (module.level != Level::kPartitioned) {
    return make_error(ErrorCode::kWrongLevel, "--check needs level 'partitioned', got '{}'",
                      level_name(module.level))
        .with_hint(
            "sluice check MODEL.onnx makes such a graph and shows this; sluice-partition makes one "
            "of a typed graph");
  }
  if (const auto profile_option = module.options.find("profile");
      profile_option != module.options.end()) {
    SLUICE_ASSIGN(const DeviceProfile profile, get_profile(profile_option->second));
    SLUICE_TRY(check_lowerable(profile));
  }
  return Checker(module).run();
}

}  // namespace sluice
