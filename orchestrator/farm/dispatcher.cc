#include "orchestrator/farm/dispatcher.h"

#include <unistd.h>

#include <optional>

#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/base/stop_signals.h"
#include "common/wire/channel.h"
#include "common/wire/endpoint.h"
#include "orchestrator/farm/dispatch.h"
#include "orchestrator/farm/metrics_server.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr size_t kReceivedAtOnce = 2000;
constexpr milliseconds kIdleTick{1000};

class Dispatcher {
 public:
  Dispatcher(const DispatcherRequest& request, Channel channel, FarmState state, Descriptor signals)
      : request_(request),
        log_("sluice-farm", request.log_json, request.log_level),
        channel_(std::move(channel)),
        signals_(std::move(signals)),
        dispatch_(
            {.store = request.store,
             .state = request.state,
             .verifying = request.verifying,
             .max_jobs = request.max_jobs},
            std::move(state), log_,
            {.send = [this](
                         const std::string& peer, const pb::FarmMessage& message,
                         Payload bytes) { return channel_.send(peer, message, std::move(bytes)); },
             .dropped = [this] { return channel_.dropped(); }}) {}

  Result<int> run() {
    SLUICE_TRY(dispatch_.begin());
    if (!request_.metrics.empty()) {
      SLUICE_ASSIGN(MetricsServer metrics, MetricsServer::listen(request_.metrics));
      metrics_.emplace(std::move(metrics));
    }
    if (slurm_request_) {
      if (slurm_request_->endpoint.empty()) slurm_request_->endpoint = channel_.endpoint();
      slurm_.emplace(*slurm_request_, log_);
    }
    log_.report("listening", {{"endpoint", channel_.endpoint()},
                              {"store", request_.store},
                              {"jobs", fmt::format("{}", dispatch_.jobs())}});
    while (!is_stopped_ && !dispatch_.is_over()) SLUICE_TRY(turn());
    log_.report("ended", {{"jobs", fmt::format("{}", dispatch_.jobs())}});
    return 0;
  }

 private:
  Result<void> turn() {
    wait();
    size_t taken = 0;
    for (; taken < kReceivedAtOnce; ++taken) {
      auto incoming = channel_.receive();
      if (!incoming) break;
      SLUICE_TRY(dispatch_.take(*incoming));
    }
    has_more_ = taken == kReceivedAtOnce;
    report_refused();
    SLUICE_TRY(dispatch_.turn());
    if (slurm_) slurm_->set_wanted(dispatch_.wanted_workers(), dispatch_.come_workers());
    return {};
  }

  void wait() {
    std::vector<int> descriptors = {signals_.get()};
    if (metrics_) descriptors.push_back(metrics_->descriptor());
    dispatch_.add_descriptors(descriptors);
    const auto ready = channel_.wait(descriptors, has_more_             ? milliseconds(0)
                                                  : dispatch_.is_idle() ? kIdleTick
                                                                        : kDispatcherTick);
    if (ready[0]) is_stopped_ = true;
    if (metrics_) answer_metrics();  // also lets those go who ask too slowly
  }

  void answer_metrics() {
    metrics_->answer([this] { return metrics_text(dispatch_.status()); });
  }

  void report_refused() {
    std::vector<RefusedPeer> peers = channel_.take_refused();
    for (RefusedPeer& peer : dispatch_.take_refused()) peers.push_back(std::move(peer));
    for (const RefusedPeer& peer : peers)
      log_.warn("peer refused", {{"key", peer.key}, {"address", peer.address}, {"why", peer.why}});
  }

  const DispatcherRequest& request_;
  const FarmLog log_;
  Channel channel_;
  Descriptor signals_;
  Dispatch dispatch_;
  std::optional<MetricsServer> metrics_;
  std::optional<SlurmWorkersRequest> slurm_request_ = request_.slurm;
  std::optional<SlurmWorkers> slurm_;
  bool is_stopped_ = false, has_more_ = false;
};

}  // namespace

Result<int> run_dispatcher(const DispatcherRequest& request) {
  SLUICE_ASSIGN(Descriptor signals, stop_signals());
  allow_many_files();
  SLUICE_TRY(make_directories(request.store));
  SLUICE_ASSIGN(FarmState state, FarmState::open(request.state, request.is_synced));
  SLUICE_ASSIGN(Channel channel, Channel::listen(request.endpoint, request.keys));
  const std::string path = ipc_path(channel.endpoint());
  auto ended = Dispatcher(request, std::move(channel), std::move(state), std::move(signals)).run();
  if (!path.empty()) ::unlink(path.c_str());
  return ended;
}

}  // namespace sluice
