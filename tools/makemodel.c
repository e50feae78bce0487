/* makemodel.c - writes well-known networks as ONNX files, for demos, tests and benchmarks.
 *
 *     makemodel [--no-weights] [--batch N] [--width F] [--ops N] NETWORK FILE
 *
 * The networks are in networks_*.c, the ONNX messages in builder.c. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "networks.h"

const network networks[] = {
    {"resnet50", "ResNet-50 for 224x224 images; --width scales its channels", resnet50},
    {"mobilenet_v2", "MobileNetV2 for 224x224 images", mobilenet_v2},
    {"vit_base", "vision transformer, base size, patches of 16, symbolic batch", vit_base},
    {"bert_base", "text encoder, base size, symbolic batch and sequence", bert_base},
    {"lstm_tagger", "two bidirectional LSTM layers over word vectors", lstm_tagger},
    {"llama_1b_int4", "Llama 3.2 1B in 4 bits with a key-value cache, as ONNX Runtime GenAI exports it", llama_1b_int4},
    {"bert_optimized", "the text encoder after ONNX Runtime's transformer optimiser: fused operators", bert_optimized},
    {"detector", "three-scale object detector that ends in non-maximum suppression", detector},
    {"fixed_batch", "small CNN exported at one batch size, which its Reshape holds as a constant", fixed_batch},
    {"custom_op", "small CNN with an unknown operator", custom_op},
    {"chain", "convolutions and activations, --ops of them", chain},
    {"varied", "convolutions of which no two are alike", varied},
    {"wide", "an operator with as many inputs as --ops says", wide},
    {"nested", "tensors that are needed until the end", nested},
    {"attention_chain", "blocks of attention over 16 tokens", attention_chain},
    {NULL, NULL, NULL},
};

enum { MAX_OPS = 2000000 };

static int usage(FILE *to) {
    fputs("usage: makemodel [--no-weights] [--batch N] [--width F] [--ops N] NETWORK FILE\n\n", to);
    for (const network *n = networks; n->name; n++) fprintf(to, "  %-15s %s\n", n->name, n->text);
    return to == stderr ? 2 : 0;
}

static const network *find(const char *name) {
    for (const network *n = networks; n->name; n++) {
        if (!strcmp(n->name, name)) return n;
    }
    return NULL;
}

int main(int argc, char **argv) {
    static const struct option known[] = {
        {"no-weights", no_argument, NULL, 'n'},  {"batch", required_argument, NULL, 'b'},
        {"width", required_argument, NULL, 'w'}, {"ops", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    build_options options = {.has_weights = true, .width = 1.0, .ops = 1000};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'n':
            options.has_weights = false;
            break;
        case 'b':
            options.batch = strtol(optarg, NULL, 10);
            break;
        case 'w':
            options.width = strtod(optarg, NULL);
            break;
        case 'o':
            options.ops = (int)strtol(optarg, NULL, 10);
            break;
        case 'h':
            return usage(stdout);
        default:
            return usage(stderr);
        }
    }
    const network *chosen = argc - optind == 2 ? find(argv[optind]) : NULL;
    bool is_valid =
        options.batch >= 0 && options.width > 0.0 && options.width <= 8.0 && options.ops > 0 && options.ops <= MAX_OPS;
    if (!chosen || !is_valid) return usage(stderr);
    builder *b = builder_new(chosen->name, options);
    chosen->describe(b);
    if (!builder_write(b, argv[optind + 1])) {
        fprintf(stderr, "makemodel: %s: %s\n", argv[optind + 1], strerror(errno));
        return 1;
    }
    return 0;
}
