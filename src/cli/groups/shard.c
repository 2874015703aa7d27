/* SPDX-License-Identifier: Apache-2.0 */
/* The hint options that 'template shard-hints' and 'multi-device shard' share. */
#include "cli/groups/shard.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const char LOG_PATH[] = "cli/groups/shard.c";

static const char *const PARALLELISMS[] = {"CP", "TP", NULL};
static const char *const CP_TYPES[] = {"native", "fused", "ring_attention", NULL};
static const char *const REDUCE_OPS[] = {"sum", "prod", "min", "max", "avg", NULL};
static const char *const PATTERNS[] = {"0", "1", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("--parallelism", shard_args, parallelism, .choices = PARALLELISMS,
                 .help = "context parallelism (CP, default) divides sequences, tensor parallelism "
                         "(TP) divides weights"),
    PGY_OPT_INT("--root", shard_args, options.root, .meta = "RANK",
                .help = "root rank of the collectives; default -1"),
    PGY_OPT_INT("--gpus", shard_args, options.group_size, .meta = "N",
                .help = "number of devices that take part; default 0: all"),
    PGY_OPT_LIST("--groups", shard_args, groups, .nargs = PGY_ZERO_OR_MORE, .meta = "INDEX",
                 .help =
                     "indices of communication groups; without an index all ranks form one group"),
    PGY_OPT_TEXT("--cp-type", shard_args, cp_type, .choices = CP_TYPES,
                 .help = "native (default): keep the nodes of attention and gather K and V; fused: "
                         "replace them by one Attention node; ring_attention (of older releases): "
                         "as native, but do not gather"),
    PGY_OPT_FLAG("--no-suggest-io", shard_args, options.no_io,
                 .help = "do not suggest inputs and outputs"),
    PGY_OPT_INT("--i-idx", shard_args, options.input_axis, .meta = "AXIS",
                .help = "sequence axis of inputs; default 0. An axis named sequence_length or "
                        "seq_len takes precedence"),
    PGY_OPT_INT("--o-idx", shard_args, options.output_axis, .meta = "AXIS",
                .help = "sequence axis of outputs; default 0"),
    PGY_OPT_INT("--k-idx", shard_args, options.k_axis, .meta = "AXIS",
                .help = "sequence axis of K; default 0"),
    PGY_OPT_INT("--v-idx", shard_args, options.v_axis, .meta = "AXIS",
                .help = "sequence axis of V; default 0"),
    PGY_OPT_TEXT("--i-rank", shard_args, input_rank, .meta = "RANK",
                 .help = "rank to assume for inputs of unknown shape"),
    PGY_OPT_TEXT("--o-rank", shard_args, output_rank, .meta = "RANK",
                 .help = "rank to assume for outputs of unknown shape"),
    PGY_OPT_TEXT("--kv-rank", shard_args, kv_rank, .meta = "RANK",
                 .help = "rank to assume for K and V of unknown shape"),
    PGY_OPT_TEXT("--reduce-op", shard_args, reduce_op, .choices = REDUCE_OPS,
                 .help = "reduction of reduce_scatter; default max"),
    PGY_OPT_TEXT("--scatter-op", shard_args, old_reduce_op, .choices = REDUCE_OPS, .hidden = true,
                 .deprecated = "is an older spelling; use --reduce-op"),
    PGY_OPT_TEXT("--attention-pattern", shard_args, pattern, .choices = PATTERNS,
                 .help = "attention pattern to find: 0 (default): MatMul, Softmax, MatMul; 1: the "
                         "same where Q and K are each scaled by a square root"),
    PGY_OPT_LIST("--q-shuffle", shard_args, q, .nargs = PGY_ZERO_OR_MORE, .meta = "AXIS",
                 .help = "transpose the axes of Q into this order before a fused attention"),
    PGY_OPT_LIST("--k-shuffle", shard_args, k, .nargs = PGY_ZERO_OR_MORE, .meta = "AXIS",
                 .help = "the same for K"),
    PGY_OPT_LIST("--v-shuffle", shard_args, v, .nargs = PGY_ZERO_OR_MORE, .meta = "AXIS",
                 .help = "the same for V"),
    PGY_OPT_FLAG("--is-causal", shard_args, options.attention.is_causal,
                 .help = "the fused attention is causal"),
    PGY_OPT_INT("--nb-rank", shard_args, options.nb_rank, .meta = "N",
                .help = "number of ranks; default 1"),
    PGY_OPT_END,
};

