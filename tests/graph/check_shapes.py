#!/usr/bin/python3
"""Compares the onnx lines of shapes.txt with the shape inference of python3-onnx (a check of the expectations, not of
foretell; run it after changing shapes.txt). Lines of operators that the installed onnx does not know are skipped."""
import os
import re
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10}
NUMPY = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16"}


def shape(text):
    return [] if text == "scalar" else [int(d) for d in text.split("x")]


def numbers(text):
    return [float(n) if "." in n else int(n) for n in text[1:-1].split(",")]


def operand(name, word):
    dtype, _, rest = word.rpartition(":")
    if rest[0] in "[(":
        values = numbers(rest)
        code = TYPES[dtype] if dtype else (7 if isinstance(values[0], int) else 1)
        array = numpy.array(values, dtype=NUMPY[code]).reshape([len(values)] if rest[0] == "[" else [])
        return numpy_helper.from_array(array, name)
    return helper.make_tensor_value_info(name, TYPES[dtype or "float32"], shape(rest))


def attribute(word):
    name, value = word.split("=", 1)
    if re.match(r"^-?[\d.,-]+$", value) and ">" not in value:
        items = [float(v) if "." in v else int(v) for v in value.split(",") if v]
        return name, items if len(items) > 1 or "," in value else items[0]
    return name, value


def infer(kind, words, attributes, count, opset):
    inputs, constants, names = [], [], []
    for i, word in enumerate(words):
        names.append("" if word == "-" else f"i{i}")
        if word == "-":
            continue
        (constants if word.rpartition(":")[2][0] in "[(" else inputs).append(operand(f"i{i}", word))
    outputs = [f"o{i}" for i in range(count)]
    node = helper.make_node(kind, names, outputs, **dict(map(attribute, attributes)))
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info(o) for o in outputs], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    done = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    return {v.name: v.type.tensor_type for v in list(done.graph.output) + list(done.graph.value_info)}


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shapes.txt")
    agree = skipped = lenient = 0
    wrong = []
    for line in open(path):
        line = line.strip()
        if not line.startswith("onnx "):
            continue
        head, attributes, outputs = (part.split() for part in line.split("|"))
        if not onnx.defs.has(head[1]) or "?" in outputs:
            skipped += 1
            continue
        results = []
        for opset in (17, 12, 9, 8):
            try:
                results.append(infer(head[1], head[2:], attributes, len(outputs), opset))
            except Exception as error:  # the reference refuses
                results.append(None)
        if outputs == ["error"]:
            lenient += any(r is not None for r in results)  # the reference checks less than we do
            agree += all(r is None for r in results)
            continue

        def fits(result):
            for i, word in enumerate(outputs):
                rest = word.rpartition(":")[2]
                wanted = [len(numbers(rest))] if rest[0] == "[" else [] if rest[0] == "(" else shape(rest)
                got = result.get(f"o{i}")
                if got is None or not got.HasField("shape"):
                    continue
                if [d.dim_value for d in got.shape.dim if d.HasField("dim_value")] != wanted:
                    return False
            return True

        usable = [r for r in results if r is not None]
        if not usable:
            skipped += 1
        elif any(map(fits, usable)):
            agree += 1
        else:
            wrong.append(line)
    print("\n".join(wrong))
    print(f"{agree} agree, {skipped} skipped, {lenient} refused only by us, {len(wrong)} differ")
    return len(wrong) > 0


sys.exit(main())
