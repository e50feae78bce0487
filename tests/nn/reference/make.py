#!/usr/bin/python3
"""make.py - whole networks in PyTorch, as reference values for tests/nn/test_reference.c.

Run it in this folder to write sage.txt, encoder.txt, lstm.txt, batch_norm.txt and aggregate.txt again; they were made with PyTorch 1.13.
A file is a list of matrices, each a line "name rows cols" and a line of numbers: input and target, the parameters
("param.NAME") with their gradients ("grad.NAME") and, of batch norms, the running values after one step ("state.NAME"),
"out", and in "losses" the loss before each of five steps of Adam. Weights are written in x out, the way foretell keeps
them."""
import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, RATE = 5, 0.01


def write(stream, name, x):
    x = x.detach()
    x = x.reshape(1, -1) if x.dim() < 2 else x
    print(name, x.shape[0], x.shape[1], file=stream)
    print(*('%.9g' % v for v in x.reshape(-1).tolist()), file=stream)


def record(path, inputs, parameters, forward, loss, states=()):
    """parameters: name -> (tensor, is_transposed[, rows]); states: name -> tensor, read after the first backward pass."""
    values = list({id(p[0]): p[0] for p in parameters.values()}.values())

    def turn(x, turned, rows=slice(None)):
        return x[rows].t() if turned else x[rows]

    optimizer = torch.optim.Adam(values, lr=RATE)
    with open(path, 'w') as stream:
        for name, x in inputs.items():
            write(stream, name, x)
        for name, (p, *how) in parameters.items():
            write(stream, 'param.' + name, turn(p, *how))
        losses = []
        for step in range(STEPS):
            optimizer.zero_grad()
            out = forward()
            error = loss(out)
            error.backward()
            losses.append(error.item())
            if step == 0:
                write(stream, 'out', out)
                for name, (p, *how) in parameters.items():
                    write(stream, 'grad.' + name, turn(p.grad, *how))
                for name, x in dict(states).items():
                    write(stream, 'state.' + name, x)
            optimizer.step()
        write(stream, 'losses', torch.tensor(losses))


def linear(name, layer):
    pair = {name + '.weight': (layer.weight, True)}
    if layer.bias is not None:
        pair[name + '.bias'] = (layer.bias, False)
    return pair


def sage():
    """The network of ../shared/bench/torch_gnn.py, small."""
    fin, h, sizes = 5, 12, [7, 4, 9]
    x = torch.randn(sum(sizes), fin)
    src, dst, graph, first = [], [], [], 0
    for i, n in enumerate(sizes):
        src += [first + k for k in range(n - 1)] + [first]
        dst += [first + k + 1 for k in range(n - 1)] + [first + n - 1]
        graph += [i] * n
        first += n
    order = sorted(range(len(src)), key=lambda e: dst[e])
    src, dst = torch.tensor(src)[order], torch.tensor(dst)[order]
    graph = torch.tensor(graph)
    degree = torch.zeros(len(graph)).index_add_(0, dst, torch.ones(len(dst))).clamp(min=1).unsqueeze(1)
    count = torch.tensor(sizes).float().unsqueeze(1)
    y = torch.randn(len(sizes))
    own = [nn.Linear(fin if i == 0 else h, h) for i in range(3)]
    heard = [nn.Linear(fin if i == 0 else h, h, bias=False) for i in range(3)]
    first_layer, last_layer = nn.Linear(2 * h, h), nn.Linear(h, 1)

    def forward():
        z = x
        for a, b in zip(own, heard):
            m = torch.zeros_like(z).index_add(0, dst, z[src]) / degree
            z = F.relu(a(z) + b(m))
        p = torch.zeros(len(sizes), h).index_add(0, graph, z)
        return last_layer(F.relu(first_layer(torch.cat([p, p / count], 1))))

    parameters = {}
    for i in range(3):
        parameters['sage%d.own' % i] = (own[i].weight, True)
        parameters['sage%d.heard' % i] = (heard[i].weight, True)
        parameters['sage%d.bias' % i] = (own[i].bias, False)
    parameters.update(linear('first', first_layer))
    parameters.update(linear('last', last_layer))
    inputs = {'x': x, 'sizes': torch.tensor(sizes).float(), 'from': src.float(), 'to': dst.float(), 'y': y}
    record('sage.txt', inputs, parameters, forward, lambda out: F.mse_loss(out.squeeze(1), y))


