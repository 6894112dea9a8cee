#include "common/rules/rule_parser.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice::rules {
namespace {

constexpr char kFile[] = R"(# Rules of all notations.
after = fuse-gelu
rule gemm {
  match   { %p = MatMul(%a, %b)   %y = Add(%p, %c) commuted }
  where   rank(%a) == 2 and (rank(%b) >= 2 or not constant(%b)) and users(%p) == 1
  replace { %y = Gemm(%a, %b, %c) {alpha = 1.0, transA = 0} }
}
rule gate-1x {
  match { %u = product(%x) {factor = alpha}  %s = Sigmoid(%u)  %y = product(%x, %s) }
  or    { %v = polynomial(%x) {coefficients = [0, 1, -2.5e-1]}  %s = Erf|Tanh(%v) shared
          %i = Identity(%s) optional  %y = Mul(%i, %x) }
  where near(value(%x), 0.5, 1e-3) and scope(%y, "/encoder/*")
  replace { %t = Relu(%x)  %y = Mul(%t, value(%x) -1 * 2) }
}
rule split {
  match   { %a, _ = Split(%x, [1, 2], *) {axis = -1}  %z = Clip(%a, _, ?) }
  replace { %z = %x }
}
)";

std::string error_of(const std::string& text) {
  const auto file = parse_rules(text, "test.rules");
  return file ? "" : file.error().message;
}

std::string rule_with(const std::string& match, const std::string& where,
                      const std::string& replace) {
  return "rule r { match { " + match + " }" + (where.empty() ? "" : " where " + where) +
         " replace { " + replace + " } }";
}

TEST(ParseRules, ReadsAllNotations) {
  const auto file = parse_rules(kFile, "folder/mine.rules");
  ASSERT_TRUE(file.ok()) << error_text(file.error());
  EXPECT_EQ(file->name, "mine.rules");
  EXPECT_EQ(file->after, "fuse-gelu");
  ASSERT_EQ(file->rules.size(), 3u);
  EXPECT_EQ(file->rules[0].conditions.size(), 3u);
  EXPECT_EQ(file->rules[0].conditions[1].spelling, "rank(%b) >= 2 or not constant(%b)");
  EXPECT_EQ(file->rules[1].name, "gate-1x");
  EXPECT_EQ(file->rules[1].patterns.size(), 2u);
}

