#include "common/base/readable_text.h"
#include "common/base/result.h"

namespace sluice {

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

std::string error_text(const Error& error) {
  std::string text =
      fmt::format("SL{:04}: {}", static_cast<int>(error.code), readable_text(error.message));
  if (!error.file.empty()) text += fmt::format(" [{}]", readable_text(error.file));
  if (!error.hint.empty()) text += fmt::format("\nhint: {}", readable_text(error.hint));
  return text;
}

}  // namespace sluice
