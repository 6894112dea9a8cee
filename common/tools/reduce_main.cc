#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/base/scratch_folder.h"
#include "common/tools/reduce/reduce.h"
#include "common/tools/tool_main.h"
#include "common/tools/tool_numbers.h"

namespace {

using namespace sluice;

constexpr char kUsage[] =
    R"(Finds a smaller ONNX model for which a command still fails in the same way, for a bug report.

Usage:
  sluice-reduce [options] <in> -- <command>...
  sluice-reduce (--help | --version)

Runs the command, without a shell, on ever smaller models; every % in it is the path of the model to
try:

  sluice reduce model.onnx -o small.onnx -- sluice compile % -o /dev/null
  sluice reduce model.onnx --exit-code=1 -- \
      sh -c './compare.sh % | grep -q wrong && exit 1 || exit 0'

A model fails in the same way when the exit code (or signal, or that there is no end) and the number
of the first error reported, SL2002, are those of <in>. A valid model stays valid. FILE holds the
smallest model found so far at any time: an interrupt loses nothing. External data becomes part of
it.

Options:
  -o FILE             Write the model to FILE [default: reduced.onnx].
  --exit-code=N       The failure is exit code N, whatever it prints.
  --match=TEXT        The failure prints TEXT.
  --timeout=SECONDS   A run of the command that takes longer is ended, which is a failure of its own
                      [default: 60].
)";

Result<ExitClass> run(const CommandLine& line) {
  if (input_path(line) == "-" || output_path(line) == "-") {
    return make_error(ErrorCode::kUsage, "<in> and FILE must be files, not \"-\"");
  }
  Wanted wanted{std::nullopt, line.text("--match")};
  if (line.has("--exit-code")) {
    SLUICE_ASSIGN(const double code, number_from_0_to(line, "--exit-code", 255));
    wanted.exit_code = static_cast<int>(code);
  }
  SLUICE_ASSIGN(const double seconds, number_from_0_to(line, "--timeout", 1e6));
  SLUICE_ASSIGN(const ScratchFolder scratch, ScratchFolder::create());
  catch_interrupts();
  Command command(line.list("<command>"), wanted, seconds);
  const auto say = [](const std::string& text) {
    return write_descriptor(STDOUT_FILENO, std::as_bytes(std::span(text)));
  };
  const bool quiet = line.flag("--quiet");
  const auto show = [&](const std::string& progress) {
    return quiet ? Result<void>() : say(progress);
  };
  SLUICE_ASSIGN(const Reduced reduced,
                reduce_model({input_path(line), output_path(line), scratch.path(), show}, command));
  SLUICE_TRY(say(fmt::format("{} runs; {}\n{} of {} nodes left\n", command.runs(),
                             output_path(line), reduced.nodes, reduced.of)));
  return ExitClass::kDone;
}

}  // namespace

int main(int argc, char** argv) { return tool_main(argc, argv, {"sluice-reduce", kUsage, run}); }
