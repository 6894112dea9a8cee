#include "common/base/file_kind.h"
#include "common/graphfile/graphfile.h"
#include "common/stage/rebind.h"
#include "common/tools/show_onnx/runnable.h"
#include "common/tools/show_tool.h"
#include "common/tools/tool_main.h"

namespace {

using namespace sluice;

constexpr char kUsage[] = R"(Shows a graph file (.sg) or a compiled model (.om) as text.

Usage:
  sluice-show [options] [<in>]
  sluice-show (--help | --version)

Reads <in>, or standard input when it is absent or "-". A compiled model is shown as text or JSON,
or summed up.

Options:
  -o FILE             Write to FILE [default: -].
  --format=FMT        text (which sluice-as reads back) or json; of graphs also dot or onnx: a model
                      without weights that Netron opens; svg with --schedule [default: text].
  --with-weights      With --format=onnx: of a typed graph, a model that other tools run, with its
                      weights and ONNX's forms of all operators. Above 2 GiB the weights are in
                      FILE.data beside -o FILE.
  --external-data     With --with-weights: the weights are in FILE.data whatever their size.
  --store=DIR         With --with-weights: the folder of constants that the graph was written with.
  --model=FILE        With --with-weights: take the constants from this copy of the model file,
                      external data from the folder it is in.
  --summary           Counts only: graphs, nodes by op and engine, bytes of constants; of a compiled
                      model its inputs and outputs, nodes by engine, bytes, tasks and streams.
  --check             Of a partitioned graph: what a compile of it will be, as text or JSON: engines
                      and their shares of the multiply-adds, nodes that fall to host_cpu, weights,
                      an estimate of the arena. Exits 4 with the reason when this release cannot
                      build it. sluice check MODEL.onnx does this from the model on.
  --sizes=FILE        With --check: the sizes that sluice-preprocess --propose-sizes wrote to FILE,
                      to be shown.
  --loops             Of a partitioned or lowered graph: the specification of the kernel of every
                      node of the engine vector, its loops. sluice-subgraph-optimize --kernel
                      compiles one.
  --node=GLOB         With --loops: the nodes whose names fit, "*gelu*" [default: *].
  --schedule          Of a scheduled graph: its tasks as a table, with streams, events and places.
                      With --format=svg: a picture of them over time, a lane for each stream.
  --trace=FILE        With --schedule --format=svg: the times of a run, as sluice run --trace FILE
                      wrote them, and no estimates.
  --memory            Of a scheduled graph: a picture of its arenas (SVG), offsets over time.
  --explain           Of a scheduled graph: why each Concat and Split is a task or none, what each
                      of several streams does, and what passes said of their choices.
  --segments          The constants above 1 KiB of a graph: SHA-256, bytes and place of each.
  --header            Also version, options and what the file was made from.
)";

// Views that exclude each other.
Result<void> check_request(const ShowRequest& request, const CommandLine& line) {
  const int views = static_cast<int>(request.check) + static_cast<int>(request.loops) +
                    static_cast<int>(request.schedule) + static_cast<int>(request.memory) +
                    static_cast<int>(request.explain) + static_cast<int>(request.segments);
  if (views > 1)
    return make_error(ErrorCode::kUsage,
                      "--check, --loops, --schedule, --memory, --explain and --segments exclude "
                      "each other");
  const bool is_picture = request.schedule && request.format == "svg";
  if (!is_picture && !request.trace.empty())
    return make_error(ErrorCode::kUsage, "--trace goes with --schedule --format=svg");
  if ((request.schedule || request.memory || request.explain || request.segments) &&
      (request.summary || request.header || (request.format != "text" && !is_picture))) {
    return make_error(ErrorCode::kUsage, "--{} goes with no other view and no --format{}",
                      request.schedule  ? "schedule"
                      : request.memory  ? "memory"
                      : request.explain ? "explain"
                                        : "segments",
                      request.schedule ? " but svg" : "");
  }
  if ((request.check || request.loops) && (request.summary || request.header)) {
    return make_error(ErrorCode::kUsage, "--{} shows neither a summary nor a header",
                      request.check ? "check" : "loops");
  }
  if (request.loops && request.format != "text")
    return make_error(ErrorCode::kUsage, "--loops shows text, and nothing else");
  if (!request.loops && request.node != "*")
    return make_error(ErrorCode::kUsage, "--node goes with --loops");
  if (line.flag("--with-weights") &&
      (views > 0 || request.summary || request.header || request.format != "onnx"))
    return make_error(ErrorCode::kUsage,
                      "--with-weights goes with --format=onnx and no other view");
  for (const char* option : {"--external-data", "--store", "--model"}) {
    if (!line.flag("--with-weights") && line.has(option))
      return make_error(ErrorCode::kUsage, "{} goes with --with-weights", option);
  }
  if (!request.check && !request.sizes.empty())
    return make_error(ErrorCode::kUsage, "--sizes goes with --check");
  return {};
}

Result<void> write_with_weights(const InputBytes& input, const CommandLine& line) {
  if (file_kind(input.bytes) == FileKind::kCompiledModel)
    return make_error(ErrorCode::kBadOption,
                      "--with-weights is for graphs, '{}' is a compiled model", input.name);
  SLUICE_ASSIGN(Module module, read_graph(input.bytes, input.owner, input.name));
  SLUICE_TRY(find_constants(module, line.text("--store"), line.text("--model")));
  return write_runnable_onnx(
      module, {.path = output_path(line), .external_data = line.flag("--external-data")});
}

Result<ExitClass> run(const CommandLine& line) {
  SLUICE_TRY(check_input(line));
  if (line.text("--format") == "onnx") SLUICE_TRY(check_binary_output(line));
  SLUICE_ASSIGN(const InputBytes input, InputBytes::open(input_path(line)));
  const ShowRequest request{.format = line.text("--format"),
                            .summary = line.flag("--summary"),
                            .check = line.flag("--check"),
                            .header = line.flag("--header"),
                            .loops = line.flag("--loops"),
                            .schedule = line.flag("--schedule"),
                            .memory = line.flag("--memory"),
                            .explain = line.flag("--explain"),
                            .segments = line.flag("--segments"),
                            .sizes = line.text("--sizes"),
                            .trace = line.text("--trace"),
                            .node = line.text("--node")};
  SLUICE_TRY(check_request(request, line));
  if (line.flag("--with-weights")) {
    SLUICE_TRY(write_with_weights(input, line));
    return ExitClass::kDone;
  }
  SLUICE_ASSIGN(const std::string text, show_file(input, request));
  SLUICE_TRY(write_tool_text(line, text));
  return ExitClass::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return tool_main(
      argc, argv,
      {.name = "sluice-show", .usage = kUsage, .run = run, .graph_option = "--with-weights"});
}
