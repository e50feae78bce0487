"""llm_graphs_export.py - transformers as PyTorch exports them: OUT_FOLDER CONFIGS.json [NAME...]. Writes NAME.json (a
config.json with fewer layers and words, so that weights stay small) and NAME.onnx of the same model for each
configuration of the file.

The modules are those of the transformers library in their plain form: separate projections, scores, mask, softmax.
"""
import json, math, os, sys
import torch
from torch import nn

LAYERS, WORDS, BATCH, TOKENS = 2, 1000, 2, 64


def heads(x, count):
    return x.view(x.shape[0], x.shape[1], count, -1).permute(0, 2, 1, 3)


def merge(x):
    return x.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


class Attention(nn.Module):
    def __init__(self, width, count, size, bias, causal, fused=False, scaled=True):
        super().__init__()
        self.count, self.causal, self.fused, self.scale = count, causal, fused, math.sqrt(size) if scaled else 1.0
        if fused:
            self.qkv = nn.Linear(width, 3 * count * size, bias=bias)
        else:
            self.q, self.k, self.v = (nn.Linear(width, count * size, bias=bias) for _ in range(3))
        self.o = nn.Linear(count * size, width, bias=bias)

    def forward(self, x, source=None, bias=None):
        source = x if source is None else source
        if self.fused:
            q, k, v = self.qkv(x).chunk(3, dim=-1)
        else:
            q, k, v = self.q(x), self.k(source), self.v(source)
        q, k, v = heads(q, self.count), heads(k, self.count), heads(v, self.count)
        scores = torch.matmul(q, k.transpose(-1, -2))
        if self.scale != 1.0:
            scores = scores / self.scale
        if bias is not None:
            scores = scores + bias
        if self.causal:
            mask = torch.full((x.shape[1], x.shape[1]), -1e9).triu(1)
            scores = scores + mask
        return self.o(merge(torch.matmul(torch.softmax(scores, dim=-1), v)))


class Mlp(nn.Module):
    def __init__(self, width, inner, act, bias=True):
        super().__init__()
        self.up, self.down, self.act = nn.Linear(width, inner, bias=bias), nn.Linear(inner, width, bias=bias), act

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Layer(nn.Module):
    """Norms before (GPT-2, OPT) or after (BERT) each part."""
    def __init__(self, width, count, inner, act, causal, before, fused):
        super().__init__()
        self.attention = Attention(width, count, width // count, True, causal, fused)
        self.mlp, self.before = Mlp(width, inner, act), before
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        if self.before:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Bert(nn.Module):
    def __init__(self, c):
        super().__init__()
        h = c["hidden_size"]
        self.words, self.types = nn.Embedding(c["vocab_size"], h), nn.Embedding(c["type_vocab_size"], h)
        self.positions, self.norm = nn.Embedding(c["max_position_embeddings"], h), nn.LayerNorm(h)
        self.layers = nn.ModuleList(Layer(h, c["num_attention_heads"], c["intermediate_size"], nn.GELU(), False, False,
                                          False) for _ in range(c["num_hidden_layers"]))
        self.dense, self.dense_norm, self.act = nn.Linear(h, h), nn.LayerNorm(h), nn.GELU()
        self.bias = nn.Parameter(torch.zeros(c["vocab_size"]))

    def forward(self, words, positions, types):
        x = self.norm(self.words(words) + self.positions(positions) + self.types(types))
        for layer in self.layers:
            x = layer(x)
        x = self.dense_norm(self.act(self.dense(x)))
        return torch.matmul(x, self.words.weight.t()) + self.bias


class Gpt(nn.Module):
    def __init__(self, vocab, positions, h, layers, count, inner, act, fused):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, h), nn.Embedding(positions, h)
        self.layers = nn.ModuleList(Layer(h, count, inner, act, True, True, fused) for _ in range(layers))
        self.norm = nn.LayerNorm(h)

    def forward(self, words, positions):
        x = self.words(words) + self.positions(positions)
        for layer in self.layers:
            x = layer(x)
        return torch.matmul(self.norm(x), self.words.weight.t())


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class T5Stack(nn.Module):
    """Of Switch without experts: which token goes to which expert is in the data, and so are the shapes of an export."""
    def __init__(self, c, layers, decoder):
        super().__init__()
        h, n, size = c["d_model"], c["num_heads"], c["d_kv"]
        parts = 3 if decoder else 2
        self.bias = nn.Embedding(32, n)
        self.attention = nn.ModuleList(Attention(h, n, size, False, decoder, scaled=False) for _ in range(layers))
        self.cross = nn.ModuleList(Attention(h, n, size, False, False, scaled=False)
                                   for _ in range(layers if decoder else 0))
        self.mlp = nn.ModuleList(Mlp(h, c["d_ff"], nn.ReLU(), False) for _ in range(layers))
        self.norms = nn.ModuleList(RmsNorm(h) for _ in range(parts * layers))
        self.norm = RmsNorm(h)

    def forward(self, x, buckets, source=None):
        norms = iter(self.norms)
        bias = self.bias(buckets).permute(2, 0, 1).unsqueeze(0)
        for i, attention in enumerate(self.attention):
            x = x + attention(next(norms)(x), bias=bias)
            if source is not None:
                x = x + self.cross[i](next(norms)(x), source)
            x = x + self.mlp[i](next(norms)(x))
        return self.norm(x)


