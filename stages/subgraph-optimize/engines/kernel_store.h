// Kernels in the folder of --store: each is found by the digest of its specification, so whatever
// model wants it, it is generated once.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/store/handed_over.h"
#include "common/store/store.h"
#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

// Threads may use one at the same time.
class KernelStore {
 public:
  // An empty path is a store that has no kernel and keeps none. new_kernels: a file that kernels
  // are appended to in place of the store, which is then only read (common/store/handed_over.h);
  // empty: none. Errors: kNotFound, when the program cannot read its own file; those of opening
  // that file.
  static Result<KernelStore> open(const std::string& path, const std::string& new_kernels);
  // Warns when the folder could not be used.
  ~KernelStore();
  KernelStore(KernelStore&&) = default;
  KernelStore& operator=(KernelStore&&) = delete;

  std::optional<GeneratedKernel> find(const std::string& specification) const;
  void keep(const std::string& specification, const GeneratedKernel& kernel) const;

 private:
  KernelStore(std::string path, std::string build)
      : store_(std::make_unique<Store>(std::move(path))), build_(std::move(build)) {}
  Fields fields(const std::string& specification) const;

  std::unique_ptr<Store> store_;
  std::string build_;  // of the generator
  mutable std::optional<HandedOver> handed_over_;
};

}  // namespace sluice
