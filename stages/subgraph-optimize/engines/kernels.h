// Kernels that lowering asks for. They are made once all subgraphs are lowered, in threads and
// each distinct one once: a subgraph of many kernels takes no longer than many subgraphs.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/loop/loop_graph.h"
#include "common/target/profile.h"
#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/engines/kernel_store.h"
#include "stages/subgraph-optimize/engines/model_kernels.h"

namespace sluice {

struct GeneratorOptions;

// Where kernels are looked for before they are generated.
struct KernelSources {
  ModelKernels model;  // --kernels-from: one not in it is not generated, unless it may be missing
  KernelStore store;   // --store
};

class KernelRequests {
 public:
  // May refer to the options of the lowering that asked, and to nothing of its module.
  using Generate = std::function<Result<GeneratedKernel>()>;

  // Adds a kernel to the module, which generate_all completes; equal specifications, which say all
  // that the code depends on, share one.
  // Threads may ask at the same time, each for a module of its own, which outlives generate_all.
  KernelId add(Module& module, const std::string& specification, Generate generate);

  // Says that the compiled model need not have the kernel of this node: a missing one is generated.
  void allow_missing(const Node& node);

  // Takes each kernel from the sources, or generates it and keeps it in the store, and completes
  // them in their modules. Error: that of the first specification that fails, in the order of the
  // texts.
  Result<void> generate_all(const DeviceProfile& profile, const KernelSources& sources,
                            int64_t threads);

  // A kernel that was asked for, and what generates it.
  struct Wanted {
    std::string specification;
    Generate generate;
  };
  // Returns all of them, in the order of their specifications; the object must not be used then.
  std::vector<Wanted> take_wanted();

  // Returns the entries of the kernels that the compiled model does not have and that were not
  // generated: they have no code. Must run after generate_all.
  std::set<std::string> missing() const;

 private:
  struct Request {
    Generate generate;
    GeneratedKernel made;
    enum class State : uint8_t { kMissing, kFound, kGenerated } state = State::kMissing;
    bool may_be_missing = false;  // in the compiled model
  };
  struct Asked {
    Module* module;
    KernelId kernel;
    const Request* request;
  };

  static Result<void> make(const std::string& specification, Request& request,
                           const KernelSources& sources);
  void count() const;

  std::mutex mutex_;
  std::map<std::string, Request> requests_;  // by specification
  std::vector<Asked> asked_;                 // those of one module in the order of their ids
};

// Adds the kernel of loops. label: of the node, for messages.
KernelId add_loop_kernel(Module& module, const GeneratorOptions& options, KernelRequests& kernels,
                         const loop::LoopGraph& loops, const std::string& label);

}  // namespace sluice
