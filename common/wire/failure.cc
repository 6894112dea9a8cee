#include "common/wire/failure.h"

namespace sluice {

pb::Failure failure_message(const Error& error) {
  pb::Failure failure;
  failure.set_code(static_cast<uint32_t>(error.code));
  failure.set_message(error.message);
  failure.set_hint(error.hint);
  failure.set_file(error.file);
  return failure;
}

Error failure_error(const pb::Failure& failure) {
  const bool known =
      failure.code() <= UINT16_MAX && is_error_code(static_cast<uint16_t>(failure.code()));
  return Error{known ? static_cast<ErrorCode>(failure.code()) : ErrorCode::kBadReply,
               failure.message(), failure.hint(), failure.file()};
}

}  // namespace sluice
