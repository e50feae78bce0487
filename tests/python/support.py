"""What the tests share: models, the command, a scratch folder."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("FORETELL_BUILD", "build")
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FORETELL = os.path.join(BUILD, "foretell")

LANGUAGE_MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 1000,
    "torch_dtype": "bfloat16",
}

CHIP = {
    "foretell_device": 1,
    "name": "my-chip",
    "text": "a chip of my own",
    "kind": "gpu",
    "runtime": "torch-eager",
    "peak_float32_flops": 2e13,
    "peak_float16_flops": 8e13,
    "bandwidth_bytes_per_s": 6e11,
    "memory_bytes": 2e10,
    "units": 60,
    "clock_hz": 1.5e9,
}


def command(*arguments, status=0):
    """The standard output of the command, as bytes."""
    done = subprocess.run([FORETELL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stderr.decode())
    return done.stdout


def make_model(name, path, *options):
    subprocess.run([os.path.join(BUILD, "makemodel"), "--no-weights", *options, name, path], check=True)
    return path


class Case(unittest.TestCase):
    """A test in a folder with some models."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.back = os.getcwd()
        os.chdir(cls.folder)
        make_model("resnet50", "resnet50.onnx")
        make_model("bert_base", "bert.onnx")
        os.mkdir("llama")
        with open("llama/config.json", "w", encoding="utf-8") as file:
            json.dump(LANGUAGE_MODEL, file)
        with open("my-chip.json", "w", encoding="utf-8") as file:
            json.dump(CHIP, file)

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.back)
        shutil.rmtree(cls.folder)
