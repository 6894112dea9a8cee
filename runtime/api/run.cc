// Implements the functions of sluice.h that take a run.
#include <algorithm>

#include "common/base/parallel.h"
#include "common/omfile/om_types.h"
#include "common/omfile/verify_model.h"
#include "runtime/api/handles.h"
#include "runtime/executor/check_values.h"

using sluice::ErrorCode;
using sluice::HostTensor;
using sluice::HostValue;
using sluice::make_error;
using sluice::Result;
using sluice::api::guarded;
using sluice::api::type_at;

namespace {

HostTensor host_tensor(const sluice_tensor& tensor) {
  return {static_cast<sluice::DType>(tensor.dtype),
          {tensor.dims, tensor.dims + tensor.rank},
          {static_cast<const std::byte*>(tensor.data), tensor.bytes},
          nullptr};
}

HostValue::Kind host_kind(const sluice::pb::ModelDef& def, const sluice::pb::TypeDef& type) {
  if (type.kind() == sluice::pb::VALUE_MAP) return HostValue::Kind::kMap;
  if (type.kind() != sluice::pb::VALUE_SEQUENCE) return HostValue::Kind::kTensor;
  return type_at(def, type.element()).kind() == sluice::pb::VALUE_MAP ? HostValue::Kind::kMaps
                                                                      : HostValue::Kind::kSequence;
}

// Returns `count` tensors as a value of this input's type.
HostValue host_value(const sluice::pb::ModelDef& def, uint32_t index, const sluice_tensor* tensors,
                     size_t count) {
  const sluice::pb::TypeDef* type = &type_at(def, index);
  HostValue value;
  if (type->kind() == sluice::pb::VALUE_OPTIONAL) {
    type = &type_at(def, type->element());
    const bool is_empty_sequence =
        count == 0 && tensors != nullptr && type->kind() == sluice::pb::VALUE_SEQUENCE;
    if (count == 0 && !is_empty_sequence) value.kind = HostValue::Kind::kNone;
  }
  if (value.kind != HostValue::Kind::kNone) value.kind = host_kind(def, *type);
  for (size_t i = 0; i < count; ++i) value.tensors.push_back(host_tensor(tensors[i]));
  return value;
}

// Returns the memory of an input of fixed size as its one tensor.
Result<sluice_tensor> fixed_tensor(const sluice::pb::ModelDef& def, size_t index, const void* data,
                                   uint64_t bytes) {
  if (index >= static_cast<size_t>(def.inputs_size()))
    return make_error(ErrorCode::kBadBinding, "input {} of {}", index, def.inputs_size());
  const sluice::pb::BindingDef& input = def.inputs(static_cast<int>(index));
  const sluice::pb::TypeDef& type = type_at(def, input.type());
  if (!sluice::type_bytes(type)) {
    return make_error(ErrorCode::kBadBinding, "input '{}' is {}: bind it with its dims",
                      input.name(), sluice::type_text(def, input.type()))
        .with_hint("sluice_run_bind_input_tensors");
  }
  return sluice_tensor{static_cast<int32_t>(type.dtype()), static_cast<size_t>(type.dims_size()),
                       type.dims().data(), data, bytes};
}

}  // namespace

int sluice_run_create(sluice_model* model, int threads, sluice_run** run) {
  return guarded([&]() -> Result<void> {
    *run = nullptr;
    if (threads < 0 || threads > 1024)
      return make_error(ErrorCode::kBadOption, "{} threads", threads);
    const int count = static_cast<int>(sluice::thread_count(threads));
    auto made = std::make_unique<sluice_run>();
    SLUICE_ASSIGN(auto device, sluice::shared_device(count));
    made->model = model->model;
    if (model->fixed) made->fixed = std::make_unique<sluice::Run>(model->fixed, std::move(device));
    if (model->hybrid)
      made->hybrid = std::make_unique<sluice::HybridRun>(model->hybrid, std::move(device));
    *run = made.release();
    return {};
  });
}

int sluice_run_bind_input(sluice_run* run, size_t index, const void* data, uint64_t bytes) {
  return guarded([&]() -> Result<void> {
    if (run->fixed)
      return run->fixed->bind_input(index, {static_cast<const std::byte*>(data), bytes});
    const sluice::pb::ModelDef& def = run->model->def();
    SLUICE_ASSIGN(const sluice_tensor tensor, fixed_tensor(def, index, data, bytes));
    return run->hybrid->bind_input(
        index, host_value(def, def.inputs(static_cast<int>(index)).type(), &tensor, 1));
  });
}

