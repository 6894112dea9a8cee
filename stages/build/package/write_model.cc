#include <algorithm>
#include <optional>

#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/work.h"
#include "common/graphfile/graphfile.h"
#include "common/ir/dynamic_dims.h"
#include "common/ir/fixed.h"
#include "common/omcheck/bind_for_checks.h"
#include "common/omcheck/memory_checker.h"
#include "common/omcheck/stream_checker.h"
#include "common/omfile/external_weights.h"
#include "common/omfile/om_writer.h"
#include "common/ops/attributes.h"
#include "stages/build/build.h"
#include "stages/build/package/emit_external_weights.h"
#include "stages/build/package/emit_model.h"
#include "stages/build/package/verify_loadable.h"
#include "stages/build/parts.h"
#include "stages/build/root_graph.h"
#include "stages/build/walk.h"
#include "stages/build/weights/external_files.h"
#include "stages/build/weights/layout_weights.h"
#include "stages/build/weights/stream_weights.h"

namespace sluice {
namespace {

// Makes the segment of kernel objects. They are small and will be run, so their bytes are hashed,
// as those of large constants are not.
Result<OmSegment> kernel_segment(const Module& module, const KernelStore& kernels) {
  OmSegment segment;
  segment.kind = pb::SEGMENT_KERNELS;
  segment.bytes = kernels.bytes;
  for (size_t i = 0; i < kernels.objects.size(); ++i) {
    SLUICE_ASSIGN(const std::span<const std::byte> bytes, module.bytes(kernels.objects[i]));
    const Digest& digest = module.segment(kernels.objects[i]).digest;
    if (sha256(bytes) != digest) {
      return make_error(ErrorCode::kBadGraph,
                        "a kernel's object has other bytes than its digest sha256:{}… says",
                        digest_hex(digest).substr(0, 16))
          .with_hint("the file is damaged: make it anew with sluice-subgraph-optimize");
    }
    segment.pieces.push_back({kernels.offsets[i], bytes});
  }
  return segment;
}

// A graph of a compiled model names no kernels: what launches them is in the ModelDef.
void forget_kernels(Module& module) {
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (Node& node : module.graph(id).nodes()) node.placement.kernel = -1;
  }
}

// The graphs that become segments, in order; keeps their bytes.
class GraphSegments {
 public:
  // Returns the index of the segment; it comes after weights and kernels.
  Result<uint32_t> add(Module module, bool inline_segments) {
    forget_kernels(module);
    SLUICE_ASSIGN(std::vector<std::byte> bytes,
                  graph_bytes(module, {.inline_segments = inline_segments}));
    graphs_.push_back(std::move(bytes));
    return static_cast<uint32_t>(graphs_.size() + 1);
  }
  void append_to(std::vector<OmSegment>& segments) const {
    for (const auto& graph : graphs_)
      segments.push_back({pb::SEGMENT_GRAPH, {{0, graph}}, graph.size(), {}});
  }

