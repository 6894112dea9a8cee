#include "common/tools/eval_tool.h"

#include <algorithm>
#include <set>

#include "common/base/files.h"
#include "common/eval/eval.h"
#include "common/tensorfile/tensorfile.h"
#include "common/tools/eval_inputs.h"

namespace sluice {
namespace {

std::string name_of(const Value& value) {
  return value.name().empty() ? fmt::format("{}.{}", value.graph().id(), value.id()) : value.name();
}

// Files of one folder, each name used once.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  Result<void> write(const std::string& name, const EvalValue& value) {
    if (value.kind == EvalValue::Kind::kSequence) {
      for (size_t i = 0; i < value.elements.size(); ++i) SLUICE_TRY(write(fmt::format("{}.{}", name, i), value.elements[i]));
      return {};
    }
    if (value.kind == EvalValue::Kind::kNone || value.tensor->dtype == DType::kString) return {};
    return write_tensor(fmt::format("{}/{}.npy", path_, names_.take(name)), *value.tensor);
  }

 private:
  std::string path_;
  FileNames names_;
};

std::string range_text(const Tensor& tensor) {
  const auto elements = tensor.as<float>();
  if (tensor.dtype != DType::kF32 || elements.empty()) return "";
  const auto [low, high] = std::minmax_element(elements.begin(), elements.end());
  double sum = 0;
  for (const float element : elements) sum += element;
  return fmt::format(": min {:.6g}, max {:.6g} at {}, mean {:.6g}", *low, *high, high - elements.begin(),
                     sum / static_cast<double>(elements.size()));
}

std::string line_of(const std::string& name, const EvalValue& value) {
  if (value.kind == EvalValue::Kind::kNone) return fmt::format("{}: none\n", name);
  if (value.kind == EvalValue::Kind::kSequence) return fmt::format("{}: sequence of {}\n", name, value.elements.size());
  return fmt::format("{}: {} {}{}\n", name, dtype_name(value.tensor->dtype), dims_text(value.tensor->dims), range_text(*value.tensor));
}

}  // namespace

Result<std::string> evaluate_to_files(const Module& module, const EvalRequest& request) {
  const Graph& root = module.root();
  EvalInputs inputs(root);
  for (const std::string& binding : request.bindings) SLUICE_TRY(inputs.bind(binding));
  SLUICE_ASSIGN(std::vector<Tensor> tensors, inputs.finish(request.random));
  std::vector<EvalValue> values;
  for (Tensor& tensor : tensors) values.push_back(EvalValue::of(std::move(tensor)));
  EvalOptions options;
  Folder dump(request.dump_dir);
  std::optional<Error> failed;
  if (!request.dump_dir.empty()) {
    SLUICE_TRY(make_directories(request.dump_dir));
    options.observer = [&](const Value& value, const EvalValue& made) {
      if (auto written = dump.write(name_of(value), made); !written && !failed) failed = std::move(written).error();
    };
  }
  SLUICE_ASSIGN(const std::vector<EvalValue> outputs, evaluate_graph(root, std::move(values), options));
  if (failed) return *failed;
  if (!request.output_dir.empty()) SLUICE_TRY(make_directories(request.output_dir));
  Folder folder(request.output_dir);
  std::string text;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = name_of(*root.outputs()[i]);
    text += line_of(name, outputs[i]);
    if (!request.output_dir.empty()) SLUICE_TRY(folder.write(name, outputs[i]));
  }
  return text;
}

}  // namespace sluice
