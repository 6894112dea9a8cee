#include "stages/build/package/emit_model.h"

#include <algorithm>
#include <map>

#include "common/graphfile/header.h"
#include "common/target/aicore.h"
#include "common/target/multiply_adds.h"
#include "common/target/profile.h"

namespace sluice {
namespace {

constexpr uint32_t kAbsent = 0xffffffff;

class Emitter {
 public:
  Emitter(const Module& module, const StepList& list, const MemoryPlan& plan, KernelStore& kernels)
      : module_(module), root_(module.root()), list_(list), plan_(plan), kernels_(kernels), value_ids_(root_.value_limit(), kAbsent) {}

  Result<pb::ModelDef> run() {
    SLUICE_TRY(emit_header());
    part_ = model_.add_parts()->mutable_fixed();
    emit_bindings();
    kernels_.kernel_ids.assign(module_.kernel_count(), -1);
    for (const Step& step : list_.steps) emit_step(step);
    for (const Alias& alias : list_.aliases) emit_alias(alias);
    emit_memory();
    model_.set_nodes(static_cast<uint32_t>(node_names_.name_size()));
    model_.set_node_names(node_names_.SerializeAsString());
    part_->set_value_names(value_names_.SerializeAsString());
    return std::move(model_);
  }

 private:
  Result<void> emit_header() {
    const auto profile_name = module_.options.find("profile");
    SLUICE_ASSIGN(const DeviceProfile profile, get_profile(profile_name == module_.options.end() ? "native" : profile_name->second));
    model_.set_version(version_text());
    model_.set_profile(profile.name);
    model_.set_isa(profile.isa);
    for (const Digest& digest : module_.made_from) model_.add_made_from(digest.bytes.data(), digest.bytes.size());
    for (const auto& [name, value] : module_.options) {
      pb::OptionDef& option = *model_.add_options();
      option.set_name(name);
      option.set_value(value);
    }
    return {};
  }

  uint32_t type_index(const Type& type) {
    const auto [found, inserted] = types_.try_emplace(type, static_cast<uint32_t>(types_.size()));
    if (inserted) {
      pb::TypeDef& def = *model_.add_types();
      def.set_dtype(static_cast<uint32_t>(type.dtype));
      for (const Dim& dim : type.dims) def.add_dims(dim.value);
    }
    return found->second;
  }

  void emit_bindings() {
    for (const Value* input : root_.inputs()) {
      if (input->is_constant()) continue;
      pb::BindingDef& binding = *model_.add_inputs();
      binding.set_name(input->name());
      binding.set_type(type_index(input->type()));
      value_id(*input);
    }
    std::map<std::string, int> named;
    for (const Value* output : root_.outputs()) {
      pb::BindingDef& binding = *model_.add_outputs();
      const int before = named[output->name()]++;  // a value that is an output twice is bound twice
      binding.set_name(before == 0 ? output->name() : fmt::format("{}~{}", output->name(), before));
      binding.set_type(type_index(output->type()));
    }
  }

  uint32_t region_of(const ValuePlace& place) const {
    switch (place.place) {
      case Place::kArena:
        return pb::REGION_ARENA;
      case Place::kWeights:
        return pb::REGION_WEIGHTS;
      case Place::kInput:
        return pb::REGION_FIRST_BINDING + place.binding;
      case Place::kOutput:
        return pb::REGION_FIRST_BINDING + static_cast<uint32_t>(model_.inputs_size()) + place.binding;
    }
    return pb::REGION_ARENA;
  }

  uint32_t add_value(const Value& value, uint32_t region, uint64_t offset, uint64_t bytes) {
    value_names_.add_name(value.name());
    part_->add_value_type(type_index(value.type()));
    part_->add_value_region(region);
    part_->add_value_offset(offset);
    part_->add_value_bytes(bytes);
    part_->add_value_format(value.storage() != nullptr && value.storage()->format == StorageFormat::kNhwc ? pb::FORMAT_NHWC
                                                                                                          : pb::FORMAT_DENSE);
    return static_cast<uint32_t>(part_->value_type_size() - 1);
  }

  uint32_t value_id(const Value& value) {
    uint32_t& id = value_ids_[static_cast<size_t>(value.id())];
    if (id == kAbsent) {
      const ValuePlace& place = plan_.places[static_cast<size_t>(value.id())];
      id = add_value(value, region_of(place), place.offset, place.bytes);
    }
    return id;
  }

  template <typename Column>
  static uint32_t interned(Column* column, std::map<std::string, uint32_t>& index, const std::string& text) {
    const auto [found, inserted] = index.try_emplace(text, static_cast<uint32_t>(index.size()));
    if (inserted) *column->Add() = text;
    return found->second;
  }

