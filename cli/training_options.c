/* training_options.c - options for how a model is trained. */
#include <stdlib.h>
#include <string.h>

#include "parallel_options.h"
#include "predict_options.h"

static void parse_sharding(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    if (!ft_sharding_parse(text, &a->parallel.sharding))
        argp_error(state, "--%s %s: expected none, zero1, zero2, zero3 or fsdp", row->name, text);
    a->has_training = true;
}

static void parse_sequence_parallel(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    (void)text;
    (void)row;
    (void)state;
    a->parallel.has_sequence = a->has_training = true;
}

static void parse_recompute(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    if (!ft_recompute_parse(text, &a->training.recompute))
        argp_error(state, "--%s %s: expected none, selective or full", row->name, text);
    a->has_training = true;
}

static void parse_precision(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    if (!ft_precision_parse(text, &a->training.precision))
        argp_error(state, "--%s %s: expected auto, pure, mixed or fp8", row->name, text);
    a->has_training = true;
}

static int64_t parse_count(const char *text, int64_t max, const option_row *row, struct argp_state *state) {
    char *end;
    long long count = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || count < 1 || count > max)
        argp_error(state, "--%s %s: expected a whole number from 1 to %lld", row->name, text, (long long)max);
    return count;
}

static void parse_micro_batch(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    a->training.micro_batch = parse_count(text, FT_MAX_DIM, row, state);
    a->has_training = true;
}

static void parse_accumulate(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    a->training.accumulation = (uint32_t)parse_count(text, FT_MAX_MICRO_BATCHES, row, state);
    a->has_training = true;
}

static void parse_loss_chunks(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    a->training.loss_chunks = (uint32_t)parse_count(text, FT_MAX_MICRO_BATCHES, row, state);
    a->has_training = true;
}

static void parse_pack_head(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    (void)text;
    (void)row;
    (void)state;
    a->training.has_packed_head = a->has_training = true;
}

/* "16" or "16:q_proj,v_proj". */
static void parse_lora(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    char *end;
    long long rank = strtoll(text, &end, 10);
    if (end == text || (*end != '\0' && *end != ':') || rank < 1 || rank > FT_MAX_LORA_RANK || strcmp(end, ":") == 0)
        argp_error(state, "--%s %s: expected RANK or RANK:MODULE,... with a rank from 1 to %d", row->name, text,
                   FT_MAX_LORA_RANK);
    if (a->training.lora_rank > 0) argp_error(state, "--%s %s: adapters are given twice", row->name, text);
    a->training.lora_rank = (uint32_t)rank;
    a->training.lora_targets = *end == ':' ? end + 1 : NULL;
    a->training.has_packed_base = strcmp(row->name, "qlora") == 0;
    a->has_training = true;
}

static void parse_sequence(void *input, const char *text, const option_row *row, struct argp_state *state) {
    static const char *const symbols[] = {"sequence", "logits"};
    predict_options *a = input;
    parse_count(text, FT_MAX_DIM, row, state);
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        char *shape;
        if (asprintf(&shape, "%s=%s", symbols[i], text) < 0) argp_error(state, "out of memory");
        shapes_add(&a->shapes, shape, row, state);
        free(shape);
    }
    shapes_add(&a->shapes, "past=0", row, state);
    a->has_training = true;
}

static const option_row rows[] = {
    {.help = "Training:", .group = 18},
    {"sequence", "N",
     "tokens of a sequence of a language model: --shape sequence=N with logits of all, and without a cache", 0,
     PARSED_WHOLE_BY(parse_sequence)},
    {"micro-batch", "N", "sequences that run at once, of those that a data-parallel rank takes in a step (all)", 0,
     PARSED_WHOLE_BY(parse_micro_batch)},
    {"accumulate", "N", "micro-batches of a step, instead of --micro-batch (1)", 0, PARSED_WHOLE_BY(parse_accumulate)},
    {"precision", "NAME",
     "auto, pure (all in --dtype), mixed (float32 master weights and moments) or fp8 (auto: mixed in 16 bits, pure "
     "with "
     "adapters)",
     0, PARSED_WHOLE_BY(parse_precision), .choices = "auto pure mixed fp8"},
    {"recompute", "WHAT", "activations that backward computes again: none, selective or full (none)", 0,
     PARSED_WHOLE_BY(parse_recompute), .choices = "none selective full"},
    {"sharding", "WHAT",
     "what the ranks of --dp divide: none, zero1 (optimizer state), zero2 (gradients too), zero3 or fsdp (weights too) "
     "(none)",
     0, PARSED_WHOLE_BY(parse_sharding), .choices = "none zero1 zero2 zero3 fsdp"},
    {"sequence-parallel", NULL, "with --tp: norms and residuals on a part of the sequence", 0,
     PARSED_WHOLE_BY(parse_sequence_parallel)},
    {"lora", "RANK[:MODULE,...]", "train adapters of low rank beside frozen products (of all layers)", 0,
     PARSED_WHOLE_BY(parse_lora)},
    {"qlora", "RANK[:MODULE,...]", "the same, with the frozen matrices of layers in 4 bits (nf4, double quantisation)",
     0, PARSED_WHOLE_BY(parse_lora)},
    {"pack-head", NULL, "with --qlora: the matrix of the logits is in 4 bits too", 0, PARSED_WHOLE_BY(parse_pack_head)},
    {"loss-chunks", "N", "parts of the sequence whose logits are computed one after the other (1)", 0,
     PARSED_WHOLE_BY(parse_loss_chunks)},
    {0},
};

static void check(void *input, struct argp_state *state) {
    const predict_options *a = input;
    const ft_training *t = &a->training;
    if (a->has_training && a->mode == FT_INFER) argp_error(state, "options of training need --mode train");
    if (t->micro_batch > 0 && t->accumulation > 0)
        argp_error(state, "--micro-batch and --accumulate say the same: give one of them");
    if (a->parallel.sharding != FT_SHARD_NONE && a->parallel.data <= 1 && a->parallel.context <= 1)
        argp_error(state, "--sharding needs several data-parallel ranks: give them with --dp");
    if (t->has_packed_head && !t->has_packed_base) argp_error(state, "--pack-head needs --qlora");
    if (a->parallel.has_sequence && a->parallel.tensor <= 1)
        argp_error(state, "--sequence-parallel needs several tensor-parallel ranks: give them with --tp");
}

const option_set training_option_set = {.rows = rows, .check = check};
