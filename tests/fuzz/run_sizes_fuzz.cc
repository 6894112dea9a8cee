// Runs models whose dims are all open on inputs of drawn sizes (open_model.h says what is right).
//
// The bytes of an input of the fuzzer: two choose the model; then, for each input of the model, one
// byte for each dim, and one that says how its elements are made.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/open_model.h"

namespace {

using namespace sluice;

constexpr uint64_t kMaxElements = 1 << 16;  // of an input

// The models of the folder, in the order of their names.
std::vector<fuzz::OpenModel> open_models(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<fuzz::OpenModel> models;
  for (const auto& path : paths) models.push_back(fuzz::open_model(path));
  if (models.empty()) {
    std::fprintf(stderr, "run-sizes: no models in %s (tests/fuzz/open_models.py)\n",
                 folder.c_str());
    std::exit(5);
  }
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
  Tensor tensor = fuzz::repeated(fits, std::move(dims));
  if (how < 128 || tensor.bytes.size() > 4096) return tensor;
  const auto small = [&] { return static_cast<int64_t>(draws.next() % 16) - 5; };
  if (fits.dtype == DType::kI64) std::ranges::generate(tensor.as<int64_t>(), small);
  if (fits.dtype == DType::kI32) std::ranges::generate(tensor.as<int32_t>(), small);
  return tensor;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<fuzz::OpenModel> models = open_models("out/fuzz/open-models");
  Draws draws(fuzz::bytes_of(data, size));
  const size_t chosen = draws.next() + size_t{256} * draws.next();
  const fuzz::OpenModel& model = models[chosen % models.size()];
  std::vector<Tensor> inputs;
  for (const Tensor& fits : model.inputs) inputs.push_back(drawn_tensor(fits, draws));
  const std::string fault = fuzz::fault_of(model, inputs);
  if (!fault.empty()) fuzz::finding(fault, model.name);
  return 0;
}
