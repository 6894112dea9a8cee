// The forecast of a compilation, as text and as JSON.
#include <algorithm>

#include "common/base/shell_word.h"
#include "common/base/size_text.h"
#include "common/text/names.h"
#include "common/tools/check_model.h"

namespace sluice {
namespace {

double percent(uint64_t part, uint64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string host_lines(const ModelCheck& check) {
  constexpr size_t kListed = 20;
  std::string text;
  for (size_t i = 0; i < std::min(check.host_nodes.size(), kListed); ++i) {
    const HostNode& node = check.host_nodes[i];
    text += fmt::format("  {:<24} {}", node.op, printable(node.name));
    if (node.multiply_adds > 0)
      text += fmt::format("  {:.1f} % of the multiply-adds",
                          percent(node.multiply_adds, check.multiply_adds));
    text += node.reason.empty() ? "\n" : fmt::format("  ({})\n", node.reason);
  }
  if (check.host_nodes.size() > kListed)
    text += fmt::format("  … and {} more\n", check.host_nodes.size() - kListed);
  return text;
}

// Returns "H from 16, N from 1 to 8, W from 32 in multiples of 32": a run rejects other sizes.
std::string bounds_text(const ModelCheck& check) {
  std::string text;
  for (const DimBounds& dim : check.open_dims) {
    text += fmt::format("{}{} from {}", text.empty() ? "" : ", ", printable(dim.name), dim.low);
    if (dim.high != INT64_MAX) text += fmt::format(" to {}", dim.high);
    if (dim.divisor > 1) text += fmt::format(" in multiples of {}", dim.divisor);
  }
  return text;
}

std::string sizes_line(const ModelCheck& check) {
  // When no size works there are no bounds to print.
  const bool has_bounds = check.fixing_failure.empty() && !check.open_dims.empty();
  std::string nominal;
  for (const DimBounds& dim : check.open_dims)
    nominal +=
        fmt::format("{}{}={}", nominal.empty() ? "" : ", ", printable(dim.name), dim.nominal);
  return fmt::format("sizes   {}figures are for {}\n", has_bounds ? bounds_text(check) + "; " : "",
                     nominal.empty() ? "usual sizes" : nominal);
}

std::string fixing_lines(const ModelCheck& check) {
  std::string text;
  for (const std::string& name : check.unranked) {
    text += fmt::format("input '{}' has no rank: give its shape, --input-shape {}\n",
                        printable(name), shell_word(name + ":SIZES"));
  }
  if (!check.fixing_options.empty())
    return text +
           fmt::format(
               "open dims of inputs need no size: the compiled model runs at all that are allowed\n"
               "fixed sizes may be faster: {}\n",
               check.fixing_options);
  if (check.fixing_failure.empty()) return text;
  return text + fmt::format(
                    "open dims of inputs: no sizes were found that can be compiled, of {} that "
                    "were tried; with the first: {}\n",
                    check.fixing_tries, check.fixing_failure);
}

}  // namespace

std::string printable(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 32 && c != 127;
  });
  return is_plain ? name : text::quoted_text(name);
}

std::string check_text(const ModelCheck& check) {
  std::string text;
  for (const std::string& input : check.inputs) text += fmt::format("input   {}\n", input);
  for (const std::string& output : check.outputs) text += fmt::format("output  {}\n", output);
  const bool measured = check.unsized == 0;
  for (const auto& [name, share] : check.engines) {
    text += fmt::format("engine  {:<10} {:>6} {}", name, share.nodes,
                        share.nodes == 1 ? "node" : "nodes");
    if (check.multiply_adds > 0)
      text += fmt::format(", {:5.1f} % of the multiply-adds",
                          percent(share.multiply_adds, check.multiply_adds));
    text += "\n";
  }
  if (measured && check.is_symbolic) text += sizes_line(check);
  text += fmt::format("weights {}\n", size_text(check.weight_bytes));
  if (measured)
    text += fmt::format("arena   about {}\nmultiply-adds {:.3g} per run\n",
                        size_text(check.arena_bytes), static_cast<double>(check.multiply_adds));
  if (check.uncounted > 0)
    text += fmt::format(
        "{} work that is not counted in multiply-adds\n",
        check.uncounted == 1 ? "1 node has" : fmt::format("{} nodes have", check.uncounted));
  if (!check.host_nodes.empty())
    text += "on host_cpu, by the reference kernels:\n" + host_lines(check);
  if (check.walked > 0)
    text +=
        fmt::format("{} one by one\n",
                    check.walked == 1 ? "1 node runs" : fmt::format("{} nodes run", check.walked));
  if (!measured)
    text += check.unsized == 1
                ? "the bytes of 1 of them are known only when the model runs: it runs on host_cpu\n"
                : fmt::format(
                      "the bytes of {} of them are known only when the model runs: they run on "
                      "host_cpu\n",
                      check.unsized);
  return text + fixing_lines(check);
}

Json check_json(const ModelCheck& check) {
  const auto texts = [](const std::vector<std::string>& list) {
    Json::Array array(list.begin(), list.end());
    return Json(std::move(array));
  };
  Json engines{Json::Object{}}, nodes{Json::Array{}};
  for (const auto& [name, share] : check.engines) {
    Json engine;
    engine.set("nodes", static_cast<uint64_t>(share.nodes));
    engine.set("multiply_adds", share.multiply_adds);
    engines.set(name, std::move(engine));
  }
  for (const HostNode& host : check.host_nodes) {
    Json node;
    node.set("name", host.name);
    node.set("op", host.op);
    node.set("reason", host.reason);
    node.set("multiply_adds", host.multiply_adds);
    nodes.push(std::move(node));
  }
  Json json;
  json.set("inputs", texts(check.inputs));
  json.set("outputs", texts(check.outputs));
  json.set("engines", std::move(engines));
  json.set("host_nodes", std::move(nodes));
  json.set("multiply_adds", check.multiply_adds);
  json.set("uncounted_nodes", static_cast<uint64_t>(check.uncounted));
  json.set("weight_bytes", check.weight_bytes);
  json.set("arena_bytes", check.arena_bytes);
  json.set("symbolic", check.is_symbolic);
  json.set("walked_nodes", static_cast<uint64_t>(check.walked));
  json.set("unsized_nodes", static_cast<uint64_t>(check.unsized));
  Json dims{Json::Array{}};
  for (const DimBounds& bounds : check.open_dims) {
    Json dim;
    dim.set("name", bounds.name);
    dim.set("low", bounds.low);
    dim.set("high", bounds.high == INT64_MAX ? Json() : Json(bounds.high));
    dim.set("divisor", bounds.divisor);
    dim.set("nominal", bounds.nominal);
    dims.push(std::move(dim));
  }
  json.set("open_dims", std::move(dims));
  json.set("unranked_inputs", texts(check.unranked));
  json.set("fixing_options", check.fixing_options);
  json.set("fixing_tries", static_cast<uint64_t>(check.fixing_tries));
  json.set("fixing_failure", check.fixing_failure);
  return json;
}

}  // namespace sluice
