#include "common/wire/security.h"

#include "common/wire/endpoint.h"

namespace sluice {
namespace {

Result<void> check_pair(const std::string& key, const std::string& other, const char* other_name,
                        const char* other_is) {
  if (key.empty() == other.empty()) return {};
  return make_error(ErrorCode::kUsage, "{} is given without {}", key.empty() ? other_name : "--key",
                    key.empty() ? "--key" : other_name)
      .with_hint(fmt::format("--key names our own secret key, {} {}; sluice farm keygen makes keys",
                             other_name, other_is));
}

}  // namespace

Result<std::string> listening_endpoint(const std::string& text, const ListenerKeys& keys) {
  SLUICE_TRY(check_pair(keys.key, keys.allowed, "--allow-keys",
                        "the folder of the public keys that may connect"));
  SLUICE_ASSIGN(std::string place,
                parse_endpoint(text, keys.key.empty() ? Reach::kThisMachine : Reach::kListen));
  if (!keys.key.empty() && keys.is_insecure)
    return make_error(ErrorCode::kUsage, "--insecure is for those without --key");
  if (keys.key.empty() && !keys.is_insecure && ipc_path(place).empty()) {
    return make_error(ErrorCode::kBadOption,
                      "at '{}' every user of this machine could connect, for there are no keys",
                      text)
        .with_hint(
            "sluice farm keygen makes keys for --key and --allow-keys; --insecure does without; "
            "ipc://PATH is for its owner alone");
  }
  return place;
}

Result<std::string> connecting_endpoint(const std::string& text, const ConnectorKeys& keys) {
  SLUICE_TRY(check_pair(keys.key, keys.peer + keys.peer_text, "--peer-key",
                        "the public key of whom we connect to"));
  return parse_endpoint(text, keys.key.empty() ? Reach::kThisMachine : Reach::kConnect);
}

}  // namespace sluice
