// DIR/size of a store (common/base/store.h): about how many bytes its files have. With it a store
// is kept below a limit without looking at every file each time. Whoever keeps something adds its
// bytes; whoever looks at all files sets it right; what is deleted by hand is noticed then. The
// file is 20 digits and an end of line, changed in place by the one that has it locked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

// Returns nothing when nobody has looked at all files yet.
std::optional<uint64_t> find_store_size(const std::string& store);
// Adds to the size, where it is known. Nothing else depends on it, so a store that cannot be
// written is no error.
void add_to_store_size(const std::string& store, uint64_t bytes);
void set_store_size(const std::string& store, uint64_t bytes);

}  // namespace sluice