 private:
  std::vector<std::vector<std::byte>> graphs_;
};

void warn_of_unchecked(int part, const Error& last) {
  log_warning("sluice-build", fmt::format("the plan of part {} was not checked, for none of the "
                                          "sizes tried binds it; the last: {}",
                                          part, last.message));
}

std::string part_findings(const pb::ModelDef& model, int index, uint64_t weights_bytes) {
  const pb::FixedPart& part = model.parts(index).fixed();
  std::string findings;
  for (const std::string& fault : find_memory_faults(model, part, weights_bytes))
    findings += "\n  " + fault;
  for (const StreamConflict& conflict : find_stream_conflicts(model, part))
    findings += "\n  " + conflict.text;
  return findings;
}

// Checks what was planned and emitted, by checkers that share no code with it. is_given: the user
// gave the schedule.
Result<void> check_model(const pb::ModelDef& model, uint64_t weights_bytes, bool is_given,
                         const Options& options) {
  std::string findings;
  for (int i = 0; i < model.parts_size(); ++i) {
    const bool is_symbolic = model.parts(i).has_symbolic();
    const Result<pb::ModelDef> bound = is_symbolic ? bind_for_checks(model, i) : pb::ModelDef();
    if (!bound) {
      if (options.text("verify") == "each") warn_of_unchecked(i, bound.error());
      continue;
    }
    findings += part_findings(is_symbolic ? *bound : model, i, weights_bytes);
    const auto largest = findings.empty() ? bind_to_largest(model, i) : std::nullopt;
    if (largest) findings += part_findings(*largest, i, weights_bytes);
  }
  if (findings.empty()) return {};
  if (is_given)
    return make_error(ErrorCode::kVerifyFailed,
                      "the tasks and memory of the schedule do not fit together:{}", findings)
        .with_hint(
            "sluice show --memory and --schedule show values and tasks by these names; the "
            "numbers of tasks here count records and waits, too");
  return make_error(ErrorCode::kInternal,
                    "the tasks and memory that were planned do not fit together:{}", findings);
}

// launches: find_launches of a root that is walked; nothing when the root is one part.
Result<pb::ModelDef> emit(const Graph& root, const std::optional<std::vector<bool>>& launches,
                          const std::vector<Graph*>& parts, KernelStore& kernels) {
  ModelEmitter emitter(root.module(), kernels);
  const bool has_symbolic = std::any_of(parts.begin(), parts.end(), [](const Graph* part) {
    return part->shapes == ShapeClass::kSymbolic;
  });
  SLUICE_TRY(emitter.emit_signature(root, has_symbolic));
  for (const Graph* part : parts) {
    SLUICE_TRY(check_streams(*part));
    SLUICE_TRY(check_places(*part));
    SLUICE_TRY(emitter.emit_part(*part, launches.has_value()));
    add_work(Work::kNodeVisits, part->node_count());
    add_work(Work::kTasks, tasks_of(*part).size());
  }
  if (launches.has_value()) SLUICE_TRY(emitter.emit_root(root, *launches));
  return emitter.finish();
}

Result<void> add_graphs(const Graph& root, const std::optional<std::vector<bool>>& launches,
                        const std::vector<Graph*>& parts, const WeightLayout& layout,
                        pb::ModelDef& model, GraphSegments& graphs) {
  for (size_t i = 0; i < parts.size(); ++i) {
    Module host = make_host_graph(*parts[i]);
    if (host.root().node_count() == 0) continue;
    pb::FixedPart& part = *model.mutable_parts(static_cast<int>(i))->mutable_fixed();
    SLUICE_ASSIGN(const uint32_t segment, graphs.add(std::move(host), true));
    part.set_has_host(true);
    part.set_host_graph(static_cast<int32_t>(segment));
  }
  if (!model.has_root()) return {};
  SLUICE_ASSIGN(const uint32_t segment,
                graphs.add(make_root_graph(root, layout, *launches), false));
  model.mutable_root()->set_graph(segment);
  return {};
}

// Returns whether the size of a result is known only once it is computed; with --symbolic=off every
// size that is not a number counts as such.
bool has_size_of_a_result(const Node& node) {
  const Module& module = node.graph().module();
  const auto option = module.options.find("symbolic");
  const bool is_symbolic = option == module.options.end() || option->second != "off";
  for (size_t k = 0; k < node.output_count(); ++k) {
    const Type& type = node.output(k).type();
    const bool is_known = is_symbolic ? has_known_size(module, type) : type.is_fixed();
    if (node.output(k).is_used() && !is_known && type.dtype != DType::kString) return true;
  }
  return false;
}

// Warns of values without a size before the model runs: they make it slower, and may be an
// oversight.
void warn_of_root(const Graph& root) {
  const std::string options = dynamic_dims_hint(root.module());
  const auto count = std::count_if(root.nodes().begin(), root.nodes().end(), has_size_of_a_result);
  if (options.empty() || count == 0) return;
  log_warning(
      "sluice-build",
      fmt::format(
          "nodes that run one by one, because their sizes are known only when the model runs: {}; "
          "to fix sizes, which sluice check proposes: {}",
          count, options));
}

// Returns whether the stage read the schedule, or a part of it: not all passes ran.
bool is_schedule_given(const std::vector<PassReport>& report) {
  return report.size() < build_passes().size();
}

// Returns an error that is no fault of the compiler where the schedule was given.
Result<void> blame(Result<void> verdict, bool is_given) {
  if (verdict || !is_given || verdict.error().code != ErrorCode::kInternal) return verdict;
  return make_error(ErrorCode::kVerifyFailed, "{}", verdict.error().message)
      .with_hint("schedule the lowered graph again, or correct what was edited");
}

}  // namespace

Result<void> write_model(Module& module, const StageArgs& args) {
  if (!args.options.text("stop-after").empty()) return write_graph_output(module, args);
  module.compact();
  const Graph& root = module.root();
  const bool is_given = is_schedule_given(*args.report);
  if (!args.report->empty()) SLUICE_TRY(blame(verify_result(module, args.options), is_given));
  const bool has_root = is_walked(root);
  const std::vector<Graph*> parts = scheduled_graphs(root);
  const ExternalWeight external = external_weight(args.options);
  SLUICE_ASSIGN(const WeightLayout layout,
                read_layout(module, parts, has_root ? root_weights(root) : std::vector<SegmentId>(),
                            external));
  if (has_root) warn_of_root(root);
  add_work(Work::kConstants, layout.inside.size() + layout.outside.size());
  WorkReport emitting("emit-tasks", root.node_count());
  KernelStore kernels;
  std::optional<std::vector<bool>> launches;
  if (has_root) launches = find_launches(root);
  SLUICE_ASSIGN(pb::ModelDef model, emit(root, launches, parts, kernels));
  SLUICE_TRY(emit_external_weights(module, layout, external, model));
  args.report->push_back(emitting.done(module, false));
  WorkReport writing("write-model", root.node_count());
  SLUICE_ASSIGN(const int64_t threads, args.options.threads());
  std::vector<OmSegment> segments(1);
  segments[0] = {pb::SEGMENT_WEIGHTS, {}, layout.inside_bytes, [&](const OmOutput& output) {
                   return stream_weights(module, layout.inside, layout, threads, output);
                 }};
  SLUICE_ASSIGN(OmSegment kernel_bytes, kernel_segment(module, kernels));
  segments.push_back(std::move(kernel_bytes));
  GraphSegments graphs;
  SLUICE_TRY(add_graphs(root, launches, parts, layout, model, graphs));
  graphs.append_to(segments);
  // Parts with host nodes can be bound, and so be checked, once the segments have their places.
  const OmCheck check = [&](const pb::ModelDef& made) -> Result<void> {
    SLUICE_TRY(blame(verify_loadable(made), is_given));
    return check_model(made, weights_bytes(made), is_given, args.options);
  };
  ExternalFiles files(module, layout, args);
  SLUICE_TRY(write_om(args.output, std::move(model), segments, check, files.files()));
  files.keep();
  args.report->push_back(writing.done(module, false));
  return {};
}

}  // namespace sluice
