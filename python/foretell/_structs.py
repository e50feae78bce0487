"""Structs of the C library that are passed to it, compared with the library's own layouts when it is loaded."""

import ctypes as c

PROGRESS = c.CFUNCTYPE(c.c_bool, c.c_void_p, c.c_uint64, c.c_uint64, c.c_char_p)
TEXTS = c.POINTER(c.c_char_p)


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("message", c.c_char * 512)]


class Style(c.Structure):
    _fields_ = [("output", c.c_int), ("width", c.c_uint32), ("has_color", c.c_bool), ("has_utf8", c.c_bool)]


class TimeFilter(c.Structure):
    _fields_ = [("max_noise", c.c_double), ("min_time_us", c.c_double), ("max_time_us", c.c_double)]


class Split(c.Structure):
    _fields_ = [
        ("spec", c.c_char * 256),
        ("seed", c.c_uint64),
        ("hash", c.c_char * 33),
        ("counts", c.c_uint32 * 4),
        ("parts", c.c_void_p),
    ]


class TrainOptions(c.Structure):
    _fields_ = [
        ("family", c.c_char_p),
        ("metric", c.c_char_p),
        ("split", c.c_char_p),
        ("config", c.c_char_p),
        ("settings", TEXTS),
        ("setting_count", c.c_uint32),
        ("filter", TimeFilter),
        ("seed", c.c_uint64),
        ("threads", c.c_uint32),
        ("is_resumed", c.c_bool),
        ("is_forced", c.c_bool),
        ("is_untested", c.c_bool),
        ("folds", TEXTS),
        ("fold_count", c.c_uint32),
        ("progress", PROGRESS),
        ("user", c.c_void_p),
    ]


class EvaluateOptions(c.Structure):
    _fields_ = [
        ("metric", c.c_char_p),
        ("split", c.POINTER(Split)),
        ("part", c.c_int),
        ("devices", TEXTS),
        ("device_count", c.c_uint32),
        ("families", TEXTS),
        ("family_count", c.c_uint32),
        ("setting", c.c_char_p),
        ("has_mode", c.c_bool),
        ("mode", c.c_int),
        ("filter", TimeFilter),
        ("threads", c.c_uint32),
        ("progress", PROGRESS),
        ("user", c.c_void_p),
        ("with_adapted", c.c_bool),
    ]


class Evaluation(c.Structure):
    _fields_ = [
        ("predictor_family", c.c_char_p),
        ("metric", c.c_char_p),
        ("data_hash", c.c_char_p),
        ("split", c.c_char_p),
        ("split_hash", c.c_char_p),
        ("seed", c.c_uint64),
        ("part", c.c_int),
        ("scores", c.c_void_p),
        ("score_count", c.c_uint32),
        ("tasks", c.c_void_p),
        ("task_count", c.c_uint32),
        ("cases", c.c_void_p),
        ("case_count", c.c_uint32),
        ("synthetic", c.c_uint32),
        ("left_out", c.c_uint32),
        ("refused", c.c_uint32),
        ("refusal", c.c_char_p),
        ("adapted", c.c_uint32),
        ("next", c.c_void_p),
        ("owner", c.c_void_p),
    ]


class AdaptOptions(c.Structure):
    _fields_ = [
        ("metric", c.c_char_p),
        ("method", c.c_char_p),
        ("discrepancy", c.c_char_p),
        ("steps", c.c_uint32),
        ("models", c.c_char_p),
        ("budget", c.c_uint32),
        ("split", c.c_char_p),
        ("devices", TEXTS),
        ("device_count", c.c_uint32),
        ("families", TEXTS),
        ("family_count", c.c_uint32),
        ("seed", c.c_uint64),
        ("threads", c.c_uint32),
        ("progress", PROGRESS),
        ("user", c.c_void_p),
    ]


class Adaptation(c.Structure):
    _fields_ = [
        ("devices", c.c_void_p),
        ("device_count", c.c_uint32),
        ("model_count", c.c_uint32),
        ("notes", TEXTS),
        ("note_count", c.c_uint32),
        ("before", Evaluation),
        ("after", Evaluation),
        ("owner", c.c_void_p),
    ]


class _Field(c.Structure):
    _fields_ = [("name", c.c_char_p), ("offset", c.c_uint32), ("size", c.c_uint32)]


class _Struct(c.Structure):
    _fields_ = [("name", c.c_char_p), ("size", c.c_uint32), ("field_count", c.c_uint32), ("fields", c.POINTER(_Field))]


DECLARED = {
    "ft_error": Error,
    "ft_style": Style,
    "ft_time_filter": TimeFilter,
    "ft_split": Split,
    "ft_train_options": TrainOptions,
    "ft_evaluate_options": EvaluateOptions,
    "ft_evaluation": Evaluation,
    "ft_adapt_options": AdaptOptions,
    "ft_adaptation": Adaptation,
}


def layouts(library):
    """The layouts of the library: {struct: (size, [(field, offset, size)])}."""
    library.ft_struct_at.restype = c.POINTER(_Struct)
    library.ft_struct_at.argtypes = [c.c_uint32]
    found = {}
    for i in range(library.ft_struct_count()):
        s = library.ft_struct_at(i).contents
        fields = [(f.name.decode(), f.offset, f.size) for f in (s.fields[k] for k in range(s.field_count))]
        found[s.name.decode()] = (s.size, fields)
    return found


def declared(name):
    """The layout of a struct as it is declared here, in the form of `layouts`."""
    struct = DECLARED[name]
    fields = [(f[0], getattr(struct, f[0]).offset, getattr(struct, f[0]).size) for f in struct._fields_]
    return (c.sizeof(struct), fields)


def mismatch(library):
    """What differs between the structs declared here and those of the library, or None."""
    if not hasattr(library, "ft_struct_at"):
        return "it has no ft_struct_at"
    theirs = layouts(library)
    for name in DECLARED:
        if theirs.get(name) != declared(name):
            return name
    return None
