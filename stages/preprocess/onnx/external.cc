#include "stages/preprocess/onnx/external.h"

#include <filesystem>

namespace sluice {
namespace {

namespace fs = std::filesystem;

bool is_inside(const fs::path& path, const fs::path& folder) {
  const fs::path inside = path.lexically_relative(folder);
  return !folder.empty() && !inside.empty() && *inside.begin() != "..";
}

// Returns an empty path when there is none.
fs::path real_path(const fs::path& path) {
  std::error_code failed;
  fs::path real = fs::weakly_canonical(path, failed);
  return failed ? fs::path() : real;
}

bool stays_by_name(const fs::path& location) {
  const fs::path plain = location.lexically_normal();
  return !plain.empty() && plain.is_relative() && *plain.begin() != "..";
}

}  // namespace

Result<std::string> find_external_file(const ModelFile& model, const std::string& location,
                                       const std::string& external_dir) {
  const fs::path folder = real_path(model.folder);
  const fs::path path =
      // An absolute location replaces the folder.
      location.empty() ? fs::path() : real_path(folder / location);
  const bool is_beside =
      is_inside(path, folder) ||
      (!model.path.empty() && is_inside(path, real_path(model.path).parent_path()));
  const bool is_named = !external_dir.empty() && is_inside(path, real_path(external_dir));
  if (!is_named && !(stays_by_name(location) && is_beside)) {
    return make_error(ErrorCode::kBadModel,
                      "it lies in '{}', which is not inside the model's folder", location)
        .with_hint("--external-dir DIR allows files of one other folder");
  }
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return make_error(ErrorCode::kMissingSegment, "'{}' is no regular file", location);
  }
  return path.string();
}

}  // namespace sluice
