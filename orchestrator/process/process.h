// Child processes. Every child ends with this process: it is killed when this process ends in any
// way (the parent-death signal), and, unless it is shielded, when it is interrupted.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "common/sandbox/sandbox.h"

namespace sluice {

// The three standard streams of a child; -1 is /dev/null. more: its descriptor 3, -1 is none.
struct Streams {
  int in = -1;
  int out = -1;
  int error = -1;
  int more = -1;
  std::vector<int> kept = {};  // further descriptors, under their numbers
};

// The ending of a process. Exactly one of: an exit code, a signal, or killed by this process after
// its time was over.
struct Ending {
  int code = 0;
  int signal = 0;
  bool timed_out = false;
  double cpu_seconds = 0;  // that it used
  bool clean() const { return code == 0 && signal == 0 && !timed_out; }
};

// Starts arguments[0] (a path). Must be called from a thread that outlives the child: Linux sends
// the parent-death signal when the *thread* ends. A program that cannot be executed ends with code
// 127. sandbox: what it runs in; null: none. A script cannot be executed in a sandbox. Errors: kIo.
Result<pid_t> start_process(const std::vector<std::string>& arguments, const Streams& streams,
                            PreparedSandbox* sandbox = nullptr);
// Starts a process that an interruption of this one neither prevents nor kills, not even Ctrl-C of
// a terminal: it has a process group of its own. Errors: kIo.
Result<pid_t> start_shielded_process(const std::vector<std::string>& arguments,
                                     const Streams& streams);
// Waits for a child for at most `seconds`, then kills it.
Ending wait_for(pid_t child, std::optional<double> seconds = std::nullopt);
// Returns a handle of a process. It outlives the process: killing through it never hits another
// process that got the same number. Errors: kIo; the child has then been killed.
Result<Descriptor> process_handle(pid_t child);
void kill_process(const Descriptor& handle);
bool has_ended(const Descriptor& handle);  // without waiting

// Returns whether a code is an exit code of docs/errors.md (0 and 2 to 7); any other code, or a
// signal, means that the program crashed.
bool is_known_code(int code);
std::string ending_text(const Ending& ending);  // "exit code 9", "signal 11 (Segmentation fault)",
                                                // "killed after its time"

struct Pipe {
  Descriptor read, write;
};
Result<Pipe> make_pipe();
// Makes a nameless file in memory, for a child's stderr.
Result<Descriptor> make_memory_file();
std::string memory_file_text(const Descriptor& file);

// Makes SIGINT, SIGTERM and SIGHUP kill all children that are not shielded from now on; no further
// one of these then starts. The threads that wait for children see them end and clean up; the
// program then calls finish_interrupt(), which ends it by that signal if there was one. SIGPIPE is
// ignored.
void catch_interrupts();
bool interrupted();
void finish_interrupt();

}  // namespace sluice