class T5(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.words = nn.Embedding(c["vocab_size"], c["d_model"])
        self.encoder = T5Stack(c, c["num_layers"], False)
        self.decoder = T5Stack(c, c["num_decoder_layers"], True)

    def forward(self, words, decoder_words, buckets):
        x = self.encoder(self.words(words), buckets)
        x = self.decoder(self.words(decoder_words), buckets, x)
        return torch.matmul(x, self.words.weight.t())


def model_of(c):
    ids = torch.zeros(BATCH, TOKENS, dtype=torch.long)
    kind = c["model_type"]
    if kind == "bert":
        return Bert(c), (ids, ids, ids)
    if kind == "gpt2":
        return Gpt(c["vocab_size"], c["n_positions"], c["n_embd"], c["n_layer"], c["n_head"], 4 * c["n_embd"], nn.GELU(),
                   True), (ids, ids)
    if kind == "opt":
        return Gpt(c["vocab_size"], c["max_position_embeddings"] + 2, c["hidden_size"], c["num_hidden_layers"],
                   c["num_attention_heads"], c["ffn_dim"], nn.ReLU(), False), (ids, ids)
    return T5(c), (ids, ids, torch.zeros(TOKENS, TOKENS, dtype=torch.long))


def width(c):
    return c.get("hidden_size") or c.get("n_embd") or c["d_model"]


def shrink(c):
    c = dict(c, vocab_size=WORDS)
    c.pop("padded_vocab_size", None)
    for key in ("num_hidden_layers", "n_layer", "num_layers", "num_decoder_layers"):
        if key in c:
            c[key] = LAYERS if width(c) < 3000 else 1
    if "word_embed_proj_dim" in c:
        c["word_embed_proj_dim"] = c["hidden_size"]
    for key in ("num_sparse_encoder_layers", "num_sparse_decoder_layers"):
        if key in c:
            c[key] = 0
    c["torch_dtype"] = "float32"
    return c


def scatter(model):
    """The exporter merges parameters with the same values, such as the scales of all norms."""
    for i, p in enumerate(model.parameters()):
        if p.dim() == 1:
            p.fill_(1 + i)


def main(folder, source, names):
    for name, config in json.load(open(source)).items():
        if names and name not in names:
            continue
        c = shrink(config)
        json.dump(c, open(os.path.join(folder, name + ".json"), "w"))
        model, inputs = model_of(c)
        with torch.no_grad():
            scatter(model)
            torch.onnx.export(model.eval(), inputs, os.path.join(folder, name + ".onnx"), opset_version=14,
                              do_constant_folding=False)
        print(f"{name},{sum(p.numel() for p in model.parameters())}", flush=True)
        del model


main(sys.argv[1], sys.argv[2], sys.argv[3:])
