#!/usr/bin/python3
"""digraph.py - the networks of the family digraph in PyTorch, as reference values for tests/predictor/test_digraph_net.c.

Run it in this folder to write digraph.txt again; it was made with PyTorch 1.13. The file is a list of matrices, each a
line "name rows cols" and a line of numbers: for each network its parameters ("LAYER.param.NAME") and what it says
("LAYER.out"), and before them the graph that all of them see. Messages are passed along dense matrices, edge by edge,
the way the papers write it: nothing is shared with foretell but the names."""
import torch
import torch.nn.functional as F

WIDTH, HEADS, VECTORS, PAIR, INNER, COLUMNS, KINDS, VALUES = 8, 2, 3, 8, 16, 2, 24, 45
EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (1, 3), (0, 4), (5, 6), (6, 7), (5, 7)]  # two graphs: 0-4 and 5-7
GRAPHS = [(0, 5), (5, 8)]


def write(name, x):
    x = x.detach().reshape(1, -1) if x.dim() < 2 else x.detach()
    print(name, x.shape[0], x.shape[1], file=stream)
    print(*('%.9g' % v for v in x.reshape(-1).tolist()), file=stream)


class Net:
    def __init__(self, layer, stable):
        self.layer, self.stable = layer, stable

    def p(self, name, rows, cols):
        value = torch.randn(rows, cols) * (rows ** -0.5 if rows > 1 else 0.5)
        write('%s.param.%s' % (self.layer, name), value)
        return value

    def linear(self, name, x, out, bias=True):
        y = x @ self.p(name + '.weight', x.shape[1], out)
        return y + self.p(name + '.bias', 1, out) if bias else y

    def norm(self, name, x):
        return F.layer_norm(x, (WIDTH,)) * self.p(name + '.gain', 1, WIDTH) + self.p(name + '.offset', 1, WIDTH)

    def pair(self, u, v, g):
        f = self.weights[g]
        product = vectors[u] * vectors[v].conj()
        return torch.cat([(product.real.unsqueeze(1) * f).sum(0), (product.imag.unsqueeze(1) * f).sum(0)])

    def conv(self, name, x, edges):
        """edges: (from, to, number of the edge or None)"""
        n = len(x)
        features = []
        for u, v, e in edges:
            own = torch.zeros(1) if e is None else edge_values[e]
            g = 0 if u < GRAPHS[0][1] else 1
            features.append(torch.cat([own, self.pair(u, v, g)]) if self.stable else own)
        features = torch.stack(features)
        if self.layer == 'gcn':
            degree = torch.zeros(n)
            for u, v, _ in edges:
                degree[v] += 1
            y = self.linear(name + '.first', x, WIDTH, False)
            return torch.stack([sum(y[u] / (degree[u] * degree[v]).sqrt() for u, w, _ in edges if w == v)
                                for v in range(n)])
        if self.layer == 'gat':
            values = self.linear(name + '.first', x, WIDTH)
            sent, got = self.linear(name + '.sent', x, HEADS, False), self.linear(name + '.got', x, HEADS)
            of_edges = self.linear(name + '.edges', features, HEADS, False)
            rows = []
            for v in range(n):
                into = [i for i, e in enumerate(edges) if e[1] == v]
                score = torch.stack([F.leaky_relu(sent[edges[i][0]] + got[v] + of_edges[i], 0.2) for i in into])
                weight = torch.softmax(score, 0)
                seen = torch.stack([values[edges[i][0]].reshape(HEADS, -1) for i in into])
                rows.append((weight.unsqueeze(2) * seen).sum(0).reshape(-1))
            return torch.stack(rows)
        heard = torch.zeros_like(x)
        of_edges = self.linear(name + '.edges', features, WIDTH) if self.layer != 'gin' else None
        for i, (u, v, _) in enumerate(edges):
            heard[v] += x[u] if of_edges is None else F.relu(x[u] + of_edges[i])
        inner = F.relu(self.linear(name + '.first', (1 + self.p(name + '.own', 1, WIDTH)) * x + heard, WIDTH))
        return self.linear(name + '.second', inner, WIDTH)

    def attend(self, x, bias):
        q, k, v = (self.linear('attention0.' + part, x, WIDTH) for part in ('query', 'key', 'value'))
        out, size = torch.zeros_like(x), WIDTH // HEADS
        for first, end in GRAPHS:
            for h in range(HEADS):
                c = slice(h * size, (h + 1) * size)
                scores = q[first:end, c] @ k[first:end, c].t() / size ** 0.5 + bias[first][:, :, h]
                out[first:end, c] = torch.softmax(scores, 1) @ v[first:end, c]
        return self.norm('attention0.norm', self.linear('attention0.mix', out, WIDTH))

    def forward(self):
        x = self.p('kinds', KINDS, WIDTH)[kinds] + self.linear('values', node_values, WIDTH)
        if self.stable:
            inner = F.silu(self.linear('place.first', eigenvalues.reshape(-1, 1), INNER))
            self.weights = self.linear('place.second', inner, PAIR).reshape(2, VECTORS, PAIR)
        else:
            x = x + self.linear('place', torch.cat([vectors.real, vectors.imag], 1), WIDTH, False)
        bias = {}
        if self.layer == 'gps':
            w1, b1 = self.p('pair.inner.weight', 2 * PAIR, 2 * PAIR), self.p('pair.inner.bias', 1, 2 * PAIR)
            w2, b2 = self.p('pair.bias.weight', 2 * PAIR, HEADS), self.p('pair.bias.bias', 1, HEADS)
            for g, (first, end) in enumerate(GRAPHS):
                bias[first] = torch.stack([torch.stack([(F.relu(self.pair(u, v, g) @ w1 + b1) @ w2 + b2)[0]
                                                        for v in range(first, end)]) for u in range(first, end)])
        x = F.relu(x)
        loops = [(v, v, None) for v in range(len(x))] if self.layer in ('gcn', 'gat') else []
        along = [(u, v, e) for e, (u, v) in enumerate(EDGES)] + loops
        against = [(v, u, e) for e, (u, v) in enumerate(EDGES)] + loops
        y = 0.5 * (self.conv('conv0.0', x, along) + self.conv('conv0.1', x, against))
        y = F.relu(self.norm('norm0', y))
        if self.layer == 'gps':
            x = x + y + self.attend(x, bias)
            wide = F.relu(self.linear('attention0.wide', self.norm('attention0.last', x), 2 * WIDTH))
            x = x + self.linear('attention0.narrow', wide, WIDTH)
        else:
            x = x + y
        x = 12 * torch.tanh(self.linear('read', x, WIDTH) / 12)
        x = torch.stack([torch.logsumexp(x[first:end], 0) for first, end in GRAPHS])
        x = F.silu(self.linear('head0', x, WIDTH))
        write(self.layer + '.out', self.linear('out', x, COLUMNS))


torch.manual_seed(7)
torch.set_num_threads(1)
node_values, kinds = torch.randn(8, VALUES), torch.randint(0, KINDS, (8,))
edge_values, eigenvalues = torch.randn(len(EDGES), 1), torch.rand(2, VECTORS)
vectors = torch.complex(torch.randn(8, VECTORS), torch.randn(8, VECTORS))
with open('digraph.txt', 'w') as stream:
    write('node_values', node_values)
    write('node_marks', torch.cat([vectors.real, vectors.imag], 1))
    write('kinds', kinds.float())
    write('edges', torch.tensor(EDGES).float())
    write('edge_values', edge_values)
    write('eigenvalues', eigenvalues)
    for layer in ('gcn', 'gin', 'gine', 'gat', 'gps'):
        Net(layer, layer in ('gine', 'gat', 'gps')).forward()
