#include "orchestrator/conformance/run_case.h"

#include <algorithm>
#include <chrono>

#include "common/base/files.h"
#include "orchestrator/conformance/compare.h"
#include "orchestrator/conformance/engines.h"
#include "orchestrator/conformance/model_signature.h"
#include "orchestrator/process/process.h"

namespace sluice {
namespace {

constexpr size_t kReasonLimit = 2000;

// Returns a program's message about its failure: its error line and the lines that belong to it, as
// one line without the program's own prefix.
std::string reason_from(const std::string& messages) {
  std::string reason;
  bool error = false;
  for (size_t begin = 0; begin < messages.size() && reason.size() < kReasonLimit;) {
    const size_t end = std::min(messages.find('\n', begin), messages.size());
    std::string_view line(messages.data() + begin, end - begin);
    begin = end + 1;
    error = error || line.find(": error ") != std::string_view::npos;
    if (!error || line.empty() || line.starts_with("hint:")) continue;
    while (line.starts_with(' ')) line.remove_prefix(1);
    reason += (reason.empty() ? "" : "; ") + std::string(line);
  }
  return reason.substr(0, kReasonLimit);
}

class CaseRun {
 public:
  CaseRun(const Case& test, const Toolbox& tools, const std::string& folder)
      : test_(test), tools_(tools), folder_(folder) {}

  CaseResult run() {
    const auto begin = std::chrono::steady_clock::now();
    run_all();
    result_.ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return std::move(result_);
  }

 private:
  void run_all() {
    if (Result<void> read = read_case(); !read)
      return settle(Verdict::kFail, error_text(read.error()));
    if (test_.data.empty()) {
      if (compile({}) && run_program(tools_.loader, {model_path(), "--random", threads()}))
        note_engines();
      return;
    }
    std::string compiled_for = "-";  // no list of shapes has this form
    for (const DataSet& data : test_.data) {
      const std::optional<std::string> shapes = shapes_of(data);
      if (!shapes) return;
      if (*shapes != compiled_for && !compile(*shapes)) return;
      compiled_for = *shapes;
      ++set_;
      if (!run_data(data)) return;
    }
    note_engines();
  }

  Result<void> read_case() {
    SLUICE_ASSIGN(const MappedFile model, MappedFile::open(test_.folder + "/model.onnx"));
    SLUICE_ASSIGN(signature_, read_model_signature(model.bytes()));
    for (const auto* values : {&signature_.inputs, &signature_.outputs})
      for (const SignatureValue& value : *values) result_.is_float |= value.is_float;
    tolerances_.assign(signature_.outputs.size(), Tolerance{});
    if (Result<std::string> text = read_text(test_.folder + "/data.json")) {
      SLUICE_ASSIGN(tolerances_, parse_tolerances(*text, signature_.outputs.size()));
    }
    return {};
  }

  // Returns the value of --input-shape: the shapes of the data where the model leaves a dim open.
  std::optional<std::string> shapes_of(const DataSet& data) {
    if (data.inputs.size() != signature_.inputs.size() ||
        data.outputs.size() != signature_.outputs.size()) {
      settle(Verdict::kFail,
             fmt::format("the data has {} inputs and {} outputs, the model {} and {}",
                         data.inputs.size(), data.outputs.size(), signature_.inputs.size(),
                         signature_.outputs.size()));
      return std::nullopt;
    }
    std::string shapes;
    for (size_t i = 0; i < signature_.inputs.size(); ++i) {
      const SignatureValue& input = signature_.inputs[i];
      if (input.fixed || input.kind != ValueKind::kTensor) continue;
      const Result<Tensor> tensor = read_pb(data.inputs[i]);
      if (!tensor) return settle(Verdict::kFail, error_text(tensor.error())), std::nullopt;
      std::string dims;
      for (const int64_t dim : tensor->dims)
        dims += (dims.empty() ? "" : ",") + std::to_string(dim);
      shapes += (shapes.empty() ? "" : ";") + input.name + ":" + dims;
    }
    return shapes;
  }

  bool compile(const std::string& shapes) {
    std::vector<std::string> arguments = {test_.folder + "/model.onnx", "-q", "-o", model_path(),
                                          threads()};
    if (!shapes.empty()) arguments.push_back("--input-shape=" + shapes);
    if (!tools_.profile.empty()) arguments.push_back("--profile=" + tools_.profile);
    if (!tools_.opt_level.empty()) arguments.push_back("--opt-level=" + tools_.opt_level);
    return run_program(tools_.compile, arguments) && run_program(tools_.verify, {model_path()});
  }

  bool run_data(const DataSet& data) {
    std::vector<std::string> arguments = {model_path(), threads(), "--format=pb",
                                          "--output-dir=" + output_folder()};
    for (size_t i = 0; i < signature_.inputs.size(); ++i)
      arguments.push_back("--input=" + signature_.inputs[i].name + "=" + data.inputs[i]);
    if (!run_program(tools_.loader, arguments)) return false;
    for (size_t i = 0; i < signature_.outputs.size(); ++i) {
      if (!compare_output(i, data.outputs[i])) return false;
    }
    return true;
  }

