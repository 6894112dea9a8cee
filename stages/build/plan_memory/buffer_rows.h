// Buffers as comma-separated values, id,lower,upper,size: the form of the instances that MiniMalloc
// was published with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/omfile/buffer.h"

namespace sluice {

struct BufferRows {
  std::vector<std::string_view> lines;  // without their ends; in the text that was read
  std::vector<std::string_view> ids;    // by buffer, each once
  std::vector<Buffer> buffers;          // live in [lower, upper - 1]
};

// Reads the header and a line for each buffer. Lines end in LF or CRLF. Numbers are below 2^63, and
// so is the sum of the sizes; lower is below upper. Error: kBadFile, which names the line of
// `file`.
Result<BufferRows> read_buffer_rows(std::string_view text, std::string_view file);

// Returns the rows with the column offset.
std::string rows_with_offsets(const BufferRows& rows, const std::vector<uint64_t>& offsets);

}  // namespace sluice
