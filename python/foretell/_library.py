"""Loads libforetell, declares its functions, and turns their statuses into exceptions.

ctypes releases the interpreter lock during calls of a CDLL, so threads predict at the same time."""

import ctypes as c
import glob
import os
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import _structs as s

__all__ = ["Error", "Handle", "call", "document", "library", "predictor_set", "texts"]


class Error(Exception):
    """A failure of the library. `status` is its number (the exit code of the command), `code` its name."""

    status = 1
    code = "FT_ERR_INTERNAL"


class UsageError(Error, ValueError):
    """A wrong argument."""

    status = 2
    code = "FT_ERR_USAGE"


class FileError(Error):
    """A file cannot be opened, read or written."""


class FormatError(Error, ValueError):
    """Not a model in any known format."""


class DamagedError(Error, ValueError):
    """A damaged or truncated file."""


class UnsupportedError(Error):
    """Valid, but not supported."""


class LimitError(Error):
    """Larger than a documented limit."""


class GraphError(Error, ValueError):
    """The graph is not valid."""


class UnboundError(Error, ValueError):
    """A symbolic dimension has no value: give it with `shape`."""


class RefusedError(Error):
    """The file asks to run code."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


class CancelledError(Error):
    """The progress function asked to stop."""


_ERRORS = {
    2: UsageError,
    3: FileError,
    4: FormatError,
    5: DamagedError,
    6: UnsupportedError,
    7: LimitError,
    8: GraphError,
    9: UnboundError,
    10: RefusedError,
    11: OutOfMemoryError,
    12: CancelledError,
}

_HERE = os.path.dirname(os.path.abspath(__file__))
_TREE = os.path.dirname(os.path.dirname(_HERE))

_P = c.c_void_p
_ERROR = c.POINTER(s.Error)
_OUT = c.POINTER(c.c_void_p)
_STATUS_FUNCTIONS: Dict[str, List[Any]] = {
    "ft_graph_read": [c.c_char_p, _OUT],
    "ft_graph_read_memory": [c.c_char_p, c.c_size_t, c.c_char_p, _OUT],
    "ft_predictor_set_open": [s.TEXTS, c.c_uint32, _OUT],
    "ft_predictor_set_open_programs": [s.TEXTS, c.c_uint32, _OUT],
    "ft_predictor_open": [c.c_char_p, _OUT],
    "ft_predictor_split": [_P, _P, c.POINTER(s.Split), c.POINTER(c.c_bool)],
    "ft_dataset_open": [c.c_char_p, _OUT],
    "ft_document_open": [_OUT],
    "ft_document_text": [_P, c.POINTER(c.c_void_p), c.POINTER(c.c_size_t)],
    "ft_command_parse": [c.c_char_p, c.c_char_p, c.c_size_t, _OUT],
    "ft_command_write": [_P, c.c_uint32, _P, _P, c.c_char_p, _P],
    "ft_report_devices": [_P, c.POINTER(s.Style), _P, s.TEXTS, c.c_uint32],
    "ft_report_models": [_P, c.POINTER(s.Style)],
    "ft_report_predictors": [_P, c.POINTER(s.Style), _P],
    "ft_split_make": [_P, c.c_char_p, c.c_uint64, c.POINTER(s.Split)],
    "ft_train": [_P, c.c_char_p, c.POINTER(s.TrainOptions), c.POINTER(s.Evaluation)],
    "ft_evaluate": [_P, _P, c.POINTER(s.EvaluateOptions), c.POINTER(s.Evaluation)],
    "ft_evaluation_write": [c.POINTER(s.Evaluation), c.c_char_p, c.c_uint32, c.POINTER(s.Style), _P],
    "ft_adapt": [_P, _P, c.POINTER(s.AdaptOptions), c.c_char_p, c.POINTER(s.Adaptation)],
    "ft_adaptation_write": [c.POINTER(s.Adaptation), c.c_char_p, c.POINTER(s.Style), _P],
}
_OTHER_FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "ft_version_string": (c.c_char_p, []),
    "ft_status_name": (c.c_char_p, [c.c_int]),
    "ft_struct_count": (c.c_uint32, []),
    "ft_document_stream": (_P, [_P]),
    "ft_document_free": (None, [_P]),
    "ft_command_allow_files": (None, [_P]),
    "ft_command_free": (None, [_P]),
    "ft_graph_free": (None, [_P]),
    "ft_predictor_set_free": (None, [_P]),
    "ft_predictor_set_count": (c.c_uint32, [_P]),
    "ft_predictor_set_path": (c.c_char_p, [_P, c.c_uint32]),
    "ft_predictor_free": (None, [_P]),
    "ft_dataset_free": (None, [_P]),
    "ft_split_free": (None, [c.POINTER(s.Split)]),
    "ft_evaluation_free": (None, [c.POINTER(s.Evaluation)]),
    "ft_adaptation_free": (None, [c.POINTER(s.Adaptation)]),
    "ft_train_options_default": (s.TrainOptions, []),
    "ft_style_default": (s.Style, []),
}


def _candidates() -> List[str]:
    """Where the library may be: as given, in the wheel, in the source tree, on the system."""
    given = os.environ.get("FORETELL_LIBRARY")
    if given:
        return [given]
    paths = [os.path.join(_HERE, "lib", "libforetell.so"), os.path.join(_TREE, "build", "libforetell.so")]
    return [path for path in paths if os.path.exists(path)] + ["libforetell.so.0"]


def _open(path: str) -> c.CDLL:
    try:
        return c.CDLL(path)
    except OSError:
        # Libraries that it needs and the system lacks travel in the wheel: once loaded, they are found by their names.
        others = [p for p in glob.glob(os.path.join(_HERE, "lib", "*.so*")) if os.path.basename(p) != "libforetell.so"]
        if os.path.dirname(path) != os.path.join(_HERE, "lib") or not others:
            raise
        for other in sorted(others):
            c.CDLL(other)
        return c.CDLL(path)


def _declare(library: c.CDLL) -> None:
    for name, arguments in _STATUS_FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = c.c_int
        function.argtypes = arguments + [_ERROR]
    for name, (result, arguments) in _OTHER_FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


def _load() -> c.CDLL:
    reasons = []
    for path in _candidates():
        try:
            library = _open(path)
        except OSError as error:
            reasons.append(str(error))
            continue
        different = s.mismatch(library)
        if different is not None:
            raise ImportError("%s: another version of the library: %s differs" % (path, different))
        _declare(library)
        return library
    raise ImportError("libforetell is not found (FORETELL_LIBRARY names it): " + "; ".join(reasons))


library = _load()


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status, and raises the exception of that status."""
    error = s.Error()
    status = getattr(library, name)(*arguments, c.byref(error))
    if status == 0:
        return
    failure = _ERRORS.get(status, Error)(error.message.decode("utf-8", "replace"))
    failure.status = status
    failure.code = library.ft_status_name(status).decode()
    raise failure


