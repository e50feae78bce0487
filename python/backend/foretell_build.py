"""Build backend of the package (PEP 517 and 660): packs the modules, the shared library and its predictors into a wheel.

The library is $FORETELL_LIBRARY or build/libforetell.so of the source tree that this folder is in, which is built with
make when it is absent. It needs nothing but Python's own library, so that a wheel can be built without a network."""

import base64
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sysconfig
import tempfile
import zipfile

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TREE = os.path.dirname(PYTHON)
# Libraries of every system that can run the wheel. Others that libforetell is linked with travel along.
SYSTEM_LIBRARIES = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so.*")


def _fail(message):
    raise SystemExit("foretell: " + message)


def _version():
    header = os.path.join(TREE, "include", "foretell", "foretell.h")
    with open(header, encoding="utf-8") as file:
        text = file.read()
    return ".".join(
        re.search(r"#define FT_VERSION_%s (\d+)" % part, text).group(1) for part in ("MAJOR", "MINOR", "PATCH")
    )


def _library():
    given = os.environ.get("FORETELL_LIBRARY")
    path = given or os.path.join(TREE, "build", "libforetell.so")
    if not given:
        if not os.path.exists(os.path.join(TREE, "Makefile")):
            _fail("the source tree is not beside %s: set FORETELL_LIBRARY to libforetell.so" % PYTHON)
        if not os.path.exists(path):
            subprocess.run(["make", "-C", TREE, "-j%d" % (os.cpu_count() or 1), "build/libforetell.so"], check=True)
    if not os.path.exists(path):
        _fail("%s: there is no such library" % path)
    return path


def _linked(library):
    """Paths of the libraries that `library` needs and that are not part of every system."""
    try:
        out = subprocess.run(["ldd", library], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    pairs = re.findall(r"^\s*(\S+) => (/\S+)", out, re.M)
    return [path for name, path in pairs if not SYSTEM_LIBRARIES.fullmatch(name)]


def _stripped(library, folder):
    """A copy without debug information, when there is a tool that makes one."""
    path = os.path.join(folder, os.path.basename(library))
    shutil.copyfile(library, path)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", path], check=False)
    return path


def _modules():
    package = os.path.join(PYTHON, "foretell")
    names = sorted(n for n in os.listdir(package) if n.endswith(".py") or n == "py.typed")
    return [("foretell/" + name, os.path.join(package, name)) for name in names]


def _data():
    folder = os.environ.get("FORETELL_DATA", TREE)
    entries = []
    for sub in ("predictors", os.path.join("predictors", "programs")):
        path = os.path.join(folder, sub)
        names = sorted(n for n in os.listdir(path) if n.endswith(".ftm")) if os.path.isdir(path) else []
        entries += [("foretell/share/foretell/%s/%s" % (sub, name), os.path.join(path, name)) for name in names]
    if not entries:
        _fail("%s/predictors: there are no predictors: set FORETELL_DATA to their share/foretell" % folder)
    return entries


def _metadata(version):
    with open(os.path.join(PYTHON, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    return (
        "Metadata-Version: 2.1\nName: foretell\nVersion: %s\n"
        "Summary: Predicts time and memory of deep-learning models on devices, before they run\n"
        "License: Apache-2.0\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n%s" % (version, readme)
    )


def _tag():
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


class _Wheel:
    """A wheel that is written: the same files give the same bytes."""

    def __init__(self, folder, version):
        self.info = "foretell-%s.dist-info" % version
        self.name = "foretell-%s-%s.whl" % (version, _tag())
        self.zip = zipfile.ZipFile(os.path.join(folder, self.name), "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (stat.S_IFREG | mode) << 16
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d" % (name, digest, len(content)))

    def add_file(self, name, path, mode=0o644):
        with open(path, "rb") as file:
            self.add(name, file.read(), mode)

    def finish(self, version):
        self.add(self.info + "/METADATA", _metadata(version).encode())
        wheel = "Wheel-Version: 1.0\nGenerator: foretell_build\nRoot-Is-Purelib: false\nTag: %s\n" % _tag()
        self.add(self.info + "/WHEEL", wheel.encode())
        record = "\n".join(self.record + [self.info + "/RECORD,,", ""])
        entry = zipfile.ZipInfo(self.info + "/RECORD", (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (stat.S_IFREG | 0o644) << 16
        self.zip.writestr(entry, record)
        self.zip.close()
        return self.name


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    version, library = _version(), _library()
    wheel = _Wheel(wheel_directory, version)
    for name, path in _modules() + _data():
        wheel.add_file(name, path)
    with tempfile.TemporaryDirectory() as folder:
        wheel.add_file("foretell/lib/libforetell.so", _stripped(library, folder), 0o755)
    for path in _linked(library):
        wheel.add_file("foretell/lib/" + os.path.basename(path), path, 0o755)
    return wheel.finish(version)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Modules are imported from this folder, the library and predictors come from the source tree."""
    version = _version()
    _library()
    wheel = _Wheel(wheel_directory, version)
    wheel.add("foretell.pth", (PYTHON + "\n").encode())
    return wheel.finish(version)


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the sources of the library are needed: 'make dist' of the source tree packs all of them")
