#!/usr/bin/env python3
"""torch_seernet.py DUMP [THREADS] [STEPS] - SeerNet as published, in plain PyTorch: the twin of src/predictor/seernet_net.c.

DUMP is what `bench/seernet dump FILE` wrote: a batch of 128 graphs, parameters, and what foretell's network says of it. The
script first checks that both say the same, then times training steps (MSE, Adam) and one graph. One line for each
measurement: name, threads, nodes, edges, median, 25 % and least milliseconds."""
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from torch_twin import read, steps, threads

KINDS = 27


def mlp(sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[i], sizes[i + 1])] + ([nn.ReLU()] if i + 2 < len(sizes) else [])
    return nn.Sequential(*layers)


class SeerNet(nn.Module):
    def __init__(self, h, node, edge, graph, outputs):
        super().__init__()
        self.node, self.edge, self.graph = nn.Linear(node, h), nn.Linear(edge, h), nn.Linear(graph, h)
        self.score, self.score_after = nn.Linear(h, 1, bias=False), nn.Linear(h, 1, bias=False)
        self.mlp_e, self.mlp_v, self.mlp_u = mlp([4 * h, h, h]), mlp([3 * h, h, h]), mlp([3 * h, h, h])
        self.mlp_z, self.join, self.head = mlp([h, h, h, h]), nn.Linear(2 * h, h), mlp([h, h, outputs])

    @staticmethod
    def weigh(scores, rows, of, samples):
        top = torch.full((samples, 1), -1e30).scatter_reduce(0, of[:, None], scores, 'amax')
        e = torch.exp(scores - top[of])
        total = torch.zeros(samples, 1).index_add(0, of, e)
        return torch.zeros(samples, rows.shape[1]).index_add(0, of, rows * (e / total[of]))

    def forward(self, b):
        of, src, dst, samples = b['of'], b['src'], b['dst'], b['samples']
        v, e, u = self.node(b['node']), self.edge(b['edge']), self.graph(b['graph'])
        z = self.weigh(self.score(v), v, of, samples)
        message = self.mlp_e(torch.cat([e, v[src], v[dst], u[of[dst]]], 1))
        heard = torch.zeros_like(v).index_add(0, dst, message) * b['rdeg']
        v = self.mlp_v(torch.cat([heard, v + z[of], u[of]], 1))
        z = self.mlp_z(self.weigh(self.score_after(v), v, of, samples) + z)
        h = v.shape[1]
        largest = torch.full((samples, h), -1e30).scatter_reduce(0, of[:, None].expand(-1, h), v, 'amax')
        mean = torch.zeros(samples, h).index_add(0, of, v) * b['rcount']
        u = u + self.mlp_u(torch.cat([self.join(torch.cat([largest, mean], 1)), z, u], 1))
        return self.head(u)


def load(net, a):
    def linear(layer, weight, bias):
        layer.weight.data = weight.t().contiguous()
        if bias is not None:
            layer.bias.data = bias.reshape(-1).clone()
    for layer, name in ((net.node, 'node'), (net.edge, 'edge'), (net.graph, 'graph')):
        linear(layer, a[name + '.encoder'][:-1], a[name + '.encoder'][-1])
    linear(net.score, a['score'], None)
    linear(net.score_after, a['score.after'], None)
    for module, name in ((net.mlp_e, 'edge'), (net.mlp_v, 'node'), (net.mlp_u, 'graph')):
        linear(module[0], a[name + '.in'], a[name + '.bias'])
        linear(module[2], a[name + '.out.weight'], a[name + '.out.bias'])
    for i in range(3):
        linear(net.mlp_z[2 * i], a['global.%d.weight' % i], a['global.%d.bias' % i])
    linear(net.join, a['join'], a['join.bias'])
    linear(net.head[0], a['head.weight'], a['head.bias'])
    linear(net.head[2], a['out.weight'], a['out.bias'])


def batch(a, samples=None):
    start = a['start'].long().reshape(-1)
    samples = samples or len(start) - 1
    nodes = int(start[samples])
    src, dst = a['from'].long().reshape(-1), a['to'].long().reshape(-1)
    keep = dst < nodes
    src, dst = src[keep], dst[keep]
    of = torch.repeat_interleave(torch.arange(samples), start[1:samples + 1] - start[:samples])
    kinds = F.one_hot(a['kinds'].long().reshape(-1)[:nodes], KINDS).float()
    degree = torch.zeros(nodes).index_add(0, dst, torch.ones(len(dst))).clamp(min=1)
    count = torch.zeros(samples).index_add(0, of, torch.ones(nodes))
    return {'of': of, 'src': src, 'dst': dst, 'samples': samples, 'rdeg': 1 / degree[:, None], 'rcount': 1 / count[:, None],
            'node': torch.cat([a['node_values'][:nodes], a['node_marks'][:nodes], kinds], 1),
            'edge': a['edge_values'][keep],
            'graph': torch.cat([a['graph_values'][:samples], a['graph_marks'][:samples]], 1)}


def say(name, b, times):
    t = sorted(1e3 * x for x in times)
    print('%s,%d,%d,%d,%.4f,%.4f,%.4f' % (name, threads, len(b['node']), len(b['src']), t[len(t) // 2], t[len(t) // 4],
                                          t[0]))


a = read(sys.argv[1])
b, one = batch(a), batch(a, 1)
net = SeerNet(a['head.weight'].shape[0], b['node'].shape[1], b['edge'].shape[1], b['graph'].shape[1], a['said'].shape[1])
load(net, a)
with torch.inference_mode():
    difference = float((net(b) - a['said']).abs().max())
print('largest difference,%g' % difference)
assert difference < 1e-3, difference
target = torch.randn(b['samples'], a['said'].shape[1])
adam = torch.optim.Adam(net.parameters(), lr=1e-3)
times = []
for i in range(steps + 3):
    started = time.perf_counter()
    adam.zero_grad()
    F.mse_loss(net(b), target).backward()
    adam.step()
    if i >= 3:
        times.append(time.perf_counter() - started)
say('train step (128 graphs)', b, times)
times = []
net.eval()
with torch.inference_mode():
    for i in range(steps + 5):
        started = time.perf_counter()
        net(one)
        if i >= 5:
            times.append(time.perf_counter() - started)
say('infer 1 graph', one, times)
