"""Models that are objects of other packages: onnx.ModelProto, torch.nn.Module."""

import unittest

import foretell
from support import Case

try:
    import onnx
except ImportError:
    onnx = None
try:
    import torch
except ImportError:
    torch = None


class Models(Case):
    @unittest.skipUnless(onnx, "there is no onnx")
    def test_a_model_proto_gives_the_prediction_of_its_file(self):
        proto = onnx.load("resnet50.onnx")
        expected = foretell.predict("resnet50.onnx", device="a100", batch=[1, 8], name="resnet50").to_dict()
        self.assertEqual(foretell.predict(proto, device="a100", batch=[1, 8], name="resnet50").to_dict(), expected)

    @unittest.skipUnless(torch, "there is no torch")
    def test_a_module_is_predicted_at_any_batch(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
                self.norm = torch.nn.BatchNorm2d(8)
                self.head = torch.nn.Linear(8, 10)

            def forward(self, x):
                return self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))

        net = Net().train()
        result = foretell.predict(net, inputs=torch.zeros(2, 3, 32, 32), device="a100", batch=[1, 64], mode="train")
        self.assertTrue(net.training)
        self.assertEqual([row.batch for row in result], [1, 64])
        self.assertEqual(result[0].file, "Net")
        self.assertEqual(result[0].params, sum(p.numel() for p in net.parameters()))
        self.assertGreater(result[1].peak_bytes, result[0].peak_bytes)
        found = foretell.inspect(net, inputs=torch.zeros(1, 3, 32, 32), nodes=True)
        self.assertIn("BatchNormalization", found.json())

    @unittest.skipUnless(torch, "there is no torch")
    def test_a_module_without_inputs_is_an_error(self):
        with self.assertRaisesRegex(foretell.UsageError, "example inputs"):
            foretell.predict(torch.nn.Linear(2, 2), device="a100")
