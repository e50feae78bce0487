"""Results: the documents of the command, as objects. A field has its unit at the end of its name: `time_us`."""

import html
import json
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

__all__ = ["Document", "Row", "unit"]

_UNITS = (
    ("_bytes_per_s", "byte/s"),
    ("_flops_per_byte", "FLOP/byte"),
    ("samples_per_s", "1/s"),
    ("_per_s", "1/s"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("_bytes", "byte"),
    ("_ratio", "1"),
    ("_hz", "Hz"),
    ("_w", "W"),
    ("_j", "J"),
    ("_flops", "FLOP"),
    ("flops", "FLOP"),
    ("macs", "MAC"),
    ("macs_per_sample", "MAC"),
    ("price_per_hour", "1/h"),
)


def unit(field: str) -> Optional[str]:
    """The unit of a field by its name ("us" of "time_us"); None where it has none."""
    for end, text in _UNITS:
        if field.endswith(end):
            return text
    return None


def _flat(row: Mapping[str, Any], prefix: str = "") -> Dict[str, Any]:
    """Nested objects as columns "memory.weights"; lists of texts as one text."""
    flat: Dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat.update(_flat(value, prefix + key + "."))
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            flat[prefix + key] = "; ".join(value)
        else:
            flat[prefix + key] = value
    return flat


def _frame(rows: List[Dict[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas: to_dict() has the same values") from error
    return pandas.DataFrame(rows)


def _short(value: Any, field: str) -> str:
    """A value for people, in the unit that suits it."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    kind = unit(field)
    if kind == "us":
        for size, text in ((1e6, "s"), (1e3, "ms")):
            if value >= size:
                return "%.3g %s" % (value / size, text)
        return "%.3g us" % value
    if kind == "byte":
        for power, text in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
            if value >= 1 << power:
                return "%.3g %s" % (value / (1 << power), text)
        return "%d B" % value
    return "%d" % value if isinstance(value, int) and abs(value) < 1e6 else "%.4g" % value


class Row(Mapping[str, Any]):
    """One result. Fields are attributes and keys: `row.time_us` and `row["time_us"]`; what is unknown is None."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError("there is no field %r; there are %s" % (name, ", ".join(self.__dict__["_values"])))
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> List[str]:
        return sorted(set(super().__dir__()) | set(self._values))

    @property
    def units(self) -> Dict[str, str]:
        """The units of the fields that have one."""
        found = {key: unit(key) for key in self._values}
        return {key: text for key, text in found.items() if text is not None}

    def to_dict(self) -> Dict[str, Any]:
        return json.loads(json.dumps(self._values))

    def to_pandas(self) -> Any:
        return _frame([_flat(self._values)])

    def __repr__(self) -> str:
        shown = {k: v for k, v in self._values.items() if v not in (None, "", [], {}) and not isinstance(v, (dict, list))}
        return "Row(%s)" % ", ".join("%s=%r" % item for item in shown.items())


class Document(Sequence[Row]):
    """The results of a call, in the order of the command. Fields of a single result are fields of the document too.

    `json()`, `csv()` and `str()` are byte for byte what the command prints."""

    _columns: Sequence[str] = ()

    def __init__(self, text: bytes, write: Callable[[str], bytes]) -> None:
        self._json = text
        self._write = write
        self._root = json.loads(text)
        rows = self._root if isinstance(self._root, list) else [self._root]
        self._rows = [Row(row) for row in rows]

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if len(self._rows) != 1:
            raise AttributeError("there are %d results: take one, as results[0].%s" % (len(self._rows), name))
        return getattr(self._rows[0], name)

    def json(self) -> str:
        return self._json.decode()

    def csv(self) -> str:
        return self._write("csv").decode()

    def to_dict(self) -> Any:
        """The JSON document: a list of objects, or one object."""
        return json.loads(self._json)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each result."""
        return _frame([_flat(row) for row in self._rows])

    def __str__(self) -> str:
        return self._write("table").decode()

    def __repr__(self) -> str:
        return str(self).rstrip("\n")

    def _repr_html_(self) -> str:
        keys = [key for key in self._columns if any(row.get(key) is not None for row in self._rows)]
        keys = keys or [k for k in (self._rows[0] if self._rows else {}) if not isinstance(self._rows[0][k], (dict, list))]
        head = "".join("<th>%s</th>" % html.escape(key) for key in keys)
        body = "".join(
            "<tr>%s</tr>" % "".join("<td>%s</td>" % html.escape(_short(row.get(key), key)) for key in keys)
            for row in self._rows
        )
        notes: List[str] = []
        for row in self._rows:
            notes += [note for note in row.get("notes") or [] if note not in notes]
        foot = "".join("<li>%s</li>" % html.escape(note) for note in notes)
        return "<table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>%s" % (
            head,
            body,
            "<ul>%s</ul>" % foot if foot else "",
        )


class Prediction(Document):
    """Time and memory of a model: `time_us`, `time_lo_us`, `time_hi_us`, `peak_bytes`, `provenance`, ..."""

    _columns = (
        "name",
        "device",
        "batch",
        "mode",
        "dtype",
        "time_us",
        "time_lo_us",
        "time_hi_us",
        "samples_per_s",
        "peak_bytes",
        "provenance",
        "bound",
    )


class Fit(Document):
    """Whether a model fits: `fits` is "yes", "no" or "uncertain". True when all of them are "yes"."""

    _columns = ("device", "batch", "mode", "dtype", "fits", "margin_bytes", "free_bytes", "peak_bytes")

    def __bool__(self) -> bool:
        return all(row["fits"] == "yes" for row in self)


class MaxBatch(Document):
    """The largest batch: `certain_batch` fits, larger ones than `possible_batch` do not. int() of it is the certain one."""

    _columns = ("device", "mode", "certain_batch", "possible_batch", "free_bytes", "peak_bytes", "time_us")

    def __int__(self) -> int:
        return int(self.certain_batch)


class Inspection(Document):
    """Operators, parameters, FLOPs and memory; the totals are in `summary`."""

    @property
    def summary(self) -> Row:
        return Row(self._rows[0]["summary"])

    def _repr_html_(self) -> str:
        return "<pre>%s</pre>" % html.escape(str(self))


class Table(Document):
    """A list: of devices, predictors, scores."""
