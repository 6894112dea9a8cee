// libseccomp, opened when the first sandbox is made, so that programs without one start as fast as
// before.
#pragma once

namespace sluice {

// Returns false when the library cannot be loaded. Must return true before its functions are used.
bool load_seccomp();

}  // namespace sluice
