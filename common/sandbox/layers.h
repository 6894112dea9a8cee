// The layers of a sandbox that hold.
#pragma once

#include <string>

namespace sluice {

struct Layers {
  bool limits = false;
  bool calls = false;                 // seccomp
  int files = 0;                      // the version of Landlock; 0: none
  bool network = false, ipc = false;  // namespaces

  explicit operator bool() const { return limits || files > 0; }
  bool operator==(const Layers&) const = default;
};

// Returns "rlimits, seccomp, landlock 7, network namespace, IPC namespace".
std::string layers_text(const Layers& layers);
// Returns what is not held back because of missing layers; empty when all is.
std::string missing_text(const Layers& layers);

}  // namespace sluice
