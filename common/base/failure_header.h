// The header that a program of a pipe writes in place of its output when it failed, so that the
// programs after it end with the same exit code and only the program that met the error prints it.
// The header has 128 bytes and nothing follows it:
//
//   0  magic "SLUICEFL"
//   8  u32 version 1
//  12  u16 error code, u16 zero
//  16  name of the program, zeros
//  64  zeros
// 112  u32 CRC-32 of bytes 0..112, then zeros
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "common/base/result.h"

namespace sluice {

inline constexpr size_t kFailureHeaderBytes = 128;
// The value of reported_by when the reader of our output has gone.
inline constexpr char kGoneReader[] = "the reader";

// Makes the header. program is the one that met the error; at most 47 bytes of its name are kept.
std::array<std::byte, kFailureHeaderBytes> print_failure_header(ErrorCode code,
                                                                std::string_view program);

// Reads bytes that start with the failure magic. Returns the error of that code, reported_by the
// program that met it, or kBadFile when the header is cut off, damaged or followed by anything.
Error failure_read(std::span<const std::byte> bytes);

}  // namespace sluice
