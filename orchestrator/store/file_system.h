// Calls of the file system that a store needs: folders listed without following links, and files
// read without noting that as a use.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/base/descriptor.h"
#include "common/base/digest.h"
#include "common/base/result.h"

namespace sluice {

struct FolderEntry {
  const char* name = nullptr;
  int folder = -1;       // descriptor of its folder
  struct stat status{};  // of the entry itself, also when it is a link
};

// Calls take() for each entry of a folder but "." and "..". A folder that is not there, or a link,
// has none. Errors: kNotFound, kIo.
Result<void> for_each_entry(const std::string& folder,
                            const std::function<void(const FolderEntry&)>& take);

// Opens a file that is no link. The time of its last use stays, where the system allows that.
Descriptor open_unnoticed(int folder, const char* name);
// Returns nothing when the file cannot be read, or is too large for a record.
std::optional<std::string> read_unnoticed(int folder, const char* name);
// Returns nothing when the file cannot be read.
std::optional<Digest> digest_of_file(const Descriptor& file);

int64_t now_ns();
// The last time that a file was written or read.
int64_t use_of(const struct stat& status);

// Returns the digest that the name is, as a store writes it: 64 lower-case hex digits.
std::optional<Digest> digest_of_name(std::string_view name);

// Deletes a file. One that is not there is no error.
Result<void> remove_file(const std::string& path);

}  // namespace sluice
