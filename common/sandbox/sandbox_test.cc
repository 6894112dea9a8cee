#include "common/sandbox/sandbox.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

constexpr int kNoSandbox = 100;  // exit code of a child that could not enter

struct End {
  int code = -1, signal = 0;
};

// Runs the body in a sandbox; its result is the exit code of the process.
End run_confined(const Sandbox& sandbox, const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    auto prepared = PreparedSandbox::prepare(sandbox, Confined::kBody);
    ::_exit(prepared && prepared->enter(-1) ? body() : kNoSandbox);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

// Returns the error of a call that failed, 0 of one that succeeded.
int error_of(long result) { return result < 0 ? errno : 0; }

int open_error(const std::string& path, int flags) {
  return error_of(::open(path.c_str(), flags | O_CLOEXEC, 0600));
}

// Returns what this machine offers, by other calls than those of the sandbox: one that the sandbox
// does not use is then missed.
Layers layers_of_machine() {
  Layers layers{.limits = true};
  layers.calls = ::access("/proc/sys/kernel/seccomp/actions_avail", F_OK) == 0 &&
                 ::dlopen("libseccomp.so.2", RTLD_NOW) != nullptr;
  constexpr long kCreateRules = 444;
  layers.files = static_cast<int>(std::max(0L, ::syscall(kCreateRules, nullptr, 0, 1)));
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kBoth = CLONE_NEWNET | CLONE_NEWIPC;
    ::_exit(::unshare(kBoth) == 0 || ::unshare(CLONE_NEWUSER | kBoth) == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  layers.network = layers.ipc = status == 0;
  return layers;
}

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(home_);
    ASSERT_TRUE(write_text(secret_, "secret"));
  }

  const Layers offered_ = layers_of_machine();
  TestFolder folder_;
  const std::string home_ = folder_.file("home"), secret_ = home_ + "/secret";
};

// The layers that a test is about must be those of this machine, not those of another.
#define SLUICE_NEEDS(layer, reason) \
  if (!(layer)) GTEST_SKIP() << "SKIPPED: " << (reason)

constexpr char kNoSeccomp[] = "this machine has no seccomp or no libseccomp";
constexpr char kNoLandlock[] = "this kernel has no Landlock";
constexpr char kNoNamespaces[] = "namespaces are not allowed here";

TEST_F(SandboxTest, ReadsOnlyWhatItIsGiven) {
  SLUICE_NEEDS(offered_.files, kNoLandlock);
  EXPECT_EQ(run_confined({}, [&] { return open_error(secret_, O_RDONLY); }).code, EACCES);
  EXPECT_EQ(run_confined({}, [&] { return open_error(home_, O_RDONLY); }).code, EACCES);
  EXPECT_EQ(run_confined({}, [&] { return open_error("/etc/passwd", O_RDONLY); }).code, EACCES);
  EXPECT_EQ(
      run_confined({.readable = {secret_}}, [&] { return open_error(secret_, O_RDONLY); }).code, 0);
  EXPECT_EQ(run_confined({.readable = {home_}}, [&] { return open_error(secret_, O_RDWR); }).code,
            EACCES);
}

TEST_F(SandboxTest, MapsWhatItReads) {
  const End end = run_confined({.readable = {home_}}, [&] {
    const auto file = MappedFile::open(secret_);
    return file && file->bytes().size() == 6 ? 0 : 1;
  });
  EXPECT_EQ(end.code, 0);
}

TEST_F(SandboxTest, WritesOnlyWhereItMay) {
  SLUICE_NEEDS(offered_.files, kNoLandlock);
  const std::string file = home_ + "/made", out = folder_.file("out");
  std::filesystem::create_directories(out);
  const Sandbox sandbox{.readable = {home_}, .writable = {out}};
  EXPECT_EQ(run_confined(sandbox, [&] { return open_error(file, O_WRONLY | O_CREAT); }).code,
            EACCES);
  EXPECT_EQ(run_confined(sandbox, [&] { return error_of(::unlink(secret_.c_str())); }).code,
            EACCES);
  EXPECT_EQ(run_confined(sandbox, [&] { return write_text(out + "/made", "text") ? 0 : 1; }).code,
            0);
  EXPECT_TRUE(std::filesystem::exists(out + "/made"));
}

