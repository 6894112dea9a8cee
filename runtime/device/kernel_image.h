// Machine code of generated kernels made callable: a loader for the closed ELF64 relocatable
// objects that the kernel generator writes. No symbol of the process is ever bound; relocations
// reach the object's own sections only.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "runtime/device/kernel_abi.h"

namespace sluice {

// Read-only, executable memory holding any number of objects; unmapped when destroyed. Functions
// found in it must not be called afterwards.
class KernelImage {
 public:
  // Lays the allocated sections of all objects into one mapping, relocates them and makes the
  // mapping read-only and executable. The spans are not needed afterwards. kBadCompiledModel when
  // an object is damaged, of another machine, not closed, or when two objects define the same
  // function. The caller has checked the objects' digests: this answers damage with an error, but
  // machine code is as trusted as a shared library.
  static Result<KernelImage> load(std::span<const std::span<const std::byte>> objects);

  KernelImage(KernelImage&& other) noexcept;
  KernelImage& operator=(KernelImage&& other) noexcept;
  ~KernelImage();

  KernelFunction find(std::string_view entry) const;  // null when absent
  size_t size() const { return size_; }               // mapped bytes

 private:
  KernelImage() = default;
  std::byte* base_ = nullptr;
  size_t size_ = 0;
  std::map<std::string, size_t, std::less<>> functions_;  // entry -> offset in the mapping
};

}  // namespace sluice
