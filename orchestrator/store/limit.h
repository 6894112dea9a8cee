// The number of bytes that a store may have: DIR/limit, decimal digits and an end of line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"

namespace sluice {

// Returns nothing when there is no limit, or the file is no number.
std::optional<uint64_t> find_limit(const std::string& store);
// Without a value there is no limit. Errors: kIo.
Result<void> set_limit(const std::string& store, std::optional<uint64_t> bytes);

// Sets the size that is known of a store (common/base/store_size.h) after a look at all its files.
// Bytes that have another name count too, since that may be deleted without notice, but alone they
// do not fill a store: else every compile would look again.
void set_known_size(const std::string& store, uint64_t own_bytes, uint64_t linked_bytes);

// Returns the bytes of "10G", "1.5 GB", "500M", "64 KiB" or "1000". Units are decimal, those with
// an "i" binary. `name` is that of the argument, for the error. Errors: kBadOption.
Result<uint64_t> bytes_from_text(const std::string& name, const std::string& text);

}  // namespace sluice
