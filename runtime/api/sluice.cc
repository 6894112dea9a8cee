#include "runtime/api/sluice.h"

#include <algorithm>
#include <exception>

#include "common/base/digest.h"
#include "common/base/memory.h"
#include "common/base/parallel.h"
#include "runtime/executor/run.h"
#include "runtime/loader/verify_model.h"

using sluice::Digest;
using sluice::ErrorCode;
using sluice::make_error;
using sluice::Result;

struct sluice_model {
  std::shared_ptr<const sluice::StaticModel> model;
  std::vector<std::string> made_from;  // hex
};

struct sluice_run {
  std::unique_ptr<sluice::Run> run;
  bool executed = false;
};

namespace {

using Bindings = google::protobuf::RepeatedPtrField<sluice::pb::BindingDef>;

thread_local std::string last_error;

// Runs body and turns its error, or an exception from below (memory), into a number and last_error.
template <typename Body>
int guarded(Body body) {
  try {
    const Result<void> done = sluice::within_memory(body);
    if (done) return 0;
    last_error = error_text(done.error());
    return static_cast<int>(done.error().code);
  } catch (const std::exception&) {
    last_error = "memory ran out";  // short enough to need none itself
    return static_cast<int>(ErrorCode::kLimit);
  }
}

int describe(const sluice_model* model, const Bindings& bindings, size_t index, sluice_binding* out) {
  return guarded([&]() -> Result<void> {
    if (index >= static_cast<size_t>(bindings.size()))
      return make_error(ErrorCode::kBadBinding, "binding {} of {}", index, bindings.size());
    const sluice::pb::BindingDef& binding = bindings[static_cast<int>(index)];
    const sluice::pb::TypeDef& type = model->model->def().types(static_cast<int>(binding.type()));
    SLUICE_ASSIGN(const uint64_t bytes, sluice::type_bytes(type));
    *out = {binding.name().c_str(),
            static_cast<int32_t>(type.dtype()),
            sluice::dtype_name(static_cast<sluice::DType>(type.dtype())).data(),
            static_cast<size_t>(type.dims_size()),
            type.dims().data(),
            bytes};
    return {};
  });
}

int64_t find(const Bindings& bindings, const char* name) {
  for (int i = 0; i < bindings.size(); ++i) {
    if (bindings[i].name() == name) return i;
  }
  return -1;
}

uint64_t count_tasks(const sluice::pb::FixedPart& part, sluice::pb::TaskKind kind) {
  return static_cast<uint64_t>(std::count(part.task_kind().begin(), part.task_kind().end(), kind));
}

}  // namespace

const char* sluice_last_error(void) { return last_error.c_str(); }

int sluice_model_open(const char* path, int flags, sluice_model** model) {
  return guarded([&]() -> Result<void> {
    *model = nullptr;
    const bool verify = (flags & SLUICE_OPEN_VERIFY_WEIGHTS) != 0;
    SLUICE_ASSIGN(auto opened, sluice::StaticModel::open(path, {.verify_weights = verify}));
    auto made = std::make_unique<sluice_model>();
    for (const std::string& bytes : opened->def().made_from()) {
      Digest digest;
      std::copy_n(bytes.begin(), std::min(bytes.size(), digest.bytes.size()), digest.bytes.begin());
      made->made_from.push_back(sluice::digest_hex(digest));
    }
    made->model = std::move(opened);
    *model = made.release();
    return {};
  });
}

void sluice_model_close(sluice_model* model) { delete model; }

uint64_t sluice_model_count(const sluice_model* model, int what) {
  const sluice::pb::ModelDef& def = model->model->def();
  const sluice::pb::FixedPart& part = model->model->part();
  switch (what) {
    case SLUICE_COUNT_INPUTS:
      return static_cast<uint64_t>(def.inputs_size());
    case SLUICE_COUNT_OUTPUTS:
      return static_cast<uint64_t>(def.outputs_size());
    case SLUICE_COUNT_TASKS:
      return static_cast<uint64_t>(part.task_kind_size());
    case SLUICE_COUNT_LAUNCHES:
      return count_tasks(part, sluice::pb::TASK_LAUNCH);
    case SLUICE_COUNT_HOST_TASKS:
      return count_tasks(part, sluice::pb::TASK_HOST);
    case SLUICE_COUNT_STREAMS:
      return static_cast<uint64_t>(part.streams_size());
    case SLUICE_COUNT_EVENTS:
      return static_cast<uint64_t>(part.events_size());
    case SLUICE_COUNT_KERNELS:
      return static_cast<uint64_t>(def.kernels_size());
    case SLUICE_COUNT_ARENA_BYTES:
      return part.memory().arena_bytes();
    case SLUICE_COUNT_WEIGHT_BYTES:
      return model->model->weights().size();
    case SLUICE_COUNT_SCRATCH_BYTES:
      return part.memory().scratch_bytes();
    default:
      return 0;
  }
}

const char* sluice_model_text(const sluice_model* model, int what) {
  const sluice::pb::ModelDef& def = model->model->def();
  switch (what) {
    case SLUICE_TEXT_VERSION:
      return def.version().c_str();
    case SLUICE_TEXT_PROFILE:
      return def.profile().c_str();
    case SLUICE_TEXT_ISA:
      return def.isa().c_str();
    default:
      return "";
  }
}

const char* sluice_model_made_from(const sluice_model* model, size_t index) {
  return index < model->made_from.size() ? model->made_from[index].c_str() : nullptr;
}

int sluice_model_input(const sluice_model* model, size_t index, sluice_binding* binding) {
  return describe(model, model->model->def().inputs(), index, binding);
}

int sluice_model_output(const sluice_model* model, size_t index, sluice_binding* binding) {
  return describe(model, model->model->def().outputs(), index, binding);
}

int64_t sluice_model_find_input(const sluice_model* model, const char* name) { return find(model->model->def().inputs(), name); }
int64_t sluice_model_find_output(const sluice_model* model, const char* name) { return find(model->model->def().outputs(), name); }

int sluice_run_create(sluice_model* model, int threads, sluice_run** run) {
  return guarded([&]() -> Result<void> {
    *run = nullptr;
    if (threads < 0 || threads > 1024) return make_error(ErrorCode::kBadOption, "{} threads", threads);
    const int count = static_cast<int>(sluice::thread_count(threads));
    auto made = std::make_unique<sluice_run>();
    SLUICE_ASSIGN(auto device, sluice::shared_device(count));
    made->run = std::make_unique<sluice::Run>(model->model, std::move(device));
    *run = made.release();
    return {};
  });
}

int sluice_run_bind_input(sluice_run* run, size_t index, const void* data, uint64_t bytes) {
  return guarded([&] { return run->run->bind_input(index, {static_cast<const std::byte*>(data), bytes}); });
}

int sluice_run_bind_output(sluice_run* run, size_t index, void* data, uint64_t bytes) {
  return guarded([&] { return run->run->bind_output(index, {static_cast<std::byte*>(data), bytes}); });
}

int sluice_run_execute(sluice_run* run) {
  return guarded([&]() -> Result<void> {
    SLUICE_TRY(run->run->execute());
    run->executed = true;
    return {};
  });
}

const void* sluice_run_output(const sluice_run* run, size_t index, uint64_t* bytes) {
  if (!run->executed || index >= static_cast<size_t>(run->run->model().def().outputs_size())) return nullptr;
  const auto output = run->run->output(index);
  if (bytes != nullptr) *bytes = output.size();
  return output.data();
}

void sluice_run_destroy(sluice_run* run) { delete run; }
