#include "stages/build/package/emit_model.h"

#include <algorithm>
#include <set>

#include "common/graphfile/header.h"
#include "common/ir/append_axis.h"
#include "common/ir/fixed.h"
#include "common/ir/states.h"
#include "common/omfile/om_bindings.h"
#include "common/ops/attributes.h"
#include "common/target/aicore.h"
#include "common/target/multiply_adds.h"
#include "common/target/resolve_profile.h"
#include "common/text/text.h"
#include "stages/build/memory/plan_memory.h"
#include "stages/build/package/check_appended.h"
#include "stages/build/package/emit_part.h"

namespace sluice {
namespace {

template <typename Column>
uint32_t interned(Column* column, std::map<std::string, uint32_t>& index, const std::string& text) {
  const auto [found, inserted] = index.try_emplace(text, static_cast<uint32_t>(index.size()));
  if (inserted) *column->Add() = text;
  return found->second;
}

bool is_map_of_scalars(const Module& module, const Type& type) {
  const bool is_key =
      type.dtype == DType::kString || (dtype_is_integer(type.dtype) && dtype_bits(type.dtype) >= 8);
  if (type.kind != TypeKind::kMap || !is_key) return false;
  const Type& value = module.type(type.element);
  return value.is_tensor() && value.ranked && value.dims.empty() &&
         value.dtype != DType::kUndefined && dtype_bits(value.dtype) % 8 == 0;
}

// Returns whether a compiled model can express the type. Maps are values of their own or elements
// of a sequence.
bool has_words(const Module& module, const Type& type, bool in_optional = false) {
  if (type.kind == TypeKind::kTensor) return type.dtype != DType::kUndefined;
  if (type.kind == TypeKind::kMap) return !in_optional && is_map_of_scalars(module, type);
  if (type.kind != TypeKind::kSequence && type.kind != TypeKind::kOptional) return false;
  return has_words(module, module.type(type.element),
                   in_optional || type.kind == TypeKind::kOptional);
}

pb::ValueKindDef kind_of(TypeKind kind) {
  if (kind == TypeKind::kMap) return pb::VALUE_MAP;
  return kind == TypeKind::kSequence ? pb::VALUE_SEQUENCE : pb::VALUE_OPTIONAL;
}

// Returns a symbol's name as in the model, otherwise an expression; empty for a dim that nobody
// would read.
std::string dim_name(const Module& module, const Dim& dim) {
  if (!dim.is_expression()) return {};
  const Expression& expression = module.expressions[static_cast<ExpressionId>(dim.value)];
  if (expression.op == ExpressionOp::kSymbol)
    return module.expressions.symbol(static_cast<SymbolId>(expression.value)).name;
  constexpr size_t kLong = 64;
  const std::string text = print_dim(module, dim);
  return text.size() > kLong ? "" : text;
}

// Returns the symbol of a dim that is one; otherwise an unbounded symbol.
Symbol symbol_of(const Module& module, const Dim& dim) {
  const Expression* expression =
      dim.is_expression() ? &module.expressions[static_cast<ExpressionId>(dim.value)] : nullptr;
  if (expression == nullptr || expression->op != ExpressionOp::kSymbol) return {};
  return module.expressions.symbol(static_cast<SymbolId>(expression->value));
}

}  // namespace

std::string shown_name(const Node& node) {
  const std::string& name = name_text(node);
  return name.empty() ? fmt::format("{}#{}", op_name(node.op()), node.id()) : name;
}

void ModelEmitter::emit_tensor(const Type& type, pb::TypeDef& def) {
  def.set_dtype(static_cast<uint32_t>(type.dtype));
  def.set_unranked(!type.ranked);
  for (const Dim& dim : type.dims) def.add_dims(dim.is_fixed() ? dim.value : -1);
  if (std::none_of(type.dims.begin(), type.dims.end(),
                   [](const Dim& dim) { return dim.is_expression(); }))
    return;
  for (const Dim& dim : type.dims) {
    def.add_dim_names(dim_name(module_, dim));
    const Symbol facts = symbol_of(module_, dim);
    def.add_dim_low(facts.low);
    def.add_dim_high(facts.high);
    def.add_dim_divisor(facts.divisor);
    if (model_.has_sizes())
      def.add_dim_expression(dim.is_expression() ? size_index(static_cast<ExpressionId>(dim.value))
                                                 : 0);
  }
}

// Emits where inputs determine symbols: for each the first dim that is that symbol.
void ModelEmitter::emit_symbols(const Graph& graph) {
  pb::SizesDef& sizes = *model_.mutable_sizes();
  uint32_t index = 0;
  for (const Value* input : graph.inputs()) {
    if (input->is_constant()) continue;
    const std::vector<Dim>& dims = input->type().dims;
    for (uint32_t axis = 0; axis < dims.size(); ++axis) {
      if (!dims[axis].is_expression()) continue;
      const Expression& expression =
          module_.expressions[static_cast<ExpressionId>(dims[axis].value)];
      const auto next = static_cast<uint32_t>(sizes.symbols_size());
      if (expression.op != ExpressionOp::kSymbol ||
          !symbols_.emplace(static_cast<SymbolId>(expression.value), next).second)
        continue;
      pb::SymbolDef& symbol = *sizes.add_symbols();
      symbol.set_name(module_.expressions.symbol(static_cast<SymbolId>(expression.value)).name);
      symbol.set_input(index);
      symbol.set_axis(axis);
    }
    ++index;
  }
}

// Emits the requirements on dims of inputs. The walk over the root graph compares the others.
void ModelEmitter::emit_requirements() {
  for (const Requirement& each : module_.requirements.rows()) {
    const uint32_t a = size_index(each.a), b = size_index(each.b);
    if (a == 0 || b == 0) continue;
    pb::SizesDef& sizes = *model_.mutable_sizes();
    sizes.add_required_a(a - 1);
    sizes.add_required_b(b - 1);
    sizes.add_required_words(each.words);
  }
}

uint32_t ModelEmitter::size_index(ExpressionId id) {
  if (const auto found = sizes_.find(id); found != sizes_.end()) return found->second;
  const Expression& expression = module_.expressions[id];
  int64_t a = expression.value, b = 0;
  if (expression.op == ExpressionOp::kSymbol) {
    const auto symbol = symbols_.find(static_cast<SymbolId>(expression.value));
    if (symbol == symbols_.end()) return sizes_[id] = 0;
    a = symbol->second;
  } else if (expression.op != ExpressionOp::kConstant) {
    a = int64_t{size_index(expression.a)} - 1;
    b = int64_t{size_index(expression.b)} - 1;
    if (a < 0 || b < 0) return sizes_[id] = 0;
  }
  pb::SizesDef& sizes = *model_.mutable_sizes();
  sizes.add_expression_op(static_cast<uint32_t>(expression.op));
  sizes.add_expression_a(a);
  sizes.add_expression_b(b);
  return sizes_[id] = static_cast<uint32_t>(sizes.expression_op_size());
}

Result<void> ModelEmitter::emit_header() {
  SLUICE_ASSIGN(const DeviceProfile profile, profile_of(module_));
  model_.set_version(version_text());
  model_.set_profile(profile.name);
  model_.set_isa(profile.isa);
  model_.set_memory_line(static_cast<uint32_t>(profile.costs.memory_line));
  SLUICE_TRY(check_kernels());
  for (const Digest& digest : module_.made_from)
    model_.add_made_from(digest.bytes.data(), digest.bytes.size());
  for (const auto& [name, value] : module_.options) {
    pb::OptionDef& option = *model_.add_options();
    option.set_name(name);
    option.set_value(value);
  }
  return {};
}

// Checks that every kernel is made for the model's isa: a loader asks its CPU for that one alone,
// and subgraphs that were lowered apart may differ.
Result<void> ModelEmitter::check_kernels() const {
  for (KernelId id = 0; id < static_cast<KernelId>(module_.kernel_count()); ++id) {
    const Kernel& kernel = module_.kernel(id);
    if (kernel.isa == model_.isa()) continue;
    return make_error(
               ErrorCode::kLinkFailed,
               "a kernel is made for isa '{}', the root graph for profile '{}', whose isa is '{}'",
               kernel.isa, model_.profile(), model_.isa())
        .with_hint("partition root and subgraphs with one --profile, and lower them again");
  }
  return {};
}

uint32_t ModelEmitter::type_index(const Type& type) {
  if (const auto found = types_.find(type); found != types_.end()) return found->second;
  pb::TypeDef def;
  if (type.is_tensor()) {
    emit_tensor(type, def);
  } else {
    def.set_kind(kind_of(type.kind));
    if (type.kind == TypeKind::kMap) def.set_dtype(static_cast<uint32_t>(type.dtype));
    def.set_element(type_index(module_.type(type.element)));
  }
  *model_.add_types() = std::move(def);
  return types_[type] = static_cast<uint32_t>(model_.types_size() - 1);
}

uint32_t ModelEmitter::storage_index(const StorageMap& map) {
  const auto [found, is_new] = storages_.try_emplace(map, static_cast<uint32_t>(storages_.size()));
  if (!is_new) return found->second;
  pb::StorageDef& def = *model_.add_storages();
  for (const StoredAxis& axis : map) {
    def.add_dim(static_cast<uint32_t>(axis.dim));
    def.add_divisor(axis.divisor);
    def.add_modulus(axis.modulus);
  }
  return found->second;
}

Result<void> ModelEmitter::emit_signature(const Graph& graph, bool has_symbolic) {
  SLUICE_TRY(emit_header());
  const bool has_sizes = has_symbolic || !module_.requirements.rows().empty();
  if (has_sizes) emit_symbols(graph);
  std::string refused;
  std::map<std::string, int> named;
  const auto emit = [&](const Value& value, Bindings& bindings, const std::string& name) {
    if (!has_words(module_, value.type())) {
      refused +=
          fmt::format("\n  {}: {}", describe_value(value), print_type(module_, value.type_id()));
      return;
    }
    pb::BindingDef& binding = *bindings.Add();
    binding.set_name(name);
    binding.set_type(type_index(value.type()));
  };
  for (const Value* input : graph.inputs()) {
    if (!input->is_constant()) emit(*input, *model_.mutable_inputs(), input->name());
  }
  for (const Value* output : graph.outputs()) {
    const int before = named[output->name()]++;  // a value that is an output twice is bound twice
    emit(*output, *model_.mutable_outputs(),
         before == 0 ? output->name() : fmt::format("{}~{}", output->name(), before));
  }
  if (has_sizes) emit_requirements();
  SLUICE_ASSIGN(const std::vector<State> states, find_states(graph, state_option(module_)));
  for (const State& state : states) {
    pb::StateDef& def = *model_.add_states();
    def.set_output(state.output);
    def.set_input(state.input);
  }
  if (refused.empty()) return {};
  return make_error(
      ErrorCode::kNotBuildable,
      "inputs and outputs are tensors, sequences, optionals and maps of known elements, but not:{}",
      refused);
}

Result<void> ModelEmitter::emit_part(const Graph& graph, bool under_root) {
  if (!under_root) SLUICE_TRY(check_appended(graph, {}));
  PartEmitter(*this, graph, *model_.add_parts()).run(under_root);
  return {};
}

Result<void> ModelEmitter::emit_root(const Graph& root, const std::vector<bool>& launches) {
  pb::RootDef& def = *model_.mutable_root();
  def.set_first_node(static_cast<uint32_t>(node_names_.name_size()));
  int part = 0;
  for (const Node& node : root.nodes()) {
    const bool is_launch = launches[static_cast<size_t>(node.id())];
    emit_node(node, is_launch                ? node.placement.engine
                    : node.op() == Op::kCall ? EngineId::kNone
                                             : EngineId::kHostCpu);
    def.add_node_kernel(is_launch ? 1 + kernel_index(node.placement.kernel) : 0);
    if (node.op() == Op::kCall)
      SLUICE_TRY(emit_states(node, *model_.mutable_parts(part++)->mutable_fixed()));
  }
  return {};
}

// Emits the bindings of a part that are states in the memory of their bound.
Result<void> ModelEmitter::emit_states(const Node& call, pb::FixedPart& part) {
  const Graph &root = call.graph(), &graph = *call.get(attributes::Call::graph);
  std::set<const Value*> appended;
  std::vector<const Value*> inputs, operands, placeholders;
  for (const Value* input : root.inputs()) {
    if (!input->is_constant()) inputs.push_back(input);
  }
  for (size_t i = 0; i < call.input_count(); ++i) {
    if (graph.inputs()[i]->is_constant()) continue;
    operands.push_back(call.input(i));
    placeholders.push_back(graph.inputs()[i]);
  }
  for (int s = 0; s < model_.states_size(); ++s) {
    pb::StateDef& state = *model_.mutable_states(s);
    const Value &input = *inputs[state.input()], &output = *root.outputs()[state.output()];
    if (output.producer() != &call || !append_axis(output)) continue;
    const auto operand =
        static_cast<int>(std::find(operands.begin(), operands.end(), &input) - operands.begin());
    if (operand == part.inputs_size() || input.storage_id() != output.storage_id()) continue;
    const Value* const ends[] = {placeholders[static_cast<size_t>(operand)],
                                 graph.outputs()[output.result()]};
    for (const Value* value : ends) {
      if (value->storage_id() == output.storage_id()) appended.insert(value);
    }
    state.set_storage(1 + type_index(Type::tensor(output.type().dtype, output.storage()->dims)));
    part.mutable_inputs(operand)->set_state(static_cast<uint32_t>(s) + 1);
    part.mutable_outputs(static_cast<int>(output.result()))
        ->set_state(static_cast<uint32_t>(s) + 1);
  }
  return check_appended(graph, appended);
}

pb::ModelDef ModelEmitter::finish() {
  model_.set_nodes(static_cast<uint32_t>(node_names_.name_size()));
  model_.set_node_names(node_names_.SerializeAsString());
  return std::move(model_);
}

uint32_t ModelEmitter::emit_node(const std::string& name, const std::string& op,
                                 std::string_view engine, uint64_t multiply_adds) {
  node_names_.add_name(name);
  node_names_.add_origins();
  model_.add_node_op(interned(model_.mutable_ops(), ops_, op));
  model_.add_node_engine(interned(model_.mutable_engines(), engines_, std::string(engine)));
  model_.add_node_multiply_adds(multiply_adds);
  return static_cast<uint32_t>(node_names_.name_size() - 1);
}

uint32_t ModelEmitter::emit_node(const Node& node, EngineId engine) {
  const uint32_t index =
      emit_node(shown_name(node), op_text(node), engine_name(engine), count_multiply_adds(node));
  for (const uint32_t origin : node.origins())
    node_names_.mutable_origins(static_cast<int>(index))->add_onnx_nodes(module_.onnx_node(origin));
  emit_fused_values(node, index);
  return index;
}

// Emits the names of the values that only the body of a Fused node has.
void ModelEmitter::emit_fused_values(const Node& node, uint32_t index) {
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  if (body == nullptr) return;
  for (const Node& inner : body->nodes()) {
    for (size_t i = 0; i < inner.output_count(); ++i) {
      const Value& value = inner.output(i);
      if (value.is_output() || value.name().empty()) continue;
      node_names_.add_fused_value(value.name());
      node_names_.add_fused_into(index);
    }
  }
}

uint32_t ModelEmitter::kernel_index(KernelId id) {
  int32_t& index = kernels_.kernel_ids[static_cast<size_t>(id)];
  if (index >= 0) return static_cast<uint32_t>(index);
  const Kernel& kernel = module_.kernel(id);
  const auto [object, inserted] = objects_.try_emplace(kernel.object, kernels_.objects.size());
  if (inserted) {
    kernels_.objects.push_back(kernel.object);
    kernels_.offsets.push_back(kernels_.bytes);
    kernels_.bytes = (kernels_.bytes + module_.segment(kernel.object).size + kValueAlignment - 1) /
                     kValueAlignment * kValueAlignment;
  }
  pb::KernelDef& def = *model_.add_kernels();
  def.set_entry(kernel.entry);
  def.set_object_offset(kernels_.offsets[object->second]);
  def.set_object_bytes(module_.segment(kernel.object).size);
  def.set_blocks(kernel.blocks);
  def.set_scratch_bytes(kernel.scratch_bytes);
  def.set_multiply_adds(kernel.multiply_adds);
  def.set_cycles(kernel.cycles);
  if (kernel.symbolic) {
    def.set_symbolic(true);
    def.mutable_multiply_add_symbols()->Assign(kernel.multiply_add_symbols.begin(),
                                               kernel.multiply_add_symbols.end());
    def.set_multiply_adds_per_block(kernel.multiply_adds_per_block);
    def.set_nominal_multiply_adds(kernel.nominal_multiply_adds);
  }
  index = model_.kernels_size() - 1;
  return static_cast<uint32_t>(index);
}

}  // namespace sluice
