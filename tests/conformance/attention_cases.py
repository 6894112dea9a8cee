"""Random Attention nodes: dtypes, sizes, heads, masks, a past, numbers of keys, open dims."""
import numpy as np
from onnx import TensorProto, helper

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
         np.dtype(bool): TensorProto.BOOL, np.dtype(np.int64): TensorProto.INT64}
# From a number to the next one, at 1.
EPSILON = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
OPSET = 24


class Case:
    """One node, whose values are named by its number. "bf16" stands for floats that the model casts
    to it and back: NumPy has no such dtype."""

    def __init__(self, index, seed):
        self.index, self.random = index, np.random.default_rng([seed, index])
        self.prefix = f"n{index}"
        self.draw()

    def pick(self, *options):
        return options[int(self.random.integers(len(options)))]

    def size(self, largest):
        """Drawn by its logarithm, so that small ones occur."""
        return int(round(np.exp(self.random.uniform(0, np.log(largest + 0.4)))))

    def draw(self):
        self.dtype = self.pick("f32", "f32", "f16", "bf16")
        self.batch, self.kv_heads = self.size(3), self.size(4)
        self.heads = self.kv_heads * self.pick(1, 1, 1, 2, 3, 8)
        self.key_size = self.pick(8, 16, 32, 64, 64, 80, 128, self.size(150))
        self.value_size = self.pick(self.key_size, self.key_size, self.size(150))
        self.queries = self.pick(1, self.size(200), self.size(200), 64)
        self.keys = self.pick(self.queries, self.queries, self.size(600))
        self.past = self.pick(0, 0, self.size(500))
        self.flat = bool(self.pick(False, True))
        self.open = self.pick((), (), ("B",), ("S", "T"), ("B", "S", "T", "P"))
        self.attributes = {"is_causal": self.pick(0, 0, 1)}
        if self.pick(0, 1):
            self.attributes["scale"] = float(self.random.uniform(0.05, 0.5))
        if self.pick(0, 0, 0, 1):
            self.attributes["softcap"] = float(self.random.uniform(0.5, 5))
        if self.flat:
            self.attributes.update(q_num_heads=self.heads, kv_num_heads=self.kv_heads)
        self.draw_operands()

    def floats(self, *shape):
        numbers = self.random.standard_normal(shape)
        return numbers.astype(np.float16 if self.dtype == "f16" else np.float32)

    def rows(self, heads, length, size):
        return self.floats(*([self.batch, length, heads * size] if self.flat else
                             [self.batch, heads, length, size]))

    def draw_operands(self):
        self.inputs = {
            "q": self.rows(self.heads, self.queries, self.key_size),
            "k": self.rows(self.kv_heads, self.keys, self.key_size),
            "v": self.rows(self.kv_heads, self.keys, self.value_size),
        }
        mask = self.draw_mask()
        if mask is not None:
            self.inputs["mask"] = mask
        if self.past:
            self.inputs["past_k"] = self.floats(self.batch, self.kv_heads, self.past, self.key_size)
            self.inputs["past_v"] = self.floats(self.batch, self.kv_heads, self.past,
                                                self.value_size)
        elif self.pick(0, 0, 1):
            self.inputs["lengths"] = self.random.integers(0, self.keys + 1, self.batch)

    def draw_mask(self):
        """Of any rank, broadcast along any axis, now and then shorter; some rows see no key."""
        kind = self.pick(None, None, "float", "bool", "shared")
        if kind is None:
            return None
        keys = self.keys + self.past
        if not self.open and self.pick(0, 0, 0, 1):
            keys = self.size(keys)
        shape = [self.pick(1, self.batch), self.pick(1, self.heads),
                 1 if kind == "shared" else self.pick(1, self.queries, self.queries),
                 self.pick(1, keys, keys, keys)]
        rank = self.pick(2, 3, 4, 4) if kind != "shared" else self.pick(1, 2, 4)
        shape = shape[4 - rank:]
        if self.pick("float", "bool") == "bool":
            return self.random.uniform(size=shape) > self.pick(0.1, 0.6)
        mask = self.floats(*shape)
        mask[self.random.uniform(size=shape) < self.pick(0, 0.3)] = -np.inf
        return mask

    def dims(self, name):
        """The dims that the model declares: names for open ones."""
        shape = list(self.inputs[name].shape)
        axis = {"q": ("S", 1 if self.flat else 2), "k": ("T", 1 if self.flat else 2),
                "v": ("T", 1 if self.flat else 2), "past_k": ("P", 2), "past_v": ("P", 2)}
        if name in axis and axis[name][0] in self.open:
            shape[axis[name][1]] = axis[name][0] + self.prefix
        if name == "mask":
            return self.mask_dims(shape)
        if "B" in self.open:
            shape[0] = "B" + self.prefix
        return shape

    def mask_dims(self, shape):
        """An open mask has the names of what it is as long as; a sum of two has none of its own."""
        names = {0: ("B", self.batch), 2: ("S", self.queries), 3: ("T", self.keys)}
        for place, (name, size) in names.items():
            at = place - 4 + len(shape)
            if at >= 0 and name in self.open and shape[at] == size != 1:
                shape[at] = name + self.prefix
        return shape

    def is_known(self):
        """Whether the declared dims say that a mask fits: not where its keys are a sum."""
        mask = self.inputs.get("mask")
        return mask is None or not self.open or not self.past or mask.shape[-1] == 1

    def outputs(self):
        return ["y", "present_k", "present_v"] if self.past else ["y"]

    def named(self, name):
        return f"{self.prefix}_{name}"

    def inner(self, name):
        """The name of what the node itself reads or makes."""
        is_cast = self.dtype == "bf16" and (name not in self.inputs or
                                            self.inputs[name].dtype == np.float32)
        return self.named(name) + ("_bf16" if is_cast else "")

    def nodes(self):
        order = ["q", "k", "v", "mask", "past_k", "past_v", "lengths"]
        inputs = [self.inner(name) if name in self.inputs else "" for name in order]
        while not inputs[-1]:
            inputs.pop()
        node = helper.make_node("Attention", inputs, [self.inner(name) for name in self.outputs()],
                                self.prefix, **self.attributes)
        cast = lambda source, target, to: helper.make_node("Cast", [source], [target], to=to)
        before = [cast(self.named(name), self.inner(name), TensorProto.BFLOAT16)
                  for name in self.inputs if self.inner(name) != self.named(name)]
        after = [cast(self.inner(name), self.named(name), TensorProto.FLOAT)
                 for name in self.outputs() if self.inner(name) != self.named(name)]
        return [*before, node, *after]

    def feeds(self):
        return {self.named(name): value for name, value in self.inputs.items()}

    def declared(self):
        return [helper.make_tensor_value_info(self.named(name), TYPES[value.dtype], self.dims(name))
                for name, value in self.inputs.items()]

    def results(self):
        dtype = TYPES[self.inputs["q"].dtype]
        return [helper.make_tensor_value_info(self.named(name), dtype, None)
                for name in self.outputs()]

    def multiply_adds(self):
        return (self.batch * self.heads * self.queries * (self.past + self.keys) *
                (self.key_size + self.value_size))

    def text(self):
        sizes = (f"batch {self.batch} heads {self.heads}/{self.kv_heads} queries {self.queries} "
                 f"keys {self.past}+{self.keys} sizes {self.key_size} {self.value_size}")
        mask = self.inputs.get("mask")
        mask = "" if mask is None else f" mask {mask.dtype}{list(mask.shape)}"
        return (f"{self.dtype} {sizes}{mask}{' flat' if self.flat else ''}"
                f"{' lengths' if 'lengths' in self.inputs else ''} open {''.join(self.open)} "
                f"{self.attributes}")


def draw_case(index, seed):
    """A case whose operands are known to fit."""
    case = Case(index, seed)
    while not case.is_known():
        case.draw()
    return case


def model_of(cases):
    graph = helper.make_graph([node for case in cases for node in case.nodes()], "attention",
                              [value for case in cases for value in case.declared()],
                              [value for case in cases for value in case.results()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
