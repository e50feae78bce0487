"""torch_twin.py - what the twins of foretell's networks in PyTorch share: DUMP [THREADS] [STEPS], and how a dump is read."""
import sys

import numpy as np
import torch

threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
steps = int(sys.argv[3]) if len(sys.argv) > 3 else 20
torch.set_num_threads(threads)


def read(path):
    """Matrices of floats by name, each behind a line with its name, rows and columns."""
    arrays = {}
    with open(path, 'rb') as f:
        while True:
            line = f.readline()
            if not line:
                return arrays
            name, rows, cols = line.decode().split()
            rows, cols = int(rows), int(cols)
            data = np.frombuffer(f.read(4 * rows * cols), dtype=np.float32).reshape(rows, cols)
            arrays[name] = torch.from_numpy(data.copy())
