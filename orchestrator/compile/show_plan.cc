#include "orchestrator/compile/show_plan.h"

#include "common/base/json.h"
#include "common/base/store.h"
#include "fmt/ranges.h"
#include "orchestrator/compile/in_order.h"

namespace sluice {
namespace {

// A stage or a kernel that a compile will make or find.
struct PlannedJob {
  std::string job;    // the stage, or "kernel"
  std::string state;  // "runs", "found" or "missing"
  std::string key;    // empty: none, or not known before the stage before it has run
  std::vector<std::string> options;
};

class Jobs {
 public:
  Jobs(const CompilePlan& plan, const CompilePlaces& places, Store* store)
      : plan_(plan), places_(places), store_(store) {}

  // Takes the graph that the first stages of the plan have made.
  Result<void> take_graph(const std::string& file) {
    SLUICE_ASSIGN(input_, graph_digest(file));
    graph_ = file;
    return {};
  }

  Result<std::vector<PlannedJob>> list() {
    for (const StageRun& stage : plan_.stages) {
      jobs_.push_back({.job = stage.name, .state = "runs", .key = {}, .options = stage.options});
      if (store_ != nullptr) SLUICE_TRY(look_up(stage));
    }
    return std::move(jobs_);
  }

 private:
  Result<void> look_up(const StageRun& stage) {
    if (stage.store_use == StoreUse::kNone) return {};
    if (input_.is_zero()) {
      if (stage.store_use == StoreUse::kTake) jobs_.back().state = "unknown";
      return {};
    }
    SLUICE_ASSIGN(const Record record, stage_record(stage, plan_.profile, input_));
    const Digest key = record.key();
    const auto found = store_->find(key);
    const auto artifact = found ? found->results.find_digest("output") : std::nullopt;
    PlannedJob& job = jobs_.back();
    job.key = digest_hex(key);
    if (stage.store_use == StoreUse::kTake) job.state = artifact ? "found" : "missing";
    if (!artifact && stage.name == "subgraph-optimize") SLUICE_TRY(add_kernels(stage));
    input_ = found ? found->results.find_digest("graph").value_or(Digest{}) : Digest{};
    graph_ = artifact ? store_path(store_->path(), *artifact) : std::string();
    return {};
  }

  // The kernels that the stage would generate, each a job that a farm can run.
  Result<void> add_kernels(const StageRun& stage) {
    SLUICE_ASSIGN(const std::vector<Digest> keys, missing_kernels(stage, graph_, places_.scratch));
    for (const Digest& key : keys)
      jobs_.push_back({.job = "kernel", .state = "missing", .key = digest_hex(key), .options = {}});
    return {};
  }

  const CompilePlan& plan_;
  const CompilePlaces& places_;
  Store* const store_;
  std::vector<PlannedJob> jobs_;
  Digest input_ = {};  // file digest of what the next stage reads; zero: not known
  std::string graph_;  // its file
};

// Returns how the stages are connected: a store makes files of a pipe.
std::string transport_text(Transport transport, bool has_store) {
  if (transport == Transport::kZmq) return "zmq";
  return transport == Transport::kFiles || has_store ? "files" : "pipe";
}

std::string text_of(const std::vector<PlannedJob>& jobs, const CompileRequest& request,
                    bool has_store) {
  constexpr size_t kShownKey = 16;
  std::string text = fmt::format("{:<18} {:<8} {:<16}  options\n", "job", "state", "key");
  for (const PlannedJob& job : jobs) {
    std::string line = fmt::format("{:<18} {:<8} {:<16}  {}", job.job, job.state,
                                   job.key.empty() ? "-" : job.key.substr(0, kShownKey),
                                   fmt::join(job.options, " "));
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += "transport " + transport_text(request.transport, has_store);
  return text + (request.farm.endpoint.empty() ? "" : ", kernels by " + request.farm.endpoint) +
         "\n";
}

std::string json_of(const std::vector<PlannedJob>& jobs, const CompileRequest& request,
                    bool has_store) {
  Json list{Json::Array{}};
  for (const PlannedJob& job : jobs) {
    Json entry;
    entry.set("job", job.job);
    entry.set("state", job.state);
    if (!job.key.empty()) entry.set("key", job.key);
    Json options{Json::Array{}};
    for (const std::string& option : job.options) options.push(option);
    entry.set("options", std::move(options));
    list.push(std::move(entry));
  }
  Json json;
  json.set("jobs", std::move(list));
  json.set("transport", transport_text(request.transport, has_store));
  json.set("farm", !request.farm.endpoint.empty());
  return json_dump(json, 2) + "\n";
}

}  // namespace

Result<std::string> plan_text(const CompileRequest& request, const CompilePlan& plan,
                              const CompilePlaces& places, Store* store,
                              const std::string& imported) {
  Jobs planned(plan, places, store);
  if (!imported.empty()) SLUICE_TRY(planned.take_graph(imported));
  SLUICE_ASSIGN(const std::vector<PlannedJob> jobs, planned.list());
  return request.progress_json ? json_of(jobs, request, store != nullptr)
                               : text_of(jobs, request, store != nullptr);
}

}  // namespace sluice
