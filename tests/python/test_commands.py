"""Predictions, fits, inspections and lists: the documents of the command, byte for byte, and what objects make of them."""

import json
import os
import threading
import unittest

import foretell
from support import Case, command

NET = "resnet50.onnx"


class Commands(Case):
    def same(self, document, *arguments, status=0):
        """The document in all formats, and each of its fields, are those of the command."""
        text = command(*arguments, "--format", "json", status=status)
        self.assertEqual(document.json().encode(), text)
        root = json.loads(text)
        self.assertEqual(document.to_dict(), root)
        rows = root if isinstance(root, list) else [root]
        self.assertEqual(len(document), len(rows))
        for row, expected in zip(document, rows):
            self.assertEqual(dict(row), expected)
            for key, value in expected.items():
                self.assertEqual(getattr(row, key), value)
        self.assertEqual(document.csv().encode(), command(*arguments, "--format", "csv", status=status))

    def test_predictions_are_those_of_the_command(self):
        self.same(foretell.predict(NET, device="rtx-4090"), "predict", NET, "--device", "rtx-4090")
        self.same(
            foretell.predict(NET, device=["rtx-4090", "a100"], batch=[1, 32], mode="train"),
            *("predict", NET, "--device", "rtx-4090,a100", "--batch", "1,32", "--mode", "train"),
        )
        self.same(
            foretell.predict(NET, device="a100", batch="1..8", by_layer=True, top=3, samples=1000, setting={"amp": True}),
            *("predict", NET, "--device", "a100", "--batch", "1..8", "--by-layer", "--top", "3", "--samples", "1000"),
            *("--setting", "amp=yes"),
        )

    def test_predictions_of_phones_and_npus_are_those_of_the_command(self):
        self.same(foretell.predict(NET, device="adreno-640"), "predict", NET, "--device", "adreno-640")
        self.same(foretell.predict(NET, device="ethos-u55-256"), "predict", NET, "--device", "ethos-u55-256")

    def test_shapes_are_those_of_the_command(self):
        self.same(
            foretell.predict("bert.onnx", device="a100", batch=4, shape={"sequence": 128}),
            *("predict", "bert.onnx", "--device", "a100", "--batch", "4", "--shape", "sequence=128"),
        )

    def test_training_of_language_models_is_that_of_the_command(self):
        self.same(
            foretell.predict("llama/config.json", device="a100", mode="train", batch=8, sequence=256, dp=2, sharding="zero2"),
            *("predict", "llama/config.json", "--device", "a100", "--mode", "train", "--batch", "8"),
            *("--sequence", "256", "--dp", "2", "--sharding", "zero2"),
        )
        self.same(
            foretell.predict("llama/config.json", device="a100", mode="train", sequence=64, lora="8:q_proj,v_proj", tp=2,
                             sequence_parallel=True, recompute="full", accumulate=2, batch=4),
            *("predict", "llama/config.json", "--device", "a100", "--mode", "train", "--sequence", "64"),
            *("--lora", "8:q_proj,v_proj", "--tp", "2", "--sequence-parallel", "--recompute", "full"),
            *("--accumulate", "2", "--batch", "4"),
        )

    def test_fits_and_max_batch_are_those_of_the_command(self):
        self.same(foretell.fits(NET, device="a100", batch=8), "fits", NET, "--device", "a100", "--batch", "8")
        fit = foretell.fits(NET, device="a100", batch=64, mode="train", free="1GiB")
        self.same(
            fit,
            *("fits", NET, "--device", "a100", "--batch", "64", "--mode", "train", "--free", "1GiB"),
            status=20,
        )
        self.assertFalse(fit)
        self.assertTrue(foretell.fits(NET, device="a100"))
        largest = foretell.max_batch(NET, device="rtx-3090", mode="train")
        self.same(largest, "max-batch", NET, "--device", "rtx-3090", "--mode", "train")
        self.assertEqual(int(largest), largest.certain_batch)

    def test_inspections_are_those_of_the_command(self):
        self.same(foretell.inspect(NET, batch=2), "inspect", NET, "--batch", "2")
        found = foretell.inspect(NET, nodes=True)
        self.same(found, "inspect", NET, "--nodes")
        self.assertEqual(found.summary.params, 25557032)

    def test_lists_are_those_of_the_command(self):
        self.same(foretell.devices(), "list", "devices")
        self.same(foretell.devices("rtx-4090", "my-chip.json"), "list", "devices", "rtx-4090", "my-chip.json")
        self.same(foretell.predictors(), "list", "predictors")
        self.same(foretell.models(), "list", "models")

    def test_prices_and_choices_are_those_of_the_command(self):
        self.same(
            foretell.predict(NET, device=["a100", "rtx-4090"], batch=64, price="a100=2.5/h", samples=1000),
            *("predict", NET, "--device", "a100,rtx-4090", "--batch", "64", "--price", "a100=2.5/h", "--samples", "1000"),
        )
        chosen = foretell.predict(NET, device=["a100", "rtx-4090"], batch=64, price=2, choose="cost")
        self.same(
            chosen,
            *("predict", NET, "--device", "a100,rtx-4090", "--batch", "64", "--price", "2", "--choose", "cost"),
        )
        self.assertEqual(chosen[0].rank, 1)

    def test_names_of_models_are_accepted(self):
        self.same(foretell.predict("mobilenet-v2", device="a100"), "predict", "mobilenet-v2", "--device", "a100")

    def test_device_files_and_predictor_files_are_accepted(self):
        self.same(foretell.predict(NET, device="my-chip.json"), "predict", NET, "--device", "my-chip.json")
        phone = os.path.join(os.environ["FORETELL_PREDICTORS"], "phone.ftm")
        self.same(
            foretell.predict(NET, device="adreno-640", predictor=phone),
            *("predict", NET, "--device", "adreno-640", "--predictor", phone),
        )

    def test_bytes_give_the_prediction_of_the_file(self):
        with open(NET, "rb") as file:
            data = file.read()
        expected = foretell.predict(NET, device="a100", batch=4).json()
        for form in (data, bytearray(data), memoryview(data)):
            self.assertEqual(foretell.predict(form, device="a100", batch=4, name=NET).json(), expected)

    def test_text_and_html_show_the_result(self):
        result = foretell.predict(NET, device=["a100", "rtx-4090"], batch=[1, 8])
        self.assertIn("a100", str(result))
        self.assertEqual(repr(result), str(result).rstrip("\n"))
        page = result._repr_html_()
        self.assertEqual(page.count("<tr>"), 5)
        self.assertIn("<th>time_us</th>", page)
        self.assertIn("time_us=", repr(result[0]))
        page = foretell.fits(NET, device="a100", name="<b>")._repr_html_()
        self.assertNotIn("<b>", page)

    def test_fields_have_units(self):
        row = foretell.predict(NET, device="a100")[0]
        self.assertEqual(row.units["time_us"], "us")
        self.assertEqual(row.units["peak_bytes"], "byte")
        self.assertEqual(row.units["coverage_ratio"], "1")
        self.assertNotIn("device", row.units)

    def test_fields_of_one_result_are_those_of_the_document(self):
        self.assertEqual(foretell.predict(NET, device="a100").device, "a100-40gb")
        with self.assertRaisesRegex(AttributeError, "2 results"):
            foretell.predict(NET, device="a100", batch=[1, 2]).time_us
        with self.assertRaisesRegex(AttributeError, "no field 'time'; there are .*time_us"):
            foretell.predict(NET, device="a100").time

    def test_threads_predict_at_the_same_time(self):
        expected = foretell.predict(NET, device="rtx-3090", batch=[1, 16]).json()
        answers = []

        def ask():
            for _ in range(5):
                answers.append(foretell.predict(NET, device="rtx-3090", batch=[1, 16]).json())

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [expected] * 20)

    def test_pandas_has_a_row_for_each_result(self):
        try:
            import pandas
        except ImportError:
            with self.assertRaisesRegex(ImportError, "to_dict"):
                foretell.predict(NET, device="a100").to_pandas()
            raise unittest.SkipTest("there is no pandas") from None
        result = foretell.predict(NET, device="a100", batch=[1, 8, 64])
        frame = result.to_pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(list(frame["batch"]), [1, 8, 64])
        self.assertEqual(list(frame["time_us"]), [row.time_us for row in result])
        self.assertEqual(list(frame["memory.weights"]), [row.memory["weights"] for row in result])


