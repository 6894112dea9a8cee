#include "common/base/stop_signals.h"

#include <sys/resource.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace sluice {

Result<Descriptor> stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  Descriptor descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor)
    return make_error(ErrorCode::kIo, "cannot wait for signals: {}", std::strerror(errno));
  return descriptor;
}

void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace sluice
