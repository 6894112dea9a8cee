#include "common/omfile/testing/model_builder.h"

#include "common/base/scratch_folder.h"
#include "common/omfile/pieces.h"
#include "common/omfile/verify_model.h"

namespace sluice::testing {

ModelBuilder::ModelBuilder() {
  model.set_version("test");
  model.set_profile("cpu-generic");
  model.set_isa("generic");
  model.add_parts();
}

uint32_t ModelBuilder::type(DType dtype, std::vector<int64_t> dims) {
  pb::TypeDef* type = model.add_types();
  type->set_dtype(static_cast<uint32_t>(dtype));
  for (const int64_t dim : dims) type->add_dims(dim);
  return static_cast<uint32_t>(model.types_size() - 1);
}

uint32_t ModelBuilder::input(const std::string& name, uint32_t type) {
  pb::BindingDef* binding = model.add_inputs();
  binding->set_name(name);
  binding->set_type(type);
  return value(name, type,
               pb::REGION_FIRST_BINDING + static_cast<uint32_t>(model.inputs_size()) - 1, 0);
}

uint32_t ModelBuilder::output(const std::string& name, uint32_t type) {
  pb::BindingDef* binding = model.add_outputs();
  binding->set_name(name);
  binding->set_type(type);
  return value(name, type,
               pb::REGION_FIRST_BINDING +
                   static_cast<uint32_t>(model.inputs_size() + model.outputs_size()) - 1,
               0);
}

uint32_t ModelBuilder::arena_value(const std::string& name, uint32_t type) {
  const uint64_t offset = part().memory().arena_bytes();
  const uint32_t id = value(name, type, pb::REGION_ARENA, offset);
  part().mutable_memory()->set_arena_bytes(
      (offset + part().value_bytes(static_cast<int>(id)) + 63) / 64 * 64);
  return id;
}

uint32_t ModelBuilder::storage(const StorageMap& map) {
  pb::StorageDef& def = *model.add_storages();
  for (const StoredAxis& axis : map) {
    def.add_dim(static_cast<uint32_t>(axis.dim));
    def.add_divisor(axis.divisor);
    def.add_modulus(axis.modulus);
  }
  return static_cast<uint32_t>(model.storages_size());
}

uint32_t ModelBuilder::value(const std::string& name, uint32_t type, uint32_t region,
                             uint64_t offset) {
  pb::ValueNamesDef last;
  last.add_name(name);
  *part().mutable_value_names() +=
      last.SerializeAsString();  // concatenated messages are one message
  part().add_value_type(type);
  part().add_value_region(region);
  part().add_value_offset(offset);
  part().add_value_bytes(type_bytes(model.types(static_cast<int>(type))).value());
  part().add_value_storage(0);
  if (part().value_capacity_size() > 0) part().add_value_capacity(0);
  return static_cast<uint32_t>(part().value_type_size() - 1);
}

void ModelBuilder::set_capacity(uint32_t value, uint32_t storage, uint32_t capacity_type) {
  const int v = static_cast<int>(value);
  while (part().value_capacity_size() < part().value_type_size()) part().add_value_capacity(0);
  part().set_value_storage(v, storage);
  part().set_value_capacity(v, capacity_type + 1);
  part().set_value_bytes(v, *bytes_of_rows(model, part(), TypeSizes(model), value).value());
}

void ModelBuilder::piece(uint32_t value, uint32_t whole) {
  part().add_piece_value(value);
  part().add_piece_of(whole);
}

uint32_t ModelBuilder::stream(const std::string& name) {
  part().add_streams()->set_name(name);
  return static_cast<uint32_t>(part().streams_size() - 1);
}

uint32_t ModelBuilder::event(const std::string& name) {
  part().add_events()->set_name(name);
  return static_cast<uint32_t>(part().events_size() - 1);
}

uint32_t ModelBuilder::test_kernel(const std::string& entry, uint32_t blocks,
                                   uint64_t scratch_bytes) {
  pb::KernelDef* kernel = model.add_kernels();
  kernel->set_entry(entry);
  kernel->set_blocks(blocks);
  kernel->set_scratch_bytes(scratch_bytes);
  return static_cast<uint32_t>(model.kernels_size() - 1);
}

uint32_t ModelBuilder::task(pb::TaskKind kind, const std::string& node, uint32_t stream,
                            uint32_t target, const std::vector<uint32_t>& outputs,
                            const std::vector<uint32_t>& inputs) {
  pb::NodeNamesDef last;
  last.add_name(node);
  *model.mutable_node_names() += last.SerializeAsString();
  model.set_nodes(model.nodes() + 1);
  part().add_task_kind(kind);
  part().add_task_stream(stream);
  part().add_task_target(target);
  part().add_task_node(model.nodes() - 1);
  part().add_task_record(0);
  part().add_task_outputs(static_cast<uint32_t>(outputs.size()));
  for (const uint32_t value : outputs) part().add_operand(value);
  for (const uint32_t value : inputs) part().add_operand(value);
  part().add_task_operand_end(static_cast<uint32_t>(part().operand_size()));
  return static_cast<uint32_t>(part().task_kind_size() - 1);
}

uint32_t ModelBuilder::launch(const std::string& node, uint32_t stream, uint32_t kernel,
                              const std::vector<uint32_t>& outputs,
                              const std::vector<uint32_t>& inputs) {
  return task(pb::TASK_TEST, node, stream, kernel, outputs, inputs);
}

uint32_t ModelBuilder::copy(const std::string& node, uint32_t stream, uint32_t to, uint32_t from) {
  return task(pb::TASK_COPY, node, stream, 0, {to}, {from});
}

uint32_t ModelBuilder::record(uint32_t stream, uint32_t event) {
  return task(pb::TASK_RECORD, "record " + part().events(static_cast<int>(event)).name(), stream,
              event, {}, {});
}

uint32_t ModelBuilder::wait(uint32_t stream, uint32_t event, uint32_t record) {
  const uint32_t added =
      task(pb::TASK_WAIT, "wait " + part().events(static_cast<int>(event)).name(), stream, event,
           {}, {});
  part().set_task_record(static_cast<int>(added), record);
  return added;
}

void ModelBuilder::alias(uint32_t value, uint32_t after_task) {
  part().add_alias_value(value);
  part().add_alias_after_task(after_task);
}

std::vector<std::byte> om_bytes(const pb::ModelDef& model, const std::vector<OmSegment>& segments) {
  const auto folder = ScratchFolder::create();
  if (!folder || !write_om(folder->file("model.om"), model, segments)) return {};
  return read_file(folder->file("model.om")).value();
}

pb::ModelDef without_event(pb::ModelDef model, uint32_t event) {
  const pb::FixedPart old = model.parts(0).fixed();
  pb::FixedPart& part = *model.mutable_parts(0)->mutable_fixed();
  part.clear_task_kind();
  part.clear_task_stream();
  part.clear_task_target();
  part.clear_task_node();
  part.clear_task_outputs();
  part.clear_task_record();
  part.clear_task_operand_end();
  for (int t = 0; t < old.task_kind_size(); ++t) {
    const bool is_event = old.task_kind(t) == pb::TASK_RECORD || old.task_kind(t) == pb::TASK_WAIT;
    const uint32_t target = old.task_target(t);
    if (is_event && target == event) continue;
    part.add_task_kind(old.task_kind(t));
    part.add_task_stream(old.task_stream(t));
    part.add_task_target(is_event && target > event ? target - 1 : target);
    part.add_task_node(old.task_node(t));
    part.add_task_outputs(old.task_outputs(t));
    part.add_task_record(old.task_record(t));
    part.add_task_operand_end(old.task_operand_end(t));
  }
  part.mutable_events()->DeleteSubrange(static_cast<int>(event), 1);
  return model;
}

}  // namespace sluice::testing
