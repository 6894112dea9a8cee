// Kernels that lowering asks for. They are made once all subgraphs are lowered, in threads and
// each distinct one once: a subgraph of many kernels takes no longer than many subgraphs.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/loop/loop_graph.h"
#include "common/target/profile.h"
#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/engines/kernel_store.h"

namespace sluice {

struct GeneratorOptions;

class KernelRequests {
 public:
  using Generate = std::function<Result<GeneratedKernel>()>;

  // Adds a kernel to the module, which generate_all completes; equal specifications, which say all
  // that the code depends on, share one.
  // Threads may ask at the same time, each for a module of its own, which outlives generate_all.
  KernelId add(Module& module, const std::string& specification, Generate generate);

  // Takes each kernel from the store, or generates it and keeps it there, and completes them in
  // their modules. Error: that of the first specification that fails, in the order of the texts.
  Result<void> generate_all(const DeviceProfile& profile, const KernelStore& store,
                            int64_t threads);

 private:
  struct Request {
    Generate generate;
    GeneratedKernel made;
    bool is_found = false;  // in the store
  };
  struct Asked {
    Module* module;
    KernelId kernel;
    const Request* request;
  };

  Result<void> make(const std::string& specification, Request& request, const KernelStore& store);
  void count() const;

  std::mutex mutex_;
  std::map<std::string, Request> requests_;  // by specification
  std::vector<Asked> asked_;                 // those of one module in the order of their ids
};

// Adds the kernel of loops. label: of the node, for messages.
KernelId add_loop_kernel(Module& module, const GeneratorOptions& options, KernelRequests& kernels,
                         const loop::LoopGraph& loops, const std::string& label);

}  // namespace sluice
