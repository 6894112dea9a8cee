#include "scripts/bench/ort_session.h"

#include <dlfcn.h>

#include <cstring>
#include <utility>

namespace sluice::bench {

namespace {

// Positions in the published order of the struct OrtApi. All are functions that return a status
// unless the name starts with kRelease.
enum Position : int {
  kGetErrorMessage = 2,  // const char*(status)
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetSessionGraphOptimizationLevel = 23,
  kSetIntraOpNumThreads = 24,
  kSetInterOpNumThreads = 25,
  kSessionGetInputCount = 30,
  kSessionGetOutputCount = 31,
  kSessionGetInputName = 36,
  kSessionGetOutputName = 37,
  kCreateTensorWithDataAsOrtValue = 49,
  kGetTensorMutableData = 51,
  kGetTensorElementType = 60,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kGetTensorTypeAndShape = 65,
  kCreateCpuMemoryInfo = 69,
  kAllocatorFree = 76,
  kGetAllocatorWithDefaultOptions = 78,
  kReleaseStatus = 93,
  kReleaseMemoryInfo = 94,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseTensorTypeAndShapeInfo = 99,
  kReleaseSessionOptions = 100,
};

constexpr int kWarningsAndErrors = 2,
              kEveryOptimization = 99;                   // OrtLoggingLevel, GraphOptimizationLevel
constexpr int kDeviceAllocator = 0, kDefaultMemory = 0;  // OrtAllocatorType, OrtMemType

// The argument types given here are those of the C declaration: a size_t is passed as size_t, an
// enum or int as int.
template <typename... Args>
Result<void> call(const OrtLibrary& library, Position position, Args... args) {
  void* status = reinterpret_cast<void* (*)(Args...)>(library.function(position))(args...);
  if (status == nullptr) return {};
  const char* message =
      reinterpret_cast<const char* (*)(const void*)>(library.function(kGetErrorMessage))(status);
  Error error = make_error(ErrorCode::kBadModel, "ONNX Runtime: {}", message);
  reinterpret_cast<void (*)(void*)>(library.function(kReleaseStatus))(status);
  return error;
}

void release(const OrtLibrary& library, Position position, void* object) {
  if (object != nullptr) reinterpret_cast<void (*)(void*)>(library.function(position))(object);
}

struct ApiBase {  // OrtApiBase
  void* const* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

}  // namespace

Result<OrtLibrary> OrtLibrary::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return make_error(ErrorCode::kNotFound, "{}", dlerror())
        .with_hint("run scripts/bench/ort to fetch the library");
  auto get_base = reinterpret_cast<const ApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  OrtLibrary library;
  library.functions_ = get_base == nullptr ? nullptr : get_base()->get_api(1);
  if (library.functions_ == nullptr)
    return make_error(ErrorCode::kBadFile, "{} is not ONNX Runtime's C library", path);
  library.version_ = get_base()->get_version();
  SLUICE_TRY(call(library, kCreateEnv, kWarningsAndErrors, "ort-run", &library.environment_));
  return library;
}

Result<OrtSession> OrtSession::open(const OrtLibrary& library, const std::string& model,
                                    int threads) {
  OrtSession session(library);
  void* options = nullptr;
  SLUICE_TRY(call(library, kCreateSessionOptions, &options));
  SLUICE_TRY(call(library, kSetSessionGraphOptimizationLevel, options, kEveryOptimization));
  SLUICE_TRY(call(library, kSetIntraOpNumThreads, options, threads));
  SLUICE_TRY(call(library, kSetInterOpNumThreads, options, 1));
  Result<void> created = call(library, kCreateSession, library.environment(), model.c_str(),
                              options, &session.session_);
  release(library, kReleaseSessionOptions, options);
  SLUICE_TRY(std::move(created));
  SLUICE_TRY(session.read_names());
  return session;
}

OrtSession::OrtSession(OrtSession&& other) noexcept
    : library_(other.library_),
      session_(std::exchange(other.session_, nullptr)),
      input_names_(std::move(other.input_names_)),
      output_names_(std::move(other.output_names_)),
      input_values_(std::exchange(other.input_values_, {})),
      output_values_(std::exchange(other.output_values_, {})) {}

OrtSession::~OrtSession() {
  release_results();
  for (void* value : input_values_) release(*library_, kReleaseValue, value);
  release(*library_, kReleaseSession, session_);
}

Result<void> OrtSession::read_names() {
  size_t inputs = 0, outputs = 0;
  SLUICE_TRY(call(*library_, kSessionGetInputCount, session_, &inputs));
  SLUICE_TRY(call(*library_, kSessionGetOutputCount, session_, &outputs));
  for (size_t i = 0; i < inputs; ++i) {
    SLUICE_ASSIGN(std::string text, name(kSessionGetInputName, i));
    input_names_.push_back(std::move(text));
  }
  for (size_t i = 0; i < outputs; ++i) {
    SLUICE_ASSIGN(std::string text, name(kSessionGetOutputName, i));
    output_names_.push_back(std::move(text));
  }
  output_values_.assign(outputs, nullptr);
  return {};
}

Result<std::string> OrtSession::name(int position, size_t index) const {
  void* allocator = nullptr;
  char* text = nullptr;
  SLUICE_TRY(call(*library_, kGetAllocatorWithDefaultOptions, &allocator));
  SLUICE_TRY(call(*library_, Position{position}, session_, index, allocator, &text));
  std::string copy = text;
  SLUICE_TRY(call(*library_, kAllocatorFree, allocator, static_cast<void*>(text)));
  return copy;
}

Result<void> OrtSession::bind(const std::vector<Tensor>& inputs) {
  void* memory = nullptr;
  SLUICE_TRY(call(*library_, kCreateCpuMemoryInfo, kDeviceAllocator, kDefaultMemory, &memory));
  for (const std::string& name : input_names_) {
    const Tensor* found = nullptr;
    for (const Tensor& input : inputs) {
      if (input.name == name) found = &input;
    }
    if (found == nullptr)
      return make_error(ErrorCode::kBadBinding, "no --input for the model's input '{}'", name);
    void* data = const_cast<std::byte*>(found->bytes.data());
    void* value = nullptr;
    SLUICE_TRY(call(*library_, kCreateTensorWithDataAsOrtValue, memory, data, found->bytes.size(),
                    found->dims.data(), found->dims.size(), static_cast<int>(found->dtype),
                    &value));
    input_values_.push_back(value);
  }
  release(*library_, kReleaseMemoryInfo, memory);
  if (inputs.size() == input_names_.size()) return {};
  return make_error(ErrorCode::kBadBinding, "{} inputs given, the model has {}", inputs.size(),
                    input_names_.size());
}

Result<void> OrtSession::run() {
  release_results();
  std::vector<const char*> inputs, outputs;
  for (const std::string& name : input_names_) inputs.push_back(name.c_str());
  for (const std::string& name : output_names_) outputs.push_back(name.c_str());
  void* run_options = nullptr;
  return call(*library_, kRun, session_, run_options, inputs.data(), input_values_.data(),
              inputs.size(), outputs.data(), outputs.size(), output_values_.data());
}

void OrtSession::release_results() {
  for (void*& value : output_values_)
    release(*library_, kReleaseValue, std::exchange(value, nullptr));
}

Result<std::vector<Tensor>> OrtSession::outputs() const {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < output_values_.size(); ++i) {
    void *type = nullptr, *data = nullptr;
    size_t rank = 0;
    int dtype = 0;
    SLUICE_TRY(call(*library_, kGetTensorTypeAndShape, output_values_[i], &type));
    SLUICE_TRY(call(*library_, kGetTensorElementType, type, &dtype));
    SLUICE_TRY(call(*library_, kGetDimensionsCount, type, &rank));
    std::vector<int64_t> dims(rank);
    SLUICE_TRY(call(*library_, kGetDimensions, type, dims.data(), rank));
    release(*library_, kReleaseTensorTypeAndShapeInfo, type);
    if (dtype == static_cast<int>(DType::kString))
      return make_error(ErrorCode::kUnsupportedOp, "output '{}': strings", output_names_[i]);
    SLUICE_TRY(call(*library_, kGetTensorMutableData, output_values_[i], &data));
    Tensor tensor = make_tensor(static_cast<DType>(dtype), std::move(dims), output_names_[i]);
    if (!tensor.bytes.empty()) std::memcpy(tensor.bytes.data(), data, tensor.bytes.size());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace sluice::bench
