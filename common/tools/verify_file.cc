#include "common/tools/verify_file.h"

#include "common/graphfile/graphfile.h"
#include "common/omcheck/bind_for_checks.h"
#include "common/omcheck/memory_checker.h"
#include "common/omcheck/stream_checker.h"
#include "common/omfile/om_file.h"
#include "common/omfile/om_names.h"
#include "common/omfile/weight_region.h"
#include "common/ops/attributes.h"
#include "common/verify/verify.h"

namespace sluice {
namespace {

// A broken promise is the answer to the question asked here, not an input error.
Result<void> answer(Result<void> verified) {
  if (!verified && verified.error().code == ErrorCode::kVerifyFailed)
    verified.error().code = ErrorCode::kDifferent;
  return verified;
}

// Checks that constants that the root reads from the weights are inside them.
void find_stray_constants(const Module& module, uint64_t weights_bytes, std::string& findings) {
  for (SegmentId id = 0; id < static_cast<SegmentId>(module.segment_count()); ++id) {
    const Segment& segment = module.segment(id);
    const Location& location = segment.location;
    if (segment.kind != SegmentKind::kBytes || location.where != Where::kFile) continue;
    const bool is_inside =
        location.offset <= weights_bytes && segment.size <= weights_bytes - location.offset;
    if (location.path != kWeightsPath || !is_inside)
      findings += fmt::format("\n  a constant of the root lies in '{}' at {} + {}", location.path,
                              location.offset, segment.size);
  }
}

void find_wrong_calls(const pb::ModelDef& model, const Graph& root, std::string& findings) {
  for (const Node& node : root.nodes()) {
    if (node.op() != Op::kCall) continue;
    const int64_t part = node.get(attributes::Call::part);
    if (part < 0 || part >= model.parts_size()) {
      findings +=
          fmt::format("\n  {}: it calls part {} of {}", node.label(), part, model.parts_size());
      continue;
    }
    const pb::FixedPart& fixed = model.parts(static_cast<int>(part)).fixed();
    if (node.input_count() != static_cast<size_t>(fixed.inputs_size()) ||
        node.output_count() != static_cast<size_t>(fixed.outputs_size()))
      findings += fmt::format("\n  {}: part {} takes {} values and gives {}", node.label(), part,
                              fixed.inputs_size(), fixed.outputs_size());
  }
}

// Names the kernels of the root's nodes, which are listed beside the graph. Returns false when the
// column does not fit the graph.
bool name_kernels(const pb::ModelDef& model, Module& module) {
  const auto& kernels = model.root().node_kernel();
  if (kernels.empty()) return true;
  if (static_cast<size_t>(kernels.size()) != module.root().node_count()) return false;
  int position = 0;
  for (Node& node : module.root().nodes()) {
    const uint32_t kernel = kernels[position++];
    if (kernel == 0) continue;
    node.placement.kernel = module.add_kernel(
        {.entry = model.kernels(static_cast<int>(kernel) - 1).entry(), .isa = model.isa()});
  }
  return true;
}

// The evaluator supports dense values only.
void find_stored_operands(const Graph& root, std::string& findings) {
  for (const Node& node : root.nodes()) {
    if (node.placement.kernel >= 0) continue;
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (node.input(i) != nullptr && node.input(i)->storage_id() >= 0)
        findings += fmt::format("\n  {}: it launches no kernel, and '{}' is not dense",
                                node.label(), node.input(i)->name());
    }
  }
}

// Compares the root graph with the description around it.
std::string root_findings(const OmFile& om, uint64_t weights_bytes) {
  const pb::ModelDef& model = *om.model;
  auto module =
      read_graph(om.segment(static_cast<int>(model.root().graph())), nullptr, "root graph");
  if (!module) return "\n  the root graph: " + module.error().message;
  const Graph& root = module->root();
  std::string findings;
  if (!name_kernels(model, *module))
    findings += "\n  the column of kernels that the root launches does not fit its nodes";
  if (const auto verified = verify(*module, Level::kLowered); !verified)
    findings += "\n  the root graph: " + verified.error().message;
  if (root.inputs().size() != static_cast<size_t>(model.inputs_size()) ||
      root.outputs().size() != static_cast<size_t>(model.outputs_size()))
    findings += "\n  the root graph has other inputs or outputs than the model";
  if (model.root().first_node() > model.nodes() ||
      root.node_count() != model.nodes() - model.root().first_node())
    findings += "\n  the root graph has another number of nodes than the model says";
  find_stray_constants(*module, weights_bytes, findings);
  find_wrong_calls(model, root, findings);
  find_stored_operands(root, findings);
  return findings;
}

std::string figures_line(const MemoryFigures& figures) {
  return fmt::format(
      "arena_bytes {} live_bytes {} dense_live_bytes {} scratch_bytes_per_worker {}\n",
      figures.arena, figures.live, figures.dense_live, figures.scratch_per_worker);
}

std::string part_findings(const pb::ModelDef& model, int index, uint64_t weights_bytes,
                          OmVerified& verified) {
  const pb::FixedPart& part = model.parts(index).fixed();
  std::string findings;
  for (const StreamConflict& conflict : find_stream_conflicts(model, part))
    findings += "\n  " + conflict.text;
  for (const std::string& fault : find_memory_faults(model, part, weights_bytes))
    findings += "\n  " + fault;
  if (findings.empty()) verified.figures += figures_line(measure_memory(model, part));
  return findings;
}

std::string symbolic_findings(const pb::ModelDef& model, int index, uint64_t weights_bytes,
                              OmVerified& verified) {
  const auto bound = bind_for_checks(model, index);
  if (bound) {
    std::string findings = part_findings(*bound, index, weights_bytes, verified);
    const auto largest = findings.empty() ? bind_to_largest(model, index) : std::nullopt;
    OmVerified of_largest;  // the figures are those of the first
    return largest ? part_findings(*largest, index, weights_bytes, of_largest) : findings;
  }
  verified.unchecked.push_back(
      fmt::format("part {} was not checked, for none of the sizes tried binds it; the last: {}",
                  index, bound.error().message));
  return {};
}

}  // namespace

