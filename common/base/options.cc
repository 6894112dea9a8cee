#include "common/base/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "common/base/listed_values.h"
#include "common/base/parallel.h"
#include "common/base/pass_switches.h"

namespace sluice {
namespace {

using enum OptionKind;

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxFrameBytes = int64_t{1} << 40;
constexpr int64_t kMaxConstantBytes = int64_t{1} << 60;
constexpr int64_t kMaxBytes = int64_t{1} << 60;
constexpr int64_t kMaxSeconds = int64_t{1} << 30;
constexpr int64_t kMaxNodes = std::numeric_limits<int64_t>::max();

// The one table of options. A new row needs a sentence here and a line in the --help of the stages
// that read it.
constexpr std::array kTable = {
    OptionRow{"input-shape", kSemantic, "", "shapes of model inputs, name:d0,d1,…"},
    OptionRow{"dim", kSemantic, "", "values of named dimensions, NAME=VALUE"},
    OptionRow{"annotate", kSource, "",
              "file of rules that annotate nodes; its digest is among what the graph is made from"},
    OptionRow{"rules", kSource, "",
              "files of rules that rewrite graphs; what they changed names their digests"},
    OptionRow{"unchecked-rules", kNonSemantic, "off",
              "rules are used without a check of what they compute", "on|off", -1, 0, true},
    OptionRow{"pass", kSource, "",
              "files of passes, POINT=FILE; what they changed names their digests"},
    OptionRow{"overridable-inputs", kSemantic, "off",
              "on: initializers that are inputs may be given when the model runs", "on|off"},
    OptionRow{"state", kSemantic, "",
              "outputs that a run keeps for inputs of its next execution, OUTPUT=INPUT,…"},
    OptionRow{"zipmap", kSemantic, "map",
              "tensor: ZipMap gives the tensor it takes, under the same name", "map|tensor"},
    OptionRow{"out-nodes", kSemantic, "", "the outputs to keep, as value names or node:result"},
    OptionRow{"opt-level", kSemantic, "O3", "which passes run: O0, O1 or O3", "O0|O1|O3"},
    OptionRow{"passes", kSemantic, "", "exactly these passes, in this order"},
    OptionRow{"skip", kSemantic, "", "passes to leave out"},
    OptionRow{"fusion-switch-file", kSemantic, "",
              "file of switches of passes; its content travels"},
    OptionRow{"optimization-switch", kSemantic, "",
              "switches of passes, which win over those of the file: PASS:on;PASS:off"},
    OptionRow{"symbolic", kSemantic, "on",
              "off: any dimension that is not fixed makes a part dynamic", "on|off"},
    OptionRow{"static-model-ops-lower-limit", kSemantic, "4",
              "known clusters of fewer nodes become unknown; -1: all do", "", kMaxNodes, -1},
    OptionRow{"host-scheduling-max-threshold", kSemantic, "0",
              "with fewer known nodes and no control flow the graph is one dynamic part", "",
              kMaxNodes},
    OptionRow{"stable-order", kSemantic, "off",
              "on: parts are runs of neighbours, so that nodes keep their order", "on|off"},
    OptionRow{"profile", kSemantic, "native", "the device profile"},
    OptionRow{"precision-mode", kSemantic, "must_keep_origin_dtype",
              "the dtypes that nodes compute in",
              "must_keep_origin_dtype|force_fp32|force_fp16|force_bf16|allow_mix_precision|"
              "allow_mix_precision_bf16"},
    OptionRow{"modify-mixlist", kSemantic, "",
              "file of changes to the lists of operators for a mix; its content travels"},
    OptionRow{"customize-dtypes", kSemantic, "",
              "file of dtypes for single nodes; its content travels"},
    OptionRow{"denormals", kSemantic, "flush",
              "flush or ieee: what generated kernels do with |x| < 2^-126", "flush|ieee"},
    OptionRow{"math", kSemantic, "default", "how exact functions of generated kernels are",
              "default|high_precision|high_performance"},
    OptionRow{"disable-reuse-memory", kSemantic, "",
              "nodes, by globs of names and ops, whose results share memory with nothing else"},
    OptionRow{"enable-single-stream", kSemantic, "off", "all tasks of a part run in one stream",
              "on|off", -1, 0, true},
    OptionRow{"multi-stream-parallel-mode", kSemantic, "",
              "how tasks are spread over streams: cv, one for each engine; LoadBalance:N, over at "
              "most N; MainStream:N, the longest path in the first of N",
              "cv|LoadBalance:1..64|MainStream:1..64"},
    OptionRow{"sync", kSemantic, "event",
              "event: several tasks may wait for a record; notify: exactly one does",
              "event|notify"},
    OptionRow{"external-weight", kSemantic, "0",
              "where constants of a page and more are: 0, in the compiled model; 1, each in a file "
              "that models share; 2, in one file",
              "0|1|2"},
    OptionRow{"threads", kNonSemantic, "0", "worker threads; 0 means one per usable core", "",
              kMaxThreads},
    OptionRow{"dump-dir", kNonSemantic, "", "folder for the text of the graph after each change"},
    OptionRow{"stats", kNonSemantic, "", "file for pass statistics"},
    OptionRow{"strict", kNonSemantic, "off",
              "refuse what ONNX does not allow, where that is otherwise a warning", "on|off", -1, 0,
              true},
    OptionRow{"verify", kNonSemantic, "end", "each, end or segments", "each|end|segments"},
    OptionRow{"segments", kNonSemantic, "", "inline: make the output file self-contained",
              "inline"},
    OptionRow{"store", kNonSemantic, "", "folder for products and bytes of constants"},
    OptionRow{"stop-after", kNonSemantic, "", "pass number or name to stop after"},
    OptionRow{"quiet", kNonSemantic, "off",
              "no warnings and progress on standard error, errors alone", "on|off", -1, 0, true},
    OptionRow{"propose-sizes", kNonSemantic, "",
              "file for sizes of the open dims of inputs that were tried"},
    OptionRow{"error-format", kNonSemantic, "text", "text or json", "text|json"},
    OptionRow{"max-constant-bytes", kNonSemantic, "1073741824", "most bytes of one constant", "",
              kMaxConstantBytes},
    OptionRow{"model", kNonSemantic, "", "file that holds the constants, when it moved"},
    OptionRow{"external-dir", kSource, "",
              "folder that the model's external data may lie in, besides its own"},
    OptionRow{"serve", kNonSemantic, "", "endpoint of the service to be"},
    OptionRow{"key", kNonSemantic, "", "file of the secret key of a service"},
    OptionRow{"allow-keys", kNonSemantic, "",
              "folder of the public keys that may connect to a service"},
    OptionRow{"insecure", kNonSemantic, "off",
              "a service listens at a port of this machine without keys", "on|off", -1, 0, true},
    OptionRow{"max-frame", kNonSemantic, "1073741824",
              "most bytes of one input that a service takes", "", kMaxFrameBytes},
    OptionRow{"jobs", kNonSemantic, "0",
              "jobs that a service runs at once; 0 means one per usable core", "", kMaxThreads},
    OptionRow{"split", kNonSemantic, "", "folder for root.sg and one file per distinct subgraph"},
    OptionRow{"kernel", kNonSemantic, "", "file of the specification of a kernel to compile alone"},
    OptionRow{"kernels", kNonSemantic, "",
              "list of kernels to generate for the store, with the graphs that want them"},
    OptionRow{"weights-beside", kNonSemantic, "",
              "the name that the compiled model gets later, which files of weights are put beside"},
    OptionRow{"new-kernels", kNonSemantic, "",
              "file that kernels are appended to in place of the store"},
    OptionRow{"no-sandbox", kNonSemantic, "off", "jobs of a service run without a sandbox",
              "on|off", -1, 0, true},
    OptionRow{"sandbox-memory", kNonSemantic, "0",
              "most bytes of memory in a sandbox; 0 means those of the machine", "", kMaxBytes},
    OptionRow{"sandbox-seconds", kNonSemantic, "3600",
              "most seconds of processor time in a sandbox; five times as many pass at most", "",
              kMaxSeconds, 1},
    OptionRow{"sandbox-file-bytes", kNonSemantic, "17179869184",
              "most bytes of a file that is written in a sandbox", "", kMaxBytes, 1},
    OptionRow{"pass-seconds", kNonSemantic, "600", "most seconds that a pass of a user takes", "",
              kMaxSeconds, 1},
    OptionRow{"pass-memory", kNonSemantic, "4294967296",
              "most bytes of memory of passes of users, and of a graph that one makes", "",
              kMaxBytes, 1},
    OptionRow{"pass-host", kNonSemantic, "",
              "descriptors of processes that run passes of users, and digests of the files"},
    OptionRow{"allow-passes", kNonSemantic, "off", "a service takes jobs with passes of users",
              "on|off", -1, 0, true},
    OptionRow{"kernels-from", kNonSemantic, "",
              "compiled model to take kernels from, in place of generating them"},
};

}  // namespace

std::span<const OptionRow> option_table() { return kTable; }

namespace {

// The first and the last stage (last_reader) that read a semantic option, or one of the import.
// Those that no row names are read by build alone.
struct Readers {
  std::string_view option, first, last;
};
constexpr Readers kReaders[] = {
    {"input-shape", "preprocess", "preprocess"},
    {"dim", "preprocess", "preprocess"},
    {"out-nodes", "preprocess", "preprocess"},
    {"zipmap", "preprocess", "preprocess"},
    {"overridable-inputs", "preprocess", "preprocess"},
    {"state", "preprocess", "preprocess"},
    {"strict", "preprocess", "preprocess"},
    {"annotate", "preprocess", "preprocess"},
    {"external-dir", "preprocess", "preprocess"},
    {"rules", "preprocess", "optimize"},
    {"unchecked-rules", "preprocess", "optimize"},
    {"pass", "preprocess", "build"},
    {"opt-level", "preprocess", "optimize"},
    {"fusion-switch-file", "preprocess", ""},
    {"optimization-switch", "preprocess", ""},
    {"precision-mode", "optimize", "optimize"},
    {"modify-mixlist", "optimize", "optimize"},
    {"customize-dtypes", "optimize", "optimize"},
    {"profile", "optimize", "partition"},
    {"symbolic", "partition", "partition"},
    {"static-model-ops-lower-limit", "partition", "partition"},
    {"host-scheduling-max-threshold", "partition", "partition"},
    {"stable-order", "partition", ""},
    {"math", "subgraph-optimize", "subgraph-optimize"},
};

const Readers* find_readers(std::string_view option) {
  const auto* row = std::find_if(std::begin(kReaders), std::end(kReaders),
                                 [&](const Readers& each) { return each.option == option; });
  return row == std::end(kReaders) ? nullptr : row;
}

}  // namespace

std::string_view first_reader(std::string_view option) {
  const Readers* row = find_readers(option);
  return row == nullptr ? "build" : row->first;
}

std::string_view last_reader(std::string_view option) {
  const Readers* row = find_readers(option);
  return row == nullptr ? "" : row->last;
}

const OptionRow* find_option(std::string_view name) {
  const auto* row = std::find_if(kTable.begin(), kTable.end(),
                                 [&](const OptionRow& r) { return r.name == name; });
  return row == kTable.end() ? nullptr : row;
}

std::string option_argument(const OptionRow& row, std::string_view value) {
  return row.is_flag ? fmt::format("--{}", row.name) : fmt::format("--{}={}", row.name, value);
}

bool names_file(std::string_view option) {
  constexpr std::string_view kNames[] = {"annotate",
                                         "rules",
                                         "external-dir",
                                         "model",
                                         "dump-dir",
                                         "stats",
                                         "split",
                                         "store",
                                         "propose-sizes",
                                         "kernel",
                                         "modify-mixlist",
                                         "customize-dtypes",
                                         "fusion-switch-file",
                                         "weights-beside",
                                         "kernels-from",
                                         "kernels",
                                         "key",
                                         "allow-keys",
                                         "new-kernels"};
  return std::find(std::begin(kNames), std::end(kNames), option) != std::end(kNames);
}

// Returns whether a choice that ends in a range, "NAME:1..64", accepts the value.
bool is_within(std::string_view choice, std::string_view value) {
  const size_t colon = choice.find(':');
  if (colon == std::string_view::npos || !value.starts_with(choice.substr(0, colon + 1)))
    return false;
  const auto number = [](std::string_view digits) -> int64_t {
    int64_t parsed = -1;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed);
    return code == std::errc() && end == digits.data() + digits.size() ? parsed : -1;
  };
  const std::string_view range = choice.substr(colon + 1);
  const size_t dots = range.find("..");
  const int64_t chosen = number(value.substr(colon + 1));
  return chosen >= number(range.substr(0, dots)) && chosen <= number(range.substr(dots + 2));
}

