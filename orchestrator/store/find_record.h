// Finds the record that a person means by a key, by the first digits of one, or by a file that was
// made with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/store/record.h"
#include "orchestrator/store/content.h"

namespace sluice {

// Returns the key of the record. Of several that have made the same file it is the one used last.
// Errors: kNotFound, kBadOption for digits that several keys begin with.
Result<Digest> find_key(const StoreContent& content, const std::string& text);

// Reads a record without counting that as a use; nothing when it is not there or damaged.
std::optional<Record> find_record(const StoreContent& content, const Digest& key);

}  // namespace sluice
