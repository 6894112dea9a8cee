// Implements the functions of sluice.h that take a model.
#include <algorithm>

#include "common/base/digest.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_types.h"
#include "common/omfile/verify_model.h"
#include "runtime/api/handles.h"

using sluice::Bindings;
using sluice::Digest;
using sluice::ErrorCode;
using sluice::make_error;
using sluice::Result;
using sluice::api::guarded;
using sluice::api::type_at;

namespace {

int describe(const sluice_model* model, const Bindings& bindings,
             const std::vector<std::string>& types, size_t index, sluice_binding* out) {
  return guarded([&]() -> Result<void> {
    if (index >= static_cast<size_t>(bindings.size()))
      return make_error(ErrorCode::kBadBinding, "binding {} of {}", index, bindings.size());
    const sluice::pb::ModelDef& def = model->model->def();
    const sluice::pb::BindingDef& binding = bindings[static_cast<int>(index)];
    const sluice::pb::TypeDef& whole = type_at(def, binding.type());
    const sluice::pb::TypeDef* type = &whole;
    int32_t key_dtype = 0;
    while (type->kind() != sluice::pb::VALUE_TENSOR) {
      if (type->kind() == sluice::pb::VALUE_MAP) key_dtype = static_cast<int32_t>(type->dtype());
      type = &type_at(def, type->element());
    }
    const auto bytes = sluice::type_bytes(whole);  // an error when it is not fixed
    *out = {binding.name().c_str(),
            static_cast<int32_t>(type->dtype()),
            sluice::dtype_name(static_cast<sluice::DType>(type->dtype())).data(),
            static_cast<size_t>(type->dims_size()),
            type->dims().data(),
            bytes ? *bytes : 0,
            static_cast<int32_t>(whole.kind()),
            types[index].c_str(),
            (&bindings == &def.inputs() ? sluice::is_state_input(def, index)
                                        : sluice::is_state_output(def, index))
                ? 1
                : 0,
            key_dtype};
    return {};
  });
}

std::vector<std::string> type_texts(const sluice::pb::ModelDef& def, const Bindings& bindings) {
  std::vector<std::string> texts;
  for (const sluice::pb::BindingDef& binding : bindings)
    texts.push_back(sluice::type_text(def, binding.type()));
  return texts;
}

int64_t find(const Bindings& bindings, const char* name) {
  for (int i = 0; i < bindings.size(); ++i) {
    if (bindings[i].name() == name) return i;
  }
  return -1;
}

// Returns the sum of a number over all fixed parts.
template <typename Number>
uint64_t sum(const sluice::pb::ModelDef& def, Number number) {
  uint64_t total = 0;
  for (const sluice::pb::PartDef& part : def.parts())
    total += static_cast<uint64_t>(number(part.fixed()));
  return total;
}

uint64_t count_tasks(const sluice::pb::ModelDef& def, sluice::pb::TaskKind kind) {
  return sum(def, [kind](const sluice::pb::FixedPart& part) {
    return std::count(part.task_kind().begin(), part.task_kind().end(), kind);
  });
}

// Returns the maximum of a number over all fixed parts.
template <typename Number>
uint64_t maximum(const sluice::pb::ModelDef& def, Number number) {
  uint64_t largest = 0;
  for (const sluice::pb::PartDef& part : def.parts())
    largest = std::max<uint64_t>(largest, number(part.fixed()));
  return largest;
}

uint64_t walked_nodes(const sluice::pb::ModelDef& def) {
  return def.has_root() ? def.nodes() - std::min(def.nodes(), def.root().first_node()) -
                              static_cast<uint64_t>(def.parts_size())
                        : 0;
}

uint64_t count_bound_parts(const sluice_model* model, int what) {
  const auto counters =
      model->hybrid ? model->hybrid->bound_parts().counters() : sluice::BoundPartsCounters();
  switch (what) {
    case SLUICE_COUNT_PARTS_FOUND_BOUND:
      return counters.hits;
    case SLUICE_COUNT_PARTS_BOUND:
      return counters.binds;
    case SLUICE_COUNT_PARTS_GIVEN_UP:
      return counters.evictions;
    case SLUICE_COUNT_PARTS_KEPT:
      return counters.parts;
    case SLUICE_COUNT_PARTS_KEPT_BYTES:
      return counters.bytes;
    case SLUICE_COUNT_PARTS_LIMIT_BYTES:
      return counters.limit_bytes;
    default:
      return 0;
  }
}

}  // namespace

