#include "common/tools/diff_values.h"

#include <cmath>
#include <map>

#include "common/eval/eval.h"
#include "common/eval/number.h"
#include "common/tensorfile/tensorfile.h"
#include "common/tensorfile/value_folder.h"
#include "common/tools/eval_maps.h"
#include "fmt/ranges.h"

namespace sluice {
namespace {

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> numbers(element_count(tensor.dims).value_or(0));
  eval::convert(tensor.dtype, tensor.bytes.data(), DType::kF64,
                reinterpret_cast<std::byte*>(numbers.data()), static_cast<int64_t>(numbers.size()));
  return numbers;
}

std::vector<int64_t> index_of(size_t place, const std::vector<int64_t>& dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    index[axis] = static_cast<int64_t>(place % static_cast<size_t>(dims[axis]));
    place /= static_cast<size_t>(dims[axis]);
  }
  return index;
}

std::string tensor_type_text(const Tensor& tensor) {
  return fmt::format("{} {}", dtype_name(tensor.dtype), dims_text(tensor.dims));
}

// Returns the cosine of the angle between the two, 1 for the same direction; of zeros and of what
// is not finite, NaN.
double cosine(const std::vector<double>& x, const std::vector<double>& y) {
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) xy += x[i] * y[i], xx += x[i] * x[i], yy += y[i] * y[i];
  return xy / std::sqrt(xx * yy);
}

// Floats of different dtypes are compared as numbers: a node may compute in another one.
bool are_comparable(const Tensor& a, const Tensor& b) {
  const bool are_floats = dtype_is_float(a.dtype) && dtype_is_float(b.dtype);
  return a.dims == b.dims && (a.dtype == b.dtype || are_floats);
}

std::string types_text(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype ? tensor_type_text(a)
                            : fmt::format("{} | {}", dtype_name(a.dtype), tensor_type_text(b));
}

// The text is empty when the two are equal within the tolerance.
struct TensorDifference {
  std::string text;
  std::optional<FurthestNumbers> numbers = {};
};

TensorDifference difference(const Tensor& a, const Tensor& b, double tolerance) {
  if (!are_comparable(a, b))
    return {fmt::format("{} | {}", tensor_type_text(a), tensor_type_text(b))};
  if (a.dtype == DType::kString)
    return {a.bytes == b.bytes ? "" : fmt::format("{}: other texts", tensor_type_text(a))};
  const std::vector<double> x = numbers_of(a), y = numbers_of(b);
  double largest = 0, worst = -1;
  size_t at = 0;
  for (const double number : y)
    largest = std::isfinite(number) ? std::max(largest, std::fabs(number)) : largest;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool is_same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    double apart = is_same ? 0 : std::fabs(x[i] - y[i]);
    if (std::isnan(apart)) apart = HUGE_VAL;
    if (apart > worst) worst = apart, at = i;
  }
  if (worst <= tolerance * largest || worst <= 0) return {};
  FurthestNumbers numbers{x[at], y[at], worst, largest, index_of(at, a.dims)};
  const std::string share =
      largest > 0 ? fmt::format(", {:.3g} of the largest {:.6g}", worst / largest, largest) : "";
  return {
      fmt::format("{}: {:.6g} | {:.6g} at [{}], {:.3g} apart{}, cosine {:.6f}", types_text(a, b),
                  x[at], y[at], fmt::join(numbers.at, ", "), worst, share, cosine(x, y)),
      std::move(numbers)};
}

// Returns the first difference of the tensors of maps.
TensorDifference difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                            double tolerance) {
  if (a.size() != b.size()) return {fmt::format("{} | {} tensors of maps", a.size(), b.size())};
  for (size_t i = 0; i < a.size(); ++i) {
    TensorDifference found = difference(a[i], b[i], tolerance);
    if (found.text.empty()) continue;
    const std::string member =
        a[i].name.empty() ? fmt::format("{} of map {}", i % 2 == 0 ? "keys" : "values", i / 2)
                          : a[i].name;  // of the archive
    found.text = fmt::format("{} {}", member, found.text);
    return found;
  }
  return {};
}

Result<TensorDifference> file_difference(const std::string& a, const std::string& b,
                                         double tolerance) {
  if (a.ends_with(".npz") && b.ends_with(".npz")) {
    SLUICE_ASSIGN(const std::vector<Tensor> x, read_npz(a));
    SLUICE_ASSIGN(const std::vector<Tensor> y, read_npz(b));
    return difference(x, y, tolerance);
  }
  SLUICE_ASSIGN(const Tensor x, read_tensor(a));
  SLUICE_ASSIGN(const Tensor y, read_tensor(b));
  return difference(x, y, tolerance);
}

