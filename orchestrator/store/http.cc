#include "orchestrator/store/http.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "common/base/release.h"
#include "orchestrator/process/process.h"
#include "orchestrator/store/lazy_curl.h"

namespace sluice {
namespace {

constexpr long kConnectMs = 2000;
constexpr long kStallSeconds = 10;
constexpr long kStallBytes = 8192;                          // a second; slower is no use
constexpr uint64_t kMaxWithoutLength = uint64_t{64} << 20;  // of a body without a length
constexpr uint64_t kMaxIgnored = uint64_t{1} << 20;

std::optional<uint64_t> number_from(std::string_view text) {
  uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() ? std::optional(number) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const size_t end = text.find_last_not_of(" \t\r\n");
  return end == std::string_view::npos ? "" : text.substr(begin, end + 1 - begin);
}

// What has come of an answer, and where its body goes.
class Reception {
 public:
  explicit Reception(const HttpTarget* target, uint64_t has = 0) : target_(target), has_(has) {}

  void take_line(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // of an answer; one that is provisional may come before it
      status = static_cast<int>(
          number_from(line.substr(std::min(line.find(' ') + 1, line.size()))).value_or(0));
      etag_.clear();
      length_.reset();
      start_.reset();
      return;
    }
    const size_t colon = std::min(line.find(':'), line.size());
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::string_view value = trimmed(line.substr(std::min(colon + 1, line.size())));
    if (name == "etag" && value.starts_with('"')) etag_ = value;  // a weak one is of no use
    if (name == "content-length") length_ = number_from(value);
    if (name == "content-range" && value.starts_with("bytes "))
      start_ = number_from(value.substr(6));
  }

  // Returns false when the transfer is to end; `failure` then says why.
  bool take_bytes(std::span<const char> bytes) {
    if (!is_wanted()) {
      ignored_ += bytes.size();
      return ignored_ <= kMaxIgnored || fail("it sends too much with its answer");
    }
    if (!has_begun_ && !begin()) return false;
    if (bytes.size() > end_ - at_)
      return fail(fmt::format("it sends more than {} bytes", end_ - first_));
    while (!bytes.empty()) {
      const ssize_t written =
          ::pwrite(target_->file, bytes.data(), bytes.size(), static_cast<off_t>(at_));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return fail(std::strerror(errno));
      at_ += static_cast<uint64_t>(written);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return true;
  }

  // An empty body has no bytes that begin it.
  bool finish() { return !is_wanted() || has_begun_ || begin(); }
  bool has_bytes() const { return has_begun_ && at_ > first_; }

  int status = 0;
  std::string failure;

 private:
  bool is_wanted() const { return target_ != nullptr && (status == 200 || status == 206); }

  bool begin() {
    has_begun_ = true;
    first_ = at_ = status == 206 ? has_ : 0;
    if (status == 206 && (has_ == 0 || start_ != has_)) return fail("it sends another range");
    if (status == 200) {
      if (::ftruncate(target_->file, 0) != 0) return fail(std::strerror(errno));
      if (target_->begins) target_->begins(etag_);
    }
    const uint64_t limit = std::min(target_->max_bytes, first_ + free_bytes());
    const uint64_t left = limit - std::min(first_, limit);
    if (length_ && *length_ > left) return fail(fmt::format("its {} bytes are too many", *length_));
    end_ = first_ + length_.value_or(std::min(kMaxWithoutLength, left));
    return true;
  }

  // Memory files have no file system to fill.
  uint64_t free_bytes() const {
    struct statvfs status{};
    if (::fstatvfs(target_->file, &status) != 0 || status.f_blocks == 0) return kMaxWithoutLength;
    return uint64_t{status.f_bavail} * status.f_frsize;
  }

  bool fail(std::string text) {
    failure = std::move(text);
    return false;
  }

  const HttpTarget* target_;
  uint64_t has_;  // bytes of the file before
  std::string etag_;
  std::optional<uint64_t> length_, start_;
  bool has_begun_ = false;
  uint64_t first_ = 0, at_ = 0, end_ = 0;  // of this body in the file
  uint64_t ignored_ = 0;
};

struct Source {
  int file = -1;
  uint64_t at = 0;
};

// ---- called by libcurl

size_t on_line(char* data, size_t size, size_t count, void* reception) {
  static_cast<Reception*>(reception)->take_line({data, size * count});
  return size * count;
}

size_t on_bytes(char* data, size_t size, size_t count, void* reception) {
  const bool goes_on = static_cast<Reception*>(reception)->take_bytes({data, size * count});
  return goes_on ? size * count : CURL_WRITEFUNC_ERROR;
}

size_t on_read(char* data, size_t size, size_t count, void* source) {
  auto& from = *static_cast<Source*>(source);
  const ssize_t bytes = ::pread(from.file, data, size * count, static_cast<off_t>(from.at));
  if (bytes < 0) return CURL_READFUNC_ABORT;
  from.at += static_cast<uint64_t>(bytes);
  return static_cast<size_t>(bytes);
}

int on_seek(void* source, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Source*>(source)->at = static_cast<uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

// The stages, which run meanwhile, do not inherit the connection.
int on_socket(void*, curl_socket_t socket, curlsocktype) {
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  return CURL_SOCKOPT_OK;
}

int on_progress(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return interrupted() ? 1 : 0;
}

}  // namespace

struct HttpClient::Connection {
  const Curl& curl;
  CURL* handle;
  RemoteUrl url;
  curl_slist* headers = nullptr;
  char text[CURL_ERROR_SIZE] = {};

