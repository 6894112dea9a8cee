#include <atomic>
#include <cstddef>
#include <new>

#include "common/base/readable_text.h"
#include "common/base/result.h"

namespace sluice {
namespace {

// Places for the errors of threads that have no memory left for one.
struct Spare {
  alignas(Error) std::byte place[sizeof(Error)];
  std::atomic_flag is_taken;
};
Spare spares[64];

void* take_spare() {
  for (Spare& spare : spares)
    if (!spare.is_taken.test_and_set()) return spare.place;
  throw std::bad_alloc();
}

// Returns null for an error that is in memory of its own.
Spare* spare_of(const Error* error) {
  for (Spare& spare : spares)
    if (static_cast<const void*>(spare.place) == error) return &spare;
  return nullptr;
}

}  // namespace

ExitClass exit_class(ErrorCode code) {
  switch (code) {
#define SLUICE_ERROR(name, number, exit, sentence) \
  case ErrorCode::name:                            \
    return ExitClass::exit;
#include "common/base/errors.def"
#undef SLUICE_ERROR
  }
  return ExitClass::kInternal;
}

bool is_error_code(uint16_t number) {
  switch (static_cast<ErrorCode>(number)) {
#define SLUICE_ERROR(name, number, exit, sentence) case ErrorCode::name:
#include "common/base/errors.def"
#undef SLUICE_ERROR
    return true;
  }
  return false;
}

Error::Error() = default;
Error::Error(ErrorCode code, std::string message, std::string hint, std::string file)
    : code(code), message(std::move(message)), hint(std::move(hint)), file(std::move(file)) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

Error&& Error::with_hint(std::string text) && {
  hint = std::move(text);
  return std::move(*this);
}

Error&& Error::within(const std::string& where) && {
  if (!message.starts_with(where + ": ")) message = where + ": " + message;
  return std::move(*this);
}

Error format_error(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  return Error(code, fmt::vformat(format, args));
}

OwnedError::OwnedError(Error&& error) {
  void* place = ::operator new(sizeof(Error), std::nothrow);
  if (place == nullptr) place = take_spare();
  error_ = new (place) Error(std::move(error));
}
OwnedError::OwnedError(const OwnedError& other)
    : error_(other.error_ == nullptr ? nullptr : new Error(*other.error_)) {}
void OwnedError::forget() {
  if (Spare* spare = spare_of(error_)) {
    error_->~Error();
    spare->is_taken.clear();
  } else {
    delete error_;
  }
}

std::string error_text(const Error& error) {
  std::string text =
      fmt::format("SL{:04}: {}", static_cast<int>(error.code), readable_text(error.message));
  if (!error.file.empty()) text += fmt::format(" [{}]", readable_text(error.file));
  if (!error.hint.empty()) text += fmt::format("\nhint: {}", readable_text(error.hint));
  return text;
}

}  // namespace sluice
