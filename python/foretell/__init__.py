"""Predicts how long deep-learning models take and how much memory they need, before they run.

    import foretell
    r = foretell.predict("resnet50.onnx", device=["rtx-4090", "a100"], batch=[1, 32], mode="train")
    r[0].time_us, r[0].peak_bytes, r.to_pandas()

Results have the fields of the command's JSON documents; docs/python.md explains the functions, docs/predict.md the
fields. Failures are exceptions with the message and the status of the library."""

from ._api import adapt, devices, evaluate, fits, inspect, max_batch, models, predict, predictors, train
from ._library import (
    CancelledError,
    DamagedError,
    Error,
    FileError,
    FormatError,
    GraphError,
    LimitError,
    OutOfMemoryError,
    RefusedError,
    UnboundError,
    UnsupportedError,
    UsageError,
    library as _c,
)
from ._results import Document, Fit, Inspection, MaxBatch, Prediction, Row, Table, unit

__version__: str = _c.ft_version_string().decode()

__all__ = [
    "CancelledError",
    "DamagedError",
    "Document",
    "Error",
    "FileError",
    "Fit",
    "FormatError",
    "GraphError",
    "Inspection",
    "LimitError",
    "MaxBatch",
    "OutOfMemoryError",
    "Prediction",
    "RefusedError",
    "Row",
    "Table",
    "UnboundError",
    "UnsupportedError",
    "UsageError",
    "adapt",
    "devices",
    "evaluate",
    "fits",
    "inspect",
    "max_batch",
    "models",
    "predict",
    "predictors",
    "train",
    "unit",
]
