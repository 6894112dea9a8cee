#include "common/base/pages.h"

#include <filesystem>

namespace sluice {

std::string page_path(const std::string& name) {
  std::error_code failed;
  const auto program = std::filesystem::canonical("/proc/self/exe", failed);
  if (!failed) {
    const auto prefix = program.parent_path().parent_path();
    const auto page = prefix / "share" / "doc" / "sluice" / name;
    if (std::filesystem::exists(page, failed)) return page.string();
  }
  return "docs/" + name;
}

}  // namespace sluice