  uint32_t emit_node(const std::string& name, const std::string& op, std::string_view engine, uint64_t multiply_adds) {
    node_names_.add_name(name);
    node_names_.add_origins();
    model_.add_node_op(interned(model_.mutable_ops(), ops_, op));
    model_.add_node_engine(interned(model_.mutable_engines(), engines_, std::string(engine)));
    model_.add_node_multiply_adds(multiply_adds);
    return static_cast<uint32_t>(node_names_.name_size() - 1);
  }

  uint32_t emit_node(const Node& node) {
    const uint32_t index = emit_node(name_text(node), op_text(node), engine_name(node.plan.engine), count_multiply_adds(node));
    for (const uint32_t origin : node.origins())
      node_names_.mutable_origins(static_cast<int>(index))->add_onnx_nodes(module_.onnx_node(origin));
    return index;
  }

  uint32_t kernel_index(KernelId id) {
    int32_t& index = kernels_.kernel_ids[static_cast<size_t>(id)];
    if (index >= 0) return static_cast<uint32_t>(index);
    const Kernel& kernel = module_.kernel(id);
    const auto [object, inserted] = objects_.try_emplace(kernel.object, kernels_.objects.size());
    if (inserted) {
      kernels_.objects.push_back(kernel.object);
      kernels_.offsets.push_back(kernels_.bytes);
      kernels_.bytes = (kernels_.bytes + module_.segment(kernel.object).size + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
    }
    pb::KernelDef& def = *model_.add_kernels();
    def.set_entry(kernel.entry);
    def.set_object_offset(kernels_.offsets[object->second]);
    def.set_object_bytes(module_.segment(kernel.object).size);
    def.set_blocks(kernel.blocks);
    def.set_scratch_bytes(kernel.scratch_bytes);
    def.set_multiply_adds(kernel.multiply_adds);
    scratch_bytes_ = std::max(scratch_bytes_, kernel.scratch_bytes);
    index = model_.kernels_size() - 1;
    return static_cast<uint32_t>(index);
  }

  void emit_step(const Step& step) {
    part_->add_task_stream(0);
    if (step.kind == StepKind::kLaunch) {
      part_->add_task_kind(pb::TASK_LAUNCH);
      part_->add_task_target(kernel_index(step.node->plan.kernel));
    } else if (step.kind == StepKind::kHost) {
      part_->add_task_kind(pb::TASK_HOST);
      part_->add_task_target(next_host_node_++);
    } else {
      part_->add_task_kind(pb::TASK_COPY);
      part_->add_task_target(0);
    }
    if (step.node == nullptr) {
      emit_output_copy(step);
    } else {
      part_->add_task_node(emit_node(*step.node));
      part_->add_task_outputs(static_cast<uint32_t>(step.outputs.size()));
      for (const Value* value : step.outputs) part_->add_operand(value_id(*value));
      for (const Value* value : step.inputs) part_->add_operand(value == nullptr ? kAbsent : value_id(*value));
    }
    part_->add_task_operand_end(static_cast<uint32_t>(part_->operand_size()));
  }

  void emit_output_copy(const Step& step) {
    const Value& source = *step.inputs[0];
    const uint32_t region = pb::REGION_FIRST_BINDING + static_cast<uint32_t>(model_.inputs_size() + static_cast<int>(step.copied_output));
    part_->add_task_node(emit_node(source.name(), "MemCopy", engine_name(EngineId::kRts), 0));
    part_->add_task_outputs(1);
    part_->add_operand(add_value(source, region, 0, storage_bytes(source)));
    part_->add_operand(value_id(source));
  }

  void emit_alias(const Alias& alias) {
    if (alias.after < 0) return;  // of an input or a constant: nothing makes it
    part_->add_alias_value(value_id(*alias.value));
    part_->add_alias_after_task(static_cast<uint32_t>(alias.after));
  }

  void emit_memory() {
    pb::MemoryDef& memory = *part_->mutable_memory();
    memory.set_arena_bytes(plan_.arena_bytes);
    memory.set_alignment(kValueAlignment);
    memory.set_scratch_bytes(scratch_bytes_);
    part_->add_streams()->set_name("main");
  }

  const Module& module_;
  const Graph& root_;
  const StepList& list_;
  const MemoryPlan& plan_;
  KernelStore& kernels_;
  std::vector<uint32_t> value_ids_;
  pb::ModelDef model_;
  pb::FixedPart* part_ = nullptr;
  pb::NodeNamesDef node_names_;
  pb::ValueNamesDef value_names_;
  std::map<SegmentId, size_t> objects_;  // index into the kernel store
  std::map<Type, uint32_t> types_;
  std::map<std::string, uint32_t> ops_, engines_;
  uint32_t next_host_node_ = 0;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

Result<pb::ModelDef> emit_model(const Module& module, const StepList& list, const MemoryPlan& plan, KernelStore& kernels) {
  return Emitter(module, list, plan, kernels).run();
}

}  // namespace sluice
