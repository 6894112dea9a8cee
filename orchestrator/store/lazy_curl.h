// libcurl is opened by the programs that ask a server, when they do: it depends on thirty
// libraries.
#pragma once

#include <curl/curl.h>

#include "common/base/result.h"

namespace sluice {

// The functions of the library that are used, by their names.
struct Curl {
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
};

// Errors: kIo when the library is not installed.
Result<const Curl*> load_curl();

}  // namespace sluice
