// The C++ interface to sluice.h: the same contracts, with ownership by scope and failures as
// exceptions.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice.h"

namespace sluice::api {

// what() is sluice_last_error(), code the number of the error.
struct Failure : std::runtime_error {
  explicit Failure(int number) : std::runtime_error(sluice_last_error()), code(number) {}
  int code;
};

inline void check(int code) {
  if (code != 0) throw Failure(code);
}

struct Binding {
  std::string name;
  int dtype = 0;
  std::vector<int64_t> dims;
  uint64_t bytes = 0;
  int kind = SLUICE_KIND_TENSOR;
  std::string type;
  bool is_state = false;
  int key_dtype = 0;
};

struct Map {  // value i belongs to key i
  sluice_tensor keys, values;
};

class Model {
 public:
  // weights: the folder of external weights; empty: beside the model.
  explicit Model(const std::string& path, int flags = 0, const std::string& weights = {}) {
    sluice_model* model = nullptr;
    check(sluice_model_open_weights(path.c_str(), weights.c_str(), flags, &model));
    model_.reset(model);
  }
  std::vector<Binding> inputs() const { return bindings(SLUICE_COUNT_INPUTS, sluice_model_input); }
  std::vector<Binding> outputs() const {
    return bindings(SLUICE_COUNT_OUTPUTS, sluice_model_output);
  }
  void limit_bound_parts(uint64_t bytes) {
    check(sluice_model_limit_bound_parts(model_.get(), bytes));
  }
  uint64_t count(int what) const { return sluice_model_count(model_.get(), what); }
  sluice_model* get() const { return model_.get(); }

 private:
  struct Close {
    void operator()(sluice_model* model) const { sluice_model_close(model); }
  };
  template <typename Describe>
  std::vector<Binding> bindings(int what, Describe describe) const {
    std::vector<Binding> all;
    for (size_t i = 0; i < count(what); ++i) {
      sluice_binding one;
      check(describe(model_.get(), i, &one));
      all.push_back({one.name,
                     one.dtype,
                     {one.dims, one.dims + one.rank},
                     one.bytes,
                     one.kind,
                     one.type,
                     one.is_state != 0,
                     one.key_dtype});
    }
    return all;
  }
  std::unique_ptr<sluice_model, Close> model_;
};

class Run {
 public:
  explicit Run(const Model& model, int threads = 0) {
    sluice_run* run = nullptr;
    check(sluice_run_create(model.get(), threads, &run));
    run_.reset(run);
  }
  void bind_input(size_t index, const void* data, uint64_t bytes) {
    check(sluice_run_bind_input(run_.get(), index, data, bytes));
  }
  void bind_input(size_t index, const std::vector<sluice_tensor>& tensors) {
    check(sluice_run_bind_input_tensors(run_.get(), index, tensors.data(), tensors.size()));
  }
  void bind_output(size_t index, void* data, uint64_t bytes) {
    check(sluice_run_bind_output(run_.get(), index, data, bytes));
  }
  void reset_state() { check(sluice_reset_state(run_.get())); }
  void execute() { check(sluice_run_execute(run_.get())); }
  const void* output(size_t index) const { return sluice_run_output(run_.get(), index, nullptr); }
  std::vector<sluice_tensor> output_tensors(size_t index) const {
    std::vector<sluice_tensor> tensors(sluice_run_output_count(run_.get(), index));
    for (size_t i = 0; i < tensors.size(); ++i)
      check(sluice_run_output_tensor(run_.get(), index, i, &tensors[i]));
    return tensors;
  }
  // Of an output that is a map, or a sequence of maps.
  std::vector<Map> output_maps(size_t index) const {
    const std::vector<sluice_tensor> tensors = output_tensors(index);
    std::vector<Map> maps;
    for (size_t i = 0; i + 1 < tensors.size(); i += 2) maps.push_back({tensors[i], tensors[i + 1]});
    return maps;
  }

 private:
  struct Destroy {
    void operator()(sluice_run* run) const { sluice_run_destroy(run); }
  };
  std::unique_ptr<sluice_run, Destroy> run_;
};

}  // namespace sluice::api
