#include "common/base/tensor.h"
#include "common/text/elements.h"
#include "common/text/names.h"
#include "common/text/printer.h"

namespace sluice::text {
namespace {

struct AttributePrinter {
  const ModulePrinter& printer;
  const Module& module;
  const std::vector<std::string>& graph_names;

  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(float value) const { return print_float(value); }
  std::string operator()(const std::string& value) const { return quoted_text(value); }
  std::string operator()(TypeRef value) const { return "type " + print_type(module, value.id); }
  std::string operator()(SegmentRef value) const {
    return "constant " + printer.constant(value.id);
  }
  std::string operator()(GraphRef value) const {
    return module.has_graph(value.id) ? graph_names[static_cast<size_t>(value.id)] : "@erased";
  }
  std::string operator()(const std::vector<int64_t>& values) const { return list("ints ", values); }
  std::string operator()(const std::vector<float>& values) const { return list("floats ", values); }
  std::string operator()(const std::vector<std::string>& values) const {
    return list("strings ", values);
  }
  std::string operator()(const std::vector<GraphRef>& values) const {
    return list("graphs ", values);
  }

  // An empty list must name its element kind.
  template <typename T>
  std::string list(const char* kind, const std::vector<T>& values) const {
    std::string result = values.empty() ? fmt::format("{}[", kind) : "[";
    for (size_t i = 0; i < values.size(); ++i) result += (i > 0 ? ", " : "") + (*this)(values[i]);
    return result + "]";
  }
};

}  // namespace

std::string ModulePrinter::attribute(const AttributeValue& value) const {
  return std::visit(AttributePrinter{*this, module_, graph_names_}, value);
}

std::string ModulePrinter::constant(SegmentId id) const {
  const Segment& segment = module_.segment(id);
  return print_type(module_, segment.type) + " " + content(segment);
}

std::string ModulePrinter::elements(const Segment& segment) const {
  const Type& type = module_.type(segment.type);
  const auto extents = type.extents();
  const size_t count = static_cast<size_t>(type.element_count().value_or(0));
  std::string result = "[";
  Tensor strings;
  if (type.dtype == DType::kString) {
    strings.dtype = type.dtype;
    strings.dims = extents.value_or(std::vector<int64_t>{});
    strings.bytes.assign(segment.data.begin(), segment.data.end());
  }
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) result += ", ";
    result += type.dtype == DType::kString ? quoted_text(string_at(strings, i))
                                           : print_element(type.dtype, segment.data, i);
  }
  return result + "]";
}

std::string ModulePrinter::content(const Segment& segment) const {
  switch (segment.kind) {
    case SegmentKind::kSmall:
      return elements(segment);
    case SegmentKind::kBytes: {
      const bool sized = !module_.type(segment.type).dense_bytes().has_value();
      return "sha256:" + digest_hex(segment.digest) +
             (sized ? fmt::format(" size {}", segment.size) : "");
    }
    case SegmentKind::kSplat:
      return "splat " + print_element(module_.type(segment.type).dtype, segment.data, 0);
    case SegmentKind::kExpression: {
      std::string arguments;
      for (const SegmentId input : segment.inputs) {
        const int32_t number = numbers_[static_cast<size_t>(input)];
        if (!arguments.empty()) arguments += ", ";
        arguments +=
            number >= 0 ? spelled_number('$', static_cast<size_t>(number)) : constant(input);
      }
      return fmt::format("expression {}({})", graph_names_[static_cast<size_t>(segment.graph)],
                         arguments);
    }
    case SegmentKind::kParameter:
      return fmt::format("parameter {}", segment.parameter);
  }
  return {};
}

}  // namespace sluice::text
