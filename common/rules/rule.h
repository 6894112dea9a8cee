// Rules: rewrites of graphs that users write as text (docs/own-passes.md has the notation).
//
//   rule matmul-add-to-gemm {
//     match   { %p = MatMul(%a, %b)   %y = Add(%p, %c) commuted }
//     where   rank(%a) == 2 and rank(%b) == 2 and users(%p) == 1
//     replace { %y = Gemm(%a, %b, %c) }
//   }
//
// A rule has one pattern or several alternatives, conditions, and a replacement. Names of values
// are those of the rule, not of the graph: a value has the same index in all of its patterns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/digest.h"
#include "common/ir/op.h"

namespace sluice::rules {

// An expression of a condition, an attribute or an operand.
struct Term {
  enum class Kind : uint8_t {
    kInteger,  // number
    kReal,     // number
    kText,     // "…"
    kWord,     // f32, true, or the name of a number that a pattern binds
    kValue,    // %a, by index
    kList,     // [1, 2]
    kCall,     // text(terms)
    kNot,
    kNegative,
    kBinary,  // terms[0] text terms[1]; text is + - * / == != < <= > >= and or
  };
  Kind kind = Kind::kInteger;
  double number = 0;
  std::string text;
  int32_t value = -1;
  std::vector<Term> terms;
  size_t offset = 0;     // in the file
  std::string spelling;  // as typed
};

struct Operand {
  enum class Kind : uint8_t { kValue, kAbsent, kAnything, kTerm };
  Kind kind = Kind::kAbsent;
  int32_t value = -1;
  Term term;  // a number or a list of numbers; in a replacement anything that can be computed
};

struct AttributeTerm {
  std::string name;
  Term term;
};

// A line of a pattern or of a replacement.
struct Statement {
  // kProduct, kPolynomial: any nodes that compute a product of the operands and a number, or a
  // polynomial in the operand (algebra.h).
  enum class Form : uint8_t { kNode, kProduct, kPolynomial };
  Form form = Form::kNode;
  std::vector<Op> ops;           // alternatives; Op::kForeign has its name in `foreign`
  std::string foreign;           // "com.acme::Gelu"
  std::vector<int32_t> results;  // by result of the node; -1: without a name
  std::vector<Operand> operands;
  bool has_more = false;  // "*": any further operands
  std::vector<AttributeTerm> attributes;
  bool commuted = false;  // its two first operands may be exchanged
  bool optional = false;  // it may be left out: then its result is its first operand
  int32_t like = -1;      // in a replacement: the value whose node has its other attributes
  bool shared = false;    // its results may be read by others, for which it then stays
  size_t offset = 0;
};

struct Pattern {
  std::vector<Statement> statements;
  // Of the values of the rule: the statement that makes each, -1 for those that come from outside.
  std::vector<int32_t> makers;
};

struct Rule {
  std::string name;
  std::vector<std::string> values;   // names, by index
  std::vector<std::string> numbers;  // names of the numbers that patterns bind
  std::vector<Pattern> patterns;     // alternatives, tried in order
  std::vector<Term> conditions;      // all must hold
  std::vector<Statement> replacement;
  std::vector<int32_t> outputs;  // values of the patterns that the replacement makes
  // For each output the value that takes its place: itself where a statement makes it.
  std::vector<int32_t> sources;
  bool is_open = false;  // its replacement is made by code, for each match (open_rules.h)
  size_t offset = 0;
};

// Where the rules of a file run: after a pass of a stage, at a row of its own.
struct RulePlace {
  std::string_view name;   // "after-infer-shape"; empty for "after = PASS"
  std::string_view stage;  // "preprocess"
  std::string_view pass;
  bool has_types = true;
};

struct RuleFile {
  std::string name;  // "mine.rules": of the file, without folders
  std::string path;
  std::string text;
  Digest digest;
  std::string at;     // the name of a place, or
  std::string after;  // the name of a pass
  size_t place_offset = 0;
  std::vector<Rule> rules;
};

}  // namespace sluice::rules
