// Kernels in the folder of --store: each is found by the digest of its specification, so whatever
// model wants it, it is generated once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/base/result.h"
#include "common/store/handed_over.h"
#include "common/store/store.h"
#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

// Threads may use one at the same time.
class KernelStore {
 public:
  // What happens at the end when the folder could not be used: a warning, or nothing, since whoever
  // has the store looks at fault().
  enum class Faults : uint8_t { kWarned, kAsked };
  // An empty path is a store that has no kernel and keeps none. new_kernels: a file that kernels
  // are appended to in place of the store, which is then only read (common/store/handed_over.h);
  // empty: none. Errors: kNotFound, when the program cannot read its own file; those of opening
  // that file.
  static Result<KernelStore> open(const std::string& path, const std::string& new_kernels,
                                  Faults faults);
  ~KernelStore();
  KernelStore(KernelStore&&) = default;
  KernelStore& operator=(KernelStore&&) = delete;

  std::optional<GeneratedKernel> find(const std::string& specification) const;
  void keep(const std::string& specification, const GeneratedKernel& kernel) const;
  // Returns whether what is kept gets into the store only later, by whoever started this program.
  bool hands_over() const { return handed_over_.has_value(); }
  // Returns the key of the kernel's record.
  Digest key(const std::string& specification) const;
  // Keeps a graph file, and returns its digest when it is in the store then.
  std::optional<Digest> keep_graph(std::span<const std::byte> bytes) const;
  // Keeps what is to be made: the record without its product, with the graph that wants the kernel.
  // Returns whether it is in the store then.
  bool keep_job(const std::string& specification, const Digest& graph) const;
  // Returns what went wrong first.
  std::optional<std::string> fault() const { return store_->fault(); }

 private:
  KernelStore(std::string path, std::string build, Faults faults)
      : store_(std::make_unique<Store>(std::move(path))),
        build_(std::move(build)),
        faults_(faults) {}
  Fields fields(const std::string& specification) const;

  std::unique_ptr<Store> store_;
  std::string build_;  // of the generator
  Faults faults_;
  mutable std::optional<HandedOver> handed_over_;
};

}  // namespace sluice
