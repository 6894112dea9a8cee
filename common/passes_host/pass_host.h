// The stage's side of a process that runs passes of users (serve_passes.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "common/passes_host/pass_sandbox.h"
#include "common/passes_host/serve_passes.h"

namespace sluice {

struct AnsweredPass {
  PassAnswer answer;
  std::vector<std::byte> graph;  // where it changed
};

class PassHost {
 public:
  // Starts sluice-pass-host. Errors: kProgramMissing, kIo.
  static Result<PassHost> start(const std::vector<std::string>& files, const PassLimits& limits);
  // Uses one that another process has started.
  PassHost(Descriptor to, Descriptor from) : to_(std::move(to)), from_(std::move(from)) {}
  PassHost(PassHost&& other) noexcept;
  PassHost& operator=(PassHost&&) = delete;
  // Ends it with all that it runs.
  ~PassHost();

  // Has a pass run. Errors: that of the pass; kLimit, when it has not ended after so many seconds,
  // or makes more bytes; kPassFailed, when the process ends or answers what is no answer.
  Result<AnsweredPass> ask(const PassRequest& request, std::span<const std::byte> graph,
                           uint64_t seconds, uint64_t max_bytes);

 private:
  Error ended() const;

  Descriptor to_, from_;
  pid_t process_ = 0;
};

}  // namespace sluice
