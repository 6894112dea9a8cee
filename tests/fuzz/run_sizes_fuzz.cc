// Runs compiled models whose dims are all open (tests/fuzz/open_models.py makes them) on inputs
// of drawn sizes, through the C interface. What the evaluator refuses must be refused; what runs
// must give the shapes and the numbers of the evaluator.
//
// The bytes of an input of the fuzzer: two choose the model; then, for each input of the model, one
// byte for each dim, and one that says how its elements are made.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory_resource>
#include <new>

#include "common/base/memory.h"
#include "common/base/tensor.h"
#include "common/eval/eval.h"
#include "common/graphfile/graphfile.h"
#include "common/tensorfile/tensorfile.h"
#include "runtime/api/sluice.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace sluice;

constexpr uint64_t kMaxElements = 1 << 16;  // of an input

// A model of one node, and inputs that fit.
struct OpenModel {
  std::string name;
  sluice_model* compiled = nullptr;
  sluice_run* run = nullptr;  // one for all sizes, as programs use it
  Module graph;
  std::vector<Tensor> inputs;
};

[[noreturn]] void cannot_start(const std::string& text) {
  std::fprintf(stderr, "run-sizes: error: %s\n", text.c_str());
  std::exit(5);
}

OpenModel open_model(const std::filesystem::path& folder) {
  OpenModel model{.name = folder.filename().string()};
  if (sluice_model_open((folder / "model.om").c_str(), 0, &model.compiled) != 0)
    cannot_start(model.name + ": " + sluice_last_error());
  if (sluice_run_create(model.compiled, 1, &model.run) != 0)
    cannot_start(model.name + ": " + sluice_last_error());
  auto graph = read_graph_file(folder / "typed.sg");
  if (!graph) cannot_start(error_text(graph.error()));
  model.graph = std::move(*graph);
  const size_t inputs = sluice_model_count(model.compiled, SLUICE_COUNT_INPUTS);
  for (size_t i = 0; i < inputs; ++i) {
    auto tensor = read_pb(folder / ("input_" + std::to_string(i) + ".pb"));
    if (!tensor) cannot_start(error_text(tensor.error()));
    model.inputs.push_back(std::move(*tensor));
  }
  return model;
}

// The models of the folder, in the order of their names.
std::vector<OpenModel> open_models(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<OpenModel> models;
  for (const auto& path : paths) models.push_back(open_model(path));
  if (models.empty()) cannot_start("no models in " + folder + " (tests/fuzz/open_models.py)");
  return models;
}

class Draws {
 public:
  explicit Draws(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint8_t next() {
    const uint8_t byte = at_ < bytes_.size() ? std::to_integer<uint8_t>(bytes_[at_]) : 0;
    ++at_;
    return byte;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

// A size near the one that fits, a small one, or now and then some hundreds.
int64_t drawn_size(int64_t fits, uint8_t draw) {
  if (draw < 128) return fits;
  if (draw < 160) return std::max<int64_t>(0, fits + draw % 7 - 3);
  if (draw < 250) return draw % 18;
  return 100 * (draw - 248);
}

// The elements of a tensor that fits, over and over; or, of integers of 64 and 32 bits, small
// drawn ones.
Tensor drawn_tensor(const Tensor& fits, Draws& draws) {
  std::vector<int64_t> dims;
  for (const int64_t dim : fits.dims) dims.push_back(drawn_size(dim, draws.next()));
  const uint8_t how = draws.next();
  if (element_count(dims).value_or(kMaxElements + 1) > kMaxElements) dims = fits.dims;
  Tensor tensor = make_tensor(fits.dtype, std::move(dims));
  for (size_t i = 0; !fits.bytes.empty() && i < tensor.bytes.size(); ++i)
    tensor.bytes[i] = fits.bytes[i % fits.bytes.size()];
  if (how < 128 || tensor.bytes.size() > 4096) return tensor;
  const auto small = [&] { return static_cast<int64_t>(draws.next() % 16) - 5; };
  if (fits.dtype == DType::kI64) std::ranges::generate(tensor.as<int64_t>(), small);
  if (fits.dtype == DType::kI32) std::ranges::generate(tensor.as<int32_t>(), small);
  return tensor;
}

// Equal within what the order of sums changes.
template <typename T>
bool are_close(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.as<T>(), b.as<T>(), [](T x, T y) {
    return x == y || (std::isnan(x) && std::isnan(y)) ||
           std::abs(x - y) <= T(1e-3) * (1 + std::abs(y));
  });
}

void compare(const OpenModel& model, const sluice_tensor& found, const Tensor& wanted) {
  const std::span dims(found.dims, found.rank);
  if (!std::ranges::equal(dims, wanted.dims)) {
    fuzz::finding("another shape than the evaluator's",
                  model.name + ": " + dims_text(dims) + ", not " + dims_text(wanted.dims));
  }
  Tensor copy = make_tensor(wanted.dtype, wanted.dims);
  if (found.bytes != copy.bytes.size())
    fuzz::finding("another number of bytes than the shape has", model.name);
  if (found.bytes > 0) std::memcpy(copy.bytes.data(), found.data, found.bytes);
  bool same = true;
  if (wanted.dtype == DType::kF32) same = are_close<float>(copy, wanted);
  if (wanted.dtype == DType::kF64) same = are_close<double>(copy, wanted);
  if (wanted.dtype == DType::kI64) same = copy.bytes == wanted.bytes;
  if (!same) fuzz::finding("other numbers than the evaluator's", model.name);
}

void compare_outputs(const OpenModel& model, const std::vector<EvalValue>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].kind != EvalValue::Kind::kTensor) continue;
    sluice_tensor found{};
    if (sluice_run_output_tensor(model.run, i, 0, &found) != 0)
      fuzz::finding("an output is absent", model.name + ": " + sluice_last_error());
    if (wanted[i].tensor->dtype != DType::kString) compare(model, found, *wanted[i].tensor);
  }
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

void check_run(const OpenModel& model, const std::vector<Tensor>& inputs) {
  const auto wanted = evaluated(model, inputs);
  if (!wanted && wanted.error().code == ErrorCode::kLimit) return;
  const int failed = run_once(model, inputs);
  if (failed != 0 && exit_class(static_cast<ErrorCode>(failed)) == ExitClass::kInternal)
    fuzz::finding("bad input is reported as a bug of our own", sluice_last_error());
  if (failed != 0) return;  // it may know less than the evaluator
  if (!wanted && has_elements(model))
    fuzz::finding("what the evaluator refuses ran", model.name + ": " + error_text(wanted.error()));
  if (wanted) compare_outputs(model, *wanted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<OpenModel> models = open_models("out/fuzz/open-models");
  Draws draws(fuzz::bytes_of(data, size));
  const size_t chosen = draws.next() + size_t{256} * draws.next();
  const OpenModel& model = models[chosen % models.size()];
  std::vector<Tensor> inputs;
  for (const Tensor& fits : model.inputs) inputs.push_back(drawn_tensor(fits, draws));
  check_run(model, inputs);
  return 0;
}
