// A ModelProto without its payloads.
//
// A protobuf parser copies every weight and stops at 2 GiB. This scanner follows the wire format
// (developers.google.com/protocol-buffers, "Encoding") of the messages that lead to a TensorProto
// and copies everything but the bytes of large tensors: raw_data and packed float_data and
// double_data, whose bytes are already those of the tensor. In their place the tensor gets the
// otherwise unused field `segment`: begin and end are file offsets. Fields that the compiler never
// reads (doc strings of nodes, training graphs) are left out too.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "common/base/result.h"

namespace sluice {

// The maximum nesting of messages: 64 bodies, each in an attribute of a node of a graph, and the
// messages that they contain.
inline constexpr int kMaxMessageDepth = 208;

// Returns the reduced message, ready for the generated parser. Bytes that are not the wire format,
// or nested deeper than that, are kBadModel naming the byte; more than 2 GiB left over is kLimit.
Result<std::string> drop_payloads(std::span<const std::byte> model);

}  // namespace sluice
