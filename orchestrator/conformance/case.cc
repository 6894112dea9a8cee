#include "orchestrator/conformance/case.h"

#include <algorithm>
#include <filesystem>

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Returns "input_0.pb", "input_1.pb", … as long as they exist.
std::vector<std::string> numbered_files(const fs::path& folder, const std::string& stem) {
  std::vector<std::string> paths;
  while (true) {
    const fs::path path = folder / fmt::format("{}_{}.pb", stem, paths.size());
    if (!fs::exists(path)) return paths;
    paths.push_back(path);
  }
}

std::vector<DataSet> find_data(const fs::path& folder) {
  std::vector<fs::path> sets;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  }
  std::sort(sets.begin(), sets.end(),
            [](const fs::path& a, const fs::path& b) {  // set 10 after set 9
              const std::string x = a.filename(), y = b.filename();
              return x.size() != y.size() ? x.size() < y.size() : x < y;
            });
  std::vector<DataSet> data;
  for (const fs::path& set : sets)
    data.push_back({numbered_files(set, "input"), numbered_files(set, "output")});
  return data;
}

}  // namespace

Result<std::vector<Case>> find_cases(const std::string& root) {
  std::error_code error;
  std::vector<std::string> folders;
  if (fs::exists(fs::path(root) / "model.onnx", error)) folders.push_back(root);
  for (auto at = fs::recursive_directory_iterator(root, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->is_directory(error) && fs::exists(at->path() / "model.onnx", error))
      folders.push_back(at->path());
  }
  if (error)
    return make_error(ErrorCode::kNotFound, "cannot search the folder '{}': {}", root,
                      error.message());
  std::sort(folders.begin(), folders.end());
  std::vector<Case> cases;
  for (const std::string& folder : folders) {
    cases.push_back(
        {fs::path(folder).lexically_relative(root).string(), folder, find_data(folder)});
  }
  return cases;
}

const char* verdict_name(Verdict verdict) {
  constexpr const char* kNames[kVerdictCount] = {"pass", "fail", "unsupported", "crash"};
  return kNames[static_cast<int>(verdict)];
}

}  // namespace sluice
