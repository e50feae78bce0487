"""Models: whatever a caller has becomes a graph of the library."""

import ctypes as c
import inspect as _inspect
import io
import os
import sys
from typing import Any, Mapping, Optional, Tuple

from ._library import Handle, UsageError

__all__ = ["open_model"]


def _from_bytes(data: Any, name: str) -> Handle:
    data = bytes(data)
    return Handle("ft_graph_read_memory", "ft_graph_free", data, c.c_size_t(len(data)), os.fsencode(name))


def _is_module(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _export(module: Any, inputs: Any) -> bytes:
    """An ONNX file of a module, as PyTorch runs it: nothing fused, the first dimension of its inputs left open."""
    import torch

    if inputs is None:
        raise UsageError("a module needs inputs=: example inputs, a tensor or a tuple of tensors")
    keywords = dict(inputs) if isinstance(inputs, Mapping) else {}
    args: Tuple[Any, ...] = () if keywords else tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    tensors = list(args) + list(keywords.values())
    names = ["input_%d" % i for i in range(len(args))] + list(keywords)
    names = [name for name, value in zip(names, tensors) if isinstance(value, torch.Tensor)]
    shaped = [value for value in tensors if isinstance(value, torch.Tensor)]
    axes = {name: {0: "batch"} for name, value in zip(names, shaped) if value.dim() > 0}
    options = {"input_names": names, "dynamic_axes": axes, "training": torch.onnx.TrainingMode.PRESERVE}
    options["do_constant_folding"] = False
    if "dynamo" in _inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False
    was_training, file = module.training, io.BytesIO()
    module.eval()
    try:
        torch.onnx.export(module, (args + (keywords,)) if keywords else args, file, **options)
    finally:
        module.train(was_training)
    return file.getvalue()


def open_model(model: Any, inputs: Any = None, name: Optional[str] = None) -> Tuple[Handle, str]:
    """The graph of a model, and its name in documents."""
    if inputs is not None and not _is_module(model):
        raise UsageError("inputs are for a torch.nn.Module; sizes of inputs are given with shape")
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        return Handle("ft_graph_read", "ft_graph_free", os.fsencode(path)), name or str(path)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _from_bytes(model, name or "model"), name or "model"
    if hasattr(model, "SerializeToString"):
        title = name or getattr(getattr(model, "graph", None), "name", "") or "model"
        return _from_bytes(model.SerializeToString(), title), title
    if _is_module(model):
        title = name or type(model).__name__
        return _from_bytes(_export(model, inputs), title), title
    raise UsageError(
        "a %s is not a model: give a path, bytes, an onnx.ModelProto or a torch.nn.Module" % type(model).__name__
    )