Result<void> verify_graph(const Module& module, const std::string& level_text, bool hash) {
  Level level = module.level;
  if (!level_text.empty()) {
    const auto wanted = level_from_name(level_text);
    if (!wanted)
      return make_error(ErrorCode::kBadOption,
                        "--level is '{}', it must be typed, partitioned or lowered", level_text);
    level = *wanted;
  }
  SLUICE_TRY(answer(verify(module, level)));
  return hash ? answer(verify_segments(module)) : Result<void>();
}

Result<OmVerified> verify_om(std::span<const std::byte> bytes, bool hash, const WeightsPath& path) {
  SLUICE_ASSIGN(OmBytes copy, OmBytes::copy(bytes));
  SLUICE_ASSIGN(const OmFile om,
                read_om(std::move(copy), {.weights = hash, .machine = false, .test_tasks = true}));
  SLUICE_ASSIGN(const WeightRegion weights, WeightRegion::map(om, path));
  if (hash) SLUICE_TRY(weights.check_digests());
  std::string findings;
  OmVerified verified;
  if (!NodeNames(*om.model).complete(om.model->nodes()))
    findings += "\n  the names of nodes are not as many as the nodes";
  const uint64_t weights_bytes = weights.bytes().size();
  if (om.model->has_root()) findings += root_findings(om, weights_bytes);
  for (int i = 0; i < om.model->parts_size(); ++i) {
    const pb::PartDef& part = om.model->parts(i);
    const auto values = static_cast<uint32_t>(part.fixed().value_type_size());
    if (!ValueNames(part.fixed()).complete(values))
      findings += "\n  the names of values are not as many as the values";
    findings += (part.has_symbolic() ? symbolic_findings : part_findings)(*om.model, i,
                                                                          weights_bytes, verified);
  }
  if (findings.empty()) return verified;
  return make_error(ErrorCode::kDifferent, "what the file holds does not fit together:{}",
                    findings);
}

}  // namespace sluice
