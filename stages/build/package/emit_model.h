// The ModelDef of a planned graph.
#pragma once

#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "model.pb.h"
#include "stages/build/memory/plan_memory.h"
#include "stages/build/tasks/steps.h"

namespace sluice {

// Kernel objects in the order of first launch, and the kernels' new ids.
struct KernelStore {
  std::vector<SegmentId> objects;
  std::vector<uint64_t> offsets;    // of objects within the kernels segment
  std::vector<int32_t> kernel_ids;  // by KernelId of the module: index into ModelDef.kernels, -1 unused
  uint64_t bytes = 0;
};

// Everything but the segments. host_nodes: by step, the id of its node in the host graph. has_host: a host graph will be the segment after
// weights and kernels.
Result<pb::ModelDef> emit_model(const Module& module, const StepList& list, const MemoryPlan& plan, KernelStore& kernels);

// The graph that holds the nodes of host steps, each alone with inputs and results of its own; node ids are the order of the steps. Empty:
// no graph.
Module make_host_graph(const Module& module, const StepList& list);

}  // namespace sluice
