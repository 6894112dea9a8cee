#include "common/passes_host/pass_kind.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "common/base/descriptor.h"
#include "common/base/files.h"

namespace sluice {
namespace {

bool is_shared_object(int file) {
  Elf64_Ehdr header{};
  return ::pread(file, &header, sizeof(header), 0) == sizeof(header) &&
         std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_DYN;
}

Error no_pass(const std::string& path, const char* why) {
  return make_error(ErrorCode::kBadOption, "'{}' {}, so it is no file of passes", path, why);
}

}  // namespace

Result<PassKind> pass_kind(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return file_error("open", path);
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed))
    return no_pass(path, "is a folder or device");
  if (path.ends_with(".py")) return PassKind::kPython;
  if (path.ends_with(".so")) {
    if (is_shared_object(file.get())) return PassKind::kPlugin;
    return no_pass(path, "is no shared object of this machine");
  }
  if (::access(path.c_str(), X_OK) == 0) return PassKind::kProgram;
  return no_pass(path, "is no executable, no *.py and no *.so")
      .with_hint("chmod +x makes a program of a script");
}

}  // namespace sluice
