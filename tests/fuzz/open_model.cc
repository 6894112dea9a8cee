#include "tests/fuzz/open_model.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <new>

#include "common/base/memory.h"
#include "common/eval/eval.h"
#include "common/graphfile/graphfile.h"
#include "common/tensorfile/tensorfile.h"

namespace sluice::fuzz {
namespace {

[[noreturn]] void cannot_open(const std::string& text) {
  std::fprintf(stderr, "open_model: error: %s\n", text.c_str());
  std::exit(5);
}

// Equal within what the order of sums changes.
template <typename T>
bool are_close(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.as<T>(), b.as<T>(), [](T x, T y) {
    return x == y || (std::isnan(x) && std::isnan(y)) ||
           std::abs(x - y) <= T(1e-3) * (1 + std::abs(y));
  });
}

std::string difference(const sluice_tensor& found, const Tensor& wanted) {
  const std::span dims(found.dims, found.rank);
  if (!std::ranges::equal(dims, wanted.dims)) {
    return "the shape is " + dims_text(dims) + ", the evaluator's " + dims_text(wanted.dims);
  }
  Tensor copy = make_tensor(wanted.dtype, wanted.dims);
  if (found.bytes != copy.bytes.size()) return "another number of bytes than the shape has";
  if (found.bytes > 0) std::memcpy(copy.bytes.data(), found.data, found.bytes);
  bool same = true;
  if (wanted.dtype == DType::kF32) same = are_close<float>(copy, wanted);
  if (wanted.dtype == DType::kF64) same = are_close<double>(copy, wanted);
  if (wanted.dtype == DType::kI64) same = copy.bytes == wanted.bytes;
  return same ? "" : "other numbers than the evaluator's";
}

std::string difference_of_outputs(const OpenModel& model, const std::vector<EvalValue>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].kind != EvalValue::Kind::kTensor) continue;
    sluice_tensor found{};
    if (sluice_run_output_tensor(model.run, i, 0, &found) != 0)
      return std::string("an output is absent: ") + sluice_last_error();
    if (wanted[i].tensor->dtype == DType::kString) continue;
    std::string text = difference(found, *wanted[i].tensor);
    if (!text.empty()) return text;
  }
  return {};
}

// Binds the inputs and runs; the number of what failed, or 0.
int run_once(const OpenModel& model, const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    const sluice_tensor tensor{static_cast<int32_t>(input.dtype), input.dims.size(),
                               input.dims.data(), input.bytes.data(), input.bytes.size()};
    const int failed = sluice_run_bind_input_tensors(model.run, i, &tensor, 1);
    if (failed != 0) return failed;
  }
  return sluice_run_execute(model.run);
}

// Returns whether an output of the run has elements: only these are made up where a value is wrong.
bool has_elements(const OpenModel& model) {
  for (size_t i = 0; i < sluice_model_count(model.compiled, SLUICE_COUNT_OUTPUTS); ++i) {
    uint64_t bytes = 0;
    if (sluice_run_output(model.run, i, &bytes) != nullptr && bytes > 0) return true;
  }
  return false;
}

// Memory for tensors up to a limit, since values of a model may ask for any amount.
class LimitedMemory : public std::pmr::memory_resource {
 private:
  void* do_allocate(size_t bytes, size_t alignment) override {
    constexpr size_t kMaxBytes = size_t{512} << 20;
    if (bytes > kMaxBytes || used_ > kMaxBytes - bytes) throw std::bad_alloc();
    void* memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    used_ += bytes;
    return memory;
  }
  void do_deallocate(void* memory, size_t bytes, size_t alignment) override {
    used_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::atomic<size_t> used_ = 0;
};

// Returns the outputs by the evaluator.
Result<std::vector<EvalValue>> evaluated(const OpenModel& model,
                                         const std::vector<Tensor>& inputs) {
  static LimitedMemory memory;
  const UseTensorMemory use(&memory);
  return within_memory([&] {
    std::vector<EvalValue> values;
    for (const Tensor& input : inputs) values.push_back(EvalValue::of(Tensor(input)));
    return evaluate_graph(model.graph.root(), std::move(values));
  });
}

}  // namespace

OpenModel open_model(const std::filesystem::path& folder) {
  OpenModel model{.name = folder.filename().string()};
  if (sluice_model_open((folder / "model.om").c_str(), 0, &model.compiled) != 0)
    cannot_open(model.name + ": " + sluice_last_error());
  if (sluice_run_create(model.compiled, 1, &model.run) != 0)
    cannot_open(model.name + ": " + sluice_last_error());
  auto graph = read_graph_file(folder / "typed.sg");
  if (!graph) cannot_open(error_text(graph.error()));
  model.graph = std::move(*graph);
  const size_t inputs = sluice_model_count(model.compiled, SLUICE_COUNT_INPUTS);
  for (size_t i = 0; i < inputs; ++i) {
    auto tensor = read_pb(folder / ("input_" + std::to_string(i) + ".pb"));
    if (!tensor) cannot_open(error_text(tensor.error()));
    model.inputs.push_back(std::move(*tensor));
  }
  return model;
}

Tensor repeated(const Tensor& elements, std::vector<int64_t> dims) {
  Tensor tensor = make_tensor(elements.dtype, std::move(dims));
  for (size_t i = 0; !elements.bytes.empty() && i < tensor.bytes.size(); ++i)
    tensor.bytes[i] = elements.bytes[i % elements.bytes.size()];
  return tensor;
}

std::string fault_of(const OpenModel& model, const std::vector<Tensor>& inputs) {
  const auto wanted = evaluated(model, inputs);
  if (!wanted && wanted.error().code == ErrorCode::kLimit) return {};
  const int failed = run_once(model, inputs);
  if (failed != 0 && exit_class(static_cast<ErrorCode>(failed)) == ExitClass::kInternal)
    return std::string("bad input is reported as a bug of our own: ") + sluice_last_error();
  if (failed != 0) return {};  // it may know less than the evaluator
  if (wanted) return difference_of_outputs(model, *wanted);
  return has_elements(model) ? "it ran, the evaluator: " + error_text(wanted.error()) : "";
}

}  // namespace sluice::fuzz
