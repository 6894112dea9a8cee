// Child processes. Every child dies with us: it is killed when we end in any way (the parent-death
// signal), and when we are interrupted.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace sluice {

// The three standard streams of a child; -1 is /dev/null.
struct Streams {
  int in = -1;
  int out = -1;
  int error = -1;
};

// How a process ended. Exactly one of: an exit code, a signal, or killed by us after its time was
// over.
struct Ending {
  int code = 0;
  int signal = 0;
  bool timed_out = false;
  bool clean() const { return code == 0 && signal == 0 && !timed_out; }
};

// Starts arguments[0] (a path). Must be called from a thread that outlives the child: Linux sends
// the parent-death signal when the *thread* ends. A program that cannot be executed ends with code
// 127. Errors: kIo.
Result<pid_t> start_process(const std::vector<std::string>& arguments, const Streams& streams);
// Waits at most `seconds`, then kills.
Ending wait_for(pid_t child, std::optional<double> seconds = std::nullopt);
// A handle outlives its process: killing through it never meets a stranger that got the same
// number. Errors: kIo; the child has been killed then.
Result<Descriptor> process_handle(pid_t child);
void kill_process(const Descriptor& handle);

// An exit code of design section 4's table (0 and 2 to 7); any other code, or a signal, says that
// the program broke down.
bool is_known_code(int code);
std::string ending_text(const Ending& ending);  // "exit code 9", "signal 11 (Segmentation fault)",
                                                // "killed after its time"

struct Pipe {
  Descriptor read, write;
};
Result<Pipe> make_pipe();
// A nameless file in memory, for what a child says on stderr.
Result<Descriptor> make_memory_file();
std::string memory_file_text(const Descriptor& file);

// From now on SIGINT, SIGTERM and SIGHUP kill all children, and no further child starts. Who waits
// for children sees them end and cleans up; the program then calls finish_interrupt(), which ends
// it by that signal if there was one. SIGPIPE is ignored.
void catch_interrupts();
bool interrupted();
void finish_interrupt();

}  // namespace sluice
