// --store DIR: a folder of artifacts named by their SHA-256, which programs that work for one
// another share. An artifact lies at DIR/<first two hex digits>/<all 64>; it is there whole or not
// at all, never changes, and may be deleted by whoever no longer needs it.
#pragma once

#include <string>

#include "common/base/digest.h"
#include "common/base/result.h"

namespace sluice {

std::string store_path(const std::string& store, const Digest& digest);
// Puts bytes there whose digest the caller knows; does nothing when they are there.
Result<void> put_in_store(const std::string& store, const Digest& digest,
                          std::span<const std::byte> bytes);
// Hashes a file and moves it there. The file lies on the same file system, best below the store.
Result<Digest> move_into_store(const std::string& store, const std::string& file);

// Whether something lies there that is no regular file: a link, too, for it may lead anywhere.
bool is_no_entry(const std::string& path);

}  // namespace sluice
