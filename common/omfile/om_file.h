// Reads and verifies compiled models: everything about a .om that can be checked without running
// it, once. Device and executor trust the result and check nothing again.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "common/omfile/om_format.h"
#include "model.pb.h"

namespace sluice {

// The bytes of a .om: a map of the file, or for standard input a page-aligned copy. Shared by
// copies.
class OmBytes {
 public:
  static Result<OmBytes> open(const std::string& path);           // "-" is standard input
  static Result<OmBytes> copy(std::span<const std::byte> bytes);  // into page-aligned memory
  static OmBytes borrow(std::span<const std::byte> bytes);        // for reading; they outlive it
  std::span<const std::byte> bytes() const { return bytes_; }
  // Returns the open file that they are a map of; -1: none, or it was closed.
  int descriptor() const { return file_ ? file_->get() : -1; }
  void close_file() { file_.reset(); }  // the map stays

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const Descriptor> file_;
};

struct OmChecks {
  bool weights = false;     // hash the weights too: reads every byte of them
  bool machine = true;      // refuse code this CPU cannot run
  bool test_tasks = false;  // accept TASK_TEST, whose kernels are not in the file
};

struct OmFile {
  OmBytes file;
  std::shared_ptr<const pb::ModelDef> model;

  std::span<const std::byte> segment(int index) const;  // index into model->segments
  std::span<const std::byte> segment(
      pb::SegmentKind kind) const;  // the first of that kind; empty when there is none
};

// Reads and checks the header alone: magic, format, digest. For programs that only say what a file
// is. Error: kBadCompiledModel.
Result<OmHeader> read_om_header(std::span<const std::byte> bytes);
Result<void> check_om_size(const OmHeader& header, uint64_t bytes);  // of the whole file

// Checks what opening a model checks (docs/compiled-model.md). Errors: kBadCompiledModel (damaged,
// truncated, foreign), kWrongDevice (ISA), kUnsupportedPart (symbolic parts). O(ModelDef),
// independent of the weights unless checks.weights.
Result<OmFile> read_om(OmBytes file, const OmChecks& checks);

// Checks the description as read_om does when header and segments are in order: everything but the
// bytes of the file and the machine. For writers of models.
Result<void> verify_om(const pb::ModelDef& model, bool test_tasks = false);

// Returns whether this machine's CPU and system can run code made for isa ("avx512bf16",
// "avx512vnni", "avx512", "avx2" or "generic"; anything else: false).
bool machine_runs(std::string_view isa);

}  // namespace sluice
