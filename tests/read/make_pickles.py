#!/usr/bin/env python3
"""make_pickles.py FOLDER [--shipped] - writes one small PerfSeer graph in every form a pickle of it may take.

Needs networkx (Debian: python3-networkx). With --shipped it writes only the four files that are kept in
tests/data/perfseer, so that the tests run without Python. The graph has all ten operators of the data set; its
numbers are computed here by the data set's own formulas, independently of the library."""
import collections
import os
import pickle
import sys

import networkx as nx

BATCH = 4
ARGS = ['conv_kernel_size', 'conv_stride', 'conv_padding', 'conv_dilation', 'conv_groups', 'conv_bias',
        'linear_in_features', 'linear_out_features', 'linear_bias',
        'pool_kernel_size', 'pool_stride', 'pool_padding', 'pool_ceil_mode']


def elems(shape):
    n = BATCH
    for d in shape:
        n *= d
    return n


def feature(kind, ins, out, weights=0, flops=0, **args):
    """`ins`: shapes (C, H, W) of the inputs; `out`: (C, H, W) or (C,)."""
    inp = ins[0]
    c, h, w = (tuple(out) + (0, 0))[:3]
    input_bytes, output_bytes = 4 * sum(elems(i) for i in ins), 4 * elems(out)
    total = input_bytes + output_bytes + 4 * weights
    ic, ih, iw = (tuple(inp) + (0, 0))[:3]
    return {'feature': {
        'type': kind,
        'args': {name: args.get(name, 0) for name in ARGS},
        'memory_info': {
            'bytes': str(total), 'weight_size': str(weights), 'batch_size': str(BATCH),
            'input_size_with_weight': input_bytes // 4 + weights, 'input_size': input_bytes,
            'input_channels': sum(i[0] for i in ins) / len(ins), 'input_w': iw, 'input_h': ih,
            'output_size': output_bytes, 'output_channels': c, 'output_w': w, 'output_h': h},
        'flops': flops,
        'arith_intensity': flops / total}}


def conv(inp, out, k, s, p, g, bias):
    macs = elems(out) * (inp[0] // g) * k * k
    weights = out[0] * (inp[0] // g) * k * k + (out[0] if bias else 0)
    return feature('Conv', [inp], out, weights, 2 * macs, conv_kernel_size=k, conv_stride=s, conv_padding=p,
                   conv_dilation=1, conv_groups=g, conv_bias=int(bias))


def pool(kind, inp, out, k, s, p):
    return feature(kind, [inp], out, 0, elems(out) * k * k, pool_kernel_size=k, pool_stride=s, pool_padding=p)


def network():
    image, a, b, c = (3, 32, 32), (8, 16, 16), (16, 16, 16), (16, 8, 8)
    d = (32, 8, 8)
    nodes = [
        conv(image, a, 3, 2, 1, 1, True),
        feature('Relu', [a], a, 0, elems(a)),
        conv(a, a, 3, 1, 1, 8, True),
        feature('BatchNormalization', [a], a, 4 * 8, 2 * elems(a)),
        feature('Relu', [a], a, 0, elems(a)),
        conv(a, b, 1, 1, 0, 1, False),
        pool('MaxPool', b, c, 2, 2, 0),
        pool('AveragePool', c, c, 3, 1, 1),
        feature('Add', [c, c], c, 0, elems(c)),
        feature('Concat', [c, c], d),
        feature('GlobalAveragePool', [d], (32, 1, 1), 0, elems(d)),
        feature('Flatten', [(32, 1, 1)], (32,)),
        feature('Gemm', [(32,)], (10,), 330, 2 * BATCH * 320, linear_in_features=32, linear_out_features=10,
                linear_bias=1),
    ]
    edges = [(i, i + 1) for i in range(7)] + [(6, 8), (7, 8), (6, 9), (8, 9), (9, 10), (10, 11), (11, 12)]
    graph = nx.DiGraph()
    for key, attributes in enumerate(nodes):
        graph.add_node(key, **attributes)
    graph.add_edges_from(edges)
    return graph


def with_views(graph):
    """networkx keeps views of itself in its members once they were asked for."""
    for name in ('adj', 'nodes', 'edges', 'succ', 'pred', 'degree', 'in_edges', 'in_degree', 'out_degree'):
        getattr(graph, name)
    return graph


def as_version_1(graph):
    """The members as networkx 1.x and 2.0 named them, with the classes of the dicts among them."""
    members = {'graph': {}, 'node': graph._node, 'adj': graph._adj, 'pred': graph._pred, 'succ': graph._succ,
               'edge': graph._adj, 'node_dict_factory': dict, 'adjlist_dict_factory': dict, 'edge_attr_dict_factory': dict}
    old = nx.DiGraph.__new__(nx.DiGraph)
    old.__dict__.clear()
    for key, value in members.items():
        old.__dict__[key] = value
    return old


def as_ordered(graph):
    graph._node = collections.OrderedDict(graph._node)
    graph._adj = collections.OrderedDict((u, collections.OrderedDict(v)) for u, v in graph._adj.items())
    graph._succ = graph._adj
    factory = collections.defaultdict(dict)
    factory.update(graph._pred)
    graph._pred = factory
    return graph


def as_numpy(graph):
    import numpy as np
    for _, data in graph.nodes(data=True):
        f = data['feature']
        f['flops'] = np.int64(f['flops'])
        f['arith_intensity'] = np.float32(f['arith_intensity'])
        f['memory_info']['output_channels'] = np.dtype('>i4').type(f['memory_info']['output_channels'])
        f['args'] = {k: np.uint8(v) for k, v in f['args'].items()}
    return graph


def as_state(graph):
    return {'_node': graph._node, '_adj': graph._adj}


def as_dict_of_dicts(graph):
    return {u: {'feature': graph._node[u]['feature'], **{v: {} for v in graph._adj[u]}} for u in graph}


def as_strings(graph):
    return nx.relabel_nodes(graph, {key: 'node_%d' % key for key in graph})


def main():
    folder, is_shipped = sys.argv[1], '--shipped' in sys.argv
    os.makedirs(folder, exist_ok=True)
    forms = {'plain': lambda g: g}
    if not is_shipped:
        forms.update(views=with_views, version1=as_version_1, ordered=as_ordered, state=as_state,
                     dicts=as_dict_of_dicts, strings=as_strings)
        try:
            import numpy  # noqa: F401
            forms['numpy'] = as_numpy
        except ImportError:
            pass
    for name, form in forms.items():
        for protocol in [0, 2, 4, 5] if is_shipped else range(6):
            with open(os.path.join(folder, '%s_p%d.pkl' % (name, protocol)), 'wb') as file:
                pickle.dump(form(network()), file, protocol)


if __name__ == '__main__':
    main()
