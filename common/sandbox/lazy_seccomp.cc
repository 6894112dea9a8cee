// The functions of seccomp.h that are used, each forwarding to the library's function of that name.
#include "common/sandbox/lazy_seccomp.h"

#include <seccomp.h>

#include "common/base/library_symbol.h"

namespace sluice {
namespace {

constexpr const char* kLibrary = "libseccomp.so.2";

void* library() {
  static void* const handle = open_library(kLibrary);
  return handle;
}

}  // namespace

bool load_seccomp() { return library() != nullptr; }

}  // namespace sluice

#define SLUICE_SECCOMP(type, name, parameters, arguments)                                 \
  extern "C" type name parameters {                                                       \
    static const auto function = sluice::library_symbol(sluice::library(), #name, &name); \
    return function arguments;                                                            \
  }

SLUICE_SECCOMP(scmp_filter_ctx, seccomp_init, (uint32_t action), (action))
SLUICE_SECCOMP(void, seccomp_release, (scmp_filter_ctx filter), (filter))
SLUICE_SECCOMP(int, seccomp_attr_set,
               (scmp_filter_ctx filter, scmp_filter_attr name, uint32_t value),
               (filter, name, value))
SLUICE_SECCOMP(int, seccomp_syscall_resolve_name, (const char* name), (name))
SLUICE_SECCOMP(int, seccomp_rule_add_array,
               (scmp_filter_ctx filter, uint32_t action, int call, unsigned count,
                const scmp_arg_cmp* arguments),
               (filter, action, call, count, arguments))
SLUICE_SECCOMP(int, seccomp_export_bpf, (const scmp_filter_ctx filter, int file), (filter, file))
