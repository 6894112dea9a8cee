#include "common/wire/endpoint.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "common/base/descriptor.h"

namespace sluice {
namespace {

constexpr std::string_view kIpc = "ipc://", kTcp = "tcp://";

Error bad_endpoint(const std::string& text, const std::string& why) {
  return make_error(ErrorCode::kBadOption, "the endpoint '{}' {}", text, why)
      .with_hint(
          "endpoints are ipc://PATH, or tcp://HOST:PORT with a number or, to listen, '*' for PORT");
}

// Removes the mapping of "[::ffff:127.0.0.1]", which ZeroMQ prints for IPv4 addresses of dual-stack
// sockets.
std::string without_mapping(const std::string& host) {
  constexpr std::string_view kMapped = "[::ffff:";
  return host.starts_with(kMapped) && host.back() == ']'
             ? host.substr(kMapped.size(), host.size() - kMapped.size() - 1)
             : host;
}

bool is_address(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return true;
  return host.size() > 2 && host.front() == '[' && host.back() == ']' &&
         inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six) == 1;
}

bool is_loopback(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return is_address(host) &&
         inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&six);
}

// Addresses that stand for all of the machine: nobody can connect to them.
bool is_any_address(const std::string& host) { return host == "0.0.0.0" || host == "[::]"; }

// Of a machine or of an interface. What is all digits and dots would be an address.
bool is_name(const std::string& host) {
  constexpr size_t kMaxName = 253;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !host.empty() && host.size() <= kMaxName && host.front() != '-' && host.front() != '.' &&
         std::any_of(host.begin(), host.end(), is_letter) &&
         std::all_of(host.begin(), host.end(), [&](char c) {
           return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
         });
}

Result<void> check_host(const std::string& text, const std::string& host, Reach reach) {
  if (is_loopback(host)) return {};
  if (reach == Reach::kThisMachine) {
    return make_error(ErrorCode::kBadOption,
                      "the endpoint '{}' is open to other machines, and there are no keys", text)
        .with_hint(
            "sluice farm keygen makes keys, docs/farm.md; without them endpoints are "
            "ipc://PATH or tcp://127.0.0.1:PORT");
  }
  const bool is_good = reach == Reach::kListen
                           ? host == "*" || is_address(host) || is_name(host)
                           : (is_address(host) && !is_any_address(host)) || is_name(host);
  if (is_good) return {};
  return bad_endpoint(text, reach == Reach::kListen
                                ? "names no address and no interface of this machine"
                                : "names no machine");
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  return text == "*" ||
         (code == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535);
}

}  // namespace

Result<std::string> parse_endpoint(const std::string& text, Reach reach) {
  if (text.starts_with(kIpc)) {
    const std::string path = text.substr(kIpc.size());
    if (path.empty() || path[0] == '@' || path == "*") return bad_endpoint(text, "names no file");
    if (path.size() >= sizeof(sockaddr_un::sun_path))
      return bad_endpoint(text, "is too long: sockets have paths of at most 107 bytes");
    return text;
  }
  if (!text.starts_with(kTcp)) return bad_endpoint(text, "is neither ipc:// nor tcp://");
  const size_t colon = text.rfind(':');
  const std::string host =
      without_mapping(text.substr(kTcp.size(), std::max(colon, kTcp.size()) - kTcp.size()));
  const bool can_be_any = reach != Reach::kConnect;
  if (colon < kTcp.size() || !is_port(std::string_view(text).substr(colon + 1)) ||
      (text.ends_with('*') && !can_be_any))
    return bad_endpoint(text, "has no port from 1 to 65535");
  if (host == "localhost") return "tcp://127.0.0.1" + text.substr(colon);
  SLUICE_TRY(check_host(text, host, reach));
  return fmt::format("{}{}{}", kTcp, host, text.substr(colon));
}

std::string readable_endpoint(const std::string& endpoint) {
  if (!endpoint.starts_with(kTcp)) return endpoint;
  const size_t colon = endpoint.rfind(':');
  return std::string(kTcp) + without_mapping(endpoint.substr(kTcp.size(), colon - kTcp.size())) +
         endpoint.substr(colon);
}

std::string ipc_path(const std::string& endpoint) {
  return endpoint.starts_with(kIpc) ? endpoint.substr(kIpc.size()) : std::string();
}

Result<void> check_unused(const std::string& endpoint) {
  const std::string path = ipc_path(endpoint);
  struct stat status{};
  if (path.empty() || ::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode))
    return make_error(ErrorCode::kIo, "cannot listen at '{}': a file of another kind stands there",
                      endpoint);
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const bool refused =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
      errno == ECONNREFUSED;
  if (refused) return {};  // left by a process that was killed
  return make_error(ErrorCode::kIo, "cannot listen at '{}': another process does", endpoint);
}

}  // namespace sluice
