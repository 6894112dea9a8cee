#include "orchestrator/compile/arguments.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "fmt/format.h"
#include "orchestrator/compile/compile_stat.h"
#include "orchestrator/compile/sandbox.h"
#include "orchestrator/compile/stages.h"

namespace sluice {
namespace {

Result<Transport> transport_from(const std::string& text) {
  if (text == "pipe") return Transport::kPipe;
  if (text == "files") return Transport::kFiles;
  if (text == "zmq") return Transport::kZmq;
  return make_error(ErrorCode::kBadOption, "--transport is '{}', expected pipe, files or zmq",
                    text);
}

Result<GraphFormat> format_from(const std::string& text) {
  if (text == "sg") return GraphFormat::kGraphFile;
  if (text == "onnx") return GraphFormat::kOnnx;
  return make_error(ErrorCode::kBadOption, "--format is '{}', expected sg or onnx", text);
}

Result<bool> is_progress_json(const std::string& text) {
  if (text == "text" || text == "json") return text == "json";
  return make_error(ErrorCode::kBadOption, "--progress is '{}', expected text or json", text);
}

Result<void> take_services(const CommandLine& line, CompileRequest& request) {
  request.service_keys = {.key = line.text("--key"), .peer = line.text("--peer-key")};
  request.farm.keys = request.service_keys;
  const bool has_keys = line.has("--key") || line.has("--peer-key");
  if (has_keys && !line.has("--service") && !line.has("--farm"))
    return make_error(ErrorCode::kUsage, "--key and --peer-key are for --service and --farm");
  if (line.has("--farm")) SLUICE_TRY(connecting_endpoint(request.farm.endpoint, request.farm.keys));
  for (const std::string& item : line.list("--service")) {
    const size_t equals = std::min(item.find('='), item.size());
    const std::string stage = item.substr(0, equals);
    if (equals == item.size() ||
        std::find(kStageNames.begin(), kStageNames.end(), stage) == kStageNames.end()) {
      return make_error(ErrorCode::kBadOption,
                        "--service is '{}', expected STAGE=ENDPOINT; the stages are {}", item,
                        fmt::join(kStageNames, ", "));
    }
    SLUICE_ASSIGN(std::string endpoint,
                  connecting_endpoint(item.substr(equals + 1), request.service_keys));
    if (!request.services.emplace(stage, std::move(endpoint)).second)
      return make_error(ErrorCode::kBadOption, "--service names two endpoints for {}", stage);
  }
  if (request.services.empty() || request.transport == Transport::kZmq) return {};
  return make_error(ErrorCode::kUsage, "--service is for --transport zmq");
}

}  // namespace

Result<CompileRequest> request_from(const CommandLine& line) {
  CompileRequest request{.input = line.text("<in>"),
                         .output = line.text("-o"),
                         .options = {},
                         .stop_after = line.text("--stop-after"),
                         .segments = line.text("--segments"),
                         .model = line.text("--model"),
                         .store = line.text("--store"),
                         .remote = {},
                         .farm = {.endpoint = line.text("--farm")},
                         .cache_dir = line.text("--graph-compiler-cache-dir"),
                         .graph_key = line.text("--graph-key"),
                         .weights_beside = line.text("--weights-beside"),
                         .dump_dir = line.text("--dump-dir"),
                         .stats = line.text("--stats"),
                         .shows_plan = line.flag("--plan"),
                         .quiet = line.flag("--quiet"),
                         .error_json = line.text("--error-format") == "json"};
  SLUICE_ASSIGN(request.progress_json, is_progress_json(line.text("--progress")));
  SLUICE_ASSIGN(request.format, format_from(line.text("--format")));
  SLUICE_ASSIGN(request.transport, transport_from(line.text("--transport")));
  SLUICE_ASSIGN(request.compile_stat,
                compile_stat_path(line.text("--export-compile-stat"), request.output));
  SLUICE_TRY(take_services(line, request));
  SLUICE_ASSIGN(request.options, stage_options(line));
  SLUICE_ASSIGN(request.sandbox, sandbox_asked_for(line));
  const bool has_cache = !request.cache_dir.empty() && !request.graph_key.empty();
  if (line.has("--remote")) {
    SLUICE_ASSIGN(request.remote, parse_remote_url(line.text("--remote")));
    if (request.store.empty() && !has_cache)
      return make_error(ErrorCode::kUsage, "--remote is for a compile with --store")
          .with_hint("what is fetched is kept there: --store=DIR");
  }
  if (!request.store.empty() && has_cache)
    return make_error(ErrorCode::kUsage, "--store and --graph-compiler-cache-dir name two stores")
        .with_hint("leave one of them out");
  return request;
}

}  // namespace sluice
