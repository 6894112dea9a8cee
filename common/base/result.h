// Errors are values. A function that can fail on bad input returns Result<T>; asserts are for our
// own bugs only.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "fmt/core.h"

namespace sluice {

// The process's exit code (docs/errors.md). 1 is never used.
enum class ExitClass : int {
  kDone = 0,
  kUsage = 2,
  kBadInput = 3,
  kUnsupported = 4,
  kResource = 5,
  kInternal = 6,
  kFailed = 7
};

enum class ErrorCode : uint16_t {
#define SLUICE_ERROR(name, number, exit_class, sentence) name = number,
#include "common/base/errors.def"
#undef SLUICE_ERROR
};

ExitClass exit_class(ErrorCode code);
bool is_error_code(uint16_t number);

// message is one line, "node 'conv1' (Conv): input 'W' has rank 3, expected 4". hint says what to
// do and may be empty. file is the file that was read and may be empty. reported_by is another
// program that has printed this error already, see failure_header.h, or "the reader" of our output,
// which has gone; a stage then ends without a message.
//
// What is done with errors is compiled once, in errors.cc, and not where each call can fail: that
// took up to a tenth of the code of a unit, and of the time to compile it.
struct Error {
  Error();
  Error(ErrorCode code, std::string message, std::string hint = {}, std::string file = {});
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error();

  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string hint;
  std::string file;
  std::string reported_by;

  Error&& with_hint(std::string text) &&;
  // Puts "where: " before the message on the way up, unless it begins so.
  Error&& within(const std::string& where) &&;
};

[[nodiscard]] Error format_error(ErrorCode code, fmt::string_view format, fmt::format_args args);

template <typename... Args>
[[nodiscard]] Error make_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return format_error(code, format, fmt::make_format_args(args...));
}

// Returns "SL2104: node ... [model.onnx]" and a "hint:" line, which main prints after "<program>:
// error ".
std::string error_text(const Error& error);
// Returns the same as one JSON object, with the nodes that the message names: docs/errors.md.
std::string error_json(const Error& error);

// The error of a failed Result, or nothing: one pointer, so that success costs no more.
class OwnedError {
 public:
  OwnedError() = default;
  OwnedError(Error&& error);  // NOLINT: implicit on purpose
  OwnedError(const OwnedError& other);
  OwnedError(OwnedError&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  OwnedError& operator=(OwnedError other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~OwnedError() {
    if (error_ != nullptr) forget();
  }

  explicit operator bool() const { return error_ != nullptr; }
  Error& operator*() const { return *error_; }
  // For functions that return an Error.
  operator Error() && { return std::move(*error_); }  // NOLINT: implicit on purpose

 private:
  void forget();
  Error* error_ = nullptr;  // owned
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                    // NOLINT: implicit on purpose
  Result(Error error) : error_(std::move(error)) {}                // NOLINT: implicit on purpose
  Result(OwnedError error) noexcept : error_(std::move(error)) {}  // NOLINT: of another Result

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& value() & { return assert(ok()), *value_; }
  const T& value() const& { return assert(ok()), *value_; }
  T&& value() && { return assert(ok()), *std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { return assert(!ok()), *error_; }
  const Error& error() const& { return assert(!ok()), *error_; }
  Error&& error() && { return assert(!ok()), std::move(*error_); }
  OwnedError&& owned_error() && { return assert(!ok()), std::move(error_); }

 private:
  std::optional<T> value_;
  OwnedError error_;  // when there is no value
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}                // NOLINT: implicit on purpose
  Result(OwnedError error) noexcept : error_(std::move(error)) {}  // NOLINT: of another Result

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  Error& error() & { return assert(!ok()), *error_; }
  const Error& error() const& { return assert(!ok()), *error_; }
  Error&& error() && { return assert(!ok()), std::move(*error_); }
  OwnedError&& owned_error() && { return assert(!ok()), std::move(error_); }

 private:
  OwnedError error_;
};

}  // namespace sluice

#define SLUICE_CONCAT_INNER(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_INNER(a, b)

// SLUICE_TRY(expression): returns the error of a failed Result from the enclosing function; drops
// the value.
#define SLUICE_TRY(expression)                             \
  do {                                                     \
    if (auto sluice_result = (expression); !sluice_result) \
      return std::move(sluice_result).owned_error();       \
  } while (false)

// SLUICE_ASSIGN(auto x, expression): declares or assigns x from a Result, or returns its error.
#define SLUICE_ASSIGN(target, ...) \
  SLUICE_ASSIGN_AS(SLUICE_CONCAT(sluice_result_, __LINE__), target, __VA_ARGS__)
#define SLUICE_ASSIGN_AS(name, target, ...)        \
  auto name = (__VA_ARGS__);                       \
  if (!name) return std::move(name).owned_error(); \
  target = std::move(name).value()
