// What a program of a pipe writes in place of its output when it failed, so that the programs
// behind it end with the same exit code and the error is printed once, by the program that met it.
// 128 bytes, nothing behind them:
//
//   0  magic "SLUICEFL"   8 u32 version 1   12 u16 error code, u16 zero   16 name of the program,
//   zeros   64 zeros   112 u32 CRC-32 of
// bytes 0..112, then zeros
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "common/base/result.h"

namespace sluice {

inline constexpr size_t kFailureHeaderBytes = 128;
inline constexpr char kGoneReader[] =
    "the reader";  // told_by when whoever read our output has gone

// program: who met the error; at most 47 bytes of it are kept.
std::array<std::byte, kFailureHeaderBytes> print_failure_header(ErrorCode code,
                                                                std::string_view program);

// What a reader makes of bytes that start with the failure magic: the error of that code, told_by
// the program that met it. kBadFile when the header is cut off, damaged or followed by anything.
Error failure_read(std::span<const std::byte> bytes);

}  // namespace sluice
