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
    {"resnet18", "ResNet-18 for 224x224 images", resnet18},
    {"resnet34", "ResNet-34", resnet34},
    {"resnet101", "ResNet-101", resnet101},
    {"resnet152", "ResNet-152", resnet152},
    {"resnext50", "ResNeXt-50 with 32 groups of 4", resnext50},
    {"resnext101", "ResNeXt-101 with 32 groups of 8", resnext101},
    {"wide_resnet50", "Wide ResNet-50, twice as wide", wide_resnet50},
    {"retinanet_resnet50", "RetinaNet with a feature pyramid on ResNet-50, 800x800 images", retinanet_resnet50},
    {"alexnet", "AlexNet", alexnet},
    {"vgg11", "VGG-11", vgg11},
    {"vgg16", "VGG-16", vgg16},
    {"vgg19", "VGG-19", vgg19},
    {"squeezenet", "SqueezeNet 1.1", squeezenet},
    {"densenet121", "DenseNet-121", densenet121},
    {"densenet169", "DenseNet-169", densenet169},
    {"mobilenet_v3_small", "MobileNetV3 small", mobilenet_v3_small},
    {"mobilenet_v3_large", "MobileNetV3 large", mobilenet_v3_large},
    {"efficientnet_b0", "EfficientNet-B0 for 224x224 images", efficientnet_b0},
    {"efficientnet_b4", "EfficientNet-B4 for 380x380 images", efficientnet_b4},
    {"efficientnet_b7", "EfficientNet-B7 for 600x600 images", efficientnet_b7},
    {"convnext_tiny", "ConvNeXt, tiny", convnext_tiny},
    {"convnext_small", "ConvNeXt, small", convnext_small},
    {"convnext_base", "ConvNeXt, base size", convnext_base},
    {"swin_tiny", "Swin transformer, tiny", swin_tiny},
    {"swin_small", "Swin transformer, small", swin_small},
    {"swin_base", "Swin transformer, base size", swin_base},
    {"vit_tiny", "vision transformer, tiny", vit_tiny},
    {"vit_small", "vision transformer, small", vit_small},
    {"vit_large", "vision transformer, large", vit_large},
    {"diffusion_unet", "U-Net of Stable Diffusion 1", diffusion_unet},
    {NULL, NULL, NULL},
};

enum { MAX_OPS = 2000000 };

static int usage(FILE *to) {
    fputs("usage: makemodel [--no-weights] [--batch N] [--width F] [--ops N] NETWORK FILE\n\n", to);
    for (const network *n = networks; n->name; n++) fprintf(to, "  %-18s %s\n", n->name, n->text);
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
