"""Damage: bytes into worse bytes. Everything is drawn from the random generator given, so equal
seeds give equal files."""
import re
import struct
import zlib

import onnx
from onnx import TensorProto

INTERESTING = [0, 1, 2, 3, 4, 7, 8, 15, 16, 63, 64, 127, 128, 255, 256, 1000, 4095, 4096, 32767,
               32768, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1,
               2**63, 2**64 - 1]
DIMS = [0, 1, 2, 3, 5, 7, 16, 100, 65536, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -1, -2, -2**31,
        -2**63]


# ---- bytes ---------------------------------------------------------------------------------------


def flip_bits(random, data, _):
    for _ in range(random.choice([1, 1, 2, 8, 32])):
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
    return data


def random_bytes(random, data, _):
    for _ in range(random.choice([1, 1, 4, 16])):
        data[random.randrange(len(data))] = random.randrange(256)
    return data


def truncate(random, data, _):
    return data[:random.choice([0, 1, random.randrange(len(data)), len(data) - 1,
                                random.randrange(min(len(data), 256))])]


def block(random, data):
    begin = random.randrange(len(data))
    return begin, min(len(data), begin + random.choice([1, 4, 8, 16, 64, 256, 4096]))


def repeat_block(random, data, _):
    begin, end = block(random, data)
    at = random.randrange(len(data) + 1)
    return data[:at] + data[begin:end] * random.choice([1, 1, 2, 50]) + data[at:]


def delete_block(random, data, _):
    begin, end = block(random, data)
    return data[:begin] + data[end:]


def swap_blocks(random, data, _):
    (a, a_end), (b, b_end) = sorted([block(random, data), block(random, data)])
    if a_end > b:
        return data
    return data[:a] + data[b:b_end] + data[a_end:b] + data[a:a_end] + data[b_end:]


def interesting(random, data, _):
    for _ in range(random.choice([1, 1, 2, 5])):
        width = random.choice([1, 2, 4, 8])
        if len(data) < width:
            return data
        at = random.randrange(len(data) - width + 1) // width * width
        data[at:at + width] = struct.pack("<Q", random.choice(INTERESTING))[:width]
    return data


def splice(random, data, other):
    return data[:random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1):]


BYTES = [flip_bits, flip_bits, random_bytes, truncate, repeat_block, delete_block, swap_blocks,
         interesting, interesting, splice]


def mutate_bytes(random, data, other):
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        if data:
            data = bytearray(random.choice(BYTES)(random, data, other))
    return bytes(data)


# ---- text ----------------------------------------------------------------------------------------


def mutate_text(random, data, other):
    """Words and lines of a text against each other; sometimes its bytes."""
    if random.random() < 0.3:
        return mutate_bytes(random, data, other)
    lines = data.decode("utf-8", "replace").splitlines(keepends=True)
    others = other.decode("utf-8", "replace").splitlines(keepends=True)
    for _ in range(random.choice([1, 1, 2, 3])):
        at = random.randrange(len(lines)) if lines else 0
        choice = random.randrange(6)
        if choice == 0:
            del lines[at:at + 1]
        elif choice == 1:
            lines.insert(at, random.choice(others or [""]))
        elif choice == 2 and lines:
            to = random.randrange(len(lines))
            lines[at], lines[to] = lines[to], lines[at]
        elif choice == 3:
            lines[at:at] = lines[at:at + 1] * random.choice([1, 3, 2000])
        elif lines:
            lines[at] = mutate_line(random, lines[at], random.choice(others or [""]))
    return "".join(lines).encode("utf-8", "replace")


def mutate_line(random, line, other):
    words = line.replace(",", " , ").replace("(", " ( ").replace("[", " [ ").replace(
        "]", " ] ").split(" ")
    donors = other.split() or ["x"]
    for _ in range(random.choice([1, 1, 2])):
        at = random.randrange(len(words))
        choice = random.randrange(6)
        if choice == 0:
            del words[at:at + 1]
        elif choice == 1:
            words.insert(at, random.choice(donors))
        elif choice == 2:
            words[at] = random.choice(donors)
        elif choice == 3:
            words[at] = str(random.choice(DIMS))
        elif choice == 4:
            words[at] = random.choice("([{<\"%@#-") * random.choice([1, 2, 3000])
        else:
            words[at:at] = words[at:at + 1] * random.choice([2, 300])
        words = words or ["x"]
    return " ".join(words).rstrip("\n") + "\n"


