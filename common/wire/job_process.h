// A job in a process of its own, forked from the service: whatever it does to its memory, or dies
// of, the service keeps nothing of it.
#pragma once

#include <sys/types.h>

#include <functional>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "common/wire/payload.h"
#include "control.pb.h"

namespace sluice::wire {

// Runs in the process of the job: standard input is the graph, standard output a file for what the
// job makes, standard error one for what it says.
using JobBody = std::function<pb::Result(const pb::Job& job)>;

struct JobProcess {
  pid_t pid = 0;
  Descriptor handle;  // readable when the process has ended
  Descriptor output, messages, report;
};

// Errors: kIo.
Result<JobProcess> start_job(const pb::Job& job, const Payload& graph, const JobBody& body);

struct JobEnd {
  pb::Result result;
  Payload output;
};

// Of a process that has ended. A job that died has an error that says of what.
JobEnd end_job(JobProcess process, uint64_t max_frame);

void kill_job(const JobProcess& process);  // and waits for its end

bool is_kept(const pb::Result& result);  // its output lies in a file or the store, and is not sent

// A Result that is an error, with its exit code.
pb::Result failed_result(const Error& error);

}  // namespace sluice::wire
