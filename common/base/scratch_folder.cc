#include "common/base/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace sluice {

Result<ScratchFolder> ScratchFolder::create() {
  const char* parent = std::getenv("TMPDIR");
  std::string path =
      fmt::format("{}/sluice-XXXXXX", parent != nullptr && *parent != '\0' ? parent : "/tmp");
  if (mkdtemp(path.data()) == nullptr) {
    return make_error(ErrorCode::kIo, "cannot make a temporary folder '{}': {}", path,
                      std::strerror(errno));
  }
  return ScratchFolder(std::move(path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace sluice
