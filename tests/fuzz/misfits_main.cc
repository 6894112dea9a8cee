// Runs a model whose dims are all open on sizes that do not fit: each input in turn empty, one
// shorter, one longer, and with --far=N N long along each of its axes (open_model.h says what is
// right).
//
// usage: PROGRAM [--far=N] FOLDER
//
// Prints a line for what it begins to run, so that the last one is known when the process goes
// down, and after it "fault: ..." where something is wrong. Exits 7 when anything is.
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

#include "tests/fuzz/open_model.h"

namespace {

using namespace sluice;

constexpr uint64_t kMaxBytes = uint64_t{64} << 20;  // of an input: this is no test of memory

bool is_right(const fuzz::OpenModel& model, const std::string& what,
              const std::vector<Tensor>& inputs) {
  std::printf("%s\n", what.c_str());
  std::fflush(stdout);
  const std::string fault = fuzz::fault_of(model, inputs);
  if (!fault.empty()) std::printf("fault: %s\n", fault.c_str());
  return fault.empty();
}

// far: 0 when there is none.
std::set<int64_t> other_sizes(int64_t size, int64_t far) {
  std::set<int64_t> sizes{0, size + 1};
  if (size > 0) sizes.insert(size - 1);
  if (far > 0) sizes.insert(far);
  sizes.erase(size);
  return sizes;
}

int count_faults(const fuzz::OpenModel& model, int64_t far) {
  int faults = is_right(model, "as it is", model.inputs) ? 0 : 1;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const Tensor& fits = model.inputs[i];
    for (size_t axis = 0; axis < fits.dims.size(); ++axis) {
      for (const int64_t size : other_sizes(fits.dims[axis], far)) {
        std::vector<int64_t> dims = fits.dims;
        dims[axis] = size;
        if (element_count(dims).value_or(kMaxBytes) >= kMaxBytes / 8) continue;
        std::vector<Tensor> inputs = model.inputs;
        inputs[i] = fuzz::repeated(fits, dims);
        const std::string what = "input " + std::to_string(i) + " of " + dims_text(dims);
        faults += is_right(model, what, inputs) ? 0 : 1;
      }
    }
  }
  return faults;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kFar = "--far=";
  const bool has_far = argc == 3 && std::string_view(argv[1]).starts_with(kFar);
  if (argc != (has_far ? 3 : 2)) return std::fputs("usage: PROGRAM [--far=N] FOLDER\n", stderr), 2;
  const int64_t far = has_far ? std::atoll(argv[1] + kFar.size()) : 0;
  return count_faults(fuzz::open_model(argv[argc - 1]), far) > 0 ? 7 : 0;
}