def encoder():
    """Two layers of a transformer's encoder over sequences of different length: norms behind, then norms before."""
    d, heads, inner, sizes = 8, 2, 16, [5, 3, 7]
    x, y = torch.randn(sum(sizes), d), torch.rand(len(sizes)) + 0.5
    layers = [nn.TransformerEncoderLayer(d, heads, inner, 0.0, F.relu, batch_first=True),
              nn.TransformerEncoderLayer(d, heads, inner, 0.0, F.gelu, batch_first=True, norm_first=True)]
    head = nn.Linear(d, 1)
    parameters = {}
    for i, layer in enumerate(layers):
        name = 'encoder%d' % i
        layer.self_attn.in_proj_bias.data.uniform_(-0.5, 0.5)
        layer.self_attn.out_proj.bias.data.uniform_(-0.5, 0.5)
        for k, part in enumerate(('.query', '.key', '.value')):  # one matrix in PyTorch
            rows = slice(k * d, (k + 1) * d)
            parameters[name + part + '.weight'] = (layer.self_attn.in_proj_weight, True, rows)
            parameters[name + part + '.bias'] = (layer.self_attn.in_proj_bias, False, rows)
        parameters.update(linear(name + '.out', layer.self_attn.out_proj))
        parameters.update(linear(name + '.wide', layer.linear1))
        parameters.update(linear(name + '.narrow', layer.linear2))
        for norm, ours in ((layer.norm1, '.first'), (layer.norm2, '.second')):
            parameters[name + ours + '.gain'] = (norm.weight, False)
            parameters[name + ours + '.offset'] = (norm.bias, False)
    parameters.update(linear('head', head))

    def forward():
        rows = []
        for part in torch.split(x, sizes):
            z = part.unsqueeze(0)
            for layer in layers:
                z = layer(z)
            rows.append(z.mean(1))
        return head(torch.cat(rows))

    def loss(out):  # the hybrid of CDMPP
        error = out.squeeze(1) - y
        return 1000 * (error ** 2).mean() + (error.abs() / y).mean()

    record('encoder.txt', {'x': x, 'sizes': torch.tensor(sizes).float(), 'y': y}, parameters, forward, loss)


def lstm():
    fin, h, sizes = 4, 6, [3, 6, 1]
    x, y = torch.randn(sum(sizes), fin), torch.rand(len(sizes)) * 3 + 0.5
    cell, head = nn.LSTM(fin, h, batch_first=True), nn.Linear(h, 1)
    cell.bias_hh_l0.data.zero_()
    cell.bias_hh_l0.requires_grad = False

    def forward():
        rows = [cell(part.unsqueeze(0))[1][0][0] for part in torch.split(x, sizes)]
        return F.softplus(head(torch.cat(rows)))

    parameters = {'lstm.in.weight': (cell.weight_ih_l0, True), 'lstm.in.bias': (cell.bias_ih_l0, False),
                  'lstm.again.weight': (cell.weight_hh_l0, True)}
    parameters.update(linear('head', head))
    record('lstm.txt', {'x': x, 'sizes': torch.tensor(sizes).float(), 'y': y}, parameters, forward,
           lambda out: ((out.squeeze(1).log() - y.log()) ** 2).mean())


