"""The functions of the package. Options have the names of the command's long options, with '_' for '-'."""

import ctypes as c
import json
import os
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Sequence, Union

from . import _structs as s
from ._library import CancelledError, Handle, UsageError, call, document, library, predictor_set, texts
from ._models import open_model
from ._results import Document, Fit, Inspection, MaxBatch, Prediction, Table

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]
Names = Union[str, Sequence[str]]
Progress = Callable[[int, int, str], Any]

_OUTPUTS = {"table": 0, "json": 1, "csv": 2}


def _paths(value: Optional[Paths]) -> Sequence[str]:
    if value is None:
        return []
    return [os.fspath(value)] if isinstance(value, (str, os.PathLike)) else [os.fspath(item) for item in value]


def _names(value: Optional[Names]) -> Sequence[str]:
    if value is None:
        return []
    return [part for part in value.split(",") if part] if isinstance(value, str) else list(value)


# --- Commands -----------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Numbers of numpy, ranges and paths as JSON has them."""
    if hasattr(value, "__index__"):
        return value.__index__()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError("%r is not an option's value" % (value,))


def _answer(kind: str, graph: Handle, name: str, opened: Handle, options: Mapping[str, Any]) -> Callable[[str], bytes]:
    keys = {key: value for key, value in options.items() if value is not None}
    if isinstance(keys.get("device"), os.PathLike):
        keys["device"] = os.fspath(keys["device"])

    def write(output: str) -> bytes:
        text = json.dumps(dict(keys, format=output), default=_plain).encode()
        command = Handle("ft_command_parse", "ft_command_free", kind.encode(), text, c.c_size_t(len(text)))
        library.ft_command_allow_files(command.pointer)
        return document(
            lambda stream: call(
                "ft_command_write", command.pointer, 0, opened.pointer, graph.pointer, os.fsencode(name), stream
            )
        )

    return write


def _run(kind: str, cls: Any, model: Any, inputs: Any, name: Optional[str], predictor: Any, options: Any) -> Any:
    graph, title = open_model(model, inputs, name)
    write = _answer(kind, graph, title, predictor_set(_paths(predictor)), options)
    return cls(write("json"), write)


def predict(
    model: Any,
    *,
    device: Any = None,
    batch: Any = None,
    mode: Optional[str] = None,
    dtype: Optional[str] = None,
    shape: Optional[Mapping[str, Any]] = None,
    optimizer: Optional[str] = None,
    predictor: Optional[Paths] = None,
    inputs: Any = None,
    name: Optional[str] = None,
    **options: Any,
) -> Prediction:
    """Time and memory of a model on devices, with 90 % intervals and their provenance.

    `model`: a path, the name of a bundled model, the bytes of a file, an onnx.ModelProto, or a
    torch.nn.Module with example `inputs`. `device`: a name, a list of names, or the path of a device file; all that the predictors were trained on when
    absent. `batch`: a number, a list or "1..256". `mode`: "infer" or "train". `shape`: {"sequence": 128}.
    Other options are those of `foretell predict`, as by_layer=True, setting={"amp": True}, tp=8."""
    keys = dict(options, device=device, batch=batch, mode=mode, dtype=dtype, shape=shape, optimizer=optimizer)
    result: Prediction = _run("predict", Prediction, model, inputs, name, predictor, keys)
    return result


def fits(
    model: Any,
    *,
    device: Any,
    batch: Any = None,
    mode: Optional[str] = None,
    free: Any = None,
    dtype: Optional[str] = None,
    shape: Optional[Mapping[str, Any]] = None,
    optimizer: Optional[str] = None,
    predictor: Optional[Paths] = None,
    inputs: Any = None,
    name: Optional[str] = None,
    **options: Any,
) -> Fit:
    """Whether a step fits into the memory of devices, or into `free` bytes ("9.5GiB")."""
    keys = dict(options, device=device, batch=batch, mode=mode, free=free, dtype=dtype, shape=shape, optimizer=optimizer)
    result: Fit = _run("fits", Fit, model, inputs, name, predictor, keys)
    return result


def max_batch(
    model: Any,
    *,
    device: Any,
    mode: Optional[str] = None,
    free: Any = None,
    max_batch_size: Optional[int] = None,
    dtype: Optional[str] = None,
    shape: Optional[Mapping[str, Any]] = None,
    optimizer: Optional[str] = None,
    predictor: Optional[Paths] = None,
    inputs: Any = None,
    name: Optional[str] = None,
    **options: Any,
) -> MaxBatch:
    """The largest batch of a model that fits into the memory of a device."""
    keys = dict(options, device=device, mode=mode, free=free, max_batch_size=max_batch_size, dtype=dtype, shape=shape)
    keys["optimizer"] = optimizer
    result: MaxBatch = _run("max-batch", MaxBatch, model, inputs, name, predictor, keys)
    return result


