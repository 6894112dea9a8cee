// The processes in which a stage has passes of users run: one for programs, one for Python and
// plugins. Each is started when it is first needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/pass.h"
#include "common/passes_host/inherited_hosts.h"
#include "common/passes_host/pass_file.h"
#include "common/passes_host/pass_host.h"

namespace sluice {

class PassHosts {
 public:
  // Errors: kBadOption.
  static Result<PassHosts> make(const Options& options);

  // Names a file that run() may be asked for. Returns its digest.
  Result<PassFile> add(const std::string& option);
  // Returns true when it changed the module. Errors: those of PassHost::ask and take_graph.
  Result<bool> run(const PassFile& pass, Module& module, std::vector<RuleCount>& counts);

 private:
  Result<PassHost*> host_of(PassKind kind, const Module& module);
  Result<bool> ask(const PassFile& pass, Module& module, std::vector<RuleCount>& counts);

  std::vector<std::string> programs_, code_;  // files
  std::optional<InheritedHosts> inherited_;
  std::optional<PassHost> program_host_, code_host_;
  uint64_t seconds_ = 0, memory_bytes_ = 0;
  std::string store_;
};

}  // namespace sluice
