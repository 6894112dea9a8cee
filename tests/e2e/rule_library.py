"""Ten rules, for each a graph that it matches, and edits of the graph after which it does not.

A miss is an edit of the graph's text, the node that the reason is about, and a piece of the reason.
The graphs are textual, without the first line.
"""


class Entry:
    def __init__(self, rule, graph, misses):
        self.rule, self.graph, self.misses = rule, graph, misses


LIBRARY = {
    "gemm": Entry("""rule gemm {
  match   { %p = MatMul(%a, %b)   %y = Add(%p, %c) commuted }
  where   rank(%a) == 2 and rank(%b) == 2 and users(%p) == 1 and broadcasts(%c, %y)
  replace { %y = Gemm(%a, %b, %c) }
}
""", """graph @main(%a: f32[2, 3], %b: f32[3, 4], %c: f32[4], %k: f32[3, 4], %l: f32[2, 4])
    -> (%z) {
  %p: f32[2, 4] = MatMul(%a, %b) name "mm"
  %y: f32[2, 4] = Add(%p, %c) name "add"
  %z: f32[2, 4] = Abs(%y) name "abs"
}
""", [
        ("Add(%p, %c)", "Sub(%p, %c)", "add", "Sub 'add' reads it, expected Add"),
        ("Add(%p, %c)", "Mul(%p, %c)", "add", "Mul 'add' reads it, expected Add"),
        ("MatMul(%a, %b)", "Add(%l, %l)", "add", "is Add 'mm', expected MatMul"),
        ("MatMul(%a, %b)", "Relu(%l)", "add", "operand 0 of node 'add' (Add) is Relu 'mm'"),
        ("Abs(%y)", "Add(%y, %p)", "mm", "users(%p) is 2"),
        ("-> (%z)", "-> (%z, %p)", "mm", "users(%p) is 2"),
        ("%a: f32[2, 3]", "%a: f32[1, 2, 3]", None, "rank(%a) == 2 does not hold: rank(%a) is 3"),
        ("%b: f32[3, 4]", "%b: f32[1, 3, 4]", None, "rank(%b) == 2 does not hold: rank(%b) is 3"),
        ("%c: f32[4]", "%c: f32[5, 2, 4]", None, "broadcasts(%c, %y) does not hold"),
        ("Add(%p, %c)", "Add(%l, %c)", "add", "expected MatMul"),
    ]),
    "zero": Entry("""rule zero {
  match   { %y = Add(%x, 0) commuted }
  where   dtype(%x) == f32 and same_type(%x, %y)
  replace { %y = %x }
}
""", """graph @main(%x: f32[2, 3], %v: f32[]) -> (%z) {
  %n = constant f32[] [0]
  %y: f32[2, 3] = Add(%x, %n) name "add"
  %z: f32[2, 3] = Abs(%y) name "abs"
}
""", [
        ("constant f32[] [0]", "constant f32[] [1]", "add", "is the constant 1, expected 0"),
        ("constant f32[] [0]", "constant f32[] [0.001]", "add", "the constant 0.001, expected 0"),
        ("constant f32[] [0]", "constant f32[2, 1] [0, 0]", "add", "is a constant, expected 0"),
        ("Add(%x, %n)", "Add(%x, %v)", "add", "is the input 'v', expected 0"),
        ("Add(%x, %n)", "Add(%x, %x)", "add", "is the input 'x', expected 0"),
        ("%x: f32[2, 3]", "%x: f32[3]", None, "same_type(%x, %y) does not hold"),
        ("f32", "f64", "add", "dtype(%x) == f32 does not hold: dtype(%x) is f64"),
        ("f32", "f16", "add", "dtype(%x) is f16"),
        ("Add(%x, %n)", "Add(%x, %n) placement {keep}", "add", "is marked to be kept"),
        ("constant f32[] [0]", "constant f32[] [-1]", "add", "is the constant -1, expected 0"),
    ]),
    "erf-gelu": Entry("""rule erf-gelu {
  match   { %u = Div(%x, 1.4142135)  %e = Erf(%u)  %s = Add(%e, 1) commuted
            %m = Mul(%x, %s) commuted  %y = Mul(%m, 0.5) commuted }
  where   rank(%x) >= 2
  replace { %y = Gelu(%x) }
}
""", """graph @main(%x: f32[2, 3], %v: f32[2, 3]) -> (%z) {
  %root = constant f32[] [1.4142135]
  %one = constant f32[] [1]
  %half = constant f32[] [0.5]
  %u: f32[2, 3] = Div(%x, %root) name "div"
  %e: f32[2, 3] = Erf(%u) name "erf"
  %s: f32[2, 3] = Add(%e, %one) name "add"
  %m: f32[2, 3] = Mul(%x, %s) name "gate"
  %y: f32[2, 3] = Mul(%m, %half) name "half"
  %z: f32[2, 3] = Abs(%y) name "abs"
}
""", [
        ("Erf(%u)", "Tanh(%u)", "add", "operand 0 of node 'add' (Add) is Tanh 'erf', expected Erf"),
        ("Erf(%u)", "Identity(%u)", "add", "is Identity 'erf', expected Erf"),
        ("[1.4142135]", "[1.5]", "div", "is the constant 1.5, expected 1.4142135"),
        ("constant f32[] [1]", "constant f32[] [2]", "add", "is the constant 2, expected 1"),
        ("[0.5]", "[0.25]", "half", "is the constant 0.25, expected 0.5"),
        ("Div(%x, %root)", "Mul(%x, %root)", "erf", "is Mul 'div', expected Div"),
        ("Mul(%x, %s)", "Mul(%v, %s)", None, "expected %x, which is the input 'v'"),
        ("Abs(%y)", "Add(%y, %e)", "erf", "the result of node 'erf' (Erf) is read by others"),
        ("-> (%z)", "-> (%z, %s)", "add", "the result of node 'add' (Add) is read by others"),
        ("f32[2, 3]", "f32[6]", None, "rank(%x) >= 2 does not hold: rank(%x) is 1"),
        ("Mul(%m, %half)", "Div(%m, %half)", "half", "Div 'half' reads it, expected Mul"),
    ]),
    "rms": Entry("""rule rms {
  match   { %q = Pow(%x, 2)  %m = ReduceMean(%q, [-1]) {keepdims = 1}
            %v = Add(%m, %eps) commuted  %r = Sqrt(%v)  %n = Div(%x, %r)
            %y = Mul(%n, %scale) commuted }
  where   near(value(%eps), 0, 0.01) and rank(%scale) == 1
  replace { %y = RMSNormalization(%x, %scale) {axis = -1, epsilon = value(%eps)} }
}
""", """graph @main(%x: f32[2, 4], %scale: f32[4], %w: f32[2, 4]) -> (%z) {
  %two = constant f32[] [2]
  %axes = constant i64[1] [-1]
  %eps = constant f32[] [1e-5]
  %q: f32[2, 4] = Pow(%x, %two) name "pow"
  %m: f32[2, 1] = ReduceMean(%q, %axes) {keepdims = 1} name "mean"
  %v: f32[2, 1] = Add(%m, %eps) name "add"
  %r: f32[2, 1] = Sqrt(%v) name "sqrt"
  %n: f32[2, 4] = Div(%x, %r) name "div"
  %y: f32[2, 4] = Mul(%n, %scale) name "mul"
  %z: f32[2, 4] = Abs(%y) name "abs"
}
""", [
        ("constant f32[] [2]", "constant f32[] [3]", "pow", "is the constant 3, expected 2"),
        ("[1e-5]", "[0.5]", None, "near(value(%eps), 0, 0.01) does not hold"),
        ("ReduceMean(%q, %axes)", "ReduceMax(%q, %axes)", "add",
         "ReduceMax 'mean', expected Reduce"),
        ("ReduceMean(%q, %axes)", "ReduceSum(%q, %axes)", "add",
         "ReduceSum 'mean', expected Reduce"),
        ("Sqrt(%v)", "Exp(%v)", "sqrt", "Exp 'sqrt' reads it, expected Sqrt"),
        ("Pow(%x, %two)", "Mul(%x, %x)", "mean", "is Mul 'pow', expected Pow"),
        ("Div(%x, %r)", "Div(%w, %r)", "pow", "expected %x, which is the input 'w'"),
        ("Div(%x, %r)", "Mul(%x, %r)", "div", "expected Div"),
        ("%scale: f32[4]", "%scale: f32[1, 4]", None, "rank(%scale) is 2"),
        ("Abs(%y)", "Add(%y, %n)", "div", "the result of node 'div' (Div) is read by others"),
    ]),
    "rotary": Entry("""rule rotary {
  match   { %a = Slice(%x, [0], [2], [-1])  %b = Slice(%x, [2], [4], [-1])  %n = Neg(%b)
            %h = Concat(%n, %a) {axis = -1}  %l = Mul(%x, %cos)  %r = Mul(%h, %sin)
            %y = Add(%l, %r) }
  where   dim(%x, -1) == 4 and users(%h) == 1
  replace { %p, %q = Split(%x) {axis = -1, num_outputs = 2}  %m = Neg(%q)
            %j = Concat(%m, %p) {axis = -1}  %s = Mul(%j, %sin)  %t = Mul(%x, %cos)
            %y = Add(%t, %s) }
}
""", """graph @main(%x: f32[2, 4], %cos: f32[2, 4], %sin: f32[2, 4]) -> (%z) {
  %i0 = constant i64[1] [0]
  %i2 = constant i64[1] [2]
  %i4 = constant i64[1] [4]
  %last = constant i64[1] [-1]
  %a: f32[2, 2] = Slice(%x, %i0, %i2, %last) name "low"
  %b: f32[2, 2] = Slice(%x, %i2, %i4, %last) name "high"
  %n: f32[2, 2] = Neg(%b) name "neg"
  %h: f32[2, 4] = Concat(%n, %a) {axis = -1} name "turn"
  %l: f32[2, 4] = Mul(%x, %cos) name "cosine"
  %r: f32[2, 4] = Mul(%h, %sin) name "sine"
  %y: f32[2, 4] = Add(%l, %r) name "sum"
  %z: f32[2, 4] = Abs(%y) name "abs"
}
""", [
        ("Neg(%b)", "Abs(%b)", "turn",
         "operand 0 of node 'turn' (Concat) is Abs 'neg', expected Neg"),
        ("Concat(%n, %a)", "Concat(%a, %n)", "turn", "operand 0 of node 'turn' (Concat) is Slice"),
        ("Slice(%x, %i0, %i2, %last)", "Slice(%x, %i2, %i4, %last)", "low",
         "is the constant 4, expected [2]"),
        ("Slice(%x, %i2, %i4, %last)", "Slice(%x, %i0, %i2, %last)", "high",
         "the constant 2, expected [4]"),
        ("Add(%l, %r)", "Sub(%l, %r)", "sum", "Sub 'sum' reads it, expected Add"),
        ("Mul(%x, %cos)", "Mul(%sin, %cos)", None, "expected %x, which is the input 'sin'"),
        ("Abs(%y)", "Add(%y, %h)", "turn", "users(%h) == 1 does not hold: users(%h) is 2"),
        ("-> (%z)", "-> (%z, %b)", "high", "the result of node 'high' (Slice) is read by others"),
        ("{axis = -1} name", "{axis = 1} name", "turn",
         "attribute 'axis' of node 'turn' (Concat) is 1"),
        ("Mul(%h, %sin)", "Add(%h, %sin)", "sine", "Add 'sine' reads it, expected Mul"),
    ]),
    "attention": Entry("""rule attention {
  match   { %t = Transpose(%k) {perm = [0, 1, 3, 2]}  %s = MatMul(%q, %t)  %d = Div(%s, %root)
            %p = Softmax(%d) {axis = -1}  %y = MatMul(%p, %v) }
  where   rank(%q) == 4 and rank(%v) == 4 and near(value(%root), 2, 0.001) and users(%p) == 1
  replace { %y = Attention(%q, %k, %v) {scale = 1 / value(%root)} }
}
""", """graph @main(%q: f32[1, 2, 3, 4], %k: f32[1, 2, 3, 4], %v: f32[1, 2, 3, 4]) -> (%z) {
  %root = constant f32[] [2]
  %t: f32[1, 2, 4, 3] = Transpose(%k) {perm = [0, 1, 3, 2]} name "turn"
  %s: f32[1, 2, 3, 3] = MatMul(%q, %t) name "scores"
  %d: f32[1, 2, 3, 3] = Div(%s, %root) name "scale"
  %p: f32[1, 2, 3, 3] = Softmax(%d) {axis = -1} name "softmax"
  %y: f32[1, 2, 3, 4] = MatMul(%p, %v) name "mix"
  %z: f32[1, 2, 3, 4] = Abs(%y) name "abs"
}
""", [
        ("[0, 1, 3, 2]", "[0, 2, 3, 1]", "turn", "attribute 'perm' of node 'turn' (Transpose)"),
        ("{axis = -1}", "{axis = 2}", "softmax",
         "attribute 'axis' of node 'softmax' (Softmax) is 2"),
        ("Softmax(%d) {axis = -1}", "LogSoftmax(%d) {axis = -1}", "softmax", "expected Softmax"),
        ("Softmax(%d) {axis = -1}", "Sigmoid(%d)", "softmax", "Sigmoid 'softmax' reads it"),
        ("Div(%s, %root)", "Mul(%s, %root)", "softmax", "is Mul 'scale', expected Div"),
        ("MatMul(%q, %t)", "Mul(%q, %q)", "scale", "is Mul 'scores', expected MatMul"),
        ("constant f32[] [2]", "constant f32[] [3]", None, "near(value(%root), 2, 0.001)"),
        ("Abs(%y)", "MatMul(%p, %y)", "softmax", "users(%p) == 1 does not hold: users(%p) is 2"),
        ("-> (%z)", "-> (%z, %d)", "scale", "the result of node 'scale' (Div) is read by others"),
        ("MatMul(%q, %t)", "MatMul(%t, %q)", "scores", "operand 1 of node 'scores' (MatMul) is"),
    ]),
    "cast": Entry("""rule cast {
  match   { %w = Cast(%x) {to = f32}  %r = Relu(%w)  %y = Cast(%r) {to = f16} }
  where   dtype(%x) == f16
  replace { %y = Relu(%x) }
}
""", """graph @main(%x: f16[2, 3]) -> (%z) {
  %w: f32[2, 3] = Cast(%x) {to = 1} name "up"
  %r: f32[2, 3] = Relu(%w) name "relu"
  %y: f16[2, 3] = Cast(%r) {to = 10} name "down"
  %z: f16[2, 3] = Abs(%y) name "abs"
}
""", [
        ("Relu(%w)", "Tanh(%w)", "down", "operand 0 of node 'down' (Cast) is Tanh 'relu'"),
        ("Relu(%w)", "Neg(%w)", "down", "is Neg 'relu', expected Relu"),
        ("{to = 1} ", "{to = 11} ", "up", "attribute 'to' of node 'up' (Cast) is 11, expected f32"),
        ("{to = 10}", "{to = 16}", "down",
         "attribute 'to' of node 'down' (Cast) is 16, expected f16"),
        ("%x: f16[2, 3]", "%x: bf16[2, 3]", None,
         "dtype(%x) == f16 does not hold: dtype(%x) is bf16"),
        ("%x: f16[2, 3]", "%x: i32[2, 3]", None, "dtype(%x) is i32"),
        ("-> (%z)", "-> (%z, %r)", "relu", "the result of node 'relu' (Relu) is read by others"),
        ("-> (%z)", "-> (%z, %w)", "up", "the result of node 'up' (Cast) is read by others"),
        ("Cast(%x) {to = 1}", "Exp(%x)", "relu", "is Exp 'up', expected Cast"),
        ("Cast(%r) {to = 10}", "Abs(%r)", "down", "Abs 'down' reads it, expected Cast"),
    ]),
    "reshape-transpose": Entry("""rule reshape-transpose {
  match   { %t = Transpose(%x) {perm = [0, 2, 1]}  %y = Reshape(%t, [2, 6]) }
  where   rank(%x) == 3 and dim(%x, 1) == 1
  replace { %y = Reshape(%x, [2, 6]) }
}
""", """graph @main(%x: f32[3, 1, 4]) -> (%z) {
  %shape = constant i64[2] [2, 6]
  %t: f32[3, 4, 1] = Transpose(%x) {perm = [0, 2, 1]} name "transpose"
  %y: f32[2, 6] = Reshape(%t, %shape) name "reshape"
  %z: f32[2, 6] = Abs(%y) name "abs"
}
""", [
        ("[2, 6]\n", "[6, 2]\n", "reshape", "is a constant, expected [2, 6]"),
        ("[2, 6]\n", "[2, -1]\n", "reshape", "is a constant, expected [2, 6]"),
        ("[0, 2, 1]", "[2, 0, 1]", "transpose", "is [2, 0, 1], expected [0, 2, 1]"),
        (" {perm = [0, 2, 1]}", "", "transpose",
         "attribute 'perm' of node 'transpose' (Transpose)"),
        ("%x: f32[3, 1, 4]", "%x: f32[3, 2, 2]", None,
         "dim(%x, 1) == 1 does not hold: dim(%x, 1) is"),
        ("%x: f32[3, 1, 4]", "%x: f32[12]", None, "rank(%x) == 3 does not hold: rank(%x) is 1"),
        ("Reshape(%t, %shape)", "Expand(%t, %shape)", "reshape", "Expand 'reshape' reads it"),
        ("-> (%z)", "-> (%z, %t)", "transpose",
         "the result of node 'transpose' (Transpose) is read"),
        ("Transpose(%x) {perm = [0, 2, 1]}", "Relu(%x)", "reshape",
         "is Relu 'transpose', expected"),
        ("Transpose(%x) {perm = [0, 2, 1]}", "Softmax(%x)", "reshape", "is Softmax 'transpose'"),
    ]),
    "scale": Entry("""rule scale {
  match   { %m = Mul(%x, %a) commuted  %y = Mul(%m, %b) commuted }
  where   constant(%a) and constant(%b) and size(%a) == 1 and size(%b) == 1
          and not constant(%x) and rank(%x) >= 1 and rank(%a) == 0 and rank(%b) == 0
  replace { %y = Mul(%x, value(%a) * value(%b)) }
}
""", """graph @main(%x: f32[2, 3], %v: f32[], %w: f32[2, 3]) -> (%z) {
  %a = constant f32[] [2]
  %b = constant f32[] [3]
  %m: f32[2, 3] = Mul(%x, %a) name "first"
  %y: f32[2, 3] = Mul(%m, %b) name "second"
  %z: f32[2, 3] = Abs(%y) name "abs"
}
""", [
        ("Mul(%x, %a)", "Mul(%x, %v)", None, "constant(%a) is false"),
        ("Mul(%m, %b)", "Mul(%m, %v)", None, "constant(%b) is false"),
        ("Mul(%x, %a)", "Add(%x, %a)", "second", "is Add 'first', expected Mul"),
        ("Mul(%m, %b)", "Add(%m, %b)", "second", "Add 'second' reads it, expected Mul"),
        ("Mul(%m, %b)", "Div(%m, %b)", "second", "Div 'second' reads it, expected Mul"),
        ("constant f32[] [2]", "constant f32[3] [2, 1, 2]", None, "size(%a) == 1 does not hold"),
        ("constant f32[] [3]", "constant f32[3] [2, 1, 2]", None, "size(%b) == 1 does not hold"),
        ("Abs(%y)", "Add(%y, %m)", "first", "the result of node 'first' (Mul) is read by others"),
        ("-> (%z)", "-> (%z, %m)", "first", "the result of node 'first' (Mul) is read by others"),
        ("Mul(%x, %a)", "Mul(%x, %w)", None, "constant(%a) is false"),
    ]),
    "conv-bias": Entry("""rule conv-bias {
  match   { %c = Conv(%x, %w)  %y = Add(%c, %b) commuted }
  where   constant(%b) and rank(%c) == 4 and rank(%b) == 4 and dim(%b, 1) == dim(%c, 1)
          and size(%b) == dim(%c, 1)
  replace { %v = Reshape(%b, [-1])  %y = Conv(%x, %w, %v) like %c }
}
""", """graph @main(%x: f32[1, 2, 5, 5], %w: f32[3, 2, 3, 3], %i: f32[1, 3, 1, 1]) -> (%z) {
  %b = constant f32[1, 3, 1, 1] [1, 2, 3]
  %t = constant f32[3] [1, 2, 3]
  %c: f32[1, 3, 3, 3] = Conv(%x, %w) {pads = [0, 0, 0, 0]} name "conv"
  %y: f32[1, 3, 3, 3] = Add(%c, %b) name "add"
  %z: f32[1, 3, 3, 3] = Abs(%y) name "abs"
}
""", [
        ("Conv(%x, %w)", "Conv(%x, %w, %t)", "conv", "has 3 operands, expected 2"),
        ("Add(%c, %b)", "Sub(%c, %b)", "add", "Sub 'add' reads it, expected Add"),
        ("Add(%c, %b)", "Mul(%c, %b)", "add", "Mul 'add' reads it, expected Add"),
        ("Add(%c, %b)", "Add(%c, %i)", None, "constant(%b) is false"),
        ("Add(%c, %b)", "Add(%c, %t)", None, "rank(%b) == 4 does not hold: rank(%b) is 1"),
        ("f32[1, 3, 1, 1] [1, 2, 3]", "f32[1, 1, 1, 3] [1, 2, 3]", None, "dim(%b, 1) is 1"),
        ("f32[1, 3, 1, 1] [1, 2, 3]", "f32[1, 3, 3, 1] splat 1", None, "size(%b) is 9"),
        ("Abs(%y)", "Add(%y, %c)", "conv", "the result of node 'conv' (Conv) is read by others"),
        ("-> (%z)", "-> (%z, %c)", "conv", "the result of node 'conv' (Conv) is read by others"),
        ("Add(%c, %b)", "Add(%b, %i)", "add", "expected Conv"),
    ]),
}
