// --store DIR: a folder of artifacts named by their SHA-256, which cooperating programs share. The
// path of an artifact is DIR/<first two hex digits>/<all 64>; it exists whole or not at all, never
// changes, and may be deleted when no program needs it.
#pragma once

#include <functional>
#include <string>

#include "common/base/digest.h"
#include "common/base/result.h"

namespace sluice {

std::string store_path(const std::string& store, const Digest& digest);
// Stores bytes whose digest the caller knows. Returns the number of bytes that were added to the
// store, for add_to_store_size (common/base/store_size.h): 0 when they are stored already, which is
// a use of them.
Result<uint64_t> put_in_store(const std::string& store, const Digest& digest,
                              std::span<const std::byte> bytes);

// Sets the time of use of a file, by which `sluice cache gc` chooses; the time of change stays.
// Returns whether the file is there.
bool note_use(const std::string& path);

// Calls write() with the folder of the path there. Collections remove folders that are empty, so
// write() is called again when the folder was removed under it.
Result<void> write_in_folder_of(const std::string& path,
                                const std::function<Result<void>()>& write);

// Returns true when the path exists and is not a regular file. A link counts, too, for it may lead
// anywhere.
bool is_no_entry(const std::string& path);

}  // namespace sluice
