#include "stages/build/memory/largest_live.h"

#include <algorithm>

#include "common/base/count_text.h"
#include "fmt/format.h"

namespace sluice {

std::string largest_live(std::vector<NamedBytes> live) {
  constexpr size_t kNamed = 8;
  std::stable_sort(live.begin(), live.end(),
                   [](const NamedBytes& a, const NamedBytes& b) { return a.bytes > b.bytes; });
  std::string text;
  for (size_t i = 0; i < std::min(live.size(), kNamed); ++i)
    text += fmt::format("{}'{}' ({})", i == 0 ? "" : ", ", live[i].name,
                        count_text(live[i].bytes, "byte"));
  if (live.size() > kNamed) text += fmt::format(" and {} more", live.size() - kNamed);
  return text;
}

}  // namespace sluice