// Returns the difference of the content of a file of maps, or of a tensor, from the evaluated
// value.
Result<TensorDifference> file_difference(const std::string& path, const FileValue& made,
                                         double tolerance) {
  SLUICE_ASSIGN(const FileValue held, read_maps(path, made.kind));
  return difference(held.tensors, made.tensors, tolerance);
}

Result<TensorDifference> file_difference(const std::string& path, const Tensor& made,
                                         double tolerance) {
  SLUICE_ASSIGN(Tensor held, read_tensor(path));
  if (dtype_bits(held.dtype) == dtype_bits(made.dtype)) held.dtype = made.dtype;
  return difference(held, made, tolerance);
}

using FilesByName = std::map<std::string, std::string>;  // the first file of each name

Result<FilesByName> files_by_name(const std::string& folder) {
  SLUICE_ASSIGN(const std::vector<ValueFile> files, list_values(folder));
  if (files.empty()) return make_error(ErrorCode::kNotFound, "there are no values in '{}'", folder);
  FilesByName by_name;
  for (const ValueFile& file : files) by_name.emplace(file.name, file.path);
  return by_name;
}

void add(ValueDifferences& differences, const std::string& name, TensorDifference found) {
  ++differences.compared;
  if (found.text.empty()) return;
  differences.differing.push_back({name, std::move(found.text), std::move(found.numbers)});
}

Result<std::vector<EvalValue>> inputs_from(FilesByName& files, const Graph& graph,
                                           const std::string& folder) {
  std::vector<EvalValue> inputs;
  for (const Value* input : graph.inputs()) {
    if (input->is_constant()) continue;
    const auto found = files.find(input->name());
    if (found == files.end()) {
      return make_error(ErrorCode::kBadBinding, "input '{}' is not among the values in '{}'",
                        input->name(), folder)
          .with_hint("sluice run --dump-values writes the inputs too");
    }
    if (const auto kind = map_kind(graph.module(), input->type())) {
      SLUICE_ASSIGN(FileValue maps, read_maps(found->second, *kind));
      inputs.push_back(maps_from_file(std::move(maps)));
      files.erase(found);
      continue;
    }
    SLUICE_ASSIGN(Tensor tensor, read_tensor(found->second));
    if (tensor.dtype != input->type().dtype &&
        dtype_bits(tensor.dtype) == dtype_bits(input->type().dtype)) {
      tensor.dtype = input->type().dtype;  // .npy has no name for it
    }
    inputs.push_back(EvalValue::of(std::move(tensor)));
    files.erase(found);
  }
  return inputs;
}

}  // namespace

Result<ValueDifferences> compare_folders(const std::string& a, const std::string& b,
                                         double tolerance) {
  SLUICE_ASSIGN(const std::vector<ValueFile> files, list_values(a));
  SLUICE_ASSIGN(FilesByName others, files_by_name(b));
  ValueDifferences differences;
  for (const ValueFile& file : files) {
    const auto other = others.find(file.name);
    if (other == others.end()) {
      differences.only_a.push_back(file.name);
      continue;
    }
    SLUICE_ASSIGN(TensorDifference found, file_difference(file.path, other->second, tolerance));
    add(differences, file.name, std::move(found));
    others.erase(other);
  }
  for (const auto& [name, path] : others) differences.only_b.push_back(name);
  return differences;
}

Result<ValueDifferences> compare_with_evaluation(const std::string& a, const Module& b,
                                                 double tolerance) {
  SLUICE_ASSIGN(FilesByName files, files_by_name(a));
  SLUICE_ASSIGN(std::vector<EvalValue> inputs, inputs_from(files, b.root(), a));
  ValueDifferences differences;
  std::optional<Error> failed;
  EvalOptions options;
  options.observer = [&](const Value& value, const EvalValue& made) {
    const auto maps = maps_to_file(made);
    const bool is_compared =
        maps || (made.tensor != nullptr && made.tensor->dtype != DType::kString);
    if (!is_compared || value.name().empty() || failed) return;  // several values may have no name
    const auto file = files.find(value.name());
    if (file == files.end()) {
      differences.only_b.push_back(value.name());
      return;
    }
    Result<TensorDifference> found = maps ? file_difference(file->second, *maps, tolerance)
                                          : file_difference(file->second, *made.tensor, tolerance);
    if (!found) {
      failed = std::move(found).error();
      return;
    }
    add(differences, value.name(), *std::move(found));
    files.erase(file);
  };
  SLUICE_TRY(evaluate_graph(b.root(), std::move(inputs), options));
  if (failed) return *failed;
  for (const auto& [name, path] : files) differences.only_a.push_back(name);
  return differences;
}

}  // namespace sluice
