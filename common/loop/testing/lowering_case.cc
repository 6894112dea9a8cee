#include "common/loop/testing/lowering_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "common/eval/eval.h"
#include "common/eval/number.h"
#include "common/loop/interpreter.h"
#include "common/loop/lowering.h"
#include "common/loop/text.h"
#include "common/loop/verify.h"
#include "common/ops/infer.h"
#include "common/text/text.h"

namespace sluice::loop {
namespace {

using Sizes = std::vector<int64_t>;  // by SymbolId of the module

// ---- the graph

Result<Module> parsed(const LoweringCase& test) {
  std::string text = "sluice 1 typed\n";
  for (const auto& [name, size] : test.sizes) text += "symbol " + name + " = dim(_, _, 0)\n";
  SLUICE_ASSIGN(Module module, parse_module(text + test.graphs, "case"));
  for (GraphId id = module.graph_limit(); id-- > 0;) {  // bodies first
    if (!module.has_graph(id)) continue;
    ValueFacts facts(module.graph(id));
    SLUICE_TRY(infer_graph(module.graph(id), facts));
  }
  return module;
}

Result<Sizes> dims_of(const Module& module, const Sizes& sizes, const Type& type) {
  Sizes dims;
  for (const Dim& dim : type.dims) {
    if (dim.is_fixed()) {
      dims.push_back(dim.value);
      continue;
    }
    SLUICE_ASSIGN(const int64_t size,
                  module.expressions.evaluate(static_cast<ExpressionId>(dim.value), sizes));
    dims.push_back(size);
  }
  return dims;
}

// ---- random inputs

double special_float(std::mt19937& random, bool extremes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kSpecial[] = {std::nan(""), kInfinity, -kInfinity, -0.0, 0, 1, -1, 0.5, 2.5};
  constexpr double kExtreme[] = {3e38, -3e38, 1e-40, 9.3e18, -9.3e18, 4e9, 65519};
  const size_t choice =
      random() % (std::size(kSpecial) + (extremes ? std::size(kExtreme) : size_t{0}));
  return choice < std::size(kSpecial) ? kSpecial[choice] : kExtreme[choice - std::size(kSpecial)];
}

int64_t special_integer(std::mt19937& random, DType dtype) {
  const int bits = dtype_bits(dtype);
  const int64_t low = dtype_is_signed(dtype) ? -(int64_t{1} << (bits - 2)) * 2 : 0;
  const int64_t high = dtype_is_signed(dtype) ? -(low + 1)
                       : bits == 64           ? -1
                                              : (int64_t{1} << bits) - 1;
  const int64_t choices[] = {low, high, 0, 1, -1};
  return choices[random() % std::size(choices)];
}

Tensor random_tensor(const LoweringCase& test, const std::string& name, DType dtype, Sizes dims,
                     std::mt19937& random) {
  Tensor tensor = make_tensor(dtype, std::move(dims));
  const auto count = static_cast<int64_t>(*element_count(tensor.dims));
  const auto range = test.ranges.find(name);
  const bool is_any = range == test.ranges.end();
  const bool is_float = dtype_is_float(dtype);
  const auto [low, high] = !is_any    ? range->second
                           : is_float ? std::pair<double, double>(-4, 4)
                                      : std::pair<double, double>(-9, 9);
  for (int64_t i = 0; i < count; ++i) {
    const bool is_special = is_any && random() % 8 == 0;
    if (is_float) {
      const double value = is_special ? special_float(random, test.ulps == 0)
                                      : std::uniform_real_distribution<double>(low, high)(random);
      eval::store_doubles(dtype, tensor.bytes.data(), i, 1, &value);
    } else {
      int64_t value =
          std::uniform_int_distribution<int64_t>(std::llround(low), std::llround(high))(random);
      if (dtype == DType::kBool) value &= 1;
      if (is_special && dtype != DType::kBool && test.ulps == 0)
        value = special_integer(random, dtype);
      eval::store_ints(dtype, tensor.bytes.data(), i, 1, &value);
    }
  }
  return tensor;
}

Result<std::vector<EvalValue>> inputs_of(const LoweringCase& test, const Graph& graph,
                                         const Sizes& sizes) {
  std::mt19937 random(test.seed);
  std::vector<EvalValue> inputs;
  for (const Value* input : graph.inputs()) {
    if (input->is_constant()) continue;
    const auto given = test.values.find(input->name());
    SLUICE_ASSIGN(Sizes dims, dims_of(graph.module(), sizes, input->type()));
    inputs.push_back(EvalValue::of(
        given != test.values.end()
            ? given->second
            : random_tensor(test, input->name(), input->type().dtype, std::move(dims), random)));
  }
  return inputs;
}

// ---- operands in memory

// An operand's elements in the order of its storage; `places` are the offsets of its elements.
struct Stored {
  std::vector<std::byte> bytes;
  std::vector<int64_t> places;
};

int64_t axis_extent(const StoredAxis& axis, const Sizes& capacity) {
  if (axis.modulus > 0) return axis.modulus;
  return (capacity[static_cast<size_t>(axis.dim)] + axis.divisor - 1) / axis.divisor;
}

int64_t place_of(const Buffer& buffer, const Sizes& capacity, const Sizes& index) {
  int64_t place = 0;
  for (const StoredAxis& axis : buffer.storage) {
    const int64_t part = index[static_cast<size_t>(axis.dim)] / axis.divisor;
    place = place * axis_extent(axis, capacity) + (axis.modulus > 0 ? part % axis.modulus : part);
  }
  return place;
}

bool advance(Sizes& index, const Sizes& dims) {
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (++index[axis] < dims[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

Result<Stored> stored(const LoopGraph& graph, const Buffer& buffer, const Sizes& symbols) {
  Sizes dims, capacity;
  for (size_t i = 0; i < buffer.dims.size(); ++i) {
    SLUICE_ASSIGN(const int64_t dim, graph.expressions.evaluate(buffer.dims[i], symbols));
    SLUICE_ASSIGN(const int64_t extent, graph.expressions.evaluate(buffer.capacity[i], symbols));
    dims.push_back(dim);
    capacity.push_back(extent);
  }
  int64_t elements = 1;
  for (const StoredAxis& axis : buffer.storage) elements *= axis_extent(axis, capacity);
  Stored result;
  result.bytes.resize(dtype_bytes(buffer.dtype, static_cast<uint64_t>(elements)), std::byte{0xa5});
  Sizes index(dims.size(), 0);
  if (std::ranges::find(dims, 0) != dims.end()) return result;
  do result.places.push_back(place_of(buffer, capacity, index));
  while (advance(index, dims));
  return result;
}

size_t byte_width(DType dtype) { return static_cast<size_t>(dtype_bits(dtype)) / 8; }

void pack(const Tensor& tensor, Stored& into) {
  if (is_packed(tensor.dtype)) {
    std::ranges::copy(tensor.bytes, into.bytes.begin());
    return;
  }
  const size_t width = byte_width(tensor.dtype);
  for (size_t i = 0; i < into.places.size(); ++i)
    std::memcpy(into.bytes.data() + static_cast<size_t>(into.places[i]) * width,
                tensor.bytes.data() + i * width, width);
}

// ---- the comparison

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-52;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

bool are_equal(DType dtype, const std::byte* a, const std::byte* b, double ulps) {
  if (std::memcmp(a, b, byte_width(dtype)) == 0) return true;
  if (!dtype_is_float(dtype)) return false;
  double x = 0, y = 0;
  eval::load_doubles(dtype, a, 0, 1, &x);
  eval::load_doubles(dtype, b, 0, 1, &y);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (ulps == 0) return false;
  return x == y || std::abs(x - y) <= ulps * epsilon(dtype) * std::max(1.0, std::abs(x));
}

std::string number_text(DType dtype, const std::byte* element) {
  double value = 0;
  eval::load_doubles(dtype, element, 0, 1, &value);
  return fmt::format("{}", value);
}

// The bits after the last element count, too.
std::string difference_of_bytes(const Tensor& expected, const Stored& found) {
  for (size_t i = 0; i < found.bytes.size(); ++i) {
    if (expected.bytes[i] == found.bytes[i]) continue;
    return fmt::format("byte {} of {} is {:#x} instead of {:#x}", i, dims_text(expected.dims),
                       static_cast<int>(found.bytes[i]), static_cast<int>(expected.bytes[i]));
  }
  return {};
}

std::string difference(const Tensor& expected, const Stored& found, double ulps) {
  const size_t width = byte_width(expected.dtype);
  if (found.places.size() != *element_count(expected.dims))
    return fmt::format("{} elements instead of {}", found.places.size(), dims_text(expected.dims));
  if (is_packed(expected.dtype)) return difference_of_bytes(expected, found);
  for (size_t i = 0; i < found.places.size(); ++i) {
    const std::byte* a = expected.bytes.data() + i * width;
    const std::byte* b = found.bytes.data() + static_cast<size_t>(found.places[i]) * width;
    if (!are_equal(expected.dtype, a, b, ulps))
      return fmt::format("element {} of {} is {} instead of {}", i, dims_text(expected.dims),
                         number_text(expected.dtype, b), number_text(expected.dtype, a));
  }
  return {};
}

// ---- the whole

Result<Tensor> operand_value(const Value& value, const std::vector<EvalValue>& inputs) {
  if (value.is_constant()) return evaluate_segment(value.graph().module(), value.segment());
  size_t place = 0;
  for (const Value* input : value.graph().inputs()) {
    if (input == &value) return *inputs[place].tensor;
    if (!input->is_constant()) ++place;
  }
  return make_error(ErrorCode::kInternal, "operand '{}' is no input", value.name());
}

LoopsRunner& runner() {
  static LoopsRunner runner;
  return runner;
}

Result<std::vector<Stored>> run_loops(const LoweredNode& lowered, const Module& module,
                                      const Sizes& module_sizes,
                                      const std::vector<EvalValue>& inputs) {
  const LoopGraph& graph = lowered.graph;
  Sizes sizes;
  for (const Value* operand : lowered.operands) {
    SLUICE_ASSIGN(const Sizes dims, dims_of(module, module_sizes, operand->type()));
    sizes.insert(sizes.end(), dims.begin(), dims.end());
  }
  Sizes symbols(graph.symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i)
    if (graph.symbols[i].role == SymbolRole::kSize)
      symbols[i] = sizes[static_cast<size_t>(graph.symbols[i].index)];
  std::vector<Stored> memories;
  for (size_t i = 0; i < lowered.operands.size(); ++i) {
    SLUICE_ASSIGN(Stored memory, stored(graph, graph.buffers[i], symbols));
    if (lowered.operands[i]->producer() == nullptr) {
      SLUICE_ASSIGN(const Tensor value, operand_value(*lowered.operands[i], inputs));
      pack(value, memory);
    }
    memories.push_back(std::move(memory));
  }
  std::vector<std::byte*> pointers;
  for (Stored& memory : memories) pointers.push_back(memory.bytes.data());
  const LoopsRunner& own = runner();
  SLUICE_TRY(own.run ? own.run(graph, sizes, pointers) : interpret(graph, sizes, pointers));
  return memories;
}

// Verifies a graph and returns what its text says.
Result<LoopGraph> through_text(const LoopGraph& graph) {
  SLUICE_TRY(verify(graph));
  const std::string text = print_loops(graph);
  SLUICE_ASSIGN(LoopGraph parsed, parse_loops(text, "loops"));
  SLUICE_TRY(verify(parsed));
  const std::string again = print_loops(parsed);
  if (again != text)
    return make_error(ErrorCode::kDifferent, "loops are\n{}and again\n{}", text, again);
  return parsed;
}

Result<std::string> compare_with_evaluator(const LoweringCase& test) {
  SLUICE_ASSIGN(const Module module, parsed(test));
  const Graph& graph = module.root();
  const Node& node = *graph.nodes().begin();
  Sizes sizes;
  for (size_t i = 0; i < module.expressions.symbol_count(); ++i)
    sizes.push_back(test.sizes.at(module.expressions.symbol(static_cast<SymbolId>(i)).name));
  SLUICE_ASSIGN(const auto inputs, inputs_of(test, graph, sizes));
  SLUICE_ASSIGN(LoweredNode lowered, lower_node(node));
  SLUICE_ASSIGN(lowered.graph, through_text(lowered.graph));
  const auto expected = evaluate_graph(graph, inputs);
  const auto found = run_loops(lowered, module, sizes, inputs);
  if (!expected && !found) return std::string();
  if (!found) return "the loops fail: " + found.error().message;
  if (!expected) return "the evaluator fails: " + expected.error().message;
  for (size_t i = 0; i < node.output_count(); ++i) {
    const std::string text =
        difference(*(*expected)[i].tensor, (*found)[i], test.ulps + runner().ulps);
    if (!text.empty()) return fmt::format("output {}: {}", i, text);
  }
  return std::string();
}

}  // namespace

std::string one_node(const std::string& inputs, const std::string& node) {
  const std::string results = node.substr(0, node.find('='));
  std::string outputs;
  for (size_t from = results.find('%'); from != std::string::npos;) {
    const size_t next = results.find('%', from + 1);
    const size_t end = results.find_first_of(" ,:=", from);
    outputs += (outputs.empty() ? "" : ", ") + results.substr(from, end - from);
    from = next;
  }
  return "graph @main(" + inputs + ") -> (" + outputs + ") {\n" + node + "\n}\n";
}

void set_loops_runner(LoopsRunner own) { runner() = std::move(own); }

std::string lowering_difference(const LoweringCase& test) {
  auto result = compare_with_evaluator(test);
  return result ? *result : result.error().message;
}

}  // namespace sluice::loop