Result<void> check_switches(std::string_view value) {
  auto switches = parse_switch_list(value);
  if (switches) return {};
  return std::move(switches).error().within("--optimization-switch");
}

Result<void> check_option_value(const OptionRow& row, std::string_view value) {
  if (row.maximum >= 0) {
    int64_t number = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (code == std::errc() && end == value.data() + value.size() && number >= row.minimum &&
        number <= row.maximum)
      return {};
    return make_error(ErrorCode::kBadOption, "--{} is '{}', expected a whole number from {} to {}",
                      row.name, value, row.minimum, row.maximum);
  }
  if (!value.empty() && value.find_first_not_of(";, ") == std::string_view::npos) {
    return make_error(ErrorCode::kBadOption, "--{} is '{}', which names nothing", row.name, value);
  }
  if (row.name == "dim" && !value.empty() && !ends_value(value, kDimEnd)) {
    return make_error(ErrorCode::kBadOption,
                      "--dim has '{}', expected NAME=VALUE or NAME=LOW..HIGH with whole numbers "
                      "from 0 to {}, LOW at most HIGH",
                      value, INT64_MAX);
  }
  if (row.name == "optimization-switch") return check_switches(value);
  if (row.choices.empty() || value == row.fallback) return {};
  std::string listed;
  for (size_t begin = 0, end = 0; begin < row.choices.size(); begin = end + 1) {
    end = std::min(row.choices.find('|', begin), row.choices.size());
    const std::string_view choice = row.choices.substr(begin, end - begin);
    if (choice == value || is_within(choice, value)) return {};
    const bool last = end == row.choices.size();
    listed += std::string(listed.empty() ? "" : last ? " or " : ", ") + std::string(choice);
  }
  return make_error(ErrorCode::kBadOption, "--{} is '{}', expected {}", row.name, value, listed);
}