TEST_F(SandboxTest, ChangesNoModesAndTimes) {
  SLUICE_NEEDS(offered_.calls, kNoSeccomp);
  const Sandbox sandbox{.readable = {home_}, .writable = {home_}};
  EXPECT_EQ(run_confined(sandbox, [&] { return error_of(::chmod(secret_.c_str(), 0777)); }).code,
            EPERM);
  EXPECT_EQ(
      run_confined(sandbox,
                   [&] { return error_of(::utimensat(AT_FDCWD, secret_.c_str(), nullptr, 0)); })
          .code,
      EPERM);
}

TEST_F(SandboxTest, OpensNoSocket) {
  SLUICE_NEEDS(offered_.calls, kNoSeccomp);
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK})
    EXPECT_EQ(run_confined({}, [&] { return error_of(::socket(family, SOCK_STREAM, 0)); }).code,
              EPERM);
  EXPECT_EQ(
      run_confined({}, [&] { return error_of(::syscall(SYS_io_uring_setup, 1, nullptr)); }).code,
      EPERM);
}

TEST_F(SandboxTest, HasANetworkOfItsOwn) {
  SLUICE_NEEDS(offered_.network, kNoNamespaces);
  struct stat outside{};
  ASSERT_EQ(::stat("/proc/self/ns/net", &outside), 0);
  EXPECT_EQ(run_confined({},
                         [&] {
                           struct stat inside{};
                           return ::stat("/proc/self/ns/net", &inside) == 0 &&
                                          inside.st_ino != outside.st_ino
                                      ? 0
                                      : 1;
                         })
                .code,
            0);
}

