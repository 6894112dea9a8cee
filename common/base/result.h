// Errors are values. A function that can fail on bad input returns Result<T>; asserts are for our
// own bugs only.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

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
// do and may be empty. file is the file that was read and may be empty. told_by is another program
// that has printed this error already, see failure_header.h, or "the reader" of our output, which
// has gone; a stage then ends without a message.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string hint;
  std::string file;
  std::string told_by = {};

  Error&& with_hint(std::string text) && {
    hint = std::move(text);
    return std::move(*this);
  }
  // Puts "where: " before the message on the way up.
  Error&& within(const std::string& where) && {
    message = where + ": " + message;
    return std::move(*this);
  }
};

template <typename... Args>
[[nodiscard]] Error make_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...), {}, {}};
}

// Returns "SL2104: node ... [model.onnx]" and a "hint:" line, which main prints after "<program>:
// error ".
std::string error_text(const Error& error);
// Returns the same as one JSON object, with the nodes that the message names: docs/errors.md.
std::string error_json(const Error& error);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return assert(ok()), std::get<0>(state_); }
  const T& value() const& { return assert(ok()), std::get<0>(state_); }
  T&& value() && { return assert(ok()), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { return assert(!ok()), std::get<1>(state_); }
  const Error& error() const& { return assert(!ok()), std::get<1>(state_); }
  Error&& error() && { return assert(!ok()), std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  Error& error() & { return assert(!ok()), *error_; }
  const Error& error() const& { return assert(!ok()), *error_; }
  Error&& error() && { return assert(!ok()), *std::move(error_); }

 private:
  // No strings are constructed for success: a run has ten such results.
  std::optional<Error> error_;
};

}  // namespace sluice

#define SLUICE_CONCAT_INNER(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_INNER(a, b)

// SLUICE_TRY(expression): returns the error of a failed Result from the enclosing function; drops
// the value.
#define SLUICE_TRY(expression)                             \
  do {                                                     \
    if (auto sluice_result = (expression); !sluice_result) \
      return std::move(sluice_result).error();             \
  } while (false)

// SLUICE_ASSIGN(auto x, expression): declares or assigns x from a Result, or returns its error.
#define SLUICE_ASSIGN(target, ...) \
  SLUICE_ASSIGN_AS(SLUICE_CONCAT(sluice_result_, __LINE__), target, __VA_ARGS__)
#define SLUICE_ASSIGN_AS(name, target, ...)  \
  auto name = (__VA_ARGS__);                 \
  if (!name) return std::move(name).error(); \
  target = std::move(name).value()