static void set_defaults(void *settings)
{
    shard_args *s = settings;
    *s = (shard_args){.options = pgy_shard_options_default()};
}

static pgy_status read_int(int64_t *out, const char *text, const char *option, pgy_error *err)
{
    char *end;
    const long long v = strtoll(text, &end, 10);
    if (end == text || *end)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not an integer", option, text);
    *out = v;
    return PGY_OK;
}

static pgy_status read_rank(int64_t *out, const char *text, const char *option, pgy_error *err)
{
    if (!text) return PGY_OK;
    pgy_status st = read_int(out, text, option, err);
    if (!st && (*out < 0 || *out > PGY_MAX_RANK))
        st = pgy_error_set(err, PGY_E_ARGUMENT, "%s: %s is not a rank between 0 and %d", option,
                           text, PGY_MAX_RANK);
    return st;
}

static pgy_status read_ints(const int64_t **out, size_t *count, const pgy_text_list *words,
                            const char *option, arena *memory, pgy_error *err)
{
    int64_t *items = arena_alloc_array(memory, words->count ? words->count : 1, sizeof *items);
    if (!items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < words->count; i++) {
        const pgy_status st = read_int(&items[i], words->items[i], option, err);
        if (st) return st;
    }
    *out = items;
    *count = words->count;
    return PGY_OK;
}

/* Reads an order of axes, which must have every axis once. */
static pgy_status read_order(pgy_shard_order *out, const pgy_text_list *words, const char *option,
                             arena *memory, pgy_error *err)
{
    bool seen[PGY_MAX_RANK] = {false};
    pgy_status st = read_ints(&out->axes, &out->count, words, option, memory, err);
    out->given = words->count > 0;
    for (size_t i = 0; !st && i < out->count; i++) {
        const int64_t axis = out->axes[i];
        if (out->count > PGY_MAX_RANK || axis < 0 || axis >= (int64_t)out->count || seen[axis])
            st = pgy_error_set(err, PGY_E_ARGUMENT,
                               "%s: axis %lld is repeated or out of range; the axes must be a "
                               "permutation of 0 to %zu",
                               option, (long long)axis, out->count - 1);
        else
            seen[axis] = true;
    }
    return st;
}

enum { MAX_RANKS = 4096 }; /* each rank may be a file of its own */

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    shard_args *s = settings;
    pgy_shard_options *o = &s->options;
    arena *memory = &line->memory;
    if (o->nb_rank < 1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--nb-rank: %lld is less than 1",
                             (long long)o->nb_rank);
    if (o->nb_rank > MAX_RANKS)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--nb-rank: %lld is more than %d",
                             (long long)o->nb_rank, MAX_RANKS);
    if (s->parallelism && !strcmp(s->parallelism, "TP")) o->parallelism = PGY_PARALLEL_TENSOR;
    if (s->old_reduce_op) o->reduce_op = s->old_reduce_op;
    if (s->reduce_op) o->reduce_op = s->reduce_op;
    o->fused = s->cp_type && !strcmp(s->cp_type, CP_TYPES[1]);
    o->no_gather = s->cp_type && !strcmp(s->cp_type, CP_TYPES[2]);
    if (o->no_gather)
        LOG(WARNING, "--cp-type ring_attention exists in older releases only; it is read as "
                     "native, with gather_kv off in the hints");
    o->pattern = s->pattern && *s->pattern == '1';
    o->attention.nb_rank = o->nb_rank;
    pgy_status st = read_rank(&o->input_rank, s->input_rank, "--i-rank", err);
    if (!st) st = read_rank(&o->output_rank, s->output_rank, "--o-rank", err);
    if (!st) st = read_rank(&o->kv_rank, s->kv_rank, "--kv-rank", err);
    if (!st) st = read_ints(&o->groups, &o->group_count, &s->groups, "--groups", memory, err);
    if (!st) st = read_order(&o->attention.q, &s->q, "--q-shuffle", memory, err);
    if (!st) st = read_order(&o->attention.k, &s->k, "--k-shuffle", memory, err);
    if (!st) st = read_order(&o->attention.v, &s->v, "--v-shuffle", memory, err);
    return st;
}

const option_group GROUP_SHARD = {
    .title = "Shard Hints",
    .description = "Options related to dividing a model among devices",
    .options = OPTIONS,
    ARGS_TYPE(shard_args),
    .defaults = set_defaults,
    .finish = finish,
};
