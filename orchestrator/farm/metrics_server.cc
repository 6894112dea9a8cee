#include "orchestrator/farm/metrics_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace sluice {

struct MetricsServer::State {
  ~State() {
    if (daemon != nullptr) ::MHD_stop_daemon(daemon);
  }
  MHD_Daemon* daemon = nullptr;
  const std::function<std::string()>* text = nullptr;
};

namespace {

constexpr char kType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr unsigned kMaxConnections = 512, kTimeoutSeconds = 5;

MHD_Result respond(MHD_Connection* connection, unsigned code, std::string text) {
  MHD_Response* response =
      ::MHD_create_response_from_buffer(text.size(), text.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  ::MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, kType);
  const MHD_Result queued = ::MHD_queue_response(connection, code, response);
  ::MHD_destroy_response(response);
  return queued;
}

MHD_Result handle(void* state, MHD_Connection* connection, const char* url, const char* method,
                  const char*, const char*, size_t*, void**) {
  const auto* text = *static_cast<const std::function<std::string()>**>(state);
  if (std::string_view(method) != "GET")
    return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
  if (std::string_view(url) != "/metrics" || text == nullptr)
    return respond(connection, MHD_HTTP_NOT_FOUND, "metrics are at /metrics\n");
  return respond(connection, MHD_HTTP_OK, (*text)());
}

Result<sockaddr_in> address_of(const std::string& place) {
  const size_t colon = place.rfind(':');
  const std::string host = colon == std::string::npos ? "127.0.0.1" : place.substr(0, colon);
  const std::string port = colon == std::string::npos ? place : place.substr(colon + 1);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  unsigned number = 0;
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool is_port = code == std::errc() && end == port.data() + port.size() && number <= 65535;
  if (!is_port || ::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    return make_error(ErrorCode::kBadOption,
                      "--metrics is '{}', expected PORT or ADDRESS:PORT, such as 9464", place);
  address.sin_port = htons(static_cast<uint16_t>(number));
  return address;
}

}  // namespace

MetricsServer::MetricsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
MetricsServer::MetricsServer(MetricsServer&&) noexcept = default;
MetricsServer::~MetricsServer() = default;

Result<MetricsServer> MetricsServer::listen(const std::string& place) {
  SLUICE_ASSIGN(const sockaddr_in address, address_of(place));
  auto state = std::make_unique<State>();
  state->daemon = ::MHD_start_daemon(
      MHD_USE_EPOLL, ntohs(address.sin_port), nullptr, nullptr, &handle, &state->text,
      MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, kMaxConnections,
      MHD_OPTION_CONNECTION_TIMEOUT, kTimeoutSeconds, MHD_OPTION_END);
  if (state->daemon == nullptr)
    return make_error(ErrorCode::kIo, "cannot listen at '{}' for --metrics: {}", place,
                      std::strerror(errno));
  return MetricsServer(std::move(state));
}

int MetricsServer::descriptor() const {
  return ::MHD_get_daemon_info(state_->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

void MetricsServer::answer(const std::function<std::string()>& text) {
  state_->text = &text;
  ::MHD_run(state_->daemon);
  state_->text = nullptr;
}

}  // namespace sluice