def batch_norm():
    fin, h, n = 6, 10, 16
    x, y = torch.randn(n, fin) * 2 + 1, torch.randn(n)
    wide, norm, narrow = nn.Linear(fin, h), nn.BatchNorm1d(h), nn.Linear(h, 1)
    parameters = {**linear('wide', wide), 'norm.gain': (norm.weight, False), 'norm.offset': (norm.bias, False),
                  **linear('narrow', narrow)}
    record('batch_norm.txt', {'x': x, 'y': y}, parameters, lambda: narrow(F.silu(norm(wide(x)))),
           lambda out: F.smooth_l1_loss(out.squeeze(1), y),
           {'norm.mean': norm.running_mean, 'norm.variance': norm.running_var})


def aggregate():
    """The five aggregators of GraphSAGE side by side over successors, rows of length 1, their sums, MAPE."""
    fin, out, inner, sizes = 5, 3, 4, [6, 3, 5]
    count = sum(sizes)
    x, y = torch.randn(count, fin), torch.rand(len(sizes)) + 0.5
    heard = [[] for _ in range(count)]
    first = 0
    for n in sizes:
        for k in range(n - 1):
            heard[first + k].append(first + k + 1)
        heard[first].append(first + n - 1)
        heard[first + 1].extend((first + n - 1, first))
        first += n
    own = {k: torch.nn.Parameter(torch.randn(fin, out) * 0.5) for k in ('mean', 'max-pool', 'mean-pool', 'lstm')}
    width = {'mean': fin, 'gcn': fin, 'max-pool': inner, 'mean-pool': inner, 'lstm': inner}
    weight = {k: torch.nn.Parameter(torch.randn(n, 2 * out if k == 'gcn' else out) * 0.5) for k, n in width.items()}
    pool = {k: nn.Linear(fin, inner) for k in ('max-pool', 'mean-pool')}
    cell, head = nn.LSTM(fin, inner, batch_first=True), nn.Linear(10 * out, 1)
    cell.bias_hh_l0.data.zero_()
    cell.bias_hh_l0.requires_grad = False

    def hear(kind, i):
        rows = x[heard[i]]
        if kind == 'gcn':
            return torch.cat([rows, x[i:i + 1]]).mean(0)
        if not heard[i]:
            return torch.zeros(width[kind])
        if kind == 'lstm':
            return cell(rows.unsqueeze(0))[1][0][0, 0]
        if kind in pool:
            rows = F.relu(pool[kind](rows))
        return rows.max(0)[0] if kind == 'max-pool' else rows.mean(0)

    def forward():
        parts = []
        for kind in width:
            if kind in own:
                parts.append(F.relu(x @ own[kind]))
            parts.append(F.relu(torch.stack([hear(kind, i) for i in range(count)]) @ weight[kind]))
        rows = F.normalize(torch.cat(parts, 1), eps=1e-6)
        return F.softplus(head(torch.stack([part.sum(0) for part in torch.split(rows, sizes)])))

    parameters = {}
    for kind in width:
        if kind in own:
            parameters[kind + '.own'] = (own[kind], False)
        parameters[kind + '.heard'] = (weight[kind], False)
        if kind in pool:
            parameters.update(linear(kind + '.pool', pool[kind]))
    parameters.update({'lstm.lstm.in.weight': (cell.weight_ih_l0, True), 'lstm.lstm.in.bias': (cell.bias_ih_l0, False),
                       'lstm.lstm.again.weight': (cell.weight_hh_l0, True)})
    parameters.update(linear('head', head))
    inputs = {'x': x, 'sizes': torch.tensor(sizes).float(), 'from': torch.tensor([float(k) for h in heard for k in h]),
              'to': torch.tensor([float(i) for i, h in enumerate(heard) for _ in h]), 'y': y}
    record('aggregate.txt', inputs, parameters, forward, lambda z: ((z.squeeze(1) - y).abs() / y).mean())


torch.set_num_threads(1)
for make in (sage, encoder, lstm, batch_norm, aggregate):
    torch.manual_seed(7)
    make()
