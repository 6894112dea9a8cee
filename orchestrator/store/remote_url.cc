#include "orchestrator/store/remote_url.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace sluice {
namespace {

constexpr std::string_view kSchemes[] = {"http://", "https://"};

bool is_plain(unsigned char c) {
  return std::isalnum(c) != 0 ||
         std::string_view("-._~").find(static_cast<char>(c)) != std::string_view::npos;
}

std::string encoded(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += is_plain(byte) ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return result;
}

int digit_of(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const size_t at = kDigits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

// Returns the text with "%41" and the like as bytes; nothing when it cannot be that.
std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit_of(text[i + 1]), low = digit_of(text[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    result += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return result;
}

std::string_view scheme_of(std::string_view text) {
  const auto* found = std::ranges::find_if(
      kSchemes, [&](std::string_view scheme) { return text.starts_with(scheme); });
  return found == std::end(kSchemes) ? std::string_view() : *found;
}

Error no_url(std::string_view text) {
  const size_t at = text.rfind('@');  // nothing before it is shown: it may be a password
  return make_error(ErrorCode::kBadOption,
                    "--remote is '{}', expected http:// or https:// with a host and a path",
                    text.substr(at == std::string_view::npos ? 0 : at + 1));
}

bool is_of_url(unsigned char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; }

}  // namespace

std::string RemoteUrl::with_login() const {
  if (user.empty() && password.empty()) return base;
  const size_t host = scheme_of(base).size();
  return fmt::format("{}{}:{}@{}", base.substr(0, host), encoded(user), encoded(password),
                     base.substr(host));
}

Result<RemoteUrl> parse_remote_url(const std::string& text) {
  const std::string_view scheme = scheme_of(text);
  if (scheme.empty() || !std::ranges::all_of(text, is_of_url)) return no_url(text);
  std::string_view host = std::string_view(text).substr(scheme.size());
  const std::string_view path = host.substr(std::min(host.find('/'), host.size()));
  host.remove_suffix(path.size());
  RemoteUrl url;
  if (const size_t at = host.rfind('@'); at != std::string_view::npos) {
    const std::string_view login = host.substr(0, at);
    const size_t colon = std::min(login.find(':'), login.size());
    const auto user = decoded(login.substr(0, colon));
    const auto password = decoded(login.substr(std::min(colon + 1, login.size())));
    if (!user || !password) return no_url(text);
    url.user = *user;
    url.password = *password;
    host.remove_prefix(at + 1);
  }
  if (host.empty()) return no_url(text);
  url.base = fmt::format("{}{}{}", scheme, host, path);
  while (url.base.ends_with('/')) url.base.pop_back();
  return url;
}

}  // namespace sluice
