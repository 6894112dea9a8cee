"""Graphs as large as the compiler promises to take: many nodes, many values, little arithmetic.

Everything is fixed by the seed. Weights come from small pools, so that the file stays small. All
functions are bounded and do not widen differences (a product's gain is about 1, a sum of two states
is halved): however deep the graph, rounding errors do not grow, and evaluation and device can be
compared.
"""
import math

import numpy as np
from builder import FLOAT

NARROW = (4, 6, 8)  # channels or columns; what most blocks make
WIDTHS = (4, 6, 8, 12, 16)  # what blocks read: the wide ones mostly by way of Concat
ROWS = 7  # of the matrices
LONGEST_LINK = 1000  # nodes between the ends of a residual link
POOL = 8  # different weights for each shape
UNARY = ("Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Neg", "Tanh")
BINARY = ("Max", "Min", "Add", "Sub")


def build_large(net):
    """Three independent towers of blocks of about ten nodes, drawn from 60 kinds; each kind is one
    contraction of one shape, then elementwise nodes, transposes and residual links as its recipe
    says. So a tenth of the nodes are Conv or MatMul, in 60 shapes."""
    convs = [("Conv", read, made, kernel) for read in WIDTHS for made in NARROW
             for kernel in (1, 3)]
    products = [("MatMul", read, made, None) for read in WIDTHS for made in NARROW]
    mixed = [("Conv", read, NARROW[(i + k) % 3], 3) for i, read in enumerate(WIDTHS)
             for k in range(2)]
    mixed += [("MatMul", read, read, None) for read in WIDTHS]
    towers = [Tower(net, "images", convs, side=5), Tower(net, "matrices", products, side=None),
              Tower(net, "mixed", mixed, side=6)]
    for index, tower in enumerate(towers):
        tower.grow((net.size + index) // len(towers))


class Tower:
    """A chain of blocks; `recent` keeps the ends of blocks that a residual link may reach."""

    def __init__(self, net, name, kinds, side):
        self.net, self.name, self.side = net, name, side  # side None: a tower of matrices
        self.random = net.random(f"graph of {name}")
        self.kinds = [(kind, self.recipe()) for kind in kinds]
        self.count, self.width, self.recent = 0, NARROW[0], {}  # recent: width -> [(count, state)]
        shape = self.shape(self.width)
        self.state = net.input(name, list(shape), FLOAT,
                               lambda r: r.standard_normal(shape, dtype=np.float32))

    def recipe(self):
        """The steps behind a contraction: eight or nine nodes."""
        steps, nodes = [], 0
        while nodes < 8:
            draw = self.random.random()
            step = ("transpose" if draw < 0.07 else "link" if draw < 0.25
                    else str(self.choose(("Mul", "Add"))) if draw < 0.5 else "unary")
            op = str(self.choose(BINARY if step == "link" else UNARY))
            size = 3 if step == "transpose" else 2 if op in ("Add", "Sub") else 1
            if nodes + size <= 9:
                steps.append((step, op))
                nodes += size
        return steps

    def shape(self, width):
        return (ROWS, width) if self.side is None else (1, width, self.side, self.side)

    def grow(self, nodes):
        while self.count < nodes - 11:  # no block is larger
            self.block()
            self.recent.setdefault(self.width, []).append((self.count, self.state))
        while self.count < nodes:
            self.state = self.node("Neg", self.state)
        self.net.output(self.state, f"{self.name}_out", list(self.shape(self.width)))

    def block(self):
        """One of the kinds that can read the state as it is, or with an older one beside it."""
        reachable = {self.width} | {self.width + width for width in self.recent
                                    if self.pick(width) is not None}
        kind, recipe = self.choose([row for row in self.kinds if row[0][1] in reachable])
        if kind[1] != self.width:
            self.state = self.node("Concat", self.state, self.pick(kind[1] - self.width), axis=1)
        self.contract(kind)
        for step, op in recipe:
            self.step(step, op)

    def contract(self, kind):
        op, read, made, kernel = kind
        if op == "Conv":
            weight = self.weight((made, read, kernel, kernel), read * kernel * kernel)
            self.state = self.node("Conv", self.state, weight, kernel_shape=[kernel, kernel],
                                   pads=[kernel // 2] * 4)
        elif self.side is None:
            self.state = self.node("MatMul", self.state, self.weight((read, made), read))
        else:
            self.state = self.node("MatMul", self.state,
                                   self.weight((self.side, self.side), self.side))
        self.width = made

    def step(self, step, op):
        if step == "transpose":  # there and back, with one node between
            there, back = ([1, 0], [1, 0]) if self.side is None else ([0, 2, 3, 1], [0, 3, 1, 2])
            turned = self.node(op, self.node("Transpose", self.state, perm=there))
            self.state = self.node("Transpose", turned, perm=back)
        elif step == "link":
            self.state = self.node(op, self.state, self.pick(self.width) or self.state)
            if op in ("Add", "Sub"):
                self.state = self.node("Mul", self.state, self.scalar(0.5))
        elif step == "unary":
            self.state = self.node(op, self.state)
        else:
            shape = (self.width,) if self.side is None else (self.width, 1, 1)
            make = self.scales if step == "Mul" else self.shifts
            self.state = self.node(step, self.state,
                                   self.pooled(f"{step.lower()}.{'x'.join(map(str, shape))}",
                                               lambda name: make(name, shape)))

    # -- pieces ------------------------------------------------------------------------------------

    def pick(self, width):
        """A state of this width that is at most LONGEST_LINK nodes old; the oldest are
        forgotten."""
        states = self.recent.get(width, [])
        while states and states[0][0] < self.count - LONGEST_LINK:
            states.pop(0)
        return states[int(self.random.integers(len(states)))][1] if states else None

    def node(self, op, *inputs, **attributes):
        self.count += 1
        return self.net.node(op, list(inputs), f"{self.name}/{self.count}", **attributes)

    def choose(self, choices):
        return choices[int(self.random.integers(len(choices)))]

    def weight(self, shape, reads):
        return self.pooled(f"weight.{'x'.join(map(str, shape))}",
                           lambda name: self.net.weight(name, shape, 1.0 / math.sqrt(reads)))

    def scales(self, name, shape):
        return self.net.positive(name, shape, 0.7, 1.0)

    def shifts(self, name, shape):
        return self.net.weight(name, shape, 0.5)

    def scalar(self, value):
        return self.pooled("half", lambda name: self.net.initializer(name, np.float32(value)), 1)

    def pooled(self, stem, make, size=POOL):
        name = f"{stem}.{int(self.random.integers(size))}"
        if name not in self.net.pool:
            self.net.pool[name] = make(name)
        return name


def build_many_values(net):
    """Split and Concat in turn, 20 values for two nodes: ten values for each node. Three
    independent towers."""
    pieces = 19
    random = net.random("graph")
    for tower in range(3):
        name = f"tower{tower}"
        state = net.input(name, [2, pieces], FLOAT,
                          lambda r: r.standard_normal((2, pieces), dtype=np.float32))
        for pair in range((net.size // 2 + tower) // 3):
            split = net.split(state, pieces, f"{name}/{pair}")
            state = net.node("Concat", [split[i] for i in random.permutation(pieces)],
                             f"{name}/{pair}", axis=1)
        net.output(state, f"{name}_out", [2, pieces])
