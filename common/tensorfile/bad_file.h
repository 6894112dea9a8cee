// The error of this folder's readers.
#pragma once

#include <string>
#include <utility>

#include "common/base/result.h"

namespace sluice {

template <typename... Args>
[[nodiscard]] Error bad_file(const std::string& path, fmt::format_string<Args...> format,
                             Args&&... args) {
  return Error{
      ErrorCode::kBadTensorFile, fmt::format(format, std::forward<Args>(args)...), {}, path};
}

}  // namespace sluice
