#include "orchestrator/store/lazy_curl.h"

#include <dlfcn.h>

#include <optional>

namespace sluice {
namespace {

constexpr char kLibrary[] = "libcurl.so.4";

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<Curl> open() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  Curl curl{};
  const bool is_whole = library != nullptr && find(library, "curl_easy_init", curl.easy_init) &&
                        find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                        find(library, "curl_easy_reset", curl.easy_reset) &&
                        find(library, "curl_easy_setopt", curl.easy_setopt) &&
                        find(library, "curl_easy_perform", curl.easy_perform) &&
                        find(library, "curl_easy_strerror", curl.easy_strerror) &&
                        find(library, "curl_slist_append", curl.slist_append) &&
                        find(library, "curl_slist_free_all", curl.slist_free_all);
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
