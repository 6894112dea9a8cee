#include "runtime/loader/host_engine.h"

#include <dlfcn.h>

#include <filesystem>

#include "common/base/memory.h"

namespace sluice {
namespace {

constexpr const char* kLibrary = "libsluice_host_cpu.so";

// The folders of the library, relative to the program or library that opens it: in a build tree,
// beside it; installed, from bin, from lib and from a folder of lib for one architecture.
constexpr const char* kFolders[] = {"../lib", ".", "../lib/sluice", "sluice", "../sluice"};

// Returns the folders to search: of the file this code was loaded from, then of the program.
std::vector<std::filesystem::path> origins() {
  std::vector<std::filesystem::path> folders;
  std::error_code ignored;
  Dl_info where{};
  if (::dladdr(reinterpret_cast<const void*>(&open_host_engine), &where) != 0 &&
      where.dli_fname != nullptr) {
    const auto file = std::filesystem::canonical(where.dli_fname, ignored);
    if (!ignored) folders.push_back(file.parent_path());
  }
  const auto program = std::filesystem::canonical("/proc/self/exe", ignored);
  if (!ignored) folders.push_back(program.parent_path());
  return folders;
}

// Returns whether there was no memory: the system's loader reports it in words only.
bool is_out_of_memory(const std::string& problem) {
  return problem.find("llocate memory") != std::string::npos ||
         problem.ends_with("failed to map segment from shared object");
}

Result<const HostEngine*> engine_in(void* library) {
  auto* table = reinterpret_cast<const HostEngine* (*)()>(::dlsym(library, kHostEngineSymbol));
  const HostEngine* engine = table == nullptr ? nullptr : table();
  if (engine == nullptr || engine->table_size != sizeof(HostEngine) ||
      std::string_view(engine->release) != kHostEngineRelease) {
    return make_error(ErrorCode::kWrongDevice, "{} is of another release than this program",
                      kLibrary);
  }
  return engine;
}

}  // namespace

Result<const HostEngine*> open_host_engine() {
  std::string tried;
  for (const auto& origin : origins()) {
    for (const char* folder : kFolders) {
      const std::filesystem::path file = origin / folder / kLibrary;
      std::error_code ignored;
      if (!std::filesystem::exists(file, ignored)) continue;
      if (void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return engine_in(library);
      const std::string problem = ::dlerror();
      if (is_out_of_memory(problem)) {
        return make_error(ErrorCode::kLimit, "no memory for {}: {}{}", kLibrary, problem,
                          memory_limit_text())
            .with_hint("give the process more memory");
      }
      tried = ": " + problem;
    }
  }
  return make_error(ErrorCode::kWrongDevice,
                    "the model runs nodes on host_cpu, but {} cannot be opened{}", kLibrary, tried)
      .with_hint("install it beside the program, in ../lib or in ../lib/sluice");
}

}  // namespace sluice