def inspect(
    model: Any,
    *,
    batch: Optional[int] = None,
    dtype: Optional[str] = None,
    shape: Optional[Mapping[str, Any]] = None,
    optimizer: Optional[str] = None,
    nodes: bool = False,
    kernels: Optional[str] = None,
    inputs: Any = None,
    name: Optional[str] = None,
    **options: Any,
) -> Inspection:
    """Operators, parameters, FLOPs and memory of a model; with `nodes`, of each operator."""
    keys = dict(options, batch=batch, dtype=dtype, shape=shape, optimizer=optimizer, kernels=kernels)
    keys["nodes"] = nodes or None
    result: Inspection = _run("inspect", Inspection, model, inputs, name, None, keys)
    return result


# --- Lists --------------------------------------------------------------------------------------------------------


def _style(output: str) -> Any:
    style = library.ft_style_default()
    style.output = _OUTPUTS[output]
    return c.byref(style)


def devices(*names: Path, predictor: Optional[Paths] = None) -> Table:
    """The devices with a data sheet or a predictor; of those that are named, the data sheets."""
    opened, given = predictor_set(_paths(predictor)), [os.fspath(n) for n in names]

    def write(output: str) -> bytes:
        return document(
            lambda stream: call(
                "ft_report_devices", stream, _style(output), opened.pointer, texts(given), len(given)
            )
        )

    return Table(write("json"), write)


def models() -> Table:
    """The bundled models, whose names can be given instead of files."""

    def write(output: str) -> bytes:
        return document(lambda stream: call("ft_report_models", stream, _style(output)))

    return Table(write("json"), write)


def predictors(*files: Path) -> Table:
    """The bundled predictors, or those of the files: devices, metrics and accuracy on held-out data."""
    paths = [os.fspath(f) for f in files]
    if not paths:
        for opened in (predictor_set(), predictor_set(programs=True)):
            count = library.ft_predictor_set_count(opened.pointer)
            paths += [os.fsdecode(library.ft_predictor_set_path(opened.pointer, i)) for i in range(count)]
    opened = predictor_set(paths)

    def write(output: str) -> bytes:
        return document(lambda stream: call("ft_report_predictors", stream, _style(output), opened.pointer))

    return Table(write("json"), write)


# --- Learning -----------------------------------------------------------------------------------------------------


class _Progress:
    """Calls a function of Python from the library. Ctrl-C and exceptions in it stop the library, and go on after."""

    def __init__(self, function: Optional[Progress]) -> None:
        self._function = function
        self._failure: Optional[BaseException] = None
        self.callback = s.PROGRESS(self._step)

    def _step(self, _user: Any, done: int, total: int, what: Optional[bytes]) -> bool:
        try:
            answer = self._function(done, total, (what or b"").decode()) if self._function else None
            return answer is not False and self._failure is None
        except BaseException as failure:  # noqa: B902 - KeyboardInterrupt has to be carried over the C code too
            self._failure = failure
            return False

    def call(self, name: str, *arguments: Any) -> None:
        try:
            call(name, *arguments)
        except CancelledError:
            if self._failure is not None:
                raise self._failure
            raise


def _text(value: Optional[str]) -> Optional[bytes]:
    return None if value is None else os.fsencode(value)


def _dataset(data: Path) -> Handle:
    return Handle("ft_dataset_open", "ft_dataset_free", os.fsencode(os.fspath(data)))


def _scores(evaluation: s.Evaluation, title: str, worst: int = 0) -> Table:
    """All forms at once: the evaluation refers to a data set that is closed afterwards."""
    forms: Dict[str, bytes] = {}
    for output in _OUTPUTS:
        forms[output] = document(
            lambda stream, output=output: call(  # type: ignore[misc]
                "ft_evaluation_write", c.byref(evaluation), title.encode(), worst, _style(output), stream
            )
        )
    return Table(forms["json"], forms.__getitem__)


def train(
    data: Path,
    output: Path,
    *,
    family: Optional[str] = None,
    metric: Optional[str] = None,
    split: Optional[str] = None,
    config: Optional[Mapping[str, Any]] = None,
    seed: int = 0,
    threads: int = 0,
    resume: bool = False,
    force: bool = False,
    progress: Optional[Progress] = None,
) -> str:
    """Trains a predictor on a data set into the folder `output`; returns the path of its predictor.ftm.

    `progress(done, total, what)` is called now and then; when it returns False, a checkpoint is written, CancelledError
    is raised, and resume=True goes on from there. Its metrics.json has the scores on held-out models."""
    options, watch, tested = library.ft_train_options_default(), _Progress(progress), s.Evaluation()
    opened = _dataset(data)
    if family is not None:
        options.family = _text(family)
    options.metric = _text(metric)
    options.split = _text(split)
    options.config = None if config is None else json.dumps(config, default=_plain).encode()
    options.seed, options.threads = seed, threads
    options.is_resumed, options.is_forced = resume, force
    options.progress = watch.callback
    run = os.fspath(output)
    watch.call("ft_train", opened.pointer, os.fsencode(run), c.byref(options), c.byref(tested))
    library.ft_evaluation_free(c.byref(tested))
    return os.path.join(run, "predictor.ftm")


