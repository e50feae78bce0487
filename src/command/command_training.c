/* command_training.c - keys for how a model is trained and on how many devices, as the options of the command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "command/command_options.h"
#include "command/value.h"

/* --- Ranks ------------------------------------------------------------------------------------------------------- */

static ft_status read_ranks(const json_t *value, uint32_t max, uint32_t *ranks, ft_error *error) {
    int64_t count = 0;
    FT_TRY(value_count(value, max, &count, error));
    *ranks = (uint32_t)count;
    return FT_OK;
}

static ft_status parse_tp(command_options *q, const json_t *value, ft_error *error) {
    return read_ranks(value, FT_MAX_RANKS, &q->parallel.tensor, error);
}

static ft_status parse_pp(command_options *q, const json_t *value, ft_error *error) {
    return read_ranks(value, FT_MAX_RANKS, &q->parallel.pipeline, error);
}

static ft_status parse_ep(command_options *q, const json_t *value, ft_error *error) {
    return read_ranks(value, FT_MAX_RANKS, &q->parallel.expert, error);
}

static ft_status parse_cp(command_options *q, const json_t *value, ft_error *error) {
    return read_ranks(value, FT_MAX_RANKS, &q->parallel.context, error);
}

static ft_status parse_dp(command_options *q, const json_t *value, ft_error *error) {
    return read_ranks(value, FT_MAX_RANKS, &q->parallel.data, error);
}

/* --- Training ---------------------------------------------------------------------------------------------------- */

/* The text of a value, "" when it is not a text. */
static const char *text_of(const json_t *value) {
    return json_is_string(value) ? json_string_value(value) : "";
}

static ft_status parse_sharding(command_options *q, const json_t *value, ft_error *error) {
    if (!ft_sharding_parse(text_of(value), &q->parallel.sharding))
        return value_expected(value, "none, zero1, zero2, zero3 or fsdp", error);
    q->has_training = true;
    return FT_OK;
}

static ft_status parse_sequence_parallel(command_options *q, const json_t *value, ft_error *error) {
    FT_TRY(value_flag(value, &q->parallel.has_sequence, error));
    q->has_training |= q->parallel.has_sequence;
    return FT_OK;
}

static ft_status parse_pack_head(command_options *q, const json_t *value, ft_error *error) {
    FT_TRY(value_flag(value, &q->training.has_packed_head, error));
    q->has_training |= q->training.has_packed_head;
    return FT_OK;
}

static ft_status parse_recompute(command_options *q, const json_t *value, ft_error *error) {
    if (!ft_recompute_parse(text_of(value), &q->training.recompute))
        return value_expected(value, "none, selective or full", error);
    q->has_training = true;
    return FT_OK;
}

static ft_status parse_precision(command_options *q, const json_t *value, ft_error *error) {
    if (!ft_precision_parse(text_of(value), &q->training.precision))
        return value_expected(value, "auto, pure, mixed or fp8", error);
    q->has_training = true;
    return FT_OK;
}

static ft_status parse_micro_batch(command_options *q, const json_t *value, ft_error *error) {
    q->has_training = true;
    return value_count(value, FT_MAX_DIM, &q->training.micro_batch, error);
}

static ft_status parse_accumulate(command_options *q, const json_t *value, ft_error *error) {
    q->has_training = true;
    return read_ranks(value, FT_MAX_MICRO_BATCHES, &q->training.accumulation, error);
}

static ft_status parse_loss_chunks(command_options *q, const json_t *value, ft_error *error) {
    q->has_training = true;
    return read_ranks(value, FT_MAX_MICRO_BATCHES, &q->training.loss_chunks, error);
}

/* 16, "16" or "16:q_proj,v_proj". */
static ft_status read_lora(command_options *q, const json_t *value, bool is_packed, ft_error *error) {
    static const char what[] = "RANK or RANK:MODULE,... with a rank from 1 to 65536";
    char *end = NULL;
    long long rank = json_integer_value(value);
    if (json_is_string(value)) {
        rank = strtoll(json_string_value(value), &end, 10);
        if (end == json_string_value(value) || (*end != '\0' && *end != ':') || strcmp(end, ":") == 0)
            return value_expected(value, what, error);
    }
    if (rank < 1 || rank > FT_MAX_LORA_RANK) return value_expected(value, what, error);
    if (q->training.lora_rank > 0) return ft_fail(error, FT_ERR_USAGE, "adapters are given twice");
    if (end != NULL && *end == ':' && (q->lora_targets = strdup(end + 1)) == NULL) return FT_NOMEM(error);
    q->training.lora_rank = (uint32_t)rank;
    q->training.lora_targets = q->lora_targets;
    q->training.has_packed_base = is_packed;
    q->has_training = true;
    return FT_OK;
}

static ft_status parse_lora(command_options *q, const json_t *value, ft_error *error) {
    return read_lora(q, value, false, error);
}

static ft_status parse_qlora(command_options *q, const json_t *value, ft_error *error) {
    return read_lora(q, value, true, error);
}

/* Logits of all tokens, and no cache, as in training. */
static ft_status parse_sequence(command_options *q, const json_t *value, ft_error *error) {
    static const char *const symbols[] = {"sequence", "logits"};
    int64_t size = 0;
    char text[64];
    FT_TRY(value_count(value, FT_MAX_DIM, &size, error));
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        snprintf(text, sizeof text, "%s=%lld", symbols[i], (long long)size);
        FT_TRY(command_add_shape(q, text, error));
    }
    q->has_training = true;
    return command_add_shape(q, "past=0", error);
}

/* Observations have no columns for them. */
enum { FORECASTS = KIND_PREDICT | KIND_FITS | KIND_MAX_BATCH };

const key_row training_keys[] = {
    {"tp", FORECASTS, parse_tp},
    {"pp", FORECASTS, parse_pp},
    {"ep", FORECASTS, parse_ep},
    {"cp", FORECASTS, parse_cp},
    {"dp", FORECASTS, parse_dp},
    {"sequence", FORECASTS, parse_sequence},
    {"micro_batch", FORECASTS, parse_micro_batch},
    {"accumulate", FORECASTS, parse_accumulate},
    {"precision", FORECASTS, parse_precision},
    {"recompute", FORECASTS, parse_recompute},
    {"sharding", FORECASTS, parse_sharding},
    {"sequence_parallel", FORECASTS, parse_sequence_parallel},
    {"lora", FORECASTS, parse_lora},
    {"qlora", FORECASTS, parse_qlora},
    {"pack_head", FORECASTS, parse_pack_head},
    {"loss_chunks", FORECASTS, parse_loss_chunks},
    {0},
};

ft_status command_check_training(const command_options *q, ft_error *error) {
    const ft_training *t = &q->training;
    if (q->has_training && q->mode == FT_INFER)
        return ft_fail(error, FT_ERR_USAGE, "keys of training need \"mode\": \"train\"");
    if (t->micro_batch > 0 && t->accumulation > 0)
        return ft_fail(error, FT_ERR_USAGE, "micro_batch and accumulate say the same: give one of them");
    if (q->parallel.sharding != FT_SHARD_NONE && q->parallel.data <= 1 && q->parallel.context <= 1)
        return ft_fail(error, FT_ERR_USAGE, "sharding: needs several data-parallel ranks: give them with dp");
    if (t->has_packed_head && !t->has_packed_base) return ft_fail(error, FT_ERR_USAGE, "pack_head: needs qlora");
    if (q->parallel.has_sequence && q->parallel.tensor <= 1)
        return ft_fail(error, FT_ERR_USAGE,
                       "sequence_parallel: needs several tensor-parallel ranks: give them with tp");
    return FT_OK;
}
