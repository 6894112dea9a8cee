// What became of a job: a line on standard error, and why it failed in the store.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/store/store.h"
#include "orchestrator/compile/stage_run.h"
#include "orchestrator/job/job.h"

namespace sluice {

// Why a job did not succeed, as its stage printed it.
struct Failure {
  int code = 0;
  std::string text;
};

using JobClock = std::chrono::steady_clock;

inline constexpr std::string_view kJobProgram = "sluice-job";  // in messages

Failure failure_of(const StageReport& report, std::string_view stage);
Failure failure_of(const Error& error);

// Prints the line of a job, "found", "made" or "failed", and returns the code.
int report_outcome(const JobRequest& request, const Digest& key, const char* what,
                   JobClock::time_point start, int code);
// Keeps the failure of a job in the store and prints it.
int report_failure(const JobRequest& request, const Record& job, const Failure& failure,
                   JobClock::time_point start, Store& store);

}  // namespace sluice