class Errors(Case):
    def fails(self, kind, status, text, function, *arguments, **options):
        with self.assertRaisesRegex(kind, text) as caught:
            function(*arguments, **options)
        self.assertIsInstance(caught.exception, foretell.Error)
        self.assertEqual(caught.exception.status, status)

    def test_failures_are_exceptions_with_the_status_of_the_command(self):
        self.fails(foretell.FileError, 3, "absent.onnx", foretell.predict, "absent.onnx", device="a100")
        self.fails(foretell.FormatError, 4, "format", foretell.predict, b"not a model at all", device="a100")
        self.fails(foretell.UsageError, 2, "a200", foretell.predict, NET, device="a200")
        self.fails(foretell.UnboundError, 9, "sequence", foretell.predict, "bert.onnx", device="a100")
        self.fails(foretell.UsageError, 2, "no such key", foretell.predict, NET, device="a100", colour="red")
        with self.assertRaises(ValueError):
            foretell.predict(NET, device="a100", batch=0)

    def test_codes_are_names_of_the_library(self):
        with self.assertRaises(foretell.Error) as caught:
            foretell.predict("absent.onnx")
        self.assertEqual(caught.exception.code, "FT_ERR_IO")

    def test_what_is_no_model_is_named(self):
        self.fails(foretell.UsageError, 2, "a dict is not a model", foretell.predict, {}, device="a100")
        self.fails(foretell.UsageError, 2, "torch", foretell.predict, NET, device="a100", inputs=1)
