#include "common/target/vector.h"

#include "common/loop/lowering.h"

namespace sluice {

std::string vector_unsupported_reason(const Node& node) { return loop::unsupported_reason(node); }

}  // namespace sluice
