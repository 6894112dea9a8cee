#include "stages/build/package/check_appended.h"

#include "common/ir/append_axis.h"
#include "common/ir/module.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

template <typename... Args>
Error bad(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kNotBuildable, format, std::forward<Args>(args)...)
      .with_hint(
          "go on from the partitioned graph, of which sluice-subgraph-optimize makes states in "
          "place");
}

Result<void> check_append(const Node& node) {
  const Value &appended = node.output(), &past = *node.input(0);
  const auto axis = static_cast<int64_t>(*append_axis(appended));
  const int64_t given = node.get(attributes::Concat::axis);
  if (node.op() != Op::kConcat || node.placement.kernel >= 0)
    return bad("{}: only a Concat may write a value that is appended to", node.label());
  if ((given < 0 ? given + appended.type().rank() : given) != axis)
    return bad("{}: its axis is {}, its result has room along {}", node.label(), given, axis);
  if (!past.is_input() || past.storage_id() != appended.storage_id() || node.input_count() < 2)
    return bad("{}: it does not append to a state's input of the same storage", node.label());
  for (size_t i = 1; i < node.input_count(); ++i) {
    if (append_axis(*node.input(i)))
      return bad("{}: what it appends, '{}', is appended to in place", node.label(),
                 node.input(i)->name());
  }
  return {};
}

// Returns whether a node can read such a value: a kernel reads by the strides that it was made for,
// a TransData by rows.
bool can_read(const Use& use) {
  const Op op = use.node->op();
  if (op == Op::kConcat && use.input == 0) return append_axis(use.node->output()).has_value();
  return use.node->placement.kernel >= 0 || op == Op::kTransData || op == Op::kShape ||
         op == Op::kSize;
}

}  // namespace

Result<void> check_appended(const Graph& part, const std::set<const Value*>& states) {
  for (const Value& value : part.values()) {
    if (value.is_erased() || !value.is_used() || !append_axis(value)) continue;
    if (!states.contains(&value))
      return bad("value '{}' is appended to in place and no state of --state has it", value.name());
    if (value.producer() != nullptr) SLUICE_TRY(check_append(*value.producer()));
    for (const Use& use : value.uses()) {
      if (!can_read(use))
        return bad("{}: it cannot read '{}', which is appended to in place", use.node->label(),
                   value.name());
    }
  }
  return {};
}

}  // namespace sluice