const char* sluice_last_error(void) { return sluice::api::last_error.c_str(); }

int sluice_model_open(const char* path, int flags, sluice_model** model) {
  return sluice_model_open_weights(path, nullptr, flags, model);
}

int sluice_model_open_weights(const char* path, const char* weights, int flags,
                              sluice_model** model) {
  return guarded([&]() -> Result<void> {
    *model = nullptr;
    const bool verify = (flags & SLUICE_OPEN_VERIFY_WEIGHTS) != 0;
    SLUICE_ASSIGN(auto opened,
                  sluice::OpenedModel::open(path, {.verify_weights = verify,
                                                   .weights = weights == nullptr ? "" : weights}));
    auto made = std::make_unique<sluice_model>();
    for (const std::string& bytes : opened->def().made_from()) {
      Digest digest;
      std::copy_n(bytes.begin(), std::min(bytes.size(), digest.bytes.size()), digest.bytes.begin());
      made->made_from.push_back(sluice::digest_hex(digest));
    }
    made->input_types = type_texts(opened->def(), opened->def().inputs());
    made->output_types = type_texts(opened->def(), opened->def().outputs());
    if (opened->def().has_root()) {
      SLUICE_ASSIGN(made->hybrid, sluice::HybridModel::lower(opened));
    } else {
      SLUICE_ASSIGN(made->fixed, sluice::StaticModel::lower(opened, 0));
    }
    made->model = std::move(opened);
    *model = made.release();
    return {};
  });
}

void sluice_model_close(sluice_model* model) { delete model; }

uint64_t sluice_model_count(const sluice_model* model, int what) {
  const sluice::pb::ModelDef& def = model->model->def();
  using Part = sluice::pb::FixedPart;
  switch (what) {
    case SLUICE_COUNT_INPUTS:
      return static_cast<uint64_t>(def.inputs_size());
    case SLUICE_COUNT_OUTPUTS:
      return static_cast<uint64_t>(def.outputs_size());
    case SLUICE_COUNT_TASKS:
      return sum(def, [](const Part& part) { return part.task_kind_size(); });
    case SLUICE_COUNT_LAUNCHES:
      return count_tasks(def, sluice::pb::TASK_LAUNCH);
    case SLUICE_COUNT_HOST_TASKS:
      return count_tasks(def, sluice::pb::TASK_HOST) + walked_nodes(def);
    case SLUICE_COUNT_STREAMS:
      return sum(def, [](const Part& part) { return part.streams_size(); });
    case SLUICE_COUNT_EVENTS:
      return sum(def, [](const Part& part) { return part.events_size(); });
    case SLUICE_COUNT_KERNELS:
      return static_cast<uint64_t>(def.kernels_size());
    case SLUICE_COUNT_ARENA_BYTES:
      // Parts share one arena.
      return maximum(def, [](const Part& part) { return part.memory().arena_bytes(); });
    case SLUICE_COUNT_WEIGHT_BYTES:
      return model->model->weights().size();
    case SLUICE_COUNT_SCRATCH_BYTES:
      return maximum(def, [](const Part& part) { return part.memory().scratch_bytes(); });
    default:
      return count_bound_parts(model, what);
  }
}

int sluice_model_limit_bound_parts(sluice_model* model, uint64_t bytes) {
  return guarded([&]() -> Result<void> {
    if (model->hybrid) model->hybrid->bound_parts().limit(bytes);
    return {};
  });
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
  return describe(model, model->model->def().inputs(), model->input_types, index, binding);
}

int sluice_model_output(const sluice_model* model, size_t index, sluice_binding* binding) {
  return describe(model, model->model->def().outputs(), model->output_types, index, binding);
}

int64_t sluice_model_find_input(const sluice_model* model, const char* name) {
  return find(model->model->def().inputs(), name);
}
int64_t sluice_model_find_output(const sluice_model* model, const char* name) {
  return find(model->model->def().outputs(), name);
}