NUMBER = re.compile(rb"(?<![\w.])-?\d+(?![\w.])")
NAME = re.compile(rb"%(?:\"[^\"]*\"|[\w./~-]+)")


def mutate_schedule(random, data, other):
    """A number or a name of a scheduled graph's text for another one, or a line less or more:
    mostly, what still parses."""
    if random.random() < 0.2:
        return mutate_text(random, data, other)
    for _ in range(random.choice([1, 1, 1, 2])):
        data = random.choice([other_number, other_number, other_number, other_name,
                              other_line])(random, data)
    return data


def other_number(random, data):
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    at, value = random.choice(found), int(random.choice(found)[0])
    own = int(at[0])
    new = random.choice([own + 1, own - 1, own + 4, own + 64, 2 * own, value, value, 0,
                         random.choice(DIMS), random.choice(INTERESTING)])
    return data[:at.start()] + str(new).encode() + data[at.end():]


def other_name(random, data):
    found = list(NAME.finditer(data))
    if not found:
        return data
    at = random.choice(found)
    return data[:at.start()] + random.choice(found)[0] + data[at.end():]


def other_line(random, data):
    lines = data.splitlines(keepends=True)
    at, to = random.randrange(len(lines)), random.randrange(len(lines))
    choice = random.randrange(3)
    if choice == 0:
        del lines[at]
    elif choice == 1:
        lines.insert(to, lines[at])
    else:
        lines[at], lines[to] = lines[to], lines[at]
    return b"".join(lines)


# ---- messages of protobuf ------------------------------------------------------------------------


def places(message, found=None, depth=0):
    """Every (message, field) that can be changed, nested ones included."""
    found = [] if found is None else found
    for field, content in message.ListFields():
        found.append((message, field))
        if field.type == field.TYPE_MESSAGE and depth < 12:
            for item in content if field.label == field.LABEL_REPEATED else [content]:
                places(item, found, depth + 1)
    return found


