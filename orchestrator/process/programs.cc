#include "orchestrator/process/programs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <vector>

#include "common/base/near_names.h"

namespace sluice {
namespace {

constexpr std::array kTable = {
    ProgramRow{"compile", "sluice-compile", "",
               "compiles an ONNX model, or goes on from a .sg file: all five stages in a pipe"},
    ProgramRow{"compile-all", "sluice-compile-all", "",
               "compiles what a manifest lists, here or on a cluster"},
    ProgramRow{"job", "sluice-job", "",
               "runs compiles that compile-all has written down in a store"},
    ProgramRow{"farm", "sluice-farm", "", "hands jobs of many compiles to workers"},
    ProgramRow{"worker", "sluice-worker", "",
               "runs jobs of a farm, or stages for those who connect"},
    ProgramRow{"check", "sluice-check", "",
               "says what a compile of a model will be: engines, memory, what is unsupported"},
    ProgramRow{"refit", "sluice-refit", "",
               "makes a compiled model for other weights, without generating code"},
    ProgramRow{"run", "sluice-loader", "", "runs a compiled model on input files"},
    ProgramRow{"bench", "sluice-loader", "--bench", "measures a compiled model"},
    ProgramRow{"cache", "sluice-cache", "",
               "looks into the folder of a store (--store), and keeps it small"},
    ProgramRow{"conformance", "sluice-conformance", "",
               "compiles, runs and checks every ONNX test case below a folder"},
    ProgramRow{"preprocess", "sluice-preprocess", "",
               "stage 1: reads an ONNX model, infers types, folds constants"},
    ProgramRow{"optimize", "sluice-optimize", "",
               "stage 2: rewrites the graph into a faster equal one"},
    ProgramRow{"partition", "sluice-partition", "",
               "stage 3: gives each node an engine and cuts the graph into subgraphs"},
    ProgramRow{"subgraph-optimize", "sluice-subgraph-optimize", "",
               "stage 4: lowers every subgraph to kernels of its engine"},
    ProgramRow{"build", "sluice-build", "",
               "stage 5: plans memory and tasks, writes the compiled model"},
    ProgramRow{"show", "sluice-show", "", "prints a graph or a compiled model as text"},
    ProgramRow{"as", "sluice-as", "", "turns that text back into a file"},
    ProgramRow{"verify", "sluice-verify", "", "checks that a file keeps the promise of its level"},
    ProgramRow{"eval", "sluice-eval", "", "computes a graph's outputs with the reference kernels"},
    ProgramRow{"diff", "sluice-diff", "", "compares two graphs"},
    ProgramRow{"bisect", "sluice-bisect", "",
               "finds the first pass of a compile that changes a model's values"},
    ProgramRow{"reduce", "sluice-reduce", "",
               "finds a smaller model for which a command still fails"},
    ProgramRow{"rules", "sluice-rules", "",
               "checks rules of one's own, and says where they match or why they do not"},
    ProgramRow{"pass-host", "sluice-pass-host", "",
               "runs passes of one's own for a stage; says what a plugin in C++ is compiled with"},
    ProgramRow{"plan-memory", "sluice-plan-memory", "",
               "gives the buffers of a file offsets in one arena"},
};

bool is_executable(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  const std::string_view whole(path, length < 0 ? 0 : static_cast<size_t>(length));
  return std::string(whole.substr(0, whole.rfind('/') + 1));
}

}  // namespace

std::span<const ProgramRow> program_table() { return kTable; }

const ProgramRow* find_verb(std::string_view verb) {
  const auto* row = std::find_if(kTable.begin(), kTable.end(),
                                 [&](const ProgramRow& r) { return r.verb == verb; });
  return row == kTable.end() ? nullptr : row;
}

std::string_view nearest_verb(std::string_view verb) {
  std::vector<std::string_view> verbs;
  for (const ProgramRow& row : kTable) verbs.push_back(row.verb);
  const std::vector<std::string_view> nearest = near_names(verb, verbs);
  return nearest.empty() ? std::string_view() : nearest.front();
}

Result<std::string> find_program(const std::string& name) {
  std::string beside = own_folder() + name;
  if (is_executable(beside)) return beside;
  const char* path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? std::string_view() : std::string_view(path);
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    std::string candidate = std::string(folders.substr(0, end)) + "/" + name;
    if (end > 0 && is_executable(candidate)) return candidate;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return make_error(ErrorCode::kProgramMissing, "the program '{}' is neither in {} nor in PATH",
                    name, own_folder())
      .with_hint(
          "install sluice-compiler and sluice-runtime, or build all of Sluice, or add its folder "
          "to PATH");
}

}  // namespace sluice
