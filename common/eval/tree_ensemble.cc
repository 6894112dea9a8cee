// Sums over decision trees.
#include "common/eval/dispatch.h"
#include "common/eval/forest.h"
#include "common/eval/kernels.h"

namespace sluice::eval {

Result<void> eval_tree_ensemble(EvalCall& call) {
  const Input& x = call.input(0);
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    SLUICE_ASSIGN(const Forest<T> forest, Forest<T>::read(call));
    SLUICE_ASSIGN(const Output y, call.output_like(0, 0, {x.dims[0], forest.targets}));
    forest.score(x.as<T>(), x.dims[1], x.dims[0], y.as<T>());
    return {};
  });
}

}  // namespace sluice::eval
