// seccomp: the system calls that a job may not make. They fail with EPERM, the job goes on.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace sluice {

class CallFilter {
 public:
  CallFilter() = default;
  // program: the only descriptor that may be executed. Empty when libseccomp cannot be loaded.
  static CallFilter make(int program);

  bool is_empty() const { return instructions_.empty(); }
  // Enforces it for the calling process, for good; no_new_privs must be set. Is safe in a signal
  // handler. Returns false when that fails.
  bool enforce() noexcept;

 private:
  std::vector<sock_filter> instructions_;
};

}  // namespace sluice
