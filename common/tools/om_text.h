// A compiled model in a few lines, and its ModelDef as text and back, by protoc in a separate
// process: our programs link only the lite runtime, which has no text form. The schema is built
// into the program.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace sluice {

// Returns the text of a serialized ModelDef. Errors: kProgramMissing without protoc, kBadFile when
// protoc rejects the bytes.
Result<std::string> model_text(std::span<const std::byte> model);
// Returns the serialized ModelDef of a text, or kBadText with protoc's message when protoc rejects
// it.
Result<std::string> model_bytes_of_text(std::string_view text, const std::string& name);

// Returns true for the text of a ModelDef, which begins with a field, "name:" or "name {", after
// comments; any other text is a textual graph, or an invalid one.
bool is_model_text(std::string_view text);

// Returns what sluice-show prints of a .om. With `header` the facts of its header come first, as
// comments.
Result<std::string> om_text(std::span<const std::byte> bytes, bool header);
// Returns what sluice-show --summary prints of a .om: profile, inputs, outputs, nodes by engine,
// bytes, tasks and streams.
Result<std::string> om_summary(std::span<const std::byte> bytes);
// Returns what sluice-show --format=json prints of a .om: docs/other-views.md.
Result<std::string> om_json(std::span<const std::byte> bytes);
// Writes what sluice-as writes: the model of the text with the segments of the .om at with_path.
// The same text produces the same bytes.
Result<void> write_om_of_text(std::string_view text, const std::string& name,
                              const std::string& with_path, const std::string& path);

}  // namespace sluice