Result<void> Options::set(std::string_view name, std::string_view value) {
  const OptionRow* row = find_option(name);
  if (row == nullptr) return make_error(ErrorCode::kBadOption, "unknown option '--{}'", name);
  SLUICE_TRY(check_option_value(*row, value));
  auto& values = row->kind == kSemantic ? semantic_ : non_semantic_;
  if (value == row->fallback) {
    values.erase(std::string(name));
  } else {
    values.insert_or_assign(std::string(name), std::string(value));
  }
  return {};
}

std::string Options::text(std::string_view name) const {
  const OptionRow* row = find_option(name);
  assert(row != nullptr);
  const auto& values = row->kind == kSemantic ? semantic_ : non_semantic_;
  const auto found = values.find(std::string(name));
  return found == values.end() ? std::string(row->fallback) : found->second;
}

Result<int64_t> Options::integer(std::string_view name, int64_t low, int64_t high) const {
  const std::string value = text(name);
  int64_t number = 0;
  const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (code != std::errc() || end != value.data() + value.size() || number < low || number > high) {
    return make_error(ErrorCode::kBadOption, "--{} is '{}', expected a whole number from {} to {}",
                      name, value, low, high);
  }
  return number;
}

uint64_t Options::max_constant_bytes() const {
  uint64_t bytes = 0;  // set() accepts numbers only
  const std::string value = text("max-constant-bytes");
  std::from_chars(value.data(), value.data() + value.size(), bytes);
  return bytes;
}

Result<int64_t> Options::threads() const {
  SLUICE_ASSIGN(const int64_t asked, integer("threads", 0, 1024));
  return thread_count(asked);
}

std::vector<std::string> Options::list(std::string_view name, char separator) const {
  std::vector<std::string> items;
  const std::string value = text(name);
  for (size_t begin = 0; begin < value.size();) {
    const size_t end = std::min(value.find(separator, begin), value.size());
    if (end > begin) items.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

Result<void> Options::inherit(const std::map<std::string, std::string>& semantic) {
  for (const auto& [name, value] : semantic) {
    const OptionRow* row = find_option(name);
    if (row == nullptr || row->kind != kSemantic) {
      return make_error(ErrorCode::kBadFile,
                        "the file carries the option '{}', which this release does not know", name);
    }
    if (auto taken = check_option_value(*row, value); !taken) {
      return make_error(ErrorCode::kBadFile, "the file carries an option that cannot be: {}",
                        taken.error().message);
    }
    semantic_.try_emplace(name, value);
  }
  return {};
}

}  // namespace sluice
