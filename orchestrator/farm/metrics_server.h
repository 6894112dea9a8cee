// Metrics over HTTP, at GET /metrics: libmicrohttpd, without threads of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/result.h"

namespace sluice {

class MetricsServer {
 public:
  // place: "HOST:PORT" or "PORT", which is that of the loopback address. Errors: kBadOption, kIo.
  static Result<MetricsServer> listen(const std::string& place);
  MetricsServer(MetricsServer&&) noexcept;
  ~MetricsServer();

  int descriptor() const;  // readable when answer() has work
  // Answers those who have asked. text is called for each.
  void answer(const std::function<std::string()>& text);

 private:
  struct State;
  explicit MetricsServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice
