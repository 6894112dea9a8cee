#include "common/tools/show_tool.h"

#include "common/base/file_kind.h"
#include "common/base/size_proposal.h"
#include "common/graphfile/graphfile.h"
#include "common/text/text.h"
#include "common/tools/check_model.h"
#include "common/tools/om_text.h"
#include "common/tools/show.h"
#include "common/tools/show_loops.h"
#include "common/tools/show_onnx/show_onnx.h"

namespace sluice {
namespace {

// Replaces options without sizes. Zero tries mean that no dim is open except those that states
// leave open on purpose.
void take_proposal(const SizeProposal& proposal, ModelCheck& check) {
  check.fixing_options = dim_options(proposal);
  check.fixing_failure = proposal.failure;
  check.fixing_tries = proposal.tries;
}

Result<std::string> check_of(const Module& module, const std::string& format,
                             const std::string& sizes) {
  if (format != "text" && format != "json")
    return make_error(ErrorCode::kBadOption, "--check with --format={}: it must be text or json",
                      format);
  SLUICE_ASSIGN(ModelCheck check, check_model(module));
  if (!sizes.empty()) {
    SLUICE_ASSIGN(const SizeProposal proposal, read_proposal(sizes));
    take_proposal(proposal, check);
  }
  return format == "json" ? json_dump(check_json(check), 2) + "\n" : check_text(check);
}

Result<std::string> show_graph(const Module& module, const ShowRequest& request) {
  if (request.check) return check_of(module, request.format, request.sizes);
  if (request.summary) return summary_text(module);
  if (request.schedule && request.format == "svg") return timeline_svg(module, request.trace);
  if (request.schedule) return schedule_text(module);
  if (request.memory) return memory_svg(module);
  if (request.explain) return pieces_text(module);
  if (request.segments) return segments_text(module);
  if (request.format == "json") return graph_json(module);
  if (request.format == "dot") return graph_dot(module);
  if (request.format == "onnx") return graph_onnx(module);
  if (request.format != "text") {
    return make_error(
        ErrorCode::kBadOption,
        "--format is '{}', it must be text, json, dot or onnx; svg goes with --schedule",
        request.format);
  }
  return print_module(module, {.header = request.header});
}

Result<std::string> show_compiled_model(const InputBytes& om, const ShowRequest& request) {
  const std::string_view view = request.check      ? "check"
                                : request.loops    ? "loops"
                                : request.schedule ? "schedule"
                                : request.memory   ? "memory"
                                : request.explain  ? "explain"
                                : request.segments ? "segments"
                                                   : "";
  if (!view.empty()) {
    return make_error(ErrorCode::kBadOption, "--{} is for graphs, '{}' is a compiled model", view,
                      om.name)
        .with_hint(request.schedule || request.memory
                       ? "sluice compile --stop-after=build:plan-memory -o FILE.sg writes the graph"
                       : "--summary says what it is");
  }
  if (request.format == "json") return om.checked(om_json(om.bytes));
  if (request.format != "text") {
    return make_error(ErrorCode::kBadOption, "--format={} is for graphs, '{}' is a compiled model",
                      request.format, om.name)
        .with_hint("sluice compile --dump-dir DIR keeps the graph of each stage");
  }
  return om.checked(request.summary ? om_summary(om.bytes) : om_text(om.bytes, request.header));
}

}  // namespace

Result<std::string> show_file(const InputBytes& input, const ShowRequest& request) {
  if (file_kind(input.bytes) == FileKind::kCompiledModel)
    return show_compiled_model(input, request);
  SLUICE_ASSIGN(Module module, read_graph(input.bytes, input.owner, input.name));
  if (request.loops) return input.checked(loops_text(module, request.node));
  return show_graph(module, request);
}

}  // namespace sluice
