// Files of one HTTP server: fetched, asked for and put. No redirection is followed, and the
// certificates of https are verified.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/result.h"
#include "orchestrator/store/remote_url.h"

namespace sluice {

struct HttpAnswer {
  int status = 0;       // 0: none came
  std::string failure;  // why the transfer did not end well; empty: it did
  bool is_cut = false;  // it failed, not by its time, after bytes of the body had come
  bool has_come() const { return failure.empty(); }
};

// Where a body goes.
struct HttpTarget {
  int file = -1;           // open for reading and writing
  uint64_t max_bytes = 0;  // a longer body is a failure
  // The strong ETag of the object whose first bytes the file has; empty: what the file has is
  // replaced. Bytes of another object are replaced, too.
  std::string etag;
  // Is called before the first byte of a whole body, with its strong ETag, or nothing. May be
  // empty.
  std::function<void(const std::string& etag)> begins;
};

// One connection. Not for threads.
class HttpClient {
 public:
  // Errors: kIo when libcurl is not installed.
  static Result<HttpClient> create(const RemoteUrl& url);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Names begin with "/" and follow the URL. The bodies of answers other than 200 and 206 are
  // ignored.
  HttpAnswer get(const std::string& name, const HttpTarget& target);
  HttpAnswer head(const std::string& name);
  // Sends a file. if_absent: a server that has the name already answers 412, unless it ignores
  // conditions.
  HttpAnswer put(const std::string& name, int file, uint64_t bytes, bool if_absent);

 private:
  struct Connection;
  explicit HttpClient(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace sluice
