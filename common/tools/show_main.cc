#include "common/base/file_kind.h"
#include "common/base/files.h"
#include "common/graphfile/graphfile.h"
#include "common/graphfile/header.h"
#include "common/text/text.h"
#include "common/tools/check_model.h"
#include "common/tools/om_text.h"
#include "common/tools/show.h"
#include "common/tools/tool_main.h"

namespace {

using namespace sluice;

constexpr char kUsage[] = R"(Shows a graph file (.sg) or a compiled model (.om) as text.

Usage:
  sluice-show [options] [<in>]
  sluice-show (--help | --version)

Reads <in>, or standard input when it is absent or "-". A compiled model is shown as text or summed up.

Options:
  -o FILE             Write to FILE [default: -].
  --format=FMT        text (which sluice-as reads back); of graphs also json or dot [default: text].
  --summary           Counts only: graphs, nodes by op and engine, bytes of constants; of a compiled model its
                      inputs and outputs, nodes by engine, bytes, tasks and streams.
  --check             Of a partitioned graph: what a compile of it will be, as text or JSON: engines and their shares of the
                      multiply-adds, nodes that fall to host_cpu, weights, an estimate of the arena. Exits 4 with the reason
                      when this release cannot build it. sluice check MODEL.onnx does this from the model on.
  --header            Also version, options and what the file was made from.
  --error-format=FMT  text or json [default: text].
)";

Result<std::string> shown(const Module& module, const CommandLine& line) {
  const std::string format = line.text("--format");
  if (line.flag("--summary")) return summary_text(module);
  if (format == "json") return graph_json(module);
  if (format == "dot") return graph_dot(module);
  if (format != "text") return make_error(ErrorCode::kBadOption, "--format is '{}', it must be text, json or dot", format);
  return print_module(module, {.header = line.flag("--header")});
}

Result<std::string> shown(const InputBytes& om, const CommandLine& line) {
  if (const std::string format = line.text("--format"); format != "text") {
    return make_error(ErrorCode::kBadOption, "--format={} is for graphs, '{}' is a compiled model", format, om.name)
        .with_hint("sluice compile --dump-dir DIR keeps the graph of each stage");
  }
  return om.checked(line.flag("--summary") ? om_summary(om.bytes) : om_text(om.bytes, line.flag("--header")));
}

Result<void> show_check(const Module& module, const CommandLine& line) {
  const std::string format = line.text("--format");
  if (format != "text" && format != "json")
    return make_error(ErrorCode::kBadOption, "--check with --format={}: it must be text or json", format);
  SLUICE_ASSIGN(const ModelCheck check, check_model(module));
  return write_tool_text(line, format == "json" ? json_dump(check_json(check), 2) + "\n" : check_text(check));
}

Result<ExitClass> run(const CommandLine& line) {
  SLUICE_TRY(check_input(line));
  const std::string path = input_path(line);
  SLUICE_ASSIGN(const InputBytes input, InputBytes::open(path));
  if (line.flag("--check") && (line.flag("--summary") || line.flag("--header"))) {
    return make_error(ErrorCode::kUsage, "--check shows neither a summary nor a header");
  }
  std::string text;
  if (file_kind(input.bytes) == FileKind::kCompiledModel) {
    if (line.flag("--check")) {
      return make_error(ErrorCode::kBadOption, "--check is for graphs, '{}' is a compiled model", input.name)
          .with_hint("--summary says what it is");
    }
    SLUICE_ASSIGN(text, shown(input, line));
  } else {
    SLUICE_ASSIGN(const Module module, read_graph(input.bytes, input.owner, input.name));
    if (line.flag("--check")) {
      SLUICE_TRY(show_check(module, line));
      return ExitClass::kDone;
    }
    SLUICE_ASSIGN(text, shown(module, line));
  }
  SLUICE_TRY(write_tool_text(line, text));
  return ExitClass::kDone;
}

}  // namespace

int main(int argc, char** argv) { return tool_main(argc, argv, {"sluice-show", kUsage, run}); }
