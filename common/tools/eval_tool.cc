#include "common/tools/eval_tool.h"

#include <algorithm>

#include "common/eval/eval.h"
#include "common/tensorfile/value_folder.h"
#include "common/tools/eval_inputs.h"
#include "common/tools/eval_maps.h"

namespace sluice {
namespace {

std::string value_label(const Value& value) {
  return value.name().empty() ? fmt::format("{}.{}", value.graph().id(), value.id()) : value.name();
}

Result<void> write(ValueFolder& folder, const std::string& name, const EvalValue& value) {
  if (const auto maps = maps_to_file(value)) return folder.write_maps(name, *maps);
  if (value.kind == EvalValue::Kind::kSequence) {
    for (size_t i = 0; i < value.elements.size(); ++i)
      SLUICE_TRY(write(folder, fmt::format("{}.{}", name, i), value.elements[i]));
    return {};
  }
  if (value.kind == EvalValue::Kind::kNone) return {};
  return folder.write(name, *value.tensor);
}

std::string range_text(const Tensor& tensor) {
  const auto elements = tensor.as<float>();
  if (tensor.dtype != DType::kF32 || elements.empty()) return "";
  const auto [low, high] = std::minmax_element(elements.begin(), elements.end());
  double sum = 0;
  for (const float element : elements) sum += element;
  return fmt::format(": min {:.6g}, max {:.6g} at {}, mean {:.6g}", *low, *high,
                     high - elements.begin(), sum / static_cast<double>(elements.size()));
}

std::string line_of(const std::string& name, const EvalValue& value) {
  if (value.kind == EvalValue::Kind::kNone) return fmt::format("{}: none\n", name);
  if (value.kind == EvalValue::Kind::kSequence)
    return fmt::format("{}: sequence of {}\n", name, value.elements.size());
  if (value.kind == EvalValue::Kind::kMap)
    return fmt::format("{}: map of {}\n", name, value.elements[0].tensor->dims[0]);
  return fmt::format("{}: {} {}{}\n", name, dtype_name(value.tensor->dtype),
                     dims_text(value.tensor->dims), range_text(*value.tensor));
}

}  // namespace

Result<std::string> evaluate_to_files(const Module& module, const EvalRequest& request) {
  const Graph& root = module.root();
  EvalInputs inputs(root);
  for (const std::string& binding : request.bindings) SLUICE_TRY(inputs.bind(binding));
  SLUICE_ASSIGN(std::vector<EvalValue> values, inputs.finish(request.random, request.dims));
  EvalOptions options;
  std::optional<ValueFolder> dump;
  std::optional<Error> failed;
  if (!request.dump_dir.empty()) {
    SLUICE_ASSIGN(dump, ValueFolder::create(request.dump_dir));
    options.observer = [&](const Value& value, const EvalValue& made) {
      if (made.kind == EvalValue::Kind::kTensor && made.tensor->dtype == DType::kString)
        return;  // nothing compares them
      if (auto written = write(*dump, value_label(value), made); !written && !failed)
        failed = std::move(written).error();
    };
  }
  SLUICE_ASSIGN(const std::vector<EvalValue> outputs,
                evaluate_graph(root, std::move(values), options));
  if (failed) return *failed;
  if (dump) SLUICE_TRY(dump->finish());
  std::optional<ValueFolder> folder;
  if (!request.output_dir.empty()) {
    SLUICE_ASSIGN(folder, ValueFolder::create(request.output_dir));
  }
  std::string text;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = value_label(*root.outputs()[i]);
    text += line_of(name, outputs[i]);
    if (folder) SLUICE_TRY(write(*folder, name, outputs[i]));
  }
  return text;
}

}  // namespace sluice
