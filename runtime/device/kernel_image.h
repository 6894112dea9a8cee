// Makes the machine code of generated kernels callable: a loader for the closed ELF64 relocatable
// objects that the kernel generator writes. No symbol of the process is ever bound; relocations
// only reach sections of the same object.
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

// Read-only, executable memory with any number of objects; unmapped when destroyed. Functions found
// in it must not be called afterwards.
class KernelImage {
 public:
  // Places the allocated sections of all objects in one mapping, relocates them and makes the
  // mapping read-only and executable. The spans are not needed afterwards. Error: kBadCompiledModel
  // when an object is damaged, made for another machine or not closed, or when two objects define
  // the same function. The caller has checked the objects' digests: damage is answered with an
  // error, but machine code is as trusted as a shared library.
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
