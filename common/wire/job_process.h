// A job in a process forked from the service, so that nothing it does to its memory, and no way it
// dies, affects the service.
#pragma once

#include <sys/types.h>

#include <functional>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "common/wire/payload.h"
#include "control.pb.h"

namespace sluice::wire {

// Runs in the process of the job: standard input is the graph, standard output a file for the job's
// output, standard error one for its messages, kHandedOver one for what the service is to keep.
using JobBody = std::function<pb::Result(const pb::Job& job)>;

inline constexpr int kHandedOver = 4;

struct JobProcess {
  pid_t pid = 0;
  Descriptor handle;  // readable when the process has ended
  Descriptor output, messages, report, handed_over;
};

// Starts the process. Errors: kIo.
Result<JobProcess> start_job(const pb::Job& job, const Payload& graph, const JobBody& body);

struct JobEnd {
  pb::Result result;
  Payload output;
  Payload handed_over;
};

// Returns the result of a process that has ended. A job that died has an error that names the
// cause.
JobEnd end_job(JobProcess process, uint64_t max_frame);

// Also waits for the end of the process.
void kill_job(const JobProcess& process);

// Its output is in a file or the store, and is not sent.
bool is_kept(const pb::Result& result);

// Returns an error Result with the exit code of the error.
pb::Result failed_result(const Error& error);

}  // namespace sluice::wire
