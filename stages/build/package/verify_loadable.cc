#include "stages/build/package/verify_loadable.h"

#include "common/omfile/om_file.h"

namespace sluice {

Result<void> verify_loadable(const pb::ModelDef& model) {
  const Result<void> verdict = verify_om(model);
  if (verdict) return {};
  return make_error(ErrorCode::kInternal, "the compiled model would be refused by its loader: {}",
                    verdict.error().message);
}

}  // namespace sluice
