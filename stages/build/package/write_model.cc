#include "common/base/work.h"
#include "common/graphfile/graphfile.h"
#include "runtime/checker/memory_checker.h"
#include "runtime/checker/stream_checker.h"
#include "runtime/loader/om_writer.h"
#include "stages/build/build.h"
#include "stages/build/package/emit_model.h"
#include "stages/build/weights/layout_weights.h"
#include "stages/build/weights/stream_weights.h"

namespace sluice {
namespace {

Result<OmSegment> kernel_segment(const Module& module, const KernelStore& kernels) {
  OmSegment segment;
  segment.kind = pb::SEGMENT_KERNELS;
  segment.bytes = kernels.bytes;
  for (size_t i = 0; i < kernels.objects.size(); ++i) {
    SLUICE_ASSIGN(const std::span<const std::byte> bytes, module.bytes(kernels.objects[i]));
    segment.pieces.push_back({kernels.offsets[i], bytes});
  }
  return segment;
}

// The host graph as a segment; its bytes are kept in `bytes`.
Result<std::vector<std::byte>> host_segment(const Module& module, const StepList& list) {
  Module host = make_host_graph(module, list);
  if (host.root().node_count() == 0) return std::vector<std::byte>{};
  return graph_bytes(host, {.inline_segments = true});
}

// --verify=each: what was planned and emitted, by checkers that share no code with it.
Result<void> check_model(const pb::ModelDef& model, uint64_t weights_bytes, const Options& options) {
  if (options.text("verify") != "each") return {};
  std::string findings;
  for (const pb::PartDef& part : model.parts()) {
    for (const std::string& fault : find_memory_faults(model, part.fixed(), weights_bytes)) findings += "\n  " + fault;
    for (const StreamConflict& conflict : find_stream_conflicts(model, part.fixed())) findings += "\n  " + conflict.text;
  }
  if (findings.empty()) return {};
  return make_error(ErrorCode::kInternal, "the tasks and memory that were planned do not fit together:{}", findings);
}

}  // namespace

Result<void> write_model(Module& module, const StageArgs& args) {
  module.compact();
  const Graph& root = module.root();
  WorkReport planning("plan-memory", root.node_count());
  SLUICE_ASSIGN(const StepList list, make_steps(root));
  const WeightLayout layout = layout_weights(root, list);
  const MemoryPlan plan = plan_memory(root, list, layout.offsets);
  add_work(Work::kNodeVisits, root.node_count());
  add_work(Work::kSteps, list.steps.size());
  add_work(Work::kConstants, layout.segments.size());
  add_work(Work::kBlocks, plan.blocks);
  add_work(Work::kBlockPairs, plan.block_pairs);
  args.report->push_back(planning.done(module, false));
  WorkReport emitting("emit-tasks", root.node_count());
  KernelStore kernels;
  SLUICE_ASSIGN(pb::ModelDef model, emit_model(module, list, plan, kernels));
  SLUICE_TRY(check_model(model, layout.bytes, args.options));
  add_work(Work::kNodeVisits, root.node_count());
  add_work(Work::kTasks, list.steps.size());
  args.report->push_back(emitting.done(module, false));
  WorkReport writing("write-model", root.node_count());
  SLUICE_ASSIGN(const int64_t threads, args.options.threads());
  std::vector<OmSegment> segments(1);
  segments[0] = {pb::SEGMENT_WEIGHTS, {}, layout.bytes, [&](const OmSink& sink) { return stream_weights(module, layout, threads, sink); }};
  SLUICE_ASSIGN(OmSegment kernel_bytes, kernel_segment(module, kernels));
  segments.push_back(std::move(kernel_bytes));
  SLUICE_ASSIGN(const std::vector<std::byte> host, host_segment(module, list));
  if (!host.empty()) {
    pb::FixedPart& part = *model.mutable_parts(0)->mutable_fixed();
    part.set_has_host(true);
    part.set_host_graph(static_cast<int32_t>(segments.size()));
    segments.push_back({pb::SEGMENT_GRAPH, {{0, host}}, host.size(), {}});
  }
  SLUICE_TRY(write_om(args.output, std::move(model), segments));
  args.report->push_back(writing.done(module, false));
  return {};
}

}  // namespace sluice
