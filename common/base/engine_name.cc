#include "common/base/engine_name.h"

namespace sluice {

bool is_engine_name(std::string_view name) {
  constexpr size_t kMaxBytes = 64;
  return !name.empty() && name.size() <= kMaxBytes &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_+") == std::string_view::npos;
}

}  // namespace sluice