int sluice_run_bind_input_tensors(sluice_run* run, size_t index, const sluice_tensor* tensors,
                                  size_t count) {
  return guarded([&]() -> Result<void> {
    const sluice::pb::ModelDef& def = run->model->def();
    if (index >= static_cast<size_t>(def.inputs_size()))
      return make_error(ErrorCode::kBadBinding, "input {} of {}", index, def.inputs_size());
    const sluice::pb::BindingDef& input = def.inputs(static_cast<int>(index));
    if (tensors == nullptr && count > 0)
      return make_error(ErrorCode::kBadBinding, "input '{}': {} tensors at null", input.name(),
                        count);
    HostValue value = host_value(def, input.type(), tensors, count);
    if (run->hybrid) return run->hybrid->bind_input(index, std::move(value));
    if (!sluice::fits(def, input.type(), value))
      return make_error(ErrorCode::kBadBinding, "input '{}' takes {}, got {}{}", input.name(),
                        sluice::type_text(def, input.type()), sluice::text_of(value),
                        sluice::shape_mismatch_text(def, input.type(), value));
    return run->fixed->bind_input(index, value.tensors[0].bytes);
  });
}

int sluice_run_bind_output(sluice_run* run, size_t index, void* data, uint64_t bytes) {
  return guarded([&]() -> Result<void> {
    const std::span<std::byte> memory(static_cast<std::byte*>(data), bytes);
    return run->fixed ? run->fixed->bind_output(index, memory)
                      : run->hybrid->bind_output(index, memory);
  });
}

int sluice_reset_state(sluice_run* run) {
  return guarded([&]() -> Result<void> {
    if (run->hybrid) run->hybrid->reset_states();
    return {};
  });
}

int sluice_run_execute(sluice_run* run) {
  return guarded([&]() -> Result<void> {
    run->executed = false;
    SLUICE_TRY(run->fixed ? run->fixed->execute() : run->hybrid->execute());
    run->executed = true;
    return {};
  });
}

size_t sluice_run_output_count(const sluice_run* run, size_t index) {
  if (!run->executed || index >= static_cast<size_t>(run->model->def().outputs_size())) return 0;
  return run->fixed ? 1 : run->hybrid->described_output(index).tensors.size();
}

int sluice_run_output_is_present(const sluice_run* run, size_t index) {
  if (!run->executed || index >= static_cast<size_t>(run->model->def().outputs_size())) return 0;
  return run->fixed || run->hybrid->described_output(index).kind != HostValue::Kind::kNone ? 1 : 0;
}

int sluice_run_output_tensor(const sluice_run* run, size_t index, size_t element,
                             sluice_tensor* tensor) {
  return guarded([&]() -> Result<void> {
    if (element >= sluice_run_output_count(run, index)) {
      return make_error(ErrorCode::kBadBinding, "tensor {} of output {}, which holds {}", element,
                        index, sluice_run_output_count(run, index));
    }
    if (run->hybrid) {
      const HostTensor& held = run->hybrid->output(index).tensors[element];
      *tensor = {static_cast<int32_t>(held.dtype), held.dims.size(), held.dims.data(),
                 held.bytes.data(), held.bytes.size()};
      return {};
    }
    const sluice::pb::TypeDef& type =
        type_at(run->model->def(), run->model->def().outputs(static_cast<int>(index)).type());
    const auto bytes = run->fixed->output(index);
    *tensor = {static_cast<int32_t>(type.dtype()), static_cast<size_t>(type.dims_size()),
               type.dims().data(), bytes.data(), bytes.size()};
    return {};
  });
}

const void* sluice_run_output(const sluice_run* run, size_t index, uint64_t* bytes) {
  std::span<const std::byte> output;
  if (sluice_run_output_count(run, index) > 0)
    output = run->fixed ? run->fixed->output(index) : run->hybrid->output(index).tensors[0].bytes;
  if (bytes != nullptr) *bytes = output.size();
  return output.data();
}

void sluice_run_destroy(sluice_run* run) { delete run; }
