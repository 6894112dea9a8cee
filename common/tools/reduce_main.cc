#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/tools/reduce/reduce.h"
#include "common/tools/tool_main.h"

namespace {

using namespace sluice;

constexpr char kUsage[] = R"(Finds a smaller ONNX model for which a command still fails in the same way, for a bug report.

Usage:
  sluice-reduce [options] <in> -- <command>...
  sluice-reduce (--help | --version)

Runs the command, without a shell, on ever smaller models; every % in it is the path of the model to try:

  sluice reduce model.onnx -o small.onnx -- sluice compile % -o /dev/null
  sluice reduce model.onnx --exit-code=1 -- sh -c './compare.sh % | grep -q wrong && exit 1 || exit 0'

A model fails in the same way when the exit code (or signal, or that there is no end) and the number of the first
error told, SL2002, are those of <in>. A valid model stays valid. FILE holds the smallest model found so far at any
time: an interrupt loses nothing. External data becomes part of it.

Options:
  -o FILE             Write the model to FILE [default: reduced.onnx].
  --exit-code=N       The failure is exit code N, whatever it tells.
  --match=TEXT        The failure prints TEXT.
  --timeout=SECONDS   A run of the command that takes longer is ended, which is a failure of its own [default: 60].
  --error-format=FMT  text or json [default: text].
)";

Result<double> number_of(const CommandLine& line, const char* option, double most) {
  const std::string text = line.text(option);
  double number = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), number);
  if (done.ec == std::errc() && done.ptr == text.data() + text.size() && number >= 0 && number <= most) return number;
  return make_error(ErrorCode::kBadOption, "{} is '{}', it must be a number from 0 to {}", option, text, most);
}

// A folder of our own, removed with everything in it.
struct Scratch {
  std::string path;
  ~Scratch() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

Result<void> make_scratch(Scratch& scratch) {
  const char* parent = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/sluice-reduce-XXXXXX", parent != nullptr && *parent != '\0' ? parent : "/tmp");
  if (mkdtemp(path.data()) == nullptr) {
    return make_error(ErrorCode::kIo, "cannot make a temporary folder '{}': {}", path, std::strerror(errno));
  }
  scratch.path = path;
  return {};
}

Result<ExitClass> run(const CommandLine& line) {
  if (input_path(line) == "-" || output_path(line) == "-") {
    return make_error(ErrorCode::kUsage, "<in> and FILE must be files, not \"-\"");
  }
  Wanted wanted{std::nullopt, line.text("--match")};
  if (line.has("--exit-code")) {
    SLUICE_ASSIGN(const double code, number_of(line, "--exit-code", 255));
    wanted.exit_code = static_cast<int>(code);
  }
  SLUICE_ASSIGN(const double seconds, number_of(line, "--timeout", 1e6));
  Scratch scratch;
  SLUICE_TRY(make_scratch(scratch));
  catch_interrupts();
  Command command(line.list("<command>"), wanted, seconds);
  const auto say = [](const std::string& text) { return write_descriptor(STDOUT_FILENO, std::as_bytes(std::span(text))); };
  SLUICE_ASSIGN(const Reduced reduced, reduce_model({input_path(line), output_path(line), scratch.path, say}, command));
  SLUICE_TRY(say(fmt::format("{} runs; {}\n{} of {} nodes left\n", command.runs(), output_path(line), reduced.nodes, reduced.of)));
  return ExitClass::kDone;
}

}  // namespace

int main(int argc, char** argv) { return tool_main(argc, argv, {"sluice-reduce", kUsage, run}); }
