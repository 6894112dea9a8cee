#include "common/stage/arguments.h"

#include <algorithm>

#include "common/base/command_line.h"
#include "common/base/release.h"
#include "common/stage/resume.h"
#include "fmt/ranges.h"

namespace sluice {
namespace {

constexpr std::string_view kCommonOptions = R"(
Common options:
  -o FILE               Write the result to FILE; it appears only when it is whole [default: -].
  --denormals=HOW       flush or ieee: what generated kernels do with |x| < 2^-126. Travels with the
                        graph.
  --disable-reuse-memory=LIST  Give the results of these nodes memory that nothing else uses before
                        or after: globs of names and ops, separated by commas; "*" is all. Travels
                        with the graph.
  --enable-single-stream  Run all tasks of a part in one stream. Travels with the graph.
  --multi-stream-parallel-mode=MODE  How tasks are spread over streams. cv: a stream for each
                        engine; LoadBalance:N: over at most N; MainStream:N: the longest path has
                        the first of N. Travels with the graph.
  --sync=KIND           event: several tasks may wait for a record; notify: exactly one does.
                        Travels with the graph.
  --external-weight=KIND  Where constants of 4096 bytes and more are: 0, in the compiled model; 1,
                        in files beside it, one each, which models share; 2, in one file beside it.
                        Travels with the graph.
  --threads=N           Worker threads; 0 means one per usable core [default: 0].
  --passes=LIST         Run exactly these passes, in this order.
  --skip=LIST           Leave these passes out of the default order.
  --fusion-switch-file=FILE  Turn passes on or off, by name or all of them:
                        {"Switch": {"GraphFusion": {"ALL": "off", "fuse-gelu": "on"}}}. The content
                        travels with the graph; docs/switches.md.
  --optimization-switch=LIST  The same as PASS:on;PASS:off, which wins over the file. Travels with
                        the graph.
  --pass-seconds=N      Most seconds that one pass of --pass takes [default: 600].
  --pass-memory=N       Most bytes of memory of the process that runs them, and of a graph that one
                        makes [default: 4294967296].
  --pass-host=LIST      Descriptors of processes that run them, for a job that may start none.
  --stop-after=STEP     Run up to pass number or name STEP.
  --verify=WHEN         each: after each pass; end; segments: end, and the digests of all constants
                        that are read [default: end].
  --segments=inline     Put the bytes of all constants into the file.
  --store=DIR           Keep such bytes in DIR, under their digests, which all stages then need;
                        graphs stay small. sluice-subgraph-optimize also keeps kernels there, and
                        generates none that it finds.
  --max-constant-bytes=N  Most bytes of one constant, or of what is made on the way to it
                        [default: 1073741824].
  --model=FILE          Take the constants from this copy of the model file, external data from the
                        folder it is in.
  --dump-dir=DIR        Write the text of the graph after each change.
  --stats=FILE          Write statistics of the passes to FILE, as JSON.
  -q, --quiet           No warnings on standard error, errors alone.
  --error-format=FMT    text or json [default: text].
  --list-passes         Print the passes in their order.

Service options:
  --serve=ENDPOINT      Take jobs at ipc://PATH or tcp://ADDRESS:PORT until SIGTERM, each in a
                        process of its own. It is sluice worker that does so.
  --key=FILE            The secret key of the service, NAME.key of sluice farm keygen.
  --allow-keys=DIR      Let those connect whose public keys, NAME.pub, are in DIR.
  --insecure            Listen without keys at a port of this machine, 127.0.0.1.
  --max-frame=BYTES     Most bytes of one input of a job, such as a graph.
  --jobs=N              Run at most N jobs at once; 0 means one per usable core.
  --allow-passes        Take jobs with passes of users, --pass, which are code of theirs;
                        docs/security.md.
  --no-sandbox          Run jobs with all rights of the service. Otherwise each is in a sandbox, in
                        which it may read its inputs, write its output, and start no process and
                        no connection; docs/security.md.
  --sandbox-memory=N    Most bytes of memory of a job; 0 means those of the machine.
  --sandbox-seconds=N   Most seconds of processor time of a job [default: 3600].
  --sandbox-file-bytes=N  Most bytes of one file that a job writes [default: 17179869184].
)";

// Options that name passes belong to one stage only.
bool is_of_one_stage(std::string_view name) { return name == "passes" || name == "skip"; }

}  // namespace

std::string joined_values(std::vector<std::string> values) {
  std::sort(values.begin(), values.end());
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ";") + value;
  return text;
}

Result<ParsedArguments> parse_arguments(int argc, char** argv, StageId stage,
                                        std::string_view own_usage) {
  const std::string usage = std::string(own_usage) + std::string(kCommonOptions);
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(usage, argc, argv));
  ParsedArguments parsed;
  if (line.request() == CommandLine::Request::kHelp) parsed.print = usage;
  if (line.request() == CommandLine::Request::kVersion)
    parsed.print = fmt::format("sluice-{} {}\n", stage_name(stage), kRelease);
  parsed.list_passes = line.flag("--list-passes");
  StageArgs& args = parsed.args;
  args.input = line.has("<in>") ? line.list("<in>")[0] : "-";
  args.output = line.has("-o") ? line.text("-o") : "-";
  if (line.has("<in>"))
    args.more_inputs.assign(line.list("<in>").begin() + 1, line.list("<in>").end());
  for (const OptionRow& row : option_table()) {
    const std::string name = fmt::format("--{}", row.name);
    if (!line.has(name)) continue;
    auto set = [&]() -> Result<void> {
      std::vector<std::string> values;
      for (const std::string& value : line.list(name)) values.emplace_back(typed_value(row, value));
      for (const std::string& value : values) SLUICE_TRY(check_option_value(row, value));
      // Files of rules and passes run in the order in which they are given.
      const bool is_ordered = row.name == "rules" || row.name == "pass";
      return args.options.set(row.name, is_ordered ? fmt::format("{}", fmt::join(values, ";"))
                                                   : joined_values(std::move(values)));
    }();
    if (!set && !parsed.wrong) parsed.wrong = std::move(set).error();
  }
  return parsed;
}

Result<void> inherit_options(Options& options, StageId stage,
                             const std::map<std::string, std::string>& travelling) {
  std::map<std::string, std::string> ours;
  const std::string prefix = std::string(stage_name(stage)) + ".";
  for (const auto& [name, value] : travelling) {
    if (name.find('.') == std::string::npos) ours.emplace(name, value);
    if (name.starts_with(prefix) && !is_record(stage, name))
      ours.emplace(name.substr(prefix.size()), value);
  }
  SLUICE_TRY(inherit_record(stage, travelling, options));
  return options.inherit(ours);
}

void export_options(const Options& options, StageId stage,
                    std::map<std::string, std::string>& travelling) {
  for (const auto& [name, value] : options.semantic()) {
    travelling[is_of_one_stage(name) ? fmt::format("{}.{}", stage_name(stage), name) : name] =
        value;
  }
}

}  // namespace sluice
