// --store DIR: a folder of artifacts named by their SHA-256, which cooperating programs share. The
// path of an artifact is DIR/<first two hex digits>/<all 64>; it exists whole or not at all, never
// changes, and may be deleted when no program needs it.
#pragma once

#include <string>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/base/temporary_file.h"

namespace sluice {

std::string store_path(const std::string& store, const Digest& digest);
// Stores bytes whose digest the caller knows. Does nothing when they are stored already.
Result<void> put_in_store(const std::string& store, const Digest& digest,
                          std::span<const std::byte> bytes);
// Hashes a file that was created below the store, and moves it into the store.
Result<Digest> move_into_store(const std::string& store, TemporaryFile file);

// Returns true when the path exists and is not a regular file. A link counts, too, for it may lead
// anywhere.
bool is_no_entry(const std::string& path);

}  // namespace sluice
