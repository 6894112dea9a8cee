#include "common/passes_host/pass_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "common/base/digest.h"
#include "common/base/files.h"
#include "common/passes_host/child.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHost = "sluice-pass-host";

// Runs a program and returns what it prints; it prints its errors itself.
Result<std::string> printed_by(const std::vector<std::string>& command) {
  SLUICE_ASSIGN(PipeEnds out, make_pipe_ends());
  ChildSetup setup;
  setup.out = out.write.get();
  SLUICE_ASSIGN(const pid_t child, start_child(command, setup));
  out.write.reset();
  const auto bytes = read_descriptor(out.read.get());
  const int status = wait_for_child(child);
  if (!bytes) return bytes.error();
  if (status == 0) return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return make_error(ErrorCode::kProgramMissing, "{} {}", kHost, status_text(status))
      .with_hint("it looks for the imports of a Python file, for which it needs Python");
}

Result<std::vector<std::string>> files_of(const std::string& path, PassKind kind) {
  if (kind != PassKind::kPython) return std::vector<std::string>{path};
  SLUICE_ASSIGN(const std::string host, own_program(kHost));
  SLUICE_ASSIGN(const std::string printed, printed_by({host, "--files", path}));
  std::vector<std::string> files;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) files.push_back(line);
  return files;
}

std::string relative_to(const PassFile& pass, const std::string& file) {
  return fs::path(file).lexically_relative(fs::path(pass.option.path).parent_path()).string();
}

Result<std::string> digest_of(const PassFile& pass) {
  std::string rows, only;
  for (const std::string& file : pass.files) {
    SLUICE_ASSIGN(const MappedFile map, MappedFile::open(file));
    only = digest_hex(sha256(map.bytes()));
    rows += fmt::format("{} {}\n", relative_to(pass, file), only);
  }
  return pass.files.size() == 1 ? only : digest_hex(sha256(rows));
}

Error bad_artifact() { return make_error(ErrorCode::kBadFile, "an artifact is no file of passes"); }

// Returns whether a path stays below the folder that it is in.
bool is_inside(const fs::path& path) {
  return !path.empty() && path.is_relative() && path.lexically_normal() == path &&
         *path.begin() != "..";
}

}  // namespace

Result<PassOption> parse_pass_option(std::string_view value) {
  const size_t equals = value.find('=');
  const PassPoint* point = find_point(value.substr(0, equals));
  if (equals == std::string_view::npos || equals + 1 == value.size() || point == nullptr) {
    return make_error(ErrorCode::kBadOption, "--pass is '{}', expected POINT=FILE", value)
        .with_hint("the points are " + point_names());
  }
  PassOption option{point, absolute_path(std::string(value.substr(equals + 1))), {}};
  option.name = fs::path(option.path).filename().string();
  if (option.name.empty() || option.name.find_first_of(",;@: ") != std::string::npos) {
    return make_error(ErrorCode::kBadOption,
                      "'{}' cannot name a pass: it has one of the characters \",;@: \"",
                      option.name);
  }
  return option;
}

Result<PassFile> read_pass_file(std::string_view value) {
  PassFile pass;
  SLUICE_ASSIGN(pass.option, parse_pass_option(value));
  SLUICE_ASSIGN(pass.kind, pass_kind(pass.option.path));
  SLUICE_ASSIGN(pass.files, files_of(pass.option.path, pass.kind));
  SLUICE_ASSIGN(pass.digest, digest_of(pass));
  return pass;
}

Result<std::vector<std::byte>> pack_pass(const PassFile& pass) {
  std::string head;
  std::vector<std::byte> bytes;
  for (const std::string& file : pass.files) {
    SLUICE_ASSIGN(const MappedFile map, MappedFile::open(file));
    const bool is_program = ::access(file.c_str(), X_OK) == 0;
    head += fmt::format("{} {} {}\n", map.bytes().size(), is_program ? "x" : "-",
                        relative_to(pass, file));
    bytes.insert(bytes.end(), map.bytes().begin(), map.bytes().end());
  }
  head += "\n";
  const auto start = std::as_bytes(std::span(head));
  bytes.insert(bytes.begin(), start.begin(), start.end());
  return bytes;
}

Result<void> unpack_pass(std::span<const std::byte> packed, const std::string& folder) {
  const std::string_view text(reinterpret_cast<const char*>(packed.data()), packed.size());
  const size_t end = text.find("\n\n");
  if (end == std::string_view::npos) return bad_artifact();
  std::istringstream rows{std::string(text.substr(0, end + 1))};
  auto left = packed.subspan(end + 2);
  uint64_t size = 0;
  char mode = 0, blank = 0;
  for (std::string path; rows >> size >> mode && rows.get(blank) && std::getline(rows, path);) {
    if (size > left.size() || !is_inside(path)) return bad_artifact();
    const std::string file = folder + "/" + path;
    SLUICE_TRY(make_directories(fs::path(file).parent_path().string()));
    SLUICE_TRY(write_file(file, left.first(size)));
    constexpr mode_t kProgram = 0700;
    if (mode == 'x' && ::chmod(file.c_str(), kProgram) != 0)
      return make_error(ErrorCode::kIo, "cannot write '{}': {}", file, std::strerror(errno));
    left = left.subspan(size);
  }
  return left.empty() ? Result<void>() : bad_artifact();
}

}  // namespace sluice
