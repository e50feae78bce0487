#!/usr/bin/env python3
"""make_weights.py FOLDER - writes small GGUF and safetensors files, for tests and fuzz corpora.

Names are those of real checkpoints, sizes are small: a Llama of two layers, experts, a model in two files, big endian,
every type of ggml, GPTQ, AWQ, bitsandbytes, MXFP4. Weights are zeros. Needs the standard library only. The corpora are

    make_weights.py FOLDER
    cp FOLDER/*.gguf fuzz/corpus/gguf
    cp FOLDER/*.safetensors FOLDER/shards/* fuzz/corpus/safetensors
"""
import json
import os
import struct
import sys

F32, F16, Q4_0, Q8_0, BF16, MXFP4 = 0, 1, 2, 8, 30, 39
# Weights and bytes of a block, by the number of the type; from the structs of ggml-common.h.
BLOCKS = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), Q8_0: (32, 34),
          9: (32, 36), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
          16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82),
          23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), BF16: (1, 2),
          34: (256, 54), 35: (256, 66), MXFP4: (32, 17), 40: (64, 36), 41: (128, 18), 42: (64, 18)}
ALIGNMENT = 32


class Gguf:
    def __init__(self, version=3, order='<'):
        self.version, self.order, self.keys, self.tensors = version, order, [], []

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def text(self, value):
        raw = value.encode()
        return self.pack('Q', len(raw)) + raw

    def key(self, name, value):
        """Integers are u32, negative ones i32; lists have the type of their first item."""
        self.keys.append(self.text(name) + self.value(value))
        return self

    def value(self, value):
        kind, raw = self.typed(value)
        return self.pack('I', kind) + raw

    def typed(self, value):
        if isinstance(value, bool):
            return 7, self.pack('B', value)
        if isinstance(value, int):
            return (5, self.pack('i', value)) if value < 0 else (4, self.pack('I', value))
        if isinstance(value, float):
            return 6, self.pack('f', value)
        if isinstance(value, str):
            return 8, self.text(value)
        items = [self.typed(item) for item in value]
        return 9, self.pack('IQ', items[0][0] if items else 4, len(items)) + b''.join(raw for _, raw in items)

    def tensor(self, name, dims, kind):
        """Dimensions as in PyTorch, the outermost first."""
        self.tensors.append((name, dims, kind))
        return self

    def bytes(self):
        head = b'GGUF' + self.pack('IQQ', self.version, len(self.tensors), len(self.keys)) + b''.join(self.keys)
        offset = 0
        for name, dims, kind in self.tensors:
            elems = 1
            for dim in dims:
                elems *= dim
            head += self.text(name) + self.pack('I', len(dims))
            head += b''.join(self.pack('Q', dim) for dim in reversed(dims)) + self.pack('IQ', kind, offset)
            size = elems // BLOCKS[kind][0] * BLOCKS[kind][1]
            offset += -(-size // ALIGNMENT) * ALIGNMENT
        head += b'\0' * (-len(head) % ALIGNMENT)
        return head + b'\0' * offset


def llama_keys(file, arch='llama', layers=2, hidden=32, inner=64, heads=4, kv=2, words=40):
    file.key('general.architecture', arch).key('general.name', 'tiny').key('general.file_type', 15)
    for name, value in (('context_length', 2048), ('embedding_length', hidden), ('block_count', layers),
                        ('feed_forward_length', inner), ('attention.head_count', heads),
                        ('attention.head_count_kv', kv), ('rope.freq_base', 10000.0),
                        ('attention.layer_norm_rms_epsilon', 1e-5), ('vocab_size', words)):
        file.key(arch + '.' + name, value)
    file.key('tokenizer.ggml.model', 'gpt2').key('tokenizer.ggml.tokens', ['t%d' % i for i in range(words)])
    return file.key('tokenizer.ggml.token_type', [1] * words).key('tokenizer.ggml.add_bos_token', True)


def llama_layer(file, i, kind, hidden=32, inner=64, kv=16):
    block = 'blk.%d.' % i
    file.tensor(block + 'attn_norm.weight', [hidden], F32).tensor(block + 'attn_q.weight', [hidden, hidden], kind)
    file.tensor(block + 'attn_k.weight', [kv, hidden], kind).tensor(block + 'attn_v.weight', [kv, hidden], Q8_0)
    file.tensor(block + 'attn_output.weight', [hidden, hidden], kind).tensor(block + 'ffn_norm.weight', [hidden], F32)
    for name in ('ffn_gate', 'ffn_up'):
        file.tensor(block + name + '.weight', [inner, hidden], kind)
    return file.tensor(block + 'ffn_down.weight', [hidden, inner], Q8_0)


def llama(kind=Q4_0, **options):
    file = llama_keys(Gguf(**options)).tensor('token_embd.weight', [40, 32], kind)
    for i in range(2):
        llama_layer(file, i, kind)
    return file.tensor('output_norm.weight', [32], F32).tensor('output.weight', [40, 32], Q8_0)


def experts():
    """Qwen3 with experts: 4 of them, 2 used, MXFP4; norms of queries and keys."""
    file = llama_keys(Gguf(), 'qwen3moe')
    for name, value in (('expert_count', 4), ('expert_used_count', 2), ('expert_feed_forward_length', 64),
                        ('attention.key_length', 8), ('attention.value_length', 8)):
        file.key('qwen3moe.' + name, value)
    file.tensor('token_embd.weight', [40, 32], Q8_0).tensor('output_norm.weight', [32], F32)
    for i in range(2):
        block = 'blk.%d.' % i
        file.tensor(block + 'attn_norm.weight', [32], F32).tensor(block + 'attn_q_norm.weight', [8], F32)
        file.tensor(block + 'attn_k_norm.weight', [8], F32).tensor(block + 'ffn_norm.weight', [32], F32)
        for name, rows in (('attn_q', 32), ('attn_k', 16), ('attn_v', 16), ('attn_output', 32)):
            file.tensor(block + name + '.weight', [rows, 32], Q8_0)
        file.tensor(block + 'ffn_gate_inp.weight', [4, 32], F32)
        for name in ('ffn_gate_exps', 'ffn_up_exps'):
            file.tensor(block + name + '.weight', [4, 64, 32], MXFP4)
        file.tensor(block + 'ffn_down_exps.weight', [4, 32, 64], MXFP4)
    return file


def latent():
    """DeepSeek: latent attention with a rank of 32 and heads of 8 + 8, its expansion in two matrices; a dense layer,
    then 4 experts, 2 used, and a shared one. Untied."""
    file = llama_keys(Gguf(), 'deepseek2', kv=1)
    for name, value in (('attention.kv_lora_rank', 32), ('attention.key_length', 40), ('attention.value_length', 32),
                        ('attention.key_length_mla', 16), ('attention.value_length_mla', 8),
                        ('rope.dimension_count', 8), ('expert_count', 4), ('expert_used_count', 2),
                        ('expert_shared_count', 1), ('expert_feed_forward_length', 32),
                        ('leading_dense_block_count', 1)):
        file.key('deepseek2.' + name, value)
    file.tensor('token_embd.weight', [40, 32], F16).tensor('output_norm.weight', [32], F32)
    file.tensor('output.weight', [40, 32], Q8_0)
    for i in range(2):
        block = 'blk.%d.' % i
        file.tensor(block + 'attn_norm.weight', [32], F32).tensor(block + 'ffn_norm.weight', [32], F32)
        file.tensor(block + 'attn_q.weight', [64, 32], Q4_0).tensor(block + 'attn_kv_a_mqa.weight', [40, 32], Q8_0)
        file.tensor(block + 'attn_kv_a_norm.weight', [32], F32).tensor(block + 'attn_output.weight', [32, 32], Q4_0)
        file.tensor(block + 'attn_k_b.weight', [4, 32, 8], F16).tensor(block + 'attn_v_b.weight', [4, 8, 32], Q8_0)
        names = ('ffn_gate', 'ffn_up', 'ffn_down')
        if i == 0:
            for name, dims in zip(names, ([64, 32], [64, 32], [32, 64])):
                file.tensor(block + name + '.weight', dims, Q4_0)
            continue
        file.tensor(block + 'ffn_gate_inp.weight', [4, 32], F32)
        for name in names:
            file.tensor(block + name + '_exps.weight', [4, 32, 32], Q4_0)
            file.tensor(block + name + '_shexp.weight', [32, 32], Q8_0)
    return file


def recurrent():
    """Mamba of two layers: 64 channels with a state of 8, a time step of rank 2."""
    file = llama_keys(Gguf(), 'mamba', inner=0, heads=0, kv=0)
    for name, value in (('conv_kernel', 4), ('inner_size', 64), ('state_size', 8), ('time_step_rank', 2)):
        file.key('mamba.ssm.' + name, value)
    file.tensor('token_embd.weight', [40, 32], F16).tensor('output_norm.weight', [32], F32)
    for i in range(2):
        block = 'blk.%d.' % i
        for name, dims, kind in (('attn_norm.weight', [32], F32), ('ssm_in.weight', [128, 32], Q8_0),
                                 ('ssm_conv1d.weight', [64, 4], F32), ('ssm_conv1d.bias', [64], F32),
                                 ('ssm_x.weight', [18, 64], Q8_0), ('ssm_dt.weight', [64, 2], F32),
                                 ('ssm_dt.bias', [64], F32), ('ssm_a', [64, 8], F32), ('ssm_d', [64], F32),
                                 ('ssm_out.weight', [32, 64], Q8_0)):
            file.tensor(block + name, dims, kind)
    return file


def layers():
    """A Llama whose layers differ: 2 and 4 heads of keys, 64 and 96 wide; the head is the table of words."""
    file = llama_keys(Gguf(), inner=[64, 96], kv=[2, 4]).tensor('token_embd.weight', [40, 32], Q8_0)
    llama_layer(llama_layer(file, 0, Q4_0), 1, Q8_0, inner=96, kv=32)
    return file.tensor('output_norm.weight', [32], F32).tensor('rope_freqs.weight', [4], F32)


def unknown():
    """An architecture that is not known."""
    return llama_keys(Gguf(), 'novel').tensor('token_embd.weight', [40, 32], Q4_0).tensor('x.weight', [32], F32)


def types():
    """A matrix of 2 x 256 weights of every type."""
    file = Gguf().key('general.architecture', 'none').key('list', [1.5, 2.5]).key('nested', [[1], [2, 3]])
    for kind in BLOCKS:
        file.tensor('type%d' % kind, [2, 256], kind)
    return file


def split():
    """The two files of a split model: the first has the metadata."""
    first = llama_keys(Gguf()).key('split.no', 0).key('split.count', 2).key('split.tensors.count', 21)
    llama_layer(first.tensor('token_embd.weight', [40, 32], Q4_0), 0, Q4_0)
    second = Gguf().key('split.no', 1).key('split.count', 2).key('split.tensors.count', 21)
    llama_layer(second, 1, Q4_0).tensor('output_norm.weight', [32], F32).tensor('output.weight', [40, 32], Q8_0)
    return first, second


SIZES = {'F32': 4, 'BF16': 2, 'F16': 2, 'U8': 1, 'I32': 4, 'F8_E4M3': 1, 'I64': 8}


def safetensors(tensors, meta=None):
    head, offset = {'__metadata__': meta or {'format': 'pt'}}, 0
    for name, (dtype, shape) in tensors.items():
        size = SIZES[dtype]
        for dim in shape:
            size *= dim
        head[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [offset, offset + size]}
        offset += size
    text = json.dumps(head, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    return struct.pack('<Q', len(text)) + text + b'\0' * offset


def hf_layer(i, dtype='BF16', hidden=32, inner=96, kv=16):
    layer = 'model.layers.%d.' % i
    return {layer + 'input_layernorm.weight': (dtype, [hidden]),
            layer + 'self_attn.q_proj.weight': (dtype, [hidden, hidden]),
            layer + 'self_attn.k_proj.weight': (dtype, [kv, hidden]),
            layer + 'self_attn.v_proj.weight': (dtype, [kv, hidden]),
            layer + 'self_attn.o_proj.weight': (dtype, [hidden, hidden]),
            layer + 'post_attention_layernorm.weight': (dtype, [hidden]),
            layer + 'mlp.gate_proj.weight': (dtype, [inner, hidden]),
            layer + 'mlp.up_proj.weight': (dtype, [inner, hidden]),
            layer + 'mlp.down_proj.weight': (dtype, [hidden, inner])}


def hf_llama():
    tensors = {'model.embed_tokens.weight': ('BF16', [64, 32])}
    for i in range(2):
        tensors.update(hf_layer(i))
    tensors.update({'model.norm.weight': ('BF16', [32]), 'lm_head.weight': ('BF16', [64, 32])})
    return tensors


def quantised():
    """A product of 64 x 32 weights in each way to pack them."""
    return {'a.qweight': ('I32', [8, 32]), 'a.qzeros': ('I32', [1, 4]), 'a.scales': ('F16', [1, 32]),
            'a.g_idx': ('I32', [64]),  # GPTQ: rows of words
            'b.qweight': ('I32', [64, 4]), 'b.qzeros': ('I32', [1, 4]), 'b.scales': ('F16', [1, 32]),  # AWQ
            'c.weight': ('U8', [1024, 1]), 'c.weight.absmax': ('F32', [32]), 'c.weight.quant_map': ('F32', [16]),
            'c.weight.quant_state.bitsandbytes__nf4': ('U8', [80]),
            'd_blocks': ('U8', [2, 16, 2, 16]), 'd_scales': ('U8', [2, 16, 2]),  # MXFP4 of gpt-oss
            'e.weight': ('U8', [32, 32]), 'e.weight_scale': ('F8_E4M3', [32, 4]),  # NVFP4
            'f.weight': ('F8_E4M3', [32, 64]), 'f.weight_scale_inv': ('F32', [1, 1]),
            'g.weight_packed': ('I32', [32, 8]), 'g.weight_scale': ('BF16', [32, 2]), 'g.weight_shape': ('I64', [2])}


def shards():
    """Two files and their index."""
    tensors = hf_llama()
    names = list(tensors)
    files = {}
    for number, part in ((1, names[:10]), (2, names[10:])):
        files['model-%05d-of-00002.safetensors' % number] = safetensors({name: tensors[name] for name in part})
    where = {name: 'model-%05d-of-00002.safetensors' % (1 if i < 10 else 2) for i, name in enumerate(names)}
    index = json.dumps({'metadata': {'total_size': sum(len(f) for f in files.values())}, 'weight_map': where}, indent=1)
    files['model.safetensors.index.json'] = index.encode()
    return files


def main(folder):
    first, second = split()
    half = llama().bytes()
    files = {'llama.gguf': half, 'types.gguf': types().bytes(), 'version2.gguf': llama(version=2).bytes(), 'version1.gguf': llama(version=1).bytes(),
             'big-endian.gguf': llama(Q8_0, order='>').bytes(), 'f16.gguf': llama(F16).bytes()[:9000],
             'experts.gguf': experts().bytes(), 'latent.gguf': latent().bytes(), 'mamba.gguf': recurrent().bytes(),
             'unknown.gguf': unknown().bytes(), 'layers.gguf': layers().bytes(), 'cut.gguf': half[:700],
             'split-00001-of-00002.gguf': first.bytes(), 'split-00002-of-00002.gguf': second.bytes(),
             'model.safetensors': safetensors(hf_llama()), 'quantised.safetensors': safetensors(quantised()),
             'empty.safetensors': safetensors({}), 'shards': shards()}
    for name, content in files.items():
        inner = content if isinstance(content, dict) else {'': content}
        for part, raw in inner.items():
            path = os.path.join(folder, name, part) if part else os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'wb') as out:
                out.write(raw)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
