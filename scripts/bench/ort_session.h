// ONNX Runtime through its C library, opened at run time: neither its headers nor its library is
// needed to build.
//
// The library publishes one struct of function pointers that only ever grows at its end, so a
// function is found by its position in the published order. The positions used here are all of API
// version 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"

namespace sluice::bench {

class OrtLibrary {
 public:
  // kNotFound when the library cannot be opened, kBadFile when it is not ONNX Runtime. Stays open
  // until the process ends.
  static Result<OrtLibrary> open(const std::string& path);

  const std::string& version() const { return version_; }
  void* function(int position) const { return functions_[position]; }
  void* environment() const { return environment_; }

 private:
  void* const* functions_ = nullptr;
  void* environment_ = nullptr;
  std::string version_;
};

// A model ready to run: all graph optimisations, nodes one after the other, `threads` threads
// inside a node.
class OrtSession {
 public:
  // library must outlive the session.
  static Result<OrtSession> open(const OrtLibrary& library, const std::string& model, int threads);
  OrtSession(OrtSession&& other) noexcept;
  OrtSession& operator=(OrtSession&&) = delete;
  ~OrtSession();

  // Input tensors by name; they are read in place and must outlive the session's runs. kBadBinding
  // when a name is unknown or missing.
  Result<void> bind(const std::vector<Tensor>& inputs);
  // Runs once; the results stay inside until the next run.
  Result<void> run();
  // Copies of the last run's results, in the model's order, with their names. Strings are
  // kUnsupportedOp.
  Result<std::vector<Tensor>> outputs() const;

 private:
  explicit OrtSession(const OrtLibrary& library) : library_(&library) {}
  Result<void> read_names();
  Result<std::string> name(int position, size_t index) const;
  void release_results();

  const OrtLibrary* library_;
  void* session_ = nullptr;
  std::vector<std::string> input_names_, output_names_;
  std::vector<void*> input_values_, output_values_;  // in the order of the names; owned
};

}  // namespace sluice::bench