  Connection(const Curl& functions, const RemoteUrl& where)
      : curl(functions), handle(functions.easy_init()), url(where) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    forget_headers();
    if (handle != nullptr) curl.easy_cleanup(handle);
  }

  template <typename Value>
  void set(CURLoption option, Value value) {
    static_cast<void>(curl.easy_setopt(handle, option, value));
  }

  void add_header(const std::string& line) {
    headers = curl.slist_append(headers, line.c_str());
    set(CURLOPT_HTTPHEADER, headers);
  }

  void forget_headers() {
    curl.slist_free_all(headers);
    headers = nullptr;
  }

  // Prepares a request; the connection to the server stays.
  void begin(const std::string& name) {
    curl.easy_reset(handle);
    forget_headers();
    set(CURLOPT_URL, (url.base + name).c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_USERAGENT, fmt::format("sluice/{}", kRelease).c_str());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
    set(CURLOPT_LOW_SPEED_LIMIT, kStallBytes);
    set(CURLOPT_LOW_SPEED_TIME, kStallSeconds);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &on_progress);
    set(CURLOPT_SOCKOPTFUNCTION, &on_socket);
    set(CURLOPT_HEADERFUNCTION, &on_line);
    set(CURLOPT_WRITEFUNCTION, &on_bytes);
    set(CURLOPT_ERRORBUFFER, &text[0]);
    if (url.user.empty() && url.password.empty()) {
      set(CURLOPT_NETRC, long{CURL_NETRC_OPTIONAL});
    } else {
      set(CURLOPT_USERNAME, url.user.c_str());
      set(CURLOPT_PASSWORD, url.password.c_str());
    }
  }

  HttpAnswer perform(Reception& reception) {
    set(CURLOPT_HEADERDATA, &reception);
    set(CURLOPT_WRITEDATA, &reception);
    text[0] = 0;
    const CURLcode code = curl.easy_perform(handle);
    if (code == CURLE_OK && reception.finish()) return {.status = reception.status, .failure = {}};
    HttpAnswer answer{.status = reception.status, .failure = reception.failure};
    if (!answer.failure.empty()) return answer;
    answer.failure = text[0] != 0 ? text : curl.easy_strerror(code);
    answer.is_cut = code != CURLE_OPERATION_TIMEDOUT && code != CURLE_ABORTED_BY_CALLBACK &&
                    reception.has_bytes();
    return answer;
  }
};

HttpClient::HttpClient(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::create(const RemoteUrl& url) {
  SLUICE_ASSIGN(const Curl* const curl, load_curl());
  auto connection = std::make_unique<Connection>(*curl, url);
  if (connection->handle == nullptr)
    return make_error(ErrorCode::kIo, "libcurl cannot be initialized");
  return HttpClient(std::move(connection));
}

HttpAnswer HttpClient::get(const std::string& name, const HttpTarget& target) {
  const off_t has = target.etag.empty() ? 0 : ::lseek(target.file, 0, SEEK_END);
  Reception reception(&target, static_cast<uint64_t>(std::max<off_t>(has, 0)));
  connection_->begin(name);
  if (has > 0) {
    connection_->set(CURLOPT_RANGE, fmt::format("{}-", has).c_str());
    connection_->add_header("If-Range: " + target.etag);
  }
  return connection_->perform(reception);
}

HttpAnswer HttpClient::head(const std::string& name) {
  Reception reception(nullptr);
  connection_->begin(name);
  connection_->set(CURLOPT_NOBODY, 1L);
  return connection_->perform(reception);
}

HttpAnswer HttpClient::put(const std::string& name, int file, uint64_t bytes, bool if_absent) {
  Reception reception(nullptr);
  Source source{.file = file};
  connection_->begin(name);
  connection_->set(CURLOPT_UPLOAD, 1L);
  connection_->set(CURLOPT_READFUNCTION, &on_read);
  connection_->set(CURLOPT_READDATA, &source);
  connection_->set(CURLOPT_SEEKFUNCTION, &on_seek);
  connection_->set(CURLOPT_SEEKDATA, &source);
  connection_->set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(bytes));
  connection_->add_header("Content-Type: application/octet-stream");
  if (if_absent) connection_->add_header("If-None-Match: *");
  return connection_->perform(reception);
}

}  // namespace sluice