TEST(ParseRules, NamesWhatIsWrong) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", "there is no rule"},
      {rule_with("%y = Exp(%x)", "", "%y = Neg(%w)"), "%w is not a value of the pattern"},
      {rule_with("%y = Exp(%x)", "", "%y = Neg(%y)"), "%y goes away with the nodes"},
      {rule_with("%y = Exp(%x)", "", "%z = Neg(%x)"), "makes no value of the pattern"},
      {rule_with("%y = Exp(%x)", "", "%x = Neg(%y)"), "%x is not made by the pattern"},
      {rule_with("%y = Exp(%y)", "", "%y = Neg(%y)"), "a pattern has no cycles"},
      {rule_with("%a = Exp(%b) %b = Exp(%a)", "", "%b = Neg(%a)"), "a pattern has no cycles"},
      {rule_with("%y = Exp(%x) %y = Exp(%x)", "", "%y = Neg(%x)"), "%y is made twice"},
      {rule_with("%y = Exp(%x) %z = Neg(%x)", "", "%y = Abs(%x)"), "%z leads to no value"},
      {rule_with("%y = Exp(%x, %x)", "", "%y = Neg(%x)"), "Exp has 2 operands here, and takes 1"},
      {rule_with("%y = Softmax(%x) {axes = 1}", "", "%y = Neg(%x)"), "has no attribute 'axes'"},
      {rule_with("%y = Softmax(%x) {axis = f}", "", "%y = Neg(%x)"), "'f' is no value of attri"},
      {rule_with("%y = Loop(%x, %x, *)", "", "%y = Neg(%x)"), "Loop has bodies"},
      {rule_with("%y = \"a::B\"(%x)", "", "%y = Neg(%x)"), "at = before-infer-shape"},
      {rule_with("%y = Exp(%x)", "rang(%x) == 1", "%y = Neg(%x)"), "no function 'rang'"},
      {rule_with("%y = Exp(%x)", "rank(%x)", "%y = Neg(%x)"), "neither true nor false"},
      {rule_with("%y = Exp(%x)", "rank(%x) == two", "%y = Neg(%x)"), "'two' is no function"},
      {rule_with("%y = Exp(%x)", "dim(%x) == 2", "%y = Neg(%x)"), "dim takes 2 operands"},
      {rule_with("%y = Exp(%x)", "rank(2) == 2", "%y = Neg(%x)"), "operand 0 of rank is a value"},
      {rule_with("%y = Exp(%x)", "rank(%w) == 2", "%y = Neg(%x)"), "%w is not a value"},
      {rule_with("%u = polynomial(%x) {coefficients = [1]}", "", "%u = %x"),
       "%x must be an operand of another line"},
      {rule_with("%i = Identity(%x) optional", "", "%i = %x"), "cannot be optional"},
      {rule_with("%y = Exp(%x)", "", "_ = %x %y = Neg(%x)"), "one name stands before"},
      {rule_with("%y = Exp(%x)", "", "%t, %u = %x %y = Neg(%u)"), "one name stands before"},
      {"\xef\xbb\xbf" + rule_with("%y = Exp(%x)", "", "%y = Neg(%x)"), "byte order mark"},
      {"at = somewhere\n" + rule_with("%y = Exp(%x)", "", "%y = Neg(%x)"), "no place 'somewhere'"},
  };
  for (const auto& [text, message] : kCases) {
    EXPECT_NE(error_of(text).find(message), std::string::npos) << text << "\n" << error_of(text);
    EXPECT_TRUE(error_of(text).starts_with("test.rules:")) << error_of(text);
  }
}

TEST(ParseRules, RefusesLargeFiles) {
  EXPECT_NE(error_of(std::string(10 << 20, ' ')).find("at most"), std::string::npos);
}

TEST(ParseRules, DeepTermsAreAnError) {
  const std::string deep = std::string(5000, '(') + "1" + std::string(5000, ')');
  EXPECT_NE(error_of(rule_with("%y = Exp(%x)", deep + " == 1", "%y = %x")).find("too deep"),
            std::string::npos);
  std::string sum = "1";
  for (int i = 0; i < 50000; ++i) sum += "+1";
  EXPECT_NE(error_of(rule_with("%y = Exp(%x)", "rank(%x) == " + sum, "%y = %x"))
                .find("at most 500 operators"),
            std::string::npos);
  const std::string nots = std::string(20000, '-') + "1 == 1";
  EXPECT_NE(error_of(rule_with("%y = Exp(%x)", nots, "%y = %x")), "");
}

// Each edit of one character is a valid file, or an error with line and column.
TEST(ParseRules, EditsOfOneCharacter) {
  std::mt19937 random(20261130);
  const std::string text = kFile;
  const std::string letters = "%{}()[]=,.-+*|?_#\"\n aAzZ019<>!/$@\\";
  size_t valid = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string edited = text;
    const size_t at = random() % edited.size();
    const char letter = letters[random() % letters.size()];
    const auto kind = random() % 3;
    if (kind == 0) edited[at] = letter;
    if (kind == 1) edited.insert(at, 1, letter);
    if (kind == 2) edited.erase(at, 1);
    const auto file = parse_rules(edited, "test.rules");
    valid += file ? 1 : 0;
    if (file) continue;
    const std::string& message = file.error().message;
    int line = 0, column = 0;
    ASSERT_EQ(std::sscanf(message.c_str(), "test.rules:%d:%d: ", &line, &column), 2) << message;
    ASSERT_EQ(file.error().code, ErrorCode::kBadText);
  }
  EXPECT_GT(valid, 1000u);
}

}  // namespace
}  // namespace sluice::rules
