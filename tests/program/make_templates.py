#!/usr/bin/env python3
"""Makes tests/program/templates.jsonl: records as AutoTVM draws them, for small problems, from a fixed seed.

    python3 tests/program/make_templates.py > tests/program/templates.jsonl
"""
import json
import random

draw = random.Random(11)


def factors(size, parts):
    """Sizes of a split, outermost first: -1 or what it stands for."""
    sizes = []
    for _ in range(parts - 1):
        size_of_part = draw.choice([d for d in range(1, size + 1) if size % d == 0])
        sizes.append(size_of_part)
        size //= size_of_part
    draw.shuffle(sizes)
    return [draw.choice([-1, size])] + sizes


def record(template, args, knobs, version=0.2):
    times = [round(draw.uniform(1e-5, 1e-3), 8) for _ in range(3)]
    target = "cuda -keys=cuda,gpu -max_num_threads=1024 -thread_warp_size=32"
    if version == 0.2:
        text = {"input": [target, template, args, {}], "config": {"index": draw.randrange(9999), "code_hash": None, "entity": knobs},
                "result": [times, 0, 1.5, 1700000000.5], "version": 0.2, "tvm_version": "0.8.0"}
    else:
        text = {"i": [target, template, args, {}, [], {"i": draw.randrange(9999), "t": "direct", "c": None, "e": knobs}],
                "r": [times, 0, 1.5, 1700000000.5], "v": 0.1}
    print(json.dumps(text))


def tensor(*shape):
    return ["TENSOR", list(shape), "float32"]


def unroll():
    return [["auto_unroll_max_step", "ot", draw.choice([0, 512, 1500])], ["unroll_explicit", "ot", draw.choice([0, 1])]]


def image(is_depthwise):
    n, c, o = draw.choice([1, 1, 2]), draw.choice([2, 4, 6]), draw.choice([4, 6, 8])
    kh, kw = draw.choice([(1, 1), (3, 3), (3, 3), (2, 3)])
    stride, height, width = draw.choice([1, 1, 2]), draw.choice([6, 8]), draw.choice([6, 8])
    pads = draw.choice([[0, 0, 0, 0], [kh // 2, kw // 2, kh // 2, kw // 2], [1, 0, 0, 1], [kh // 2, kw // 2]])
    top, left, bottom, right = pads if len(pads) == 4 else pads + pads
    out = [(size + more - k) // stride + 1 for size, more, k in ((height, top + bottom, kh), (width, left + right, kw))]
    o = c if is_depthwise else o
    args = [tensor(n, c, height, width), tensor(o, 1 if is_depthwise else c, kh, kw), [stride, stride], pads, [1, 1], "float32"]
    knobs = [["tile_f", "sp", factors(o, 4)], ["tile_y", "sp", factors(out[0], 4)], ["tile_x", "sp", factors(out[1], 4)]]
    if not is_depthwise:
        knobs += [["tile_rc", "sp", factors(c, 2)], ["tile_ry", "sp", factors(kh, 2)], ["tile_rx", "sp", factors(kw, 2)]]
    record("depthwise_conv2d_nchw.cuda" if is_depthwise else "conv2d_nchw.cuda", args, knobs + unroll(), draw.choice([0.1, 0.2]))


def dense_large():
    m, n, k = draw.choice([8, 12]), draw.choice([8, 16]), draw.choice([6, 12, 24])
    while True:
        x, y = factors(m, 4), factors(n, 4)
        if x[2] == y[2]:
            break
    args = [tensor(m, k), tensor(n, k), None, "float32"]
    record("dense_large_batch.gpu", args, [["tile_x", "sp", x], ["tile_y", "sp", y], ["tile_k", "sp", factors(k, 3)]])


def dense_small():
    m, n, k = draw.choice([1, 2]), draw.choice([5, 8]), draw.choice([12, 16, 30])
    record("dense_small_batch.gpu", [tensor(m, k), tensor(n, k), None, "float32"], [["tile_k", "sp", factors(k, 2)]])


def batch_matmul(is_transposed=None):
    b, m, n, k = draw.choice([1, 3]), draw.choice([6, 8]), draw.choice([4, 9]), draw.choice([5, 8, 12])
    args = [tensor(b, m, k), tensor(b, n, k), [b, m, n], "float32", False, True][:draw.choice([2, 3, 6])]
    if is_transposed is not None:
        first, second = is_transposed
        args = [tensor(b, *((k, m) if first else (m, k))), tensor(b, *((n, k) if second else (k, n))), [b, m, n], "float32", first, second]
    knobs = [["tile_y", "sp", factors(m, 3)], ["tile_x", "sp", factors(n, 3)], ["tile_k", "sp", factors(k, 2)]]
    record("batch_matmul.cuda", args, knobs + unroll())


for _ in range(12):
    image(False)
for _ in range(10):
    image(True)
for _ in range(10):
    dense_large()
for _ in range(5):
    dense_small()
for _ in range(10):
    batch_matmul()
for number in range(12):
    batch_matmul([(0, 0), (0, 1), (1, 0), (1, 1), (False, False), (True, False)][number % 6])