  bool compare_output(size_t i, const std::string& expected_path) {
    const ValueKind kind = signature_.outputs[i].kind;
    const Result<FileValue> expected = read_value(expected_path, kind);
    if (!expected) return settle(Verdict::kFail, error_text(expected.error())), false;
    const Result<FileValue> actual = read_value(output_path(i), kind);
    if (!actual && actual.error().code == ErrorCode::kNotFound) {
      return settle(Verdict::kFail,
                    fmt::format("sluice-loader wrote no output '{}'", signature_.outputs[i].name)),
             false;
    }
    if (!actual) return settle(Verdict::kFail, error_text(actual.error())), false;
    const Comparison comparison = compare(*actual, *expected, tolerances_[i]);
    if (comparison.equal) return note_error(comparison), true;
    note_engines();
    return settle(Verdict::kFail, difference(signature_.outputs[i].name, comparison)), false;
  }

  void note_error(const Comparison& comparison) {
    result_.max_error = std::max(result_.max_error.value_or(0), comparison.max_error);
    result_.max_ulp = std::max(result_.max_ulp.value_or(0), comparison.max_ulp);
  }

  // Returns what differs, and notes by how much. Distances between random numbers are of no use.
  std::string difference(const std::string& output, const Comparison& comparison) {
    const std::string text = fmt::format("output '{}': {}", output, comparison.reason);
    const std::string op = comparison.max_error > 0 ? random_op() : "";
    if (op.empty()) return note_error(comparison), text;
    result_.max_error = result_.max_ulp = std::nullopt;
    return fmt::format("the numbers of {} are random and ONNX does not say which: {}", op, text);
  }

  // Returns an operator of the compiled model whose results no two implementations need share;
  // empty when there is none.
  std::string random_op() const {
    constexpr std::string_view kRandom[] = {"Bernoulli",     "Multinomial",
                                            "RandomNormal",  "RandomNormalLike",
                                            "RandomUniform", "RandomUniformLike"};
    for (const auto& [node, op] : result_.ops) {
      if (std::find(std::begin(kRandom), std::end(kRandom), op) != std::end(kRandom)) return op;
    }
    return {};
  }

  // Runs a program. Returns true when it ended with 0; otherwise the verdict is set.
  bool run_program(const std::string& program, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {program};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Result<Descriptor> messages = make_memory_file();
    if (!messages) return settle(Verdict::kFail, error_text(messages.error())), false;
    const Result<pid_t> child = start_process(arguments, {-1, -1, messages->get()});
    if (!child) return settle(Verdict::kFail, error_text(child.error())), false;
    const Ending ending = wait_for(*child, tools_.timeout);
    if (ending.clean()) return true;
    const bool known = ending.signal == 0 && !ending.timed_out && is_known_code(ending.code) &&
                       ending.code != static_cast<int>(ExitClass::kInternal);
    Verdict verdict = known ? Verdict::kFail : Verdict::kCrash;
    if (known && ending.code == static_cast<int>(ExitClass::kUnsupported))
      verdict = Verdict::kUnsupported;
    const std::string name = program.substr(program.rfind('/') + 1);
    const std::string said = reason_from(memory_file_text(*messages));
    std::string what = ending.timed_out
                           ? fmt::format("{} had not ended after {} s", name, tools_.timeout)
                           : fmt::format("{} ended with {}", name, ending_text(ending));
    if (known && !said.empty()) return settle(verdict, said), false;
    return settle(verdict, said.empty() ? what : what + ": " + said), false;
  }

  void note_engines() {
    if (Result<void> read = read_engines(model_path(), result_); !read)
      settle(Verdict::kFail, error_text(read.error()));
  }

  void settle(Verdict verdict, std::string reason) {
    result_.verdict = verdict;
    result_.reason = std::move(reason);
  }

  std::string model_path() const { return folder_ + "/model.om"; }
  std::string output_folder() const {
    return fmt::format("{}/outputs_{}", folder_, set_);
  }  // so that no set reads the files of another
  std::string output_path(size_t i) const {
    return fmt::format("{}/{}.pb", output_folder(), file_name_of(signature_.outputs[i].name));
  }
  std::string threads() const { return fmt::format("--threads={}", tools_.threads); }

  const Case& test_;
  const Toolbox& tools_;
  const std::string& folder_;
  ModelSignature signature_;
  int set_ = 0;  // number of data sets begun
  std::vector<Tolerance> tolerances_;
  CaseResult result_;
};

}  // namespace

CaseResult run_case(const Case& test, const Toolbox& tools, const std::string& folder) {
  return CaseRun(test, tools, folder).run();
}

}  // namespace sluice
