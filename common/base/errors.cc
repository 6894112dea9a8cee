#include "common/base/json.h"
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

const char* error_sentence(ErrorCode code) {
  switch (code) {
#define SLUICE_ERROR(name, number, exit, sentence) \
  case ErrorCode::name:                            \
    return sentence;
#include "common/base/errors.def"
#undef SLUICE_ERROR
  }
  return "unknown error";
}

std::string error_text(const Error& error) {
  std::string text = fmt::format("SL{:04}: {}", static_cast<int>(error.code), error.message);
  if (!error.file.empty()) text += fmt::format(" [{}]", error.file);
  if (!error.hint.empty()) text += fmt::format("\nhint: {}", error.hint);
  return text;
}

std::string error_json(const Error& error) {
  return fmt::format(R"({{"code":"SL{:04}","message":{},"hint":{},"file":{}}})", static_cast<int>(error.code), json_quote(error.message),
                     json_quote(error.hint), json_quote(error.file));
}

}  // namespace sluice