_PARTS = {"train": 1, "valid": 2, "test": 3}


def _split(predictor: Handle, opened: Handle, spec: Optional[str], seed: int, split: s.Split) -> bool:
    """The split of a specification, or else that of the predictor's training; whether there is one."""
    if spec is not None:
        call("ft_split_make", opened.pointer, os.fsencode(spec), seed, c.byref(split))
        return True
    found = c.c_bool()
    call("ft_predictor_split", predictor.pointer, opened.pointer, c.byref(split), c.byref(found))
    return found.value


def evaluate(
    predictor: Path,
    data: Path,
    *,
    metric: Optional[str] = None,
    split: Optional[str] = None,
    seed: int = 0,
    part: str = "test",
    device: Optional[Names] = None,
    family: Optional[Names] = None,
    mode: Optional[str] = None,
    setting: Optional[str] = None,
    worst: int = 5,
    threads: int = 0,
    progress: Optional[Progress] = None,
) -> Table:
    """Compares a predictor with the measurements of a data set: the document of `foretell eval`.

    Without `split`, on the test part of its training's split if it was trained on this data set, else on all records."""
    if part not in _PARTS:
        raise UsageError("part: %r is not one of %s" % (part, ", ".join(_PARTS)))
    if mode not in (None, "infer", "train"):
        raise UsageError("mode: %r is not infer or train" % (mode,))
    opened, watch, evaluation = _dataset(data), _Progress(progress), s.Evaluation()
    model = Handle("ft_predictor_open", "ft_predictor_free", os.fsencode(os.fspath(predictor)))
    chosen, device_list, family_list = s.Split(), texts(_names(device)), texts(_names(family))
    has_split = _split(model, opened, split, seed, chosen)
    options = s.EvaluateOptions(metric=_text(metric), part=_PARTS[part], setting=_text(setting), threads=threads)
    if has_split:
        options.split = c.pointer(chosen)
    options.devices, options.device_count = device_list, len(_names(device))
    options.families, options.family_count = family_list, len(_names(family))
    options.has_mode, options.mode = mode is not None, 1 if mode == "train" else 0
    options.progress = watch.callback
    try:
        watch.call("ft_evaluate", model.pointer, opened.pointer, c.byref(options), c.byref(evaluation))
        return _scores(evaluation, os.fspath(predictor), worst)
    finally:
        library.ft_evaluation_free(c.byref(evaluation))
        library.ft_split_free(c.byref(chosen))


def adapt(
    predictor: Path,
    data: Path,
    output: Path,
    *,
    budget: int = 0,
    models: Optional[Path] = None,
    metric: Optional[str] = None,
    method: Optional[str] = None,
    split: Optional[str] = None,
    device: Optional[Names] = None,
    family: Optional[Names] = None,
    seed: int = 0,
    threads: int = 0,
    progress: Optional[Progress] = None,
) -> Document:
    """Adapts a predictor to new devices with the measurements of `budget` models, into the file `output`."""
    if budget <= 0 and models is None:
        raise UsageError("budget: how many models to learn from? Give a number, or a list of them with models")
    opened, watch, adaptation = _dataset(data), _Progress(progress), s.Adaptation()
    model = Handle("ft_predictor_open", "ft_predictor_free", os.fsencode(os.fspath(predictor)))
    device_list, family_list = texts(_names(device)), texts(_names(family))
    options = s.AdaptOptions(metric=_text(metric), method=_text(method), split=_text(split), budget=budget)
    options.models = None if models is None else os.fsencode(os.fspath(models))
    options.devices, options.device_count = device_list, len(_names(device))
    options.families, options.family_count = family_list, len(_names(family))
    options.seed, options.threads, options.progress = seed, threads, watch.callback
    path = os.fsencode(os.fspath(output))
    watch.call("ft_adapt", model.pointer, opened.pointer, c.byref(options), path, c.byref(adaptation))
    forms: Dict[str, bytes] = {}
    try:
        for form in _OUTPUTS:
            forms[form] = document(
                lambda stream, form=form: call(  # type: ignore[misc]
                    "ft_adaptation_write", c.byref(adaptation), path, _style(form), stream
                )
            )
    finally:
        library.ft_adaptation_free(c.byref(adaptation))
    return Table(forms["json"], forms.__getitem__)
