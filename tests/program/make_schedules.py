#!/usr/bin/env python3
"""Makes tests/program/schedules.jsonl: schedules as a tuner draws them, for small problems, from a fixed seed.

    python3 tests/program/make_schedules.py > tests/program/schedules.jsonl
"""
import json
import random

draw = random.Random(7)
BLOCK, THREAD, VTHREAD, VECTOR, UNROLL, PARALLEL = 5, 6, 4, 2, 1, 3


def record(key, steps, fused="", target="cuda -keys=cuda,gpu"):
    text = {"i": [[json.dumps(key), target, [-1, 16, 64, 49152, 2147483647, 1024, 8, 32], "", 0, []], [[], steps]],
            "r": [[round(draw.uniform(1e-5, 1e-3), 8)], 0, 1.5, 1700000000], "v": "v0.6"}
    if fused:
        text["fused"] = fused
    print(json.dumps(text, separators=(",", ":")))


def lengths(count):
    return [draw.choice([1, 1, 2, 3]) for _ in range(count)]


def product(values):
    result = 1
    for value in values:
        result *= value
    return result


def tiled(make_key, spatial, reduced, inputs, padded=False, fused=""):
    """Tiles in five and three levels, caches what is read in shared memory: the sketch of convolutions and products."""
    tiles = [lengths(4) for _ in range(spatial)] + [lengths(2) for _ in range(reduced)]
    while product([product(t) for t in tiles[:spatial]]) > 400:
        tiles[draw.randrange(spatial)] = [1, draw.choice([1, 2]), 1, draw.choice([1, 2])]
    while product([product(t) for t in tiles[spatial:]]) > 24:
        tiles[spatial + draw.randrange(reduced)] = [1, draw.choice([1, 2])]
    extents = [product(t) * draw.choice([1, 1, 2]) for t in tiles]
    stage = inputs[-1] + 1
    steps = [["CHW", stage, "local"]] if fused == "" else []
    if fused == "_add_relu":
        steps.append(["CI", stage + 2])
    first_split = len(steps)
    at = 0
    for i, tile in enumerate(tiles):
        steps.append(["SP", stage, at, extents[i], tile, 1])
        at += len(tile) + 1
    starts = [5 * i for i in range(spatial)] + [5 * spatial + 3 * i for i in range(reduced)]
    order = []
    for level in "SSSRRSRS":
        group = range(spatial) if level == "S" else range(spatial, spatial + reduced)
        for i in group:
            used = sum(1 for o in order if starts[i] <= o < starts[i] + (5 if level == "S" else 3))
            order.append(starts[i] + used)
    steps.append(["RE", stage, order])
    out = stage + {"": 1, "_add": 2, "_add_relu": 3}[fused]
    for i in range(spatial):
        steps.append(["FSP", out, 4 * i, first_split + i, 3])
    steps.append(["RE", out, [4 * i + level for level in range(4) for i in range(spatial)]])
    steps.append(["CA", stage, out, 3 * spatial - 1])
    at_reduced = 3 * spatial + reduced - 1
    main = stage
    for source in reversed(inputs):
        steps.append(["CHR", source, "shared", [main]])
        main += 1
        out += 1
        steps.append(["CA", source + 1, main, at_reduced])
    if padded:
        steps.append(["CI", inputs[0]])
    for level, note in enumerate([BLOCK, VTHREAD, THREAD]):
        steps.append(["FU", out, [level + i for i in range(spatial)]])
        steps.append(["AN", out, level, note])
    splits = [first_split + i for i in reversed(range(spatial))]
    caches = [source + 1 + i for i, source in enumerate(inputs)]
    for cache in reversed(caches):
        steps.append(["FU", cache, list(range(dims_of(make_key, extents)))])
        steps.append(["SP", cache, 0, 0, [draw.choice([1, 2, 3])], 1])
        steps.append(["AN", cache, 1, VECTOR])
        steps.append(["FFSP", cache, 0, splits, 1, 1])
        steps.append(["AN", cache, 1, THREAD])
    steps.append(["PR", main, 0, "auto_unroll_max_step$%d" % draw.choice([0, 16, 64, 512])])
    record(make_key(extents), steps, fused)


def dims_of(make_key, extents):
    return {"matmul_layer": 2, "batch_matmul_layer": 3}.get(make_key(extents)[0], 4)


def conv_key(pad, stride):
    def key(e):
        n, f, y, x, c, ky, kx = e

        def image(out, k):
            return (out - 1) * stride + (1 if pad == "SAME" else k - 2 * pad if isinstance(pad, int) else k)

        return ["conv2d_layer", n, c, image(y, ky), image(x, kx), f, ky, kx, stride, pad]
    return key


def depthwise_key(stride):
    def key(e):
        n, c, y, x, ky, kx = e
        return ["depthwise_conv2d_layer", n, c, (y - 1) * stride + 1, (x - 1) * stride + 1, ky, kx, stride, "SAME"]
    return key


