// The generation of one kernel as a job that any process with the store can run: its record in
// DIR/jobs (common/store/store.h) is that of the kernel without its product, so both have one key.
// sluice-subgraph-optimize --kernels writes such records, and generates the kernels.
#pragma once

#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/store/store.h"

namespace sluice {

inline constexpr char kKernelKind[] = "kernel";  // of the record of such a job

struct KernelJob {
  Digest key;
  Digest graph;       // the bytes of a graph file that needs the kernel, in the store
  std::string build;  // of the generator
};

// Errors: kBadFile when the record is of no such job.
Result<KernelJob> kernel_job_of(const Record& record);

// Returns whether the store has the kernel of this key.
bool has_kernel(const Digest& key, Store& store);

// Returns a line of --kernels=LIST for a job whose graph is in the store.
std::string kernel_line(const KernelJob& job, const Store& store);

// The programs that make jobs, and where.
struct KernelPlanning {
  std::string partition, subgraph_optimize;  // paths
  std::vector<std::string> options;          // of subgraph-optimize, with --store
  std::string folder;                        // for the subgraphs, which nothing else uses
};

// Makes a job for each kernel that a partitioned graph needs and the store does not have, with the
// file of the subgraph alone as its input, and returns the keys. Kernels of states that grow in
// place depend on more than their subgraph: they have no job, and the stage generates them. Errors:
// kStageFailed when one of the programs fails; those of files.
Result<std::vector<Digest>> make_kernel_jobs(const std::string& graph,
                                             const KernelPlanning& planning);

}  // namespace sluice
