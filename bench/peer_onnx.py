"""Times what python3-onnx does with a file: load, and infer shapes. Prints n,load_median_ms,infer_median_ms,peak_rss_mb."""

import statistics
import sys
import time

import onnx


def peak_rss_mb():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def main(path, count):
    load_ms, infer_ms = [], []
    for _ in range(count + 1):  # the first one warms up and is dropped
        started = time.perf_counter()
        model = onnx.load(path)
        loaded = time.perf_counter()
        onnx.shape_inference.infer_shapes(model)
        load_ms.append((loaded - started) * 1e3)
        infer_ms.append((time.perf_counter() - loaded) * 1e3)
    load, infer = statistics.median(load_ms[1:]), statistics.median(infer_ms[1:])
    print(f"{count},{load:.1f},{infer:.1f},{peak_rss_mb():.0f}")


main(sys.argv[1], int(sys.argv[2]))
