// --remote: where a store over HTTP is, and who asks.
#pragma once

#include <string>

#include "common/base/result.h"

namespace sluice {

struct RemoteUrl {
  std::string base;            // "https://host/folder": no login, no "/" at its end
  std::string user, password;  // empty: none

  // Returns the URL as it was given, for another program of this machine. Messages show `base`.
  std::string with_login() const;
};

// Errors: kBadOption, whose message shows no login.
Result<RemoteUrl> parse_remote_url(const std::string& text);

}  // namespace sluice
