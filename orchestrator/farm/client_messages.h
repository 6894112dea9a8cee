// What the dispatcher receives from clients and reports to them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/channel.h"
#include "orchestrator/farm/job_board.h"
#include "orchestrator/farm/unfit_jobs.h"

namespace sluice {

class ClientMessages {
 public:
  // Returns whether the message is on its way to the peer.
  using Send = std::function<bool(const std::string& peer, const pb::FarmMessage& message)>;
  // max_jobs: with as many, nothing new is taken.
  ClientMessages(JobBoard& board, const UnfitJobs& unfit, uint64_t max_jobs, Send send)
      : board_(board), unfit_(unfit), max_jobs_(max_jobs), send_(std::move(send)) {}

  Result<void> take(const Incoming& incoming, const pb::Submit& submit, bool is_draining);
  Result<void> take(const Incoming& incoming, const pb::ClientBeat& beat);
  // Has what did not come sent again.
  void turn(FarmClock::time_point now);
  // Reports what is durable now.
  void report_after_commit();
  // Returns whether all ends have been reported to those clients that are there.
  bool have_all_ends(FarmClock::time_point now) const;

 private:
  void report_unfit(const FarmClient& client);

  JobBoard& board_;
  const UnfitJobs& unfit_;
  const uint64_t max_jobs_;
  const Send send_;
  std::vector<std::pair<std::string, pb::FarmMessage>> after_commit_;
};

}  // namespace sluice
