#include "common/sandbox/system_calls.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/descriptor.h"
#include "common/sandbox/lazy_seccomp.h"

namespace sluice {
namespace {

constexpr const char* kDenied[] = {
    // network; a descriptor of a socket cannot come from outside either
    "socket", "socketpair", "socketcall", "bind", "connect", "listen", "accept", "accept4",
    "sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg", "io_uring_setup",
    "io_uring_enter", "io_uring_register",
    // other processes
    "fork", "vfork", "execve", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
    "process_mrelease", "kcmp", "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "tkill", "setsid",
    "setpgid", "setpriority", "move_pages", "migrate_pages",
    // the system
    "mount", "umount", "umount2", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount",
    "fspick", "mount_setattr", "pivot_root", "chroot", "unshare", "setns", "bpf", "perf_event_open",
    "keyctl", "add_key", "request_key", "userfaultfd", "fanotify_init", "name_to_handle_at",
    "open_by_handle_at", "init_module", "finit_module", "delete_module", "kexec_load",
    "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog",
    "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "sethostname", "setdomainname",
    "iopl", "ioperm", "vhangup", "nfsservctl", "lookup_dcookie", "personality",
    // users and limits
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid",
    "setfsgid", "capset", "setrlimit",
    // memory that no limit counts
    "memfd_create", "memfd_secret", "shmget", "shmat", "semget", "msgget", "mq_open", "mlockall",
    // what Landlock does not see: who may use a file, and when it was changed
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr",
    "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "setxattrat",
    "removexattrat", "utime", "utimes", "futimesat", "utimensat", "truncate", "mknod", "mknodat",
    "file_setattr"};

// Stands in the filter for the number of the process, which only the process itself knows.
constexpr uint32_t kOwnNumber = 0x5eed1d00;

scmp_arg_cmp equal_masked(unsigned argument, uint64_t mask, uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

scmp_arg_cmp differs(unsigned argument, uint64_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}

class FilterBuilder {
 public:
  FilterBuilder() : filter_(seccomp_init(SCMP_ACT_ALLOW)) {}
  FilterBuilder(const FilterBuilder&) = delete;
  FilterBuilder& operator=(const FilterBuilder&) = delete;
  ~FilterBuilder() {
    if (filter_ != nullptr) seccomp_release(filter_);
  }

  // A call that this machine does not have is skipped.
  void deny(const char* call, const std::vector<scmp_arg_cmp>& when = {}, int error = EPERM) {
    const int number = seccomp_syscall_resolve_name(call);
    if (number < 0 || filter_ == nullptr) return;
    const int added =
        seccomp_rule_add_array(filter_, SCMP_ACT_ERRNO(static_cast<uint32_t>(error)), number,
                               static_cast<unsigned>(when.size()), when.data());
    failed_ = failed_ || added != 0;
  }

  std::vector<sock_filter> instructions() {
    const Descriptor file(::memfd_create("sluice-filter", MFD_CLOEXEC));
    if (failed_ || filter_ == nullptr || !file ||
        seccomp_attr_set(filter_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)) != 0 ||
        seccomp_export_bpf(filter_, file.get()) != 0)
      return {};
    struct stat status{};
    ::fstat(file.get(), &status);
    std::vector<sock_filter> read(static_cast<size_t>(status.st_size) / sizeof(sock_filter));
    const size_t bytes = read.size() * sizeof(sock_filter);
    if (::pread(file.get(), read.data(), bytes, 0) != static_cast<ssize_t>(bytes)) return {};
    return read;
  }

 private:
  scmp_filter_ctx filter_;
  bool failed_ = false;
};

void deny_processes(FilterBuilder& filter, int program) {
  filter.deny("clone", {equal_masked(0, CLONE_THREAD, 0)});  // threads are allowed
  filter.deny("clone3", {}, ENOSYS);  // its flags lie in memory; glibc then calls clone
  for (const char* call : {"kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"})
    filter.deny(call, {differs(0, kOwnNumber)});
  // The program that this process becomes is executed through a descriptor above all that the
  // limit of descriptors allows, and is closed then: no later one can get this number.
  filter.deny("execveat", {differs(0, static_cast<uint64_t>(program))});
  filter.deny("execveat", {differs(4, AT_EMPTY_PATH)});
}

void deny_arguments(FilterBuilder& filter) {
  filter.deny("prlimit64", {differs(2, 0)});  // reading limits is allowed
  filter.deny("prctl", {equal_masked(0, ~0u, PR_SET_PDEATHSIG)});
  for (const uint64_t type : {MAP_SHARED, MAP_SHARED_VALIDATE})
    filter.deny("mmap", {equal_masked(3, MAP_ANONYMOUS | MAP_TYPE, MAP_ANONYMOUS | type)});
  for (const uint64_t request : {TIOCSTI, TIOCLINUX, TIOCSETD})
    filter.deny("ioctl", {equal_masked(1, ~0u, request)});
}

}  // namespace

CallFilter CallFilter::make(int program) {
  CallFilter made;
  if (!load_seccomp()) return made;
  FilterBuilder filter;
  for (const char* call : kDenied) filter.deny(call);
  deny_processes(filter, program);
  deny_arguments(filter);
  made.instructions_ = filter.instructions();
  return made;
}

bool CallFilter::enforce() noexcept {
  const auto own = static_cast<uint32_t>(::getpid());
  for (sock_filter& each : instructions_)
    if (each.k == kOwnNumber && each.code == (BPF_JMP | BPF_JEQ | BPF_K)) each.k = own;
  const sock_fprog program{static_cast<unsigned short>(instructions_.size()), instructions_.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace sluice
