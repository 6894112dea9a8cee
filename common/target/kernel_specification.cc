#include "common/target/kernel_specification.h"

#include "common/base/digest.h"
#include "common/base/lexer.h"
#include "common/base/spelling.h"
#include "common/loop/text.h"
#include "common/loop/verify.h"

namespace sluice {
namespace {

using text::Lexer;
using text::quoted_text;
using text::TokenKind;

// The names of the members are those of a profile's file.
class SpecificationParser {
 public:
  SpecificationParser(std::string_view text, const std::string& name) : lexer_(text, name) {}

  Result<KernelSpecification> parse() {
    SLUICE_TRY(lexer_.advance());
    SLUICE_TRY(parse_kernel());
    SLUICE_TRY(parse_profile());
    SLUICE_TRY(parse_math());
    SLUICE_ASSIGN(specification_.loops, loop::parse_loops(lexer_));
    return std::move(specification_);
  }

 private:
  Result<void> parse_kernel() {
    SLUICE_TRY(lexer_.expect("kernel"));
    SLUICE_TRY(lexer_.take_int("the version of the text", 1, 1));
    SLUICE_TRY(lexer_.expect("generator"));
    SLUICE_TRY(lexer_.take_int("this release's generator", kGeneratorVersion, kGeneratorVersion));
    return {};
  }

  Result<void> parse_math() {
    SLUICE_TRY(lexer_.expect("math"));
    const auto math = math_precision_from_name(lexer_.token().text);
    if (!math) return lexer_.unexpected("default, high_precision or high_performance");
    specification_.math = *math;
    return lexer_.advance();
  }

  Result<void> parse_profile() {
    DeviceProfile& profile = specification_.profile;
    const size_t offset = lexer_.token().offset;
    SLUICE_TRY(take("profile", profile.name));
    SLUICE_TRY(take("isa", profile.isa));
    SLUICE_TRY(take("llvm_cpu", profile.llvm_cpu));
    SLUICE_TRY(take("llvm_features", profile.llvm_features));
    SLUICE_TRY(take("vector_bits", profile.vector_bits, kVectorBits));
    SLUICE_TRY(take("vector_registers", profile.vector_registers, kVectorRegisters));
    SLUICE_TRY(take("fused_multiply_add", profile.fused_multiply_add));
    SLUICE_TRY(take("int8_dot_product", profile.int8_dot_product));
    if (lexer_.token().is("bf16_dot_product"))
      SLUICE_TRY(take("bf16_dot_product", profile.bf16_dot_product));
    SLUICE_TRY(take("l1_bytes", profile.l1_bytes, kCacheBytes));
    SLUICE_TRY(take("l1_ways", profile.l1_ways, kCacheWays));
    SLUICE_TRY(take("l2_bytes", profile.l2_bytes, kCacheBytes));
    SLUICE_TRY(take("last_cache_bytes", profile.last_cache_bytes, kCacheBytes));
    SLUICE_TRY(take("scratch_limit", profile.scratch_limit, kScratchBytes));
    SLUICE_TRY(lexer_.expect("costs"));
    for (const NamedCost& cost : kCosts)
      SLUICE_TRY(take(cost.name, profile.costs.*cost.number, kCostRange));
    const std::string fault = machine_fault(profile);
    if (!fault.empty()) return lexer_.error_at(offset, fault);
    return {};
  }

  Result<void> take(std::string_view member, std::string& out) {
    SLUICE_TRY(lexer_.expect(member));
    SLUICE_ASSIGN(const text::Token token, lexer_.take(TokenKind::kString, "a text in quotes"));
    out = token.text;
    return {};
  }
  template <typename Int>
  Result<void> take(std::string_view member, Int& out, const ValueRange& range) {
    SLUICE_TRY(lexer_.expect(member));
    SLUICE_ASSIGN(const int64_t number, lexer_.take_int(member, range.low, range.high));
    out = static_cast<Int>(number);
    return {};
  }
  Result<void> take(std::string_view member, bool& out) {
    SLUICE_TRY(lexer_.expect(member));
    out = lexer_.token().is("true");
    return lexer_.expect(out ? "true" : "false");
  }

  Lexer lexer_;
  KernelSpecification specification_;
};

}  // namespace

std::string generator_text(const DeviceProfile& profile) {
  std::string text = fmt::format("kernel 1 generator {}\n", kGeneratorVersion);
  text += fmt::format("profile {} isa {} llvm_cpu {} llvm_features {} ", quoted_text(profile.name),
                      quoted_text(profile.isa), quoted_text(profile.llvm_cpu),
                      quoted_text(profile.llvm_features));
  text += fmt::format("vector_bits {} vector_registers {} ", profile.vector_bits,
                      profile.vector_registers);
  text += fmt::format("fused_multiply_add {} int8_dot_product {} ", profile.fused_multiply_add,
                      profile.int8_dot_product);
  // Left out where it is false, so that kernels of devices without the instruction keep their
  // names.
  if (profile.bf16_dot_product) text += "bf16_dot_product true ";
  text +=
      fmt::format("l1_bytes {} l1_ways {} l2_bytes {} last_cache_bytes {} scratch_limit {}\ncosts",
                  profile.l1_bytes, profile.l1_ways, profile.l2_bytes, profile.last_cache_bytes,
                  profile.scratch_limit);
  for (const NamedCost& cost : kCosts)
    text += fmt::format(" {} {}", cost.name, profile.costs.*cost.number);
  return text + "\n";
}

std::string specification_text(const loop::LoopGraph& loops, const DeviceProfile& profile,
                               MathPrecision math) {
  return generator_text(profile) + fmt::format("math {}\n", math_precision_name(math)) +
         loop::print_loops(loops);
}

Result<KernelSpecification> parse_specification(std::string_view text, const std::string& name) {
  SLUICE_ASSIGN(KernelSpecification specification, SpecificationParser(text, name).parse());
  if (auto verified = loop::verify(specification.loops); !verified) {
    Error error = std::move(verified).error();
    error.file = name;
    return error;
  }
  return specification;
}

std::string kernel_entry(std::string_view specification) {
  Sha256 digest;
  digest.add(specification);
  return "k_" + digest_hex(digest.finish()).substr(0, 16);
}

}  // namespace sluice
