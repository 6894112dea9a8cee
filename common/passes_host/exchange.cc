#include "common/passes_host/exchange.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sluice {
namespace {

void set_nonblocking(int fd) {
  if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

bool is_later() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

void Exchange::write_some() {
  while (*to && written_ < head.size() + body.size()) {
    const bool in_head = written_ < head.size();
    const auto left = in_head ? head.subspan(written_) : body.subspan(written_ - head.size());
    const ssize_t count = ::write(to->get(), left.data(), left.size());
    if (count < 0 && is_later()) return;
    if (count < 0) return to->reset();  // the other process reads no further, which it may
    written_ += static_cast<size_t>(count);
  }
  if (!keeps_open) to->reset();
}

std::optional<Exchange::End> Exchange::read_some(std::vector<std::byte>& received) {
  constexpr size_t kPiece = 1 << 18;
  const size_t before = received.size();
  received.resize(before + kPiece);
  const ssize_t count = ::read(from, received.data() + before, kPiece);
  received.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0 && is_later()) return std::nullopt;
  if (count <= 0) return End::kClosed;
  if (received.size() > max_bytes) return End::kTooMuch;
  if (is_complete && is_complete(received)) return End::kComplete;
  return std::nullopt;
}

Exchange::End Exchange::run(std::vector<std::byte>& received) {
  set_nonblocking(to->get());
  set_nonblocking(from);
  bool has_ended = process < 0;
  while (true) {
    int wait = -1;
    if (deadline) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      if (left <= 0) return End::kTime;
      wait = static_cast<int>(std::min<int64_t>(left + 1, 1 << 30));
    }
    const bool is_writing = *to && written_ < head.size() + body.size();
    pollfd entries[] = {{is_writing ? to->get() : -1, POLLOUT, 0},
                        {from, POLLIN, 0},
                        {watched, 0, 0},
                        {has_ended ? -1 : process, POLLIN, 0}};
    if (::poll(entries, std::size(entries), wait) < 0) continue;  // a signal
    if (entries[2].revents != 0) return End::kAbandoned;
    if (entries[0].revents != 0 || (*to && !is_writing && !keeps_open)) write_some();
    if (entries[3].revents != 0) {
      has_ended = true;
      if (on_ended) on_ended();
    }
    if (entries[1].revents == 0) continue;
    if (const auto end = read_some(received)) return *end;
  }
}

}  // namespace sluice
