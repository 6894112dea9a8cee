#include "common/sandbox/namespaces.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace sluice {
namespace {

// A service of root reads and writes the files of others; Landlock says which.
constexpr uint64_t kKept = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER;
constexpr int kMaxCapability = 63;

void drop_privileges() noexcept {
  for (int each = 0; each <= kMaxCapability; ++each)
    if ((kKept >> each & 1) == 0) ::prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return;
  for (__user_cap_data_struct& set : sets) {
    const uint32_t kept = &set == sets ? static_cast<uint32_t>(kKept) : 0;
    set.effective &= kept;
    set.permitted &= kept;
    set.inheritable = 0;
  }
  ::syscall(SYS_capset, &header, sets);
}

}  // namespace

void enter_namespaces(Layers& layers) noexcept {
  constexpr int kBoth = CLONE_NEWNET | CLONE_NEWIPC;
  // With privileges no user namespace is needed, in which those over files would be lost.
  if (::unshare(kBoth) == 0 || ::unshare(CLONE_NEWUSER | kBoth) == 0) {
    layers.network = layers.ipc = true;
  }
  drop_privileges();
}

}  // namespace sluice
