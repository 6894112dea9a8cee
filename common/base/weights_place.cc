#include "common/base/weights_place.h"

#include <string_view>

#include "common/base/files.h"

namespace sluice {
namespace {

constexpr const char* kFolder = "weight";
constexpr std::string_view kEnding = ".om";

}  // namespace

std::string WeightsPlace::shared_file(const Digest& digest) const {
  return fmt::format("{}/weight_{}", folder, digest_hex(digest));
}

std::string WeightsPlace::combined_file() const {
  return fmt::format("{}/{}_weight_combined", folder, name);
}

std::string WeightsPlace::index_file() const {
  return fmt::format("{}/{}_weight.json", folder, name);
}

WeightsPlace weights_place(const std::string& path) {
  const size_t slash = path.rfind('/') + 1;  // npos + 1 is 0
  std::string name = path.substr(slash);
  if (name.size() > kEnding.size() && name.ends_with(kEnding))
    name.resize(name.size() - kEnding.size());
  return {path.substr(0, slash) + kFolder, std::move(name)};
}

Result<void> check_has_weights_place(const std::string& path) {
  if (path != "-" && !is_special_file(path) && !is_path_of_descriptor(path)) return {};
  return make_error(ErrorCode::kUsage,
                    "--external-weight puts files beside the compiled model, and {} has no folder",
                    path == "-" ? "standard output" : fmt::format("'{}'", path))
      .with_hint("give -o FILE, or --weights-beside FILE, the name that the model gets later");
}

}  // namespace sluice
