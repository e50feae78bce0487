"""The shared library behind the package: layouts of structs, and the wheel."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import foretell
from foretell import _library, _structs
from support import TREE, command, make_model


def compiled_layouts(folder):
    """The layouts of the structs declared in Python, as a C compiler prints them from the public headers."""
    lines = []
    for name in _structs.DECLARED:
        lines.append('printf("%s %%zu\\n", sizeof(%s));' % (name, name))
        for field, _, _ in _structs.declared(name)[1]:
            place = "%s, %s" % (name, field)
            lines.append('printf("%s.%s %%zu %%zu\\n", offsetof(%s), sizeof(((%s *)0)->%s));' % (
                name, field, place, name, field))
    source = os.path.join(folder, "layouts.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include <stddef.h>\n#include <stdio.h>\n#include "foretell/foretell.h"\nint main(void) {\n')
        file.write("\n".join(lines) + "\nreturn 0;\n}\n")
    program = os.path.join(folder, "layouts")
    subprocess.run(["cc", "-std=c11", "-I" + os.path.join(TREE, "include"), source, "-o", program], check=True)
    printed = subprocess.run([program], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    found = {}
    for line in printed.splitlines():
        name, *numbers = line.split()
        struct, _, field = name.partition(".")
        if not field:
            found[struct] = (int(numbers[0]), [])
        else:
            found[struct][1].append((field, int(numbers[0]), int(numbers[1])))
    return found


class Library(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_structs_are_laid_out_as_the_library_says(self):
        theirs = _structs.layouts(_library.library)
        for name in _structs.DECLARED:
            self.assertEqual(_structs.declared(name), theirs[name], name)

    def test_structs_are_laid_out_as_c_prints(self):
        if not shutil.which("cc"):
            self.skipTest("there is no C compiler")
        for name, layout in compiled_layouts(self.folder).items():
            self.assertEqual(_structs.declared(name), layout, name)

    def test_a_library_of_other_structs_is_refused(self):
        code = "from foretell import _structs; _structs.DECLARED['ft_style']._fields_; import ctypes as c\n" \
               "class Style(c.Structure):\n    _fields_ = [('output', c.c_int)]\n" \
               "_structs.DECLARED['ft_style'] = Style\nprint(_structs.mismatch(c.CDLL(%r)))" % os.environ["FORETELL_LIBRARY"]
        done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, universal_newlines=True)
        self.assertEqual(done.stdout.strip(), "ft_style")

    def test_the_version_is_that_of_the_command(self):
        self.assertIn(foretell.__version__, command("--version").decode())

    def test_a_missing_library_is_named(self):
        environment = dict(os.environ, FORETELL_LIBRARY="/nowhere/libforetell.so")
        done = subprocess.run([sys.executable, "-c", "import foretell"], env=environment, stderr=subprocess.PIPE,
                              universal_newlines=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/libforetell.so", done.stderr)

    def install(self):
        """A fresh environment with the package, installed without a network; its interpreter."""
        done = subprocess.run([sys.executable, "-m", "venv", "env"], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True, check=False)
        if done.returncode != 0:
            self.skipTest("python3-venv is not installed")
        python = os.path.join(self.folder, "env", "bin", "python")
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "FORETELL_PREDICTORS")}
        environment["PIP_NO_INDEX"] = "1"
        tree = os.path.join(TREE, "python")
        done = subprocess.run([python, "-m", "pip", "install", "--disable-pip-version-check", tree], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return python

    def test_pip_installs_it_without_a_network(self):
        python = self.install()
        net = make_model("resnet50", os.path.join(self.folder, "net.onnx"))
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "FORETELL"))}
        code = "import foretell; print(foretell.__file__); print(foretell.predict(%r, device='a100').time_us)" % net
        done = subprocess.run([python, "-c", code], env=environment, cwd=self.folder, check=True,
                              stdout=subprocess.PIPE, universal_newlines=True)
        place, time_us = done.stdout.split()
        self.assertTrue(place.startswith(self.folder), place)
        self.assertEqual(float(time_us), foretell.predict(net, device="a100").time_us)
        typed = os.path.join(os.path.dirname(place), "py.typed")
        self.assertTrue(os.path.exists(typed))
