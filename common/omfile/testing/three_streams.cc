#include "common/omfile/testing/three_streams.h"

namespace sluice::testing {
namespace {

constexpr uint32_t kBlocks = 8;

// A stream under construction: launches that alternate between two buffers.
struct Chain {
  ModelBuilder& builder;
  std::string name;
  uint32_t stream;
  uint32_t kernel;
  uint32_t values[2];
  uint32_t last;  // value made last
  int made = 0;

  void launch(uint32_t out, uint32_t a, uint32_t b) {
    builder.launch(name + std::to_string(made), stream, kernel, {out}, {a, b});
    last = out;
    ++made;
  }
  void go_on(int launches) {
    for (int i = 0; i < launches; ++i)
      launch(values[made % 2], last, last == values[0] ? values[1] : values[0]);
  }
};

}  // namespace

pb::ModelDef make_three_streams() {
  ModelBuilder b;
  const uint32_t type = b.type(DType::kU32, {kThreeStreamsElements});
  const uint32_t x = b.input("x", type);
  const uint32_t y = b.output("y", type);
  const uint32_t z = b.output("z", type);
  const uint32_t many = b.test_kernel("mix", kBlocks);
  const uint32_t one = b.test_kernel("mix", 1);
  auto pair = [&](const std::string& name, uint32_t kernel, uint32_t first) {
    const uint32_t stream = b.stream(name);
    const uint32_t even = b.arena_value(name + "_even", type);
    const uint32_t odd = b.arena_value(name + "_odd", type);
    return Chain{b, name, stream, kernel, {even, odd}, first};
  };
  const uint32_t for_b = b.arena_value("for_b", type);
  const uint32_t for_c = b.arena_value("for_c", type);
  const uint32_t from_b = b.arena_value("from_b", type);
  const uint32_t events[4] = {b.event("e0"), b.event("e1"), b.event("e2"), b.event("e3")};
  Chain chain_a = pair("a", many, x);
  Chain chain_b = pair("b", many, for_b);
  Chain chain_c = pair("c", one, for_c);

  chain_a.launch(chain_a.values[0], x, x);
  chain_a.launch(chain_a.values[1], chain_a.values[0], x);
  chain_a.go_on(17);
  chain_a.launch(for_b, chain_a.last, x);  // a19
  b.record(chain_a.stream, events[0]);
  chain_a.launch(chain_a.values[0], for_b, chain_a.values[1]);
  chain_a.launch(chain_a.values[1], chain_a.values[0], x);
  chain_a.go_on(17);
  chain_a.launch(for_c, chain_a.last, x);  // a39
  b.record(chain_a.stream, events[1]);
  chain_a.launch(chain_a.values[0], x, chain_a.values[1]);
  chain_a.launch(chain_a.values[1], chain_a.values[0], x);
  chain_a.go_on(18);

  b.wait(chain_b.stream, events[0]);
  chain_b.launch(chain_b.values[0], for_b, x);
  chain_b.launch(chain_b.values[1], chain_b.values[0], for_b);
  chain_b.go_on(27);
  chain_b.launch(from_b, chain_b.last, x);  // b29
  b.record(chain_b.stream, events[2]);
  chain_b.launch(chain_b.values[0], from_b, chain_b.values[1]);
  chain_b.launch(chain_b.values[1], chain_b.values[0], from_b);
  chain_b.go_on(32);
  chain_b.launch(z, chain_b.last, from_b);  // b64

  b.wait(chain_c.stream, events[1]);
  chain_c.launch(chain_c.values[0], for_c, x);
  chain_c.launch(chain_c.values[1], chain_c.values[0], for_c);
  chain_c.go_on(63);
  b.record(chain_c.stream, events[3]);

  b.wait(chain_a.stream, events[2]);
  chain_a.launch(for_b, chain_a.last, from_b);  // a60: b has read for_b
  chain_a.go_on(8);
  b.wait(chain_a.stream, events[3]);
  chain_a.launch(y, chain_a.last, chain_c.last);  // a69
  return b.model;
}

std::vector<std::vector<uint32_t>> three_streams_expected(const pb::ModelDef& model,
                                                          const std::vector<uint32_t>& x) {
  const pb::FixedPart& part = model.parts(0).fixed();
  std::vector<std::vector<uint32_t>> values(static_cast<size_t>(part.value_type_size()),
                                            std::vector<uint32_t>(kThreeStreamsElements));
  values[0] = x;
  int operand = 0;
  for (int t = 0; t < part.task_kind_size(); ++t) {
    if (part.task_kind(t) != pb::TASK_TEST) continue;
    const auto& a = values[part.operand(operand + 1)];
    const auto& b = values[part.operand(operand + 2)];
    auto& out = values[part.operand(operand)];
    for (size_t i = 0; i < out.size(); ++i) out[i] = mix_elements(a[i], b[i]);
    operand += 3;
  }
  return {values[1], values[2]};
}

}  // namespace sluice::testing
