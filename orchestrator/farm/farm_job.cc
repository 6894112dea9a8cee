#include "orchestrator/farm/farm_job.h"

#include <algorithm>
#include <charconv>

#include "fmt/format.h"

namespace sluice {
namespace {

constexpr size_t kMaxRecord = 1u << 18;
constexpr size_t kHexDigits = 64;
constexpr std::string_view kContent = "content ", kProgram = "program.";
constexpr std::string_view kMemoryNeed = "memory ";

Error bad_job(const std::string& why) {
  return make_error(ErrorCode::kBadRequest, "a job {}", why);
}

void add_needs(const std::string& name, const std::string& value, std::string& needs) {
  if (name == "build") needs += fmt::format("subgraph-optimize {}\n", value);
  if (name.starts_with(kProgram))
    needs += fmt::format("{} {}\n", name.substr(kProgram.size()), value);
  const std::string need = std::string(kPassesNeed) + "\n";
  if (name.ends_with(".pass") && needs.find(need) == std::string::npos) needs += need;
  if (name == "profile" && value.starts_with(kNativeProfile))
    needs += fmt::format("profile {}\n", value.substr(kNativeProfile.size()));
}

bool satisfies(const pb::WorkerBeat& worker, std::string_view need, uint64_t largest) {
  if (need.starts_with(kProfileNeed)) return worker.profile() == need.substr(kProfileNeed.size());
  if (need.starts_with(kMemoryNeed)) {
    uint64_t bytes = 0;
    std::from_chars(need.data() + kMemoryNeed.size(), need.data() + need.size(), bytes);
    return worker.memory_bytes() > bytes || worker.memory_bytes() >= largest;
  }
  return std::ranges::find(worker.builds(), need) != worker.builds().end();
}

}  // namespace

Result<FarmJob> farm_job_of(const pb::FarmJob& message) {
  if (message.record().size() > kMaxRecord)
    return bad_job(fmt::format("has a record of {} bytes, at most {} can be",
                               message.record().size(), kMaxRecord));
  const auto record = parse_record(message.record());
  if (!record) return bad_job("has a record that is damaged");
  FarmJob job;
  job.key = record->key();
  job.record = message.record();
  job.kind = record->kind;
  job.priority = message.priority();
  const auto add_input = [&](std::string_view hex) {
    if (const auto digest = digest_from_hex(hex)) job.inputs.push_back(*digest);
  };
  for (const auto& [name, value] : record->fields.rows()) {
    add_needs(name, value, job.needs);
    if (value.starts_with(kContent))
      add_input(std::string_view(value).substr(kContent.size(), kHexDigits));
  }
  if (const auto graph = record->results.find_digest("graph")) job.inputs.push_back(*graph);
  if (const auto list = record->results.find_digest("constants")) job.lists.push_back(*list);
  if (job.kind == "stage")
    return bad_job(
        "runs a stage, and a farm runs kernels and whole compiles: stages run at workers "
        "that listen, sluice compile --transport zmq");
  if (job.inputs.empty()) return bad_job(fmt::format("of kind '{}' has no input", job.kind));
  return job;
}

Result<std::vector<FarmJob>> farm_jobs_of(const pb::Submit& submit) {
  std::vector<FarmJob> jobs;
  for (const pb::FarmJob& message : submit.jobs()) {
    SLUICE_ASSIGN(FarmJob job, farm_job_of(message));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<Digest> listed_digests(std::span<const std::byte> list) {
  const std::string_view text(reinterpret_cast<const char*>(list.data()), list.size());
  std::vector<Digest> digests;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    if (const auto digest = digest_from_hex(text.substr(begin, end - begin)))
      digests.push_back(*digest);
  }
  return digests;
}

void need_more_memory(FarmJob& job, uint64_t bytes) {
  job.needs.resize(std::min(job.needs.find(kMemoryNeed), job.needs.size()));  // it is the last line
  job.needs += fmt::format("{}{}\n", kMemoryNeed, bytes);
}

bool can_run(const pb::WorkerBeat& worker, const std::string& needs, uint64_t largest) {
  for (size_t begin = 0, end = 0; begin < needs.size(); begin = end + 1) {
    end = needs.find('\n', begin);
    if (!satisfies(worker, std::string_view(needs).substr(begin, end - begin), largest))
      return false;
  }
  return true;
}

}  // namespace sluice