def scalar(random, field, old):
    if field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_ENUM):
        return random.choice([old + 1, old - 1, 0, -1, 2**31 - 1, -2**31, random.randrange(30)])
    if field.cpp_type == field.CPPTYPE_INT64:
        return random.choice([old + 1, old - 1, *DIMS])
    if field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64):
        largest = 2**32 - 1 if field.cpp_type == field.CPPTYPE_UINT32 else 2**64 - 1
        return random.choice([old ^ 1, old ^ 64, 0, largest, largest // 2 + 1, old + 64]) & largest
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return random.choice([0.0, -1.0, 1e30, float("nan"), float("inf"), -0.0])
    if field.cpp_type == field.CPPTYPE_BOOL:
        return not old
    if field.type == field.TYPE_BYTES:
        return random.choice([b"", old[:-1], old + b"\0", mutate_bytes(random, old, old)])
    return random.choice(["", old + "x", old[:-1], "\x1b[31m\n", "x" * 5000,
                          "../" * 3 + "etc/passwd", "é\u2028"])


def mutate_field(random, message, field):
    name = field.name
    if field.label != field.LABEL_REPEATED:
        if field.type == field.TYPE_MESSAGE or random.random() < 0.15:
            message.ClearField(name)
        else:
            try:
                setattr(message, name, scalar(random, field, getattr(message, name)))
            except ValueError:  # a closed enum, or out of the field's range
                message.ClearField(name)
        return
    items = getattr(message, name)
    at = random.randrange(len(items))
    choice = random.randrange(4)
    if choice == 0:
        del items[at]
    elif choice == 1:
        for _ in range(random.choice([1, 1, 200])):
            items.append(items[at])
    elif field.type == field.TYPE_MESSAGE:
        other = type(items[at])()
        to = random.randrange(len(items))
        other.CopyFrom(items[at])
        items[at].CopyFrom(items[to])
        items[to].CopyFrom(other)
    elif choice == 2:
        to = random.randrange(len(items))
        items[at], items[to] = items[to], items[at]
    else:
        try:
            items[at] = scalar(random, field, items[at])
        except ValueError:
            del items[at]


def mutate_message(random, message):
    for _ in range(random.choice([1, 1, 2, 4])):
        found = places(message)
        if found:
            mutate_field(random, *random.choice(found))


# ---- ONNX ----------------------------------------------------------------------------------------


def drop_node(random, graph):
    del graph.node[random.randrange(len(graph.node))]


def retarget_input(random, graph):
    node = random.choice(graph.node)
    names = [name for other in graph.node
             for name in other.output] + [item.name for item in graph.input] + ["", "nobody"]
    if node.input:
        # backwards too: cycles
        node.input[random.randrange(len(node.input))] = random.choice(names)
    else:
        node.input.append(random.choice(names))


def change_inputs(random, graph):
    node = random.choice(graph.node)
    if node.input and random.random() < 0.5:
        del node.input[random.randrange(len(node.input))]
    else:
        node.input.extend([random.choice([*node.input, ""])] * random.choice([1, 1, 40]))


def swap_dtype(random, graph):
    places_of = [t for t in graph.initializer] + [
        i.type.tensor_type for i in [*graph.input, *graph.output] if i.type.HasField("tensor_type")]
    if places_of:
        chosen = random.choice(places_of)
        setattr(chosen, "data_type" if isinstance(chosen, TensorProto) else "elem_type",
                random.randrange(0, 24))


def change_dims(random, graph):
    if graph.initializer and random.random() < 0.5:
        dims = random.choice(graph.initializer).dims
        if dims:
            dims[random.randrange(len(dims))] = random.choice(DIMS)
        else:
            dims.append(random.choice(DIMS))
        return
    items = [*graph.input, *graph.output]
    if not items:
        return
    shape = random.choice(items).type.tensor_type.shape
    if shape.dim and random.random() < 0.8:
        shape.dim[random.randrange(len(shape.dim))].dim_value = random.choice(DIMS)
    else:
        shape.dim.extend([shape.dim.add()] * random.choice([1, 70]))


def change_attribute(random, graph):
    nodes = [node for node in graph.node if node.attribute]
    if not nodes:
        return
    node = random.choice(nodes)
    attribute = random.choice(node.attribute)
    choice = random.randrange(5)
    if choice == 0:
        attribute.i = random.choice(DIMS)
    elif choice == 1 and attribute.ints:
        attribute.ints[random.randrange(len(attribute.ints))] = random.choice(DIMS)
    elif choice == 2:
        attribute.ints.extend([random.choice(DIMS)] * random.choice([1, 9]))
    elif choice == 3:
        attribute.type = random.randrange(0, 15)
    else:
        attribute.name = random.choice(["axis", "axes", "perm", "pads", "to", "value", "body",
                                        attribute.name + "x"])


def change_op(random, graph):
    schemas = onnx.defs.get_all_schemas()
    random.choice(graph.node).op_type = random.choice(schemas).name


def duplicate_name(random, graph):
    node = random.choice(graph.node)
    names = [name for other in graph.node for name in other.output] + [item.name
                                                                       for item in graph.input]
    if node.output:
        node.output[random.randrange(len(node.output))] = random.choice(names)


def copy_node(random, graph):
    node = random.choice(graph.node)
    for _ in range(random.choice([1, 1, 300])):
        graph.node.add().CopyFrom(node)


def nest_bodies(random, graph):
    """If in If in If ..."""
    inner = onnx.GraphProto()
    inner.CopyFrom(graph)
    for _ in range(random.choice([2, 30, 90])):
        outer = onnx.GraphProto(name="nested")
        node = outer.node.add(op_type="If", input=["flag"], output=["y"])
        attribute = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH)
        attribute.g.CopyFrom(inner)
        inner = outer
    graph.node.add().CopyFrom(inner.node[0])


def external_data(random, graph):
    if graph.initializer:
        tensor = random.choice(graph.initializer)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, content in [("location", random.choice(["../x", "/etc/passwd", "model.onnx", "",
                                                         "nothing", "/dev/zero"])),
                             ("offset", str(random.choice(DIMS))),
                             ("length", str(random.choice(DIMS)))][:random.choice([1, 2, 3])]:
            entry = tensor.external_data.add()
            entry.key, entry.value = key, content


def change_initializer(random, graph):
    if graph.initializer:
        tensor = random.choice(graph.initializer)
        tensor.raw_data = mutate_bytes(random, tensor.raw_data, b"\xff" * 9)


def bodies_in(graph):
    """Every (node, body) right inside."""
    return [(node, attribute.g) for node in graph.node for attribute in node.attribute
            if attribute.HasField("g")]


def cycle_through_body(random, graph):
    """A body that reads what its own node makes, or what is made behind that node."""
    owned = [(node, body) for node, body in bodies_in(graph) if node.output]
    if not owned:
        return retarget_input(random, graph)
    owner, body = random.choice(owned)
    names = [random.choice(owner.output), *random.choice(graph.node).output]
    if body.node and random.random() < 0.7:
        inner = random.choice(body.node)
        del inner.input[:random.randrange(2)]
        inner.input.insert(0, random.choice(names))
    elif body.output:
        random.choice(body.output).name = random.choice(names)
    return None


def change_body(random, graph):
    """Other numbers of inputs and outputs; names of values outside; the body of another node; the
    node's own graph."""
    owned = bodies_in(graph)
    if not owned:
        return change_inputs(random, graph)
    node, body = random.choice(owned)
    choice = random.randrange(6)
    if choice == 0 and body.output:
        del body.output[random.randrange(len(body.output))]
    elif choice == 1 and body.input:
        del body.input[random.randrange(len(body.input))]
    elif choice == 2:
        name = random.choice([*(item.name for item in graph.input),
                              *(out for other in graph.node for out in other.output), "fresh"])
        (body.input if random.random() < 0.5 else body.output).add().name = name
    elif choice == 3:
        other = type(body)()
        other.CopyFrom(random.choice(owned)[1])
        body.CopyFrom(other)
    elif choice == 4:
        node.op_type = random.choice(["If", "Loop", "Scan", "SequenceMap", "Relu"])
    elif graph.ByteSize() < 100000:
        other = type(body)()
        other.CopyFrom(graph)
        body.CopyFrom(other)
    return None


def contradict_shapes(random, graph):
    """What the model says of a value is not so: of one on the way, of an output, of a body's
    input."""
    names = [name for node in graph.node for name in node.output if name]
    item = (graph.value_info.add(name=random.choice(names or ["nobody"])) if random.random() <
            0.5 or not graph.output else random.choice(graph.output))
    kind = random.choice(["tensor_type", "tensor_type", "tensor_type", "sequence_type",
                          "optional_type", "map_type", "sparse_tensor_type"])
    if not item.type.HasField(kind):
        item.ClearField("type")
        getattr(item.type, kind).SetInParent()
    if kind != "tensor_type":
        return
    tensor = item.type.tensor_type
    tensor.elem_type = random.choice([tensor.elem_type, random.randrange(24)])
    tensor.shape.SetInParent()
    for _ in range(random.choice([0, 1, 2, 5, 60])):
        dim = tensor.shape.dim.add()
        if random.random() < 0.7:
            dim.dim_value = random.choice(DIMS)
        else:
            dim.dim_param = random.choice(["N", "", "N*2", "-1", "x" * 300])


def same_param_everywhere(random, graph):
    """One name for sizes that are not equal."""
    for item in graph.input:
        for dim in item.type.tensor_type.shape.dim:
            if random.random() < 0.7:
                dim.dim_param = "N"


def change_elements(random, graph):
    """Huge and negative numbers in constants that may be sizes, axes, indices or counts."""
    tensors = [t for t in graph.initializer
               if t.data_type in (TensorProto.INT64, TensorProto.INT32)]
    tensors += [a.t for node in graph.node for a in node.attribute if a.HasField("t") and
                a.t.data_type in (TensorProto.INT64, TensorProto.INT32)]
    if not tensors:
        return change_dims(random, graph)
    tensor = random.choice(tensors)
    width = 8 if tensor.data_type == TensorProto.INT64 else 4
    if len(tensor.raw_data) >= width:
        data = bytearray(tensor.raw_data)
        for _ in range(random.choice([1, 1, 3])):
            at = random.randrange(len(data) // width) * width
            data[at:at + width] = struct.pack("<q", random.choice(DIMS))[:width]
        tensor.raw_data = bytes(data)
    elif tensor.int64_data:
        tensor.int64_data[random.randrange(len(tensor.int64_data))] = random.choice(DIMS)
    return None


def swap_attribute_kind(random, graph):
    """An attribute of another kind than its operator's, whole in itself."""
    nodes = [node for node in graph.node if node.attribute]
    if not nodes:
        return
    attribute = random.choice(random.choice(nodes).attribute)
    name = attribute.name
    value = random.choice([random.choice(DIMS), 0.5, "text", [1, 2, 3], [0.5, 1e30], ["a", ""], [],
                           onnx.helper.make_tensor("t", 1, [2], [1.0, 2.0]),
                           onnx.GraphProto(name="empty")])
    attribute.Clear()
    if value == []:
        attribute.name, attribute.type = name, onnx.AttributeProto.INTS
    else:
        attribute.CopyFrom(onnx.helper.make_attribute(name, value))


def change_outputs(random, graph):
    """Results too many or too few; outputs of the graph that are twice there, or inputs, or
    nothing."""
    node = random.choice(graph.node)
    choice = random.randrange(4)
    if choice == 0 and node.output:
        del node.output[random.randrange(len(node.output))]
    elif choice == 1:
        node.output.extend(f"more{i}" for i in range(random.choice([1, 2, 200])))
    elif choice == 2 and graph.output:
        graph.output.add().CopyFrom(random.choice(graph.output))
    elif graph.output:
        random.choice(graph.output).name = random.choice([*(item.name for item in graph.input), "",
                                                          "nobody"])


def nest_deeply(random, graph):
    """Loop in If in Loop ..., each reading what lies outermost; more levels than any model has."""
    name = graph.input[0].name if graph.input else "x"
    inner = onnx.helper.make_graph([onnx.helper.make_node("Neg", [name], ["deep"])], "deep", [],
                                   [onnx.ValueInfoProto(name="deep")])
    for i in range(random.choice([3, 15, 40, 70, 200])):
        out = f"deep{i}"
        if random.random() < 0.7:
            node = (onnx.helper.make_node("If", ["flag"], [out], then_branch=inner,
                                          else_branch=inner) if i < 6
                    else onnx.helper.make_node("If", ["flag"], [out], then_branch=inner))
            inner = onnx.helper.make_graph([node], out, [], [onnx.ValueInfoProto(name=out)])
        else:
            cond = onnx.helper.make_node("Identity", [f"c{i}"], [f"d{i}"])
            body = onnx.helper.make_graph([cond, *inner.node],
                                          "body", [onnx.ValueInfoProto(name=f"i{i}"),
                                                   onnx.ValueInfoProto(name=f"c{i}")],
                                          [onnx.ValueInfoProto(name=f"d{i}"), *inner.output])
            inner = onnx.helper.make_graph([onnx.helper.make_node("Loop", ["trips", ""], [out],
                                                                  body=body)],
                                           out, [], [onnx.ValueInfoProto(name=out)])
    graph.node.extend(inner.node)
    graph.output.extend(inner.output)


GRAPH = [drop_node, retarget_input, retarget_input, change_inputs, swap_dtype, change_dims,
         change_dims, change_attribute, change_attribute, change_op, duplicate_name, copy_node,
         nest_bodies, external_data, change_initializer, cycle_through_body, cycle_through_body,
         change_body, change_body, contradict_shapes, same_param_everywhere, change_elements,
         change_elements, swap_attribute_kind, change_outputs, nest_deeply]


def graphs_of(graph):
    found = [graph]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found += graphs_of(attribute.g)
    return found


def mutate_onnx(random, data, other):
    if random.random() < 0.25:
        return mutate_bytes(random, data, other)
    made = onnx.ModelProto.FromString(data)
    if random.random() < 0.3:
        mutate_message(random, made)
        return made.SerializeToString()
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        graphs = [graph for graph in graphs_of(made.graph) if graph.node]
        if graphs:
            random.choice(GRAPH)(random, random.choice(graphs))
    return made.SerializeToString()


# ---- graph files and compiled models: behind checksums -------------------------------------------


def same_place(random, data):
    """One change that leaves everything else where it is, which offsets in the file still find."""
    data = bytearray(data)
    choice = random.randrange(4)
    if choice == 0:
        begin, end = block(random, data)
        at = random.randrange(len(data))
        data[at:at + end - begin] = data[begin:min(end, begin + len(data) - at)]
        return bytes(data)
    return bytes([flip_bits, random_bytes, interesting][choice - 1](random, data, data))


def mutate_graph_file(random, data, other):
    """Mostly behind the header, mostly without moving anything, and with a checksum that fits: else
    nothing else would ever be read."""
    if random.random() < 0.15:
        return mutate_bytes(random, data, other)
    remaining = data[128:]
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        remaining = (mutate_bytes(random, remaining, other[128:])
                     if random.random() < 0.1 or not remaining else
                     same_place(random, remaining))
    head = bytearray(data[:128])
    if random.random() < 0.2:
        at = random.choice([12, 13, 14, 16, 24, 32, 40])
        head[at] = random.randrange(256) if at >= 16 else random.randrange(8)
    head[112:116] = struct.pack("<I", zlib.crc32(bytes(head[:112])))
    return bytes(head) + remaining


def page(offset):
    return (offset + 4095) // 4096 * 4096


def mutate_compiled_model(random, data, other, model_class, sha256):
    """model_class: of ModelDef. The description is changed as a message, or a segment as bytes;
    digests are made to fit."""
    if random.random() < 0.25:
        return mutate_bytes(random, data, other)
    offset, size = struct.unpack_from("<QQ", data, 24)
    model = model_class.FromString(data[offset:offset + size])
    segments = [bytearray(data[s.offset:s.offset + s.bytes]) for s in model.segments]
    if segments and random.random() < 0.2:
        at = random.randrange(len(segments))
        segments[at] = (bytearray(mutate_bytes(random, bytes(segments[at]), other)) if segments[at]
                        else segments[at])
    else:
        mutate_message(random, model)
    if len(model.segments) != len(segments) or random.random() < 0.1:
        return seal(data[:512], model.SerializeToString(), data[page(offset + size):], sha256)
    for _ in range(2):  # the offsets' own size may move them
        end = 512 + len(model.SerializeToString())
        for row, content in zip(model.segments, segments):
            row.offset, row.bytes, row.digest = page(end), len(content), sha256(bytes(content))
            end = row.offset + row.bytes
    made = bytearray(model.SerializeToString())
    for row, content in zip(model.segments, segments):
        made += bytes(max(0, row.offset - 512 - len(made))) + content
    return seal(data[:512], model.SerializeToString(), bytes(made[len(model.SerializeToString()):]),
                sha256, padded=True)


def seal(header, model, segments, sha256, padded=False):
    gap = b"" if padded else bytes(page(512 + len(model)) - 512 - len(model))
    segments = gap + segments
    head = bytearray(header)
    struct.pack_into("<QQQ", head, 16, 512 + len(model) + len(segments), 512,
                     len(model))
    head[40:72] = sha256(model)
    head[480:512] = sha256(bytes(head[:480]))
    return bytes(head) + model + segments
