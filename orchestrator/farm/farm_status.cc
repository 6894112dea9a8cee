#include "orchestrator/farm/farm_status.h"

#include <time.h>

#include <array>

#include "common/base/json.h"
#include "common/base/readable_text.h"
#include "orchestrator/farm/farm_log.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 6> kStates = {"waiting",   "ready", "running",
                                                     "accepting", "ended", "quarantined"};

struct Counts {
  std::array<uint64_t, kStates.size()> by_state{};
  std::vector<const FarmJob*> quarantined;
};

Counts count(const JobBoard& board) {
  Counts counts;
  for (const auto& [key, job] : board.jobs()) {
    ++counts.by_state[static_cast<size_t>(job.state)];
    if (job.state == FarmJob::State::kQuarantined) counts.quarantined.push_back(&job);
  }
  return counts;
}

// Processor time of the dispatcher's process.
double busy_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Json worker_json(const FarmWorker& worker) {
  Json json;
  json.set("name", worker.beat.name());
  if (!worker.user.empty()) json.set("key", worker.user);
  json.set("slots", int64_t{worker.beat.slots()});
  json.set("jobs", uint64_t{worker.leases.size()});
  json.set("done", worker.done);
  json.set("profile", worker.beat.profile());
  json.set("memory_bytes", worker.beat.memory_bytes());
  json.set("state", worker.is_excluded          ? "excluded"
                    : !worker.is_reachable      ? "gone"
                    : worker.beat.is_draining() ? "draining"
                    : worker.leases.empty()     ? "idle"
                                                : "busy");
  return json;
}

Json unfit_json(const std::string& owner, const UnfitJobs::Group& group) {
  Json json;
  json.set("owner", owner);
  json.set("jobs", uint64_t{group.jobs});
  json.set("why", group.why);
  return json;
}

Json client_json(const FarmClient& client) {
  Json json;
  json.set("owner", client.owner);
  json.set("open", uint64_t{client.open.size()});
  json.set("ended", client.ended);
  return json;
}

uint64_t number(const Json& json, std::string_view name) {
  const Json* member = json.find(name);
  return member != nullptr && member->as_int() != nullptr ? static_cast<uint64_t>(*member->as_int())
                                                          : 0;
}

std::string word(const Json& json, std::string_view name) {
  const Json* member = json.find(name);
  return member != nullptr && member->as_string() != nullptr ? *member->as_string() : "";
}

// Returns "node1 vm:4910": whose key it is, host and process.
std::string name_of(const Json& worker) {
  const std::string key = word(worker, "key");
  return key.empty() ? word(worker, "name") : key + " " + word(worker, "name");
}

}  // namespace

std::string status_json(const FarmStatus& status) {
  const Counts counts = count(status.board);
  Json jobs;
  for (size_t i = 0; i < kStates.size(); ++i) jobs.set(std::string(kStates[i]), counts.by_state[i]);
  const BoardCounts& since = status.board.counts();
  Json total;
  total.set("submitted", since.submitted);
  total.set("found", since.found);
  total.set("ended", since.ended);
  total.set("failed", since.failed);
  total.set("run_again", since.retried);
  total.set("quarantined", since.quarantined);
  total.set("lost_workers", status.lost_workers);
  total.set("copies", status.copies);
  total.set("dropped_messages", status.dropped_messages);
  total.set("received_bytes", status.received_bytes);
  total.set("sent_bytes", status.sent_bytes);
  total.set("peer_bytes", status.peer_bytes);
  total.set("busy_seconds", busy_seconds());
  Json workers{Json::Array{}}, clients{Json::Array{}}, quarantined{Json::Array{}},
      unfit{Json::Array{}};
  for (const auto& [owner, group] : status.unfit)
    if (group.is_reported) unfit.push(unfit_json(owner, group));
  for (const auto& [id, worker] : status.workers) workers.push(worker_json(worker));
  for (const auto& [id, client] : status.board.clients()) clients.push(client_json(client));
  for (const FarmJob* job : counts.quarantined) quarantined.push(digest_hex(job->key));
  Json json;
  json.set("draining", status.is_draining);
  json.set("jobs", std::move(jobs));
  json.set("since_start", std::move(total));
  json.set("workers", std::move(workers));
  json.set("clients", std::move(clients));
  json.set("quarantined", std::move(quarantined));
  json.set("unfit", std::move(unfit));
  return json_dump(json);
}

