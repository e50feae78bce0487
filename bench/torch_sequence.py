#!/usr/bin/env python3
"""torch_sequence.py DUMP [THREADS] [STEPS] - leaf-sequence in plain PyTorch: the twin of src/predictor/sequence_net.c.

DUMP is what `bench/sequence dump FILE` wrote: a batch of 256 programs, parameters, and what foretell's network says of it. Two
ways to write it are checked against that and timed: `padded`, nn.TransformerEncoder over programs that are padded to the
longest, and `buckets`, programs of equal length together and nothing padded, with one product for queries, keys and values. One line
for each measurement: name, threads, rows, 0, median, 25 % and least milliseconds."""
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from torch_twin import read, steps, threads

HEADS = 4


class Sequence(nn.Module):
    """What both ways share: the rows at the beginning, the head at the end."""

    def __init__(self, h, inner, layers, dropout, values, marks, known, sheet):
        super().__init__()
        self.dropout = dropout
        self.rows = nn.Linear(values + marks, h)
        layer = nn.TransformerEncoderLayer(h, HEADS, inner, dropout, F.gelu, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.sheet, self.place = nn.Linear(sheet, h), nn.Linear(h, h, bias=False)
        self.head0, self.head1, self.out = nn.Linear(2 * h + known, h), nn.Linear(h, h), nn.Linear(h, 1)

    def finish(self, mean, largest, known, columns):
        """Each program with each device: samples x devices."""
        programs = self.head0(torch.cat([mean, largest, known], 1))
        places = self.place(F.gelu(self.sheet(columns)))
        return self.out(F.gelu(self.head1(F.gelu(programs[:, None] + places)))).squeeze(-1)


class Padded(Sequence):
    def forward(self, b):
        x = self.encoder(self.rows(b['rows']), src_key_padding_mask=b['absent'])
        gone = b['absent'][:, :, None]
        mean = x.masked_fill(gone, 0).sum(1) * b['rcount']
        return self.finish(mean, x.masked_fill(gone, -1e30).amax(1), b['known'], b['columns'])


class Buckets(Sequence):
    def drop(self, x):
        return F.dropout(x, self.dropout, self.training)

    def attend(self, layer, x, buckets):
        qkv = F.linear(x, layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias)
        seen = []
        for first, count, length in buckets:
            rows = qkv[first:first + count * length].view(count, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            q, k, v = rows[0], rows[1], rows[2]
            scores = torch.softmax(q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5), -1)
            seen.append((self.drop(scores) @ v).transpose(1, 2).reshape(count * length, -1))
        return layer.self_attn.out_proj(torch.cat(seen))

    def forward(self, b):
        x = self.rows(b['packed'])
        for layer in self.encoder.layers:
            x = x + self.drop(self.attend(layer, layer.norm1(x), b['buckets']))
            x = x + self.drop(layer.linear2(self.drop(F.gelu(layer.linear1(layer.norm2(x))))))
        parts = [x[first:first + count * length].view(count, length, -1) for first, count, length in b['buckets']]
        mean, largest = torch.cat([p.mean(1) for p in parts]), torch.cat([p.amax(1) for p in parts])
        return self.finish(mean, largest, b['packed_known'], b['columns'])


def load(net, a):
    def linear(layer, name):
        layer.weight.data = a[name + '.weight'].t().clone(memory_format=torch.contiguous_format)  # what is trained is no view of it
        layer.bias.data = a[name + '.bias'].reshape(-1).clone()
    net.rows.weight.data = torch.cat([a['values.weight'], a['marks.weight']]).t().contiguous()
    net.rows.bias.data = a['values.bias'].reshape(-1).clone()
    for i, layer in enumerate(net.encoder.layers):
        name = 'encoder%d.' % i
        parts = [name + part for part in ('query', 'key', 'value')]
        layer.self_attn.in_proj_weight.data = torch.cat([a[p + '.weight'].t() for p in parts]).contiguous()
        layer.self_attn.in_proj_bias.data = torch.cat([a[p + '.bias'].reshape(-1) for p in parts])
        linear(layer.self_attn.out_proj, name + 'out')
        linear(layer.linear1, name + 'wide')
        linear(layer.linear2, name + 'narrow')
        for norm, part in ((layer.norm1, 'first'), (layer.norm2, 'second')):
            norm.weight.data = a[name + part + '.gain'].reshape(-1).clone()
            norm.bias.data = a[name + part + '.offset'].reshape(-1).clone()
    net.place.weight.data = a['place.weight'].t().contiguous()
    for layer, name in ((net.sheet, 'sheet'), (net.head0, 'head0'), (net.head1, 'head1'), (net.out, 'out')):
        linear(layer, name)


def batch(a, samples=None):
    start = a['start'].long().reshape(-1).tolist()
    samples = samples or len(start) - 1
    lengths = [start[i + 1] - start[i] for i in range(samples)]
    longest = max(lengths)
    values = torch.cat([a['node_values'], a['node_marks']], 1)
    known = torch.cat([a['graph_values'], a['graph_marks']], 1)[:samples]
    rows, absent = torch.zeros(samples, longest, values.shape[1]), torch.ones(samples, longest, dtype=torch.bool)
    for i, n in enumerate(lengths):
        rows[i, :n], absent[i, :n] = values[start[i]:start[i + 1]], False
    order = sorted(range(samples), key=lambda i: lengths[i])
    buckets, first = [], 0
    for length in sorted(set(lengths)):
        count = lengths.count(length)
        buckets.append((first, count, length))
        first += count * length
    return {'rows': rows, 'absent': absent, 'rcount': 1 / torch.tensor(lengths).float()[:, None], 'known': known, 'count': sum(lengths),
            'packed': torch.cat([values[start[i]:start[i + 1]] for i in order]), 'packed_known': known[order], 'order': order,
            'buckets': buckets, 'columns': a['columns']}


def say(name, b, times):
    t = sorted(1e3 * x for x in times)
    print('%s,%d,%d,0,%.4f,%.4f,%.4f' % (name, threads, b['count'], t[len(t) // 2], t[len(t) // 4], t[0]))


def timed(steps, run):
    times = []
    for i in range(steps + 3):
        started = time.perf_counter()
        run()
        if i >= 3:
            times.append(time.perf_counter() - started)
    return times


a = read(sys.argv[1])
b, one = batch(a), batch(a, 1)
h, inner = a['encoder0.wide.weight'].shape
layers = len([k for k in a if k.endswith('.wide.weight')])
assert 'head1.weight' in a and 'head2.weight' not in a
target = torch.randn(a['said'].shape)
for name, kind in (('padded', Padded), ('buckets', Buckets)):
    net = kind(h, inner, layers, float(a['dropout']), a['node_values'].shape[1], a['node_marks'].shape[1], b['known'].shape[1],
               a['columns'].shape[1])
    load(net, a)
    net.eval()
    with torch.inference_mode():
        said = a['said'][b['order']] if kind is Buckets else a['said']
        difference = float((net(b) - said).abs().max())
    print('largest difference (%s),%g' % (name, difference))
    assert difference < 1e-3, difference
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step():
        adam.zero_grad()
        F.mse_loss(net(b), target).backward()
        adam.step()

    net.train()
    say('train step (%s)' % name, b, timed(steps, step))
    net.eval()
    with torch.inference_mode():
        say('infer 1 program (%s)' % name, one, timed(5 * steps, lambda: net(one)))
