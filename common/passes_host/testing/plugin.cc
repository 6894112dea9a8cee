// A plugin for tests: what its one pass does is the name of its file, "crash.so", so that copies of
// it do different things.
#include "common/passes_host/plugin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/ir/module.h"

namespace {

using namespace sluice;

std::string own_name() {
  Dl_info info{};
  ::dladdr(&sluice_plugin, &info);
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return path.substr(slash + 1, path.rfind('.') - slash - 1);
}

Result<bool> tried(bool could) {
  if (could) return make_error(ErrorCode::kInternal, "the sandbox has a hole");
  return false;
}

// Adds a Neg of a Neg before each output.
bool add_negations(Graph& graph) {
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    Value* value = graph.outputs()[i];
    const std::string name = value->name();
    value->set_name(name + "_before");
    for (const char* suffix : {"_negative", ""}) {
      Node& node = graph.add_node(Op::kNeg, {value});
      node.output().set_type(value->type_id());
      node.output().set_name(name + suffix);
      value = &node.output();
    }
    graph.set_output(i, *value);
  }
  return true;
}

void use_up_memory() {
  std::vector<std::vector<char>> all;
  while (true) all.emplace_back(1u << 24, 'x');
}

bool make_cycle(Graph& graph) {
  Node& node = *graph.last_node();
  node.set_input(0, &node.output());
  return true;
}

Result<bool> run(Graph& graph) {
  const std::string name = own_name();
  if (name == "negate") return add_negations(graph);
  if (name == "crash") ::abort();
  if (name == "exit") ::_exit(0);
  if (name == "loop") {
    for (volatile bool is_over = false; !is_over;) {
    }
  }
  if (name == "memory") use_up_memory();
  if (name == "fork") return tried(::fork() >= 0);
  if (name == "socket") return tried(::socket(AF_INET, SOCK_STREAM, 0) >= 0);
  if (name == "write") return tried(::open("written", O_WRONLY | O_CREAT, 0666) >= 0);
  if (name == "throw") throw std::runtime_error("thrown by the pass");
  if (name == "fail") return make_error(ErrorCode::kInternal, "it does not like the graph");
  if (name == "print") std::puts("printed by the pass");
  std::fflush(stdout);
  if (name == "cycle") return make_cycle(graph);
  if (name == "input") graph.add_input(graph.inputs()[0]->type_id(), "another");
  if (name == "type") graph.outputs()[0]->set_type(Type{});
  return name == "input" || name == "type";
}

const PluginPass kPasses[] = {{"test-pass", "does what its file is called", "after-optimize", run}};

}  // namespace

extern "C" const SluicePlugin sluice_plugin = SLUICE_PLUGIN(kPasses);