TEST_F(SandboxTest, StartsNoProcess) {
  SLUICE_NEEDS(offered_.calls, kNoSeccomp);
  EXPECT_EQ(run_confined({}, [] { return error_of(::fork()); }).code, EPERM);
  EXPECT_EQ(
      run_confined({}, [] { return error_of(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }).code,
      EPERM);
  EXPECT_EQ(run_confined({}, [] { return error_of(::syscall(SYS_clone3, nullptr, 0)); }).code,
            ENOSYS);
}

TEST_F(SandboxTest, BecomesNoOtherProgram) {
  SLUICE_NEEDS(offered_.calls, kNoSeccomp);
  const Sandbox sandbox{.readable = {"/usr"}};
  const auto execute = [] {
    char name[] = "/usr/bin/true";
    char* arguments[] = {name, nullptr};
    return error_of(::execv(name, arguments));
  };
  const auto execute_descriptor = [] {
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    const int program = ::open("/usr/bin/true", O_RDONLY);
    return error_of(::syscall(SYS_execveat, program, "", arguments, arguments + 1, AT_EMPTY_PATH));
  };
  EXPECT_EQ(run_confined(sandbox, execute).code, EPERM);
  EXPECT_EQ(run_confined(sandbox, execute_descriptor).code, EPERM);
}

// The program that runs is this one, which lists its tests.
TEST_F(SandboxTest, BecomesTheProgramThatWasPrepared) {
  auto prepared = PreparedSandbox::prepare({}, Confined::kProgram);
  ASSERT_TRUE(prepared);
  const int program = ::open("/proc/self/exe", O_PATH | O_CLOEXEC);
  const pid_t child = ::fork();
  if (child == 0) {
    char name[] = "sandbox_test", list[] = "--gtest_list_tests";
    char* arguments[] = {name, list, nullptr};
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    // The address sanitizer would otherwise call what a sandbox forbids.
    ::setenv("ASAN_OPTIONS", "disable_coredump=0:detect_leaks=0", 1);
    if (prepared->enter(program)) prepared->run_program(arguments);
    ::_exit(kNoSandbox);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(SandboxTest, SignalsOnlyItself) {
  SLUICE_NEEDS(offered_.calls, kNoSeccomp);
  EXPECT_EQ(run_confined({}, [] { return error_of(::kill(::getppid(), 0)); }).code, EPERM);
  EXPECT_EQ(
      run_confined({}, [] { return error_of(::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0)); })
          .code,
      EPERM);
  EXPECT_EQ(run_confined({}, [] { return error_of(::kill(::getpid(), 0)); }).code, 0);
  EXPECT_EQ(run_confined({}, [] { return std::raise(SIGTERM); }).signal, SIGTERM);
}

TEST_F(SandboxTest, RunsThreads) {
  EXPECT_EQ(run_confined({},
                         [] {
                           int sum = 0;
                           for (int i = 0; i < 3; ++i) std::thread([&] { sum += 1; }).join();
                           return sum == 3 ? 0 : 1;
                         })
                .code,
            0);
}

TEST_F(SandboxTest, ComputesOnlyInItsMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "SKIPPED: sanitizers map more than any limit of data";
#endif
  constexpr uint64_t kLimit = uint64_t{256} << 20;
  const auto allocate = [](size_t bytes) {
    void* memory = std::malloc(bytes);
    const bool got = memory != nullptr;
    std::free(memory);
    return got ? 0 : ENOMEM;
  };
  const Sandbox sandbox{.memory_bytes = kLimit};
  EXPECT_EQ(run_confined(sandbox, [&] { return allocate(kLimit / 4); }).code, 0);
  EXPECT_EQ(run_confined(sandbox, [&] { return allocate(kLimit * 2); }).code, ENOMEM);
  SLUICE_NEEDS(offered_.calls, kNoSeccomp);
  EXPECT_EQ(run_confined(sandbox,
                         [] {
                           return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
                                      ? errno
                                      : 0;
                         })
                .code,
            EPERM);
  EXPECT_EQ(run_confined(sandbox, [] { return error_of(::memfd_create("more", 0)); }).code, EPERM);
}

TEST_F(SandboxTest, WritesFilesOnlyUpToItsSize) {
  const Sandbox sandbox{.writable = {home_}, .file_bytes = 4096};
  const auto fill = [&](size_t bytes) {
    const std::string text(bytes, 'x');
    const int file = ::open((home_ + "/full").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    while (true) {
      const ssize_t written = ::write(file, text.data(), text.size());
      if (written < 0) return errno;
      if (static_cast<size_t>(written) == text.size()) return 0;
    }
  };
  EXPECT_EQ(run_confined(sandbox, [&] { return fill(4096); }).code, 0);
  EXPECT_EQ(run_confined(sandbox, [&] { return fill(8192); }).code, EFBIG);
  EXPECT_EQ(std::filesystem::file_size(home_ + "/full"), 4096u);
}

TEST_F(SandboxTest, ComputesOnlyForItsTime) {
  const auto burn = [] {
    ::alarm(20);  // the end of a process that no other limit ends
    volatile uint64_t count = 0;
    while (count + 1 != 0) count = count + 1;
    return 0;
  };
  EXPECT_EQ(run_confined({.cpu_seconds = 1}, burn).signal, SIGXCPU);
  EXPECT_EQ(run_confined({.cpu_seconds = 1},
                         [&] {
                           std::signal(SIGXCPU, SIG_IGN);
                           return burn();
                         })
                .signal,
            SIGKILL);
}

TEST_F(SandboxTest, RaisesNoLimit) {
  SLUICE_NEEDS(offered_.calls, kNoSeccomp);
  EXPECT_EQ(run_confined({},
                         [] {
                           const rlimit more{RLIM_INFINITY, RLIM_INFINITY};
                           return error_of(::setrlimit(RLIMIT_FSIZE, &more));
                         })
                .code,
            EPERM);
}

TEST(LayersTest, AreThoseOfTheMachine) {
  const auto offered = offered_layers();
  ASSERT_TRUE(offered) << offered.error().message;
  EXPECT_EQ(*offered, layers_of_machine()) << layers_text(*offered);
}

TEST(LayersTest, AreNamed) {
  EXPECT_EQ(layers_text({.limits = true, .calls = true, .files = 6, .network = true}),
            "rlimits, seccomp, landlock 6, network namespace");
  EXPECT_EQ(missing_text({.limits = true, .calls = true, .files = 6}), "");
  EXPECT_NE(missing_text({.limits = true, .calls = true}).find("no Landlock"), std::string::npos);
}

}  // namespace
}  // namespace sluice
