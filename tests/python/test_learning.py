"""Training, evaluating and adapting: the files and documents of the command."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import foretell
from support import TREE, command


class Learning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.back, cls.folder = os.getcwd(), tempfile.mkdtemp()
        os.chdir(cls.folder)
        subprocess.run([os.path.join(TREE, "scripts", "make-measurements"), "cg", "40"], check=True,
                       stdout=subprocess.DEVNULL)
        command("import", "cg", "cg", "-o", "data", "--quiet")
        command("train", "--data", "data", "-o", "run", "--family", "flops", "--seed", "1", "--quiet")

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.back)
        shutil.rmtree(cls.folder)

    def test_training_gives_the_predictor_of_the_command(self):
        steps = []
        path = foretell.train("data", "mine", family="flops", seed=1, progress=lambda *step: steps.append(step))
        with open(path, "rb") as mine, open("run/predictor.ftm", "rb") as theirs:
            self.assertEqual(mine.read(), theirs.read())
        self.assertTrue(steps)

    def test_settings_of_a_family_are_passed(self):
        foretell.train("data", "boosted", family="totals-gbt", config={"rounds": 7})
        with open("boosted/config.json", encoding="utf-8") as file:
            self.assertIn('"rounds": 7', file.read())
        with self.assertRaisesRegex(foretell.UsageError, "colour"):
            foretell.train("data", "other", family="totals-gbt", config={"colour": 1})

    def test_evaluations_are_those_of_the_command(self):
        mine = foretell.evaluate("run/predictor.ftm", "data")
        text = command("eval", "-p", "run/predictor.ftm", "-d", "data", "--quiet", "--format", "json")
        self.assertEqual(mine.json().encode(), text)
        mine = foretell.evaluate("run/predictor.ftm", "data", split="name", seed=3, part="valid", worst=0)
        text = command("eval", "-p", "run/predictor.ftm", "-d", "data", "--split", "name", "--seed", "3", "--part",
                       "valid", "--worst", "0", "--quiet", "--format", "json")
        self.assertEqual(mine.json().encode(), text)

    def test_adapting_gives_the_predictor_of_the_command(self):
        device = foretell.evaluate("run/predictor.ftm", "data").to_dict()
        self.assertTrue(device)
        text = command("adapt", "--from", "run/predictor.ftm", "--data", "data", "--budget", "3", "--to", "theirs.ftm",
                       "--quiet", "--format", "json")
        mine = foretell.adapt("run/predictor.ftm", "data", "theirs2.ftm", budget=3)
        self.assertEqual(json.loads(mine.json().replace("theirs2", "theirs")), json.loads(text))
        with open("theirs.ftm", "rb") as a, open("theirs2.ftm", "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_progress_that_answers_false_stops(self):
        with self.assertRaises(foretell.CancelledError):
            foretell.train("data", "stopped", family="totals-gbt", progress=lambda *step: False)

    def test_exceptions_of_progress_are_raised(self):
        def interrupt(*_step):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            foretell.train("data", "stopped", family="totals-gbt", progress=interrupt)

    def test_wrong_arguments_are_errors(self):
        with self.assertRaisesRegex(foretell.UsageError, "budget"):
            foretell.adapt("run/predictor.ftm", "data", "x.ftm")
        with self.assertRaisesRegex(foretell.UsageError, "part"):
            foretell.evaluate("run/predictor.ftm", "data", part="all")
        with self.assertRaises(foretell.FileError):
            foretell.train("absent", "x")
