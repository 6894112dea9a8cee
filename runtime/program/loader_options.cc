#include "runtime/program/loader_options.h"

#include <charconv>

#include "common/base/command_line.h"
#include "common/base/parallel.h"
#include "common/base/release.h"

namespace sluice {

const char kLoaderUsage[] =
    R"(Runs a compiled model. Also called `sluice run`; `sluice bench` is `sluice run --bench`.

Usage:
  sluice-loader [options] [--input=BINDING]... [--dim=NAME=SIZE]... <model>
  sluice-loader (--help | --version)

Reads <model>, a .om file, or standard input when it is "-". Inputs are .npy, .npz and .pb files
(ONNX TensorProto; SequenceProto and OptionalProto for inputs of such types). Without --output-dir
and --bench the outputs are summed up on standard output.

Options:
  --input=BINDING       NAME=FILE binds the model's input NAME; FILE.npz binds every member by its
                        name.
  --random=SEED         Fill the other inputs by SEED: floats in [-1, 1), integers and bools 0 or 1.
                        Plain --random is --random=0.
  --dim=NAME=SIZE       The size of an open dim in random inputs; 1 when not given. Inputs that
                        are files have sizes of their own. `sluice show --summary` prints the names.
  --output-dir=DIR      Write each output to DIR/NAME.npy ('/' in a name becomes '_'), a sequence to
                        DIR/NAME.0.npy and so on, a map or a sequence of maps to DIR/NAME.npz,
                        docs/compiled-model.md.
  --format=FORMAT       Of the files of --output-dir: npy or pb [default: npy].
  --threads=T           Work on T threads; 0 means one for each usable core [default: 0].
  --weights=DIR         The folder of weights that are in files (--external-weight of compile), or
                        the file of combined weights; the folder `weight` beside the model when not
                        given.
  --verify              Also check the digests of the weights.
  --bench               Measure: loading, the first run, then --runs runs, then the time of each
                        node. Without --input the inputs are random, and open dims as --dim says.
  --json                Print what --bench measured as JSON.
  --runs=N              Measured runs of --bench; 20 when not given.
  --trace=FILE          Write the times of one run's tasks to FILE, in the Chrome trace format
                        (Perfetto, about:tracing).
  --bound-parts-bytes=N  What symbolic parts (docs/parts.md) computed for the sizes they ran with
                        last is kept, up to N bytes in all [default: 67108864].
  --schedule-seed=N     Run the tasks one by one, in an order that the streams allow, drawn by N,
                        and fill memory that no task needs with 0xff: the outputs must stay as
                        they are, docs/schedule.md.
  --dump-values=DIR[:GLOB]  Write the inputs and every task's outputs to DIR as .npy, in logical
                        axis order; DIR/values.txt lists them, and the values that exist only
                        inside a kernel.
  -q, --quiet           Do not say on standard error what was written; errors alone.
  --error-format=WHAT   text or json [default: text].
)";

namespace {

Result<uint64_t> number(const CommandLine& line, std::string_view name, uint64_t low,
                        uint64_t high) {
  const std::string text = line.text(name);
  uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    return make_error(ErrorCode::kBadOption, "{}: '{}' is not a number from {} to {}", name, text,
                      low, high);
  }
  return value;
}

// Replaces a plain --random by --random=0, because docopt knows no optional values.
std::vector<const char*> with_default_seed(int argc, const char* const* argv) {
  std::vector<const char*> arguments(argv, argv + argc);
  for (const char*& argument : arguments) {
    if (std::string_view(argument) == "--random") argument = "--random=0";
  }
  return arguments;
}

// Checks combinations of options: an option that would have no effect is a mistake.
Result<void> check_company(const CommandLine& line) {
  if (!line.flag("--bench") && line.flag("--json"))
    return make_error(ErrorCode::kUsage, "--json goes with --bench");
  if (!line.flag("--bench") && line.has("--runs"))
    return make_error(ErrorCode::kUsage, "--runs goes with --bench");
  if (line.text("--output-dir").empty() && line.text("--format") == "pb") {
    return make_error(ErrorCode::kUsage, "--format=pb goes with --output-dir");
  }
  for (const char* other : {"--bench", "--trace", "--dump-values"}) {
    const bool is_given = line.has(other) || line.flag(other);
    if (line.has("--schedule-seed") && is_given)
      return make_error(ErrorCode::kUsage, "--schedule-seed does not go with {}", other);
  }
  return {};
}

Result<void> read_dims(const CommandLine& line, LoaderOptions& options) {
  for (const std::string& text : line.list("--dim")) {
    const size_t equals = text.rfind('=');
    int64_t size = -1;
    const char* end = text.data() + text.size();
    const bool is_number = equals != std::string::npos &&
                           std::from_chars(text.data() + equals + 1, end, size).ptr == end;
    if (!is_number || size < 0 || equals == 0)
      return make_error(ErrorCode::kBadOption, "--dim: '{}' is not NAME=SIZE", text);
    options.dims[text.substr(0, equals)] = size;
  }
  return {};
}

void split_dump(const std::string& text, LoaderOptions& options) {
  const size_t colon = text.find(':');
  options.dump_dir = text.substr(0, colon);
  options.dump_glob = colon == std::string::npos ? "*" : text.substr(colon + 1);
}

}  // namespace

Result<LoaderOptions> parse_loader_options(int argc, const char* const* argv) {
  const std::vector<const char*> arguments = with_default_seed(argc, argv);
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(kLoaderUsage, argc, arguments.data()));
  LoaderOptions options;
  if (line.request() == CommandLine::Request::kHelp) options.print = kLoaderUsage;
  if (line.request() == CommandLine::Request::kVersion)
    options.print = fmt::format("sluice-loader {}\n", kRelease);
  if (!options.print.empty()) return options;
  SLUICE_TRY(check_company(line));
  options.model = line.text("<model>");
  options.inputs = line.list("--input");
  SLUICE_TRY(read_dims(line, options));
  options.output_dir = line.text("--output-dir");
  options.format = line.text("--format");
  if (options.format != "npy" && options.format != "pb") {
    return make_error(ErrorCode::kBadOption, "--format: '{}' is neither npy nor pb",
                      options.format);
  }
  if (line.has("--random")) {
    SLUICE_ASSIGN(options.random, number(line, "--random", 0, UINT64_MAX));
  } else if (line.flag("--bench") && options.inputs.empty()) {
    options.random = 0;
  }
  SLUICE_ASSIGN(const uint64_t threads, number(line, "--threads", 0, 1024));
  options.threads = static_cast<int>(thread_count(static_cast<int64_t>(threads)));
  SLUICE_ASSIGN(options.bound_parts_bytes, number(line, "--bound-parts-bytes", 0, UINT64_MAX));
  if (line.has("--runs")) {
    SLUICE_ASSIGN(const uint64_t runs, number(line, "--runs", 1, 1'000'000));
    options.runs = static_cast<int>(runs);
  }
  options.weights = line.text("--weights");
  options.verify_weights = line.flag("--verify");
  options.bench = line.flag("--bench");
  options.json = line.flag("--json");
  options.error_json = line.text("--error-format") == "json";
  options.trace = line.text("--trace");
  if (line.has("--schedule-seed")) {
    SLUICE_ASSIGN(options.schedule_seed, number(line, "--schedule-seed", 0, UINT64_MAX));
  }
  if (line.has("--dump-values")) split_dump(line.text("--dump-values"), options);
  return options;
}

}  // namespace sluice
