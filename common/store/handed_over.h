// Results of a program that may not write into the store: it appends them to a file, and whoever
// started the program moves them into the store after looking at them. An entry is
//
//   entry <bytes of the record> <bytes of the artifact>
//   the record, then the artifact
//
// An entry without artifact says that the record was found in the store and used.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "common/store/store.h"

namespace sluice {

// Threads may use one at the same time.
class HandedOver {
 public:
  // Errors: those of opening the file.
  static Result<HandedOver> open(const std::string& path);
  // A failed write is found by whoever reads the file; the result is then made again another time.
  void add(const Record& record, std::span<const std::byte> artifact = {});

 private:
  explicit HandedOver(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

// What is expected of every entry.
struct HandedOverForm {
  std::string kind;      // of the record
  std::string build;     // its field "build"
  std::string artifact;  // the result that names the artifact; no other result is a digest
};

// Moves the entries into the store. One that has another form, or an artifact of another digest,
// ends that. A record that the store has already stays as it is. Errors: kBadFile.
Result<void> take_handed_over(std::span<const std::byte> entries, const HandedOverForm& form,
                              Store& store);

}  // namespace sluice
