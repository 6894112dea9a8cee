#include "orchestrator/store/lazy_curl.h"

#include <optional>

#include "common/base/library_symbol.h"

namespace sluice {
namespace {

constexpr char kLibrary[] = "libcurl.so.4";

std::optional<Curl> open() {
  void* const library = open_library(kLibrary);
  const auto find = [&](const char* name, auto& function) {
    function = library_symbol(library, name, function);
    return function != nullptr;
  };
  Curl curl{};
  const bool is_whole =
      library != nullptr && find("curl_easy_init", curl.easy_init) &&
      find("curl_easy_cleanup", curl.easy_cleanup) && find("curl_easy_reset", curl.easy_reset) &&
      find("curl_easy_setopt", curl.easy_setopt) && find("curl_easy_perform", curl.easy_perform) &&
      find("curl_easy_strerror", curl.easy_strerror) &&
      find("curl_slist_append", curl.slist_append) &&
      find("curl_slist_free_all", curl.slist_free_all);
  return is_whole ? std::optional(curl) : std::nullopt;
}

}  // namespace

Result<const Curl*> load_curl() {
  static const std::optional<Curl> curl = open();
  if (curl) return &*curl;
  return make_error(ErrorCode::kIo, "--remote needs {}, which cannot be loaded", kLibrary)
      .with_hint("install the package libcurl4");
}

}  // namespace sluice
