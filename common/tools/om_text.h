// What a compiled model is, in some lines; and its ModelDef as text and back, by protoc in a
// process of its own: our programs link only the lite runtime, which has no text form. The schema
// is built into the program.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace sluice {

// Text of a serialized ModelDef. Errors: kProgramMissing without protoc, kBadFile when it refuses
// the bytes.
Result<std::string> model_text(std::span<const std::byte> model);
// The serialized ModelDef of a text; kBadText with protoc's words when it refuses it.
Result<std::string> model_bytes_of_text(std::string_view text, const std::string& name);

// Whether a text is a ModelDef's, which begins with a field, "name:" or "name {", behind comments;
// anything else is a textual graph, or a bad one.
bool is_model_text(std::string_view text);

// What sluice-show prints of a .om: with `header` the facts of its header above, as comments.
Result<std::string> om_text(std::span<const std::byte> bytes, bool header);
// What sluice-show --summary prints of a .om: profile, inputs, outputs, nodes by engine, bytes,
// tasks and streams.
Result<std::string> om_summary(std::span<const std::byte> bytes);
// What sluice-show --format=json prints of a .om: docs/other-views.md.
Result<std::string> om_json(std::span<const std::byte> bytes);
// What sluice-as writes: the model of the text with the segments of the .om at with_path. The same
// text gives the same bytes.
Result<void> write_om_of_text(std::string_view text, const std::string& name,
                              const std::string& with_path, const std::string& path);

}  // namespace sluice