std::string metrics_text(const FarmStatus& status) {
  const Counts counts = count(status.board);
  std::string out =
      "# HELP sluice_farm_jobs Jobs that the dispatcher has now.\n"
      "# TYPE sluice_farm_jobs gauge\n";
  for (size_t i = 0; i < kStates.size(); ++i)
    out += fmt::format("sluice_farm_jobs{{state=\"{}\"}} {}\n", kStates[i], counts.by_state[i]);
  uint64_t slots = 0, used = 0;
  for (const auto& [id, worker] : status.workers) {
    slots += worker.beat.slots();
    used += worker.groups();
  }
  const BoardCounts& since = status.board.counts();
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                       auto value) {
    out += fmt::format(
        "# HELP sluice_farm_{0} {1}\n# TYPE sluice_farm_{0} {2}\n"
        "sluice_farm_{0} {3}\n",
        name, help, type, value);
  };
  add("workers", "gauge", "Workers that are connected.", status.workers.size());
  add("slots", "gauge", "Slots of these workers.", slots);
  add("slots_used", "gauge", "Slots that have work.", used);
  add("jobs_submitted_total", "counter", "Jobs that were new.", since.submitted);
  add("jobs_found_total", "counter", "Jobs whose product was in the store.", since.found);
  add("jobs_ended_total", "counter", "Jobs that ended.", since.ended);
  add("jobs_failed_total", "counter", "Jobs that ended without a product.", since.failed);
  add("jobs_run_again_total", "counter", "Jobs that were lost or failed, and ran again.",
      since.retried);
  add("workers_lost_total", "counter", "Workers that were lost with jobs.", status.lost_workers);
  add("jobs_copied_total", "counter", "Jobs that also went to a second worker.", status.copies);
  add("messages_dropped_total", "counter", "Messages that were damaged.", status.dropped_messages);
  add("artifact_bytes_received_total", "counter", "Bytes of artifacts that came.",
      status.received_bytes);
  add("artifact_bytes_sent_total", "counter", "Bytes of artifacts that went.", status.sent_bytes);
  add("artifact_bytes_between_workers_total", "counter",
      "Bytes of artifacts that workers got from each other.", status.peer_bytes);
  add("processor_seconds_total", "counter", "Processor time of the dispatcher.", busy_seconds());
  return out;
}

Result<std::string> status_table(const std::string& json) {
  SLUICE_ASSIGN(const Json status, json_parse(json));
  const Json* jobs = status.find("jobs");
  const Json* since = status.find("since_start");
  const Json* workers = status.find("workers");
  const Json* clients = status.find("clients");
  const Json* quarantined = status.find("quarantined");
  const Json* unfit = status.find("unfit");
  if (jobs == nullptr || since == nullptr || workers == nullptr || clients == nullptr ||
      quarantined == nullptr || workers->as_array() == nullptr || clients->as_array() == nullptr ||
      quarantined->as_array() == nullptr || unfit == nullptr || unfit->as_array() == nullptr)
    return make_error(ErrorCode::kBadReply, "members of the status are missing");
  std::string out = "jobs      ";
  for (const std::string_view state : kStates)
    out += fmt::format(" {} {}", number(*jobs, state), state);
  out += fmt::format(
      "\nso far     {} ended, {} of them failed; {} found, {} run again; {} workers "
      "lost\n",
      number(*since, "ended"), number(*since, "failed"), number(*since, "found"),
      number(*since, "run_again"), number(*since, "lost_workers"));
  out += fmt::format("bytes      {} received, {} sent, {} from worker to worker\n",
                     number(*since, "received_bytes"), number(*since, "sent_bytes"),
                     number(*since, "peer_bytes"));
  for (const Json& group : *unfit->as_array())
    out += fmt::format("no worker  for {} jobs of {}: {}\n", number(group, "jobs"),
                       readable_text(word(group, "owner")), readable_text(word(group, "why")));
  out += fmt::format("\n{:32} {:>5} {:>5} {:>8}  {:14} {}\n", "worker", "slots", "jobs", "done",
                     "profile", "state");
  for (const Json& worker : *workers->as_array())
    out += fmt::format("{:32} {:>5} {:>5} {:>8}  {:14} {}\n", readable_text(name_of(worker)),
                       number(worker, "slots"), number(worker, "jobs"), number(worker, "done"),
                       word(worker, "profile"), word(worker, "state"));
  out += fmt::format("\n{:32} {:>11} {:>8}\n", "client", "open", "ended");
  for (const Json& client : *clients->as_array())
    out += fmt::format("{:32} {:>11} {:>8}\n", readable_text(word(client, "owner")),
                       number(client, "open"), number(client, "ended"));
  for (const Json& key : *quarantined->as_array())
    if (key.as_string() != nullptr) out += fmt::format("\nquarantined {}", *key.as_string());
  return out + (quarantined->as_array()->empty() ? "" : "\n");
}

}  // namespace sluice
