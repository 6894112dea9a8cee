#include "orchestrator/plan/kernel_job.h"

#include <algorithm>
#include <filesystem>

#include "common/base/files.h"
#include "common/base/store.h"
#include "orchestrator/process/process.h"

namespace sluice {
namespace {

constexpr std::string_view kRoot = "root.sg";  // of sluice-partition --split

Result<void> run_program(const std::vector<std::string>& command) {
  SLUICE_ASSIGN(const Descriptor messages, make_memory_file());
  SLUICE_ASSIGN(const pid_t child, start_process(command, {-1, -1, messages.get()}));
  const Ending ending = wait_for(child);
  if (ending.clean()) return {};
  return make_error(ErrorCode::kStageFailed, "{} ended with {}: {}", command[0],
                    ending_text(ending), memory_file_text(messages));
}

// Returns the files of the subgraphs as a list of lines, sorted: the order of a folder is none.
Result<std::string> subgraph_lines(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().filename() != kRoot) files.push_back(entry.path().string());
  }
  if (failed) return make_error(ErrorCode::kIo, "cannot read '{}': {}", folder, failed.message());
  std::ranges::sort(files);
  std::string lines;
  for (const std::string& file : files) lines += file + "\n";
  return lines;
}

// Returns the keys of a list: the words of 64 hex digits at the starts of its lines.
std::vector<Digest> keys_of(std::string_view list) {
  std::vector<Digest> keys;
  for (size_t begin = 0, end = 0; begin < list.size(); begin = end + 1) {
    end = std::min(list.find_first_of(" \n", begin), list.size());
    const auto key = digest_from_hex(list.substr(begin, end - begin));
    if (key) keys.push_back(*key);
    if (!key) end = std::min(list.find('\n', begin), list.size());
  }
  return keys;
}

}  // namespace

Result<KernelJob> kernel_job_of(const Record& record) {
  const auto graph = record.results.find_digest("graph");
  const std::string* build = record.fields.find("build");
  if (record.kind == kKernelKind && graph && build != nullptr)
    return KernelJob{.key = record.key(), .graph = *graph, .build = *build};
  return make_error(ErrorCode::kBadFile, "the record {} is of no kernel that is to be made",
                    digest_hex(record.key()));
}

bool has_kernel(const Digest& key, Store& store) {
  const auto record = store.find(key);
  const auto object = record ? record->results.find_digest("object") : std::nullopt;
  return object && store.find_artifact(*object);
}

std::string kernel_line(const KernelJob& job, const Store& store) {
  return fmt::format("{} {}\n", digest_hex(job.key), store_path(store.path(), job.graph));
}

Result<std::vector<Digest>> make_kernel_jobs(const std::string& graph,
                                             const KernelPlanning& planning) {
  const std::string folder = planning.folder + "/subgraphs";
  SLUICE_TRY(run_program({planning.partition, "--split=" + folder, graph}));
  SLUICE_ASSIGN(const std::string lines, subgraph_lines(folder));
  const std::string list = planning.folder + "/subgraphs.list";
  const std::string missing = planning.folder + "/kernels.list";
  SLUICE_TRY(write_text(list, lines));
  std::vector<std::string> command = planning.options;
  command.insert(command.begin(), planning.subgraph_optimize);
  command.insert(command.end(), {"--kernels=" + list, "-o", missing});
  SLUICE_TRY(run_program(command));
  SLUICE_ASSIGN(const std::string text, read_text(missing));
  return keys_of(text);
}

}  // namespace sluice