def texts(items: Sequence[str]) -> Any:
    """A list of C strings, which keeps them alive."""
    return (c.c_char_p * max(len(items), 1))(*[os.fsencode(item) for item in items])


class Handle:
    """An object of the library, freed with its last reference."""

    def __init__(self, opener: str, free: str, *arguments: Any) -> None:
        self.pointer = c.c_void_p()
        self._free = getattr(library, free)
        call(opener, *arguments, c.byref(self.pointer))

    def __del__(self) -> None:
        pointer = getattr(self, "pointer", None)
        if pointer:
            self._free(pointer)
            self.pointer = c.c_void_p()


def document(write: Any) -> bytes:
    """The bytes that `write(stream)` writes."""
    handle = Handle("ft_document_open", "ft_document_free")
    write(library.ft_document_stream(handle.pointer))
    text, size = c.c_void_p(), c.c_size_t()
    call("ft_document_text", handle.pointer, c.byref(text), c.byref(size))
    return c.string_at(text, size.value)


# --- Predictors -------------------------------------------------------------------------------------------------------

_sets: Dict[Tuple[str, ...], Handle] = {}
_sets_lock = threading.Lock()


def _bundled(folder: str) -> List[str]:
    path = os.path.join(_HERE, "share", "foretell", folder)
    return sorted(glob.glob(os.path.join(path, "*.ftm")))


def predictor_set(files: Optional[Sequence[str]] = None, programs: bool = False) -> Handle:
    """The predictors of these files, or the bundled ones; each set is opened once."""
    names = [os.fspath(f) for f in files or []]
    if not names and "FORETELL_PREDICTORS" not in os.environ:
        names = _bundled("predictors/programs" if programs else "predictors")
        if not names and os.path.isdir(os.path.join(_TREE, "predictors")) and os.path.exists(
            os.path.join(_TREE, "include", "foretell", "foretell.h")
        ):
            sub = os.path.join(_TREE, "predictors", "programs" if programs else "")
            names = sorted(glob.glob(os.path.join(sub, "*.ftm")))
    key = (str(programs), os.environ.get("FORETELL_PREDICTORS", "")) + tuple(names)
    with _sets_lock:
        if key not in _sets:
            opener = "ft_predictor_set_open_programs" if programs and not files else "ft_predictor_set_open"
            _sets[key] = Handle(opener, "ft_predictor_set_free", texts(names), len(names))
        return _sets[key]
