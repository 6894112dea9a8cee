#include "common/passes_host/run_program.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/passes_host/child.h"
#include "common/passes_host/exchange.h"

namespace sluice {
namespace {

constexpr std::string_view kEnv = "/usr/bin/env";

std::string in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  std::istringstream folders(std::getenv("PATH") == nullptr ? "/usr/bin:/bin"
                                                            : std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return name;
}

// Returns the command line of a program, of a script with its interpreter: in a sandbox the system
// does not start one.
std::vector<std::string> command_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (file.get() != '#' || file.get() != '!' || !std::getline(file, line)) return {path};
  std::istringstream words(line);
  std::string interpreter, option;
  words >> interpreter >> option;
  if (interpreter == kEnv) return {in_path(option), path};
  if (option.empty()) return {interpreter, path};
  return {interpreter, option, path};
}

Result<PreparedSandbox> prepare(const ProgramPass& program, const std::string& started) {
  Sandbox sandbox;
  sandbox.program = started;
  sandbox.readable = program.readable;
  sandbox.readable.push_back(std::filesystem::path(program.path).parent_path().string());
  sandbox.memory_bytes = program.memory_bytes;
  return PreparedSandbox::prepare(sandbox, Confined::kProgram);
}

// Waits until the program has ended; returns false when the stage has gone before.
bool wait_for_end(const Descriptor& process, int stage) {
  pollfd entries[] = {{process.get(), POLLIN, 0}, {stage, 0, 0}};
  while (::poll(entries, 2, -1) < 0 && errno == EINTR) {
  }
  return entries[0].revents != 0;
}

}  // namespace

Result<std::optional<std::vector<std::byte>>> run_program(const ProgramPass& program,
                                                          std::span<const std::byte> graph) {
  SLUICE_ASSIGN(PipeEnds in, make_pipe_ends());
  SLUICE_ASSIGN(PipeEnds out, make_pipe_ends());
  std::vector<std::string> command = {program.path};
  std::optional<PreparedSandbox> sandbox;
  if (program.is_sandboxed) {
    command = command_of(program.path);
    SLUICE_ASSIGN(PreparedSandbox prepared, prepare(program, command[0]));
    sandbox.emplace(std::move(prepared));
  }
  ChildSetup setup;
  setup.in = in.read.get();
  setup.out = out.write.get();
  setup.memory_bytes = program.memory_bytes;
  setup.sandbox = sandbox ? &*sandbox : nullptr;
  SLUICE_ASSIGN(const pid_t child, start_child(command, setup));
  in.read.reset();
  out.write.reset();
  const Descriptor process = child_handle(child);
  std::optional<int> status;
  const auto take_end = [&] {
    status = wait_for_child(child);
    kill_children();  // those that it left behind, which may hold its standard output
  };
  Exchange exchange;
  exchange.to = &in.write;
  exchange.body = graph;
  exchange.from = out.read.get();
  exchange.max_bytes = program.memory_bytes == 0 ? UINT64_MAX : program.memory_bytes;
  exchange.watched = program.stage;
  exchange.process = process.get();
  exchange.on_ended = take_end;
  std::vector<std::byte> made;
  const Exchange::End end = exchange.run(made);
  const bool is_over =
      end == Exchange::End::kClosed && (status || wait_for_end(process, program.stage));
  if (is_over && !status) take_end();
  if (!status) kill_children();
  if (end == Exchange::End::kTooMuch) {
    return make_error(ErrorCode::kLimit, "wrote more than the {} bytes that --pass-memory allows",
                      program.memory_bytes);
  }
  if (!is_over) return std::optional<std::vector<std::byte>>();
  if (*status != 0) return make_error(ErrorCode::kPassFailed, "{}", status_text(*status));
  return std::optional(std::move(made));
}

}  // namespace sluice