def plain(stage, dims, reduced=0):
    """All loops fused and cut into blocks and threads; the factor need not divide."""
    factor = draw.choice([2, 3, 5, 8])
    steps = [["FU", stage, list(range(dims))], ["SP", stage, 0, 0, [factor], 1], ["AN", stage, 0, BLOCK],
             ["AN", stage, 1, THREAD]]
    if reduced:
        steps.append(["PR", stage, 0, "auto_unroll_max_step$16"])
    return steps


def on_processor(key, stage, extents):
    """Parallel outside, vectors inside, unrolled reductions: a schedule for a processor."""
    steps = [["SP", stage, 0, extents[0], [2], 1], ["SP", stage, 2, extents[1], [3], 1],
             ["SP", stage, 4, extents[2], [4], 1], ["RE", stage, [0, 2, 4, 1, 5, 3]], ["FU", stage, [0, 1]],
             ["AN", stage, 0, PARALLEL], ["AN", stage, 3, UNROLL], ["AN", stage, 4, VECTOR],
             ["PR", stage, 0, "auto_unroll_max_step$64"]]
    record(key, steps, target="llvm -keys=cpu")


for i in range(12):
    tiled(conv_key(draw.choice(["SAME", "VALID", 0]), draw.choice([1, 2])), 4, 3, [1, 2], padded=True)
for fused in ["_add", "_add_relu"] * 4:
    tiled(conv_key(draw.choice(["SAME", "VALID"]), draw.choice([1, 2])), 4, 3, [1, 2], padded=True, fused=fused)
for i in range(5):
    tiled(depthwise_key(draw.choice([1, 2])), 4, 2, [1, 2], padded=True)
for i in range(5):
    tiled(lambda e: ["matmul_layer", e[0], e[2], e[1]], 2, 1, [0, 1])
for i in range(3):
    tiled(lambda e: ["batch_matmul_layer", 1, e[0], e[1], e[3], e[2]], 3, 1, [0, 1])
for kind, pad, stride in [("avg", "SAME", 1), ("avg", "VALID", 2), ("max", "SAME", 2), ("max", "VALID", 1)]:
    padded = pad == "SAME"
    steps = [["CI", 1]] if padded else []
    if kind == "avg":
        steps += plain(2 + padded, 4)
    record(["pool_layer", kind, 2, 3, 9, 7, 3, 3, stride, pad], steps + plain(1 + padded, 4, reduced=2))
record(["reduction_layer", [4, 6, 7, 7], [2, 3], False], plain(1, 2))
record(["reduction_layer", [4, 6, 7, 7], [2, 3], False],
       [["FU", 1, [2, 3]], ["SP", 1, 2, 49, [2], 1], ["AN", 1, 3, THREAD], ["FU", 1, [0, 1]], ["AN", 1, 0, BLOCK]])
record(["reduction_layer", [33, 50], 1, True], [["SP", 1, 2, 50, [8], 1], ["AN", 1, 3, THREAD], ["AN", 1, 0, BLOCK]])
# A reduction in two: the first half over a new axis, the second over what is left; factors that divide and do not.
record(["reduction_layer", [9, 24], 1, False], [["SP", 1, 1, 24, [6], 1], ["RF", 1, 1, 1], ["AN", 1, 0, PARALLEL]])
record(["reduction_layer", [9, 25], 1, False], [["SP", 1, 1, 25, [6], 1], ["RF", 1, 2, 0], ["SA", 1, 0, 16, 1]])
record(["reduction_layer", [5, 4, 6], [1, 2], False],
       [["FU", 1, [1, 2]], ["SP", 1, 1, 24, [4], 1], ["RF", 1, 2, 1], ["CA", 1, 2, 0]])
record(["relu_layer", 3, 5, 7, 2], plain(1, 4))
record(["tanh_layer", 30], [["SP", 1, 0, 30, [4], 1], ["AN", 1, 1, VECTOR], ["AN", 1, 0, PARALLEL]])
record(["sigmoid_layer", 6, 5], plain(1, 2))
record(["add_layer", 4, 9], plain(2, 2))
record(["mul_layer", 4, 9], plain(2, 2))
record(["biasadd_layer", 6, 10], plain(2, 2))
record(["transpose_layer", 3, 4, 5], plain(1, 3))
on_processor(["matmul_layer", 8, 16, 12], 2, [8, 12, 16])
on_processor(["matmul_layer", 7, 9, 11], 2, [7, 11, 9])
# Padding computed where it is read, moved back to the root, and computed for each window.
record(["conv2d_layer", 2, 3, 6, 6, 4, 3, 3, 1, "SAME"], [["CA", 1, 3, 1]])
record(["conv2d_layer", 2, 3, 6, 6, 4, 3, 3, 1, "SAME"], [["CA", 1, 3, 2], ["CR", 1], ["AN", 3, 0, PARALLEL]])
record(["conv2d_layer", 2, 3, 6, 6, 4, 3, 3, 2, 1], [["CA", 1, 3, 3], ["SP", 3, 4, 3, [3], 0]], fused="_relu")
