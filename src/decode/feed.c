/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the inputs that follow from the number of tokens so far: ids, positions, masks, lengths.
 * Dimensions that the model fixes keep their size; the others get that of the step. */
#include <float.h>

#include "base/cancel.h"
#include "decode/decode.h"

/* A dimension of the model, or `size` if it is dynamic. */
static int64_t dim_or(const pgy_tensor_info *t, int32_t d, int64_t size)
{
    return t->shape[d] >= 0 ? t->shape[d] : size;
}

static pgy_status wrong_rank(const pgy_tensor_info *t, const char *what, const char *ranks,
                             pgy_error *err)
{
    return pgy_error_set(err, PGY_E_SHAPE,
                         "input '%s' holds %s, so its rank must be %s, but it is %d", t->name, what,
                         ranks, (int)t->rank);
}

/* Casts an int64 or float tensor to the input's type. Takes over `t`. */
static pgy_status give(pgy_tensor **out, pgy_tensor *t, const pgy_tensor_info *info, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (info->dtype == pgy_tensor_dtype(t) || !info->dtype) {
        *out = t;
        return PGY_OK;
    }
    st = pgy_tensor_cast(out, pgy_tensor_view(t), info->dtype, err);
    pgy_tensor_release(t);
    return st;
}

static pgy_status make_tokens(pgy_tensor **out, const pgy_tensor_info *info, const step_input *s,
                              pgy_error *err)
{
    const int64_t shape[2] = {(int64_t)s->batch, s->length};
    pgy_tensor *t = NULL;
    if (info->rank == 1 && s->batch != 1)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "input '%s' has no dimension for the batch, but the prompt has %zu "
                             "rows",
                             info->name, s->batch);
    pgy_status st = info->rank == 1 ? pgy_tensor_create(&t, PGY_I64, 1, shape + 1, err)
                                    : pgy_tensor_create(&t, PGY_I64, 2, shape, err);
    if (st) return st;
    int64_t *to = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) to[i] = s->ids[i];
    return give(out, t, info, err);
}

/* [sequence], [batch, sequence] or [k, batch, sequence]. */
static pgy_status make_positions(pgy_tensor **out, const pgy_tensor_info *info, const step_input *s,
                                 pgy_error *err)
{
    int64_t shape[3];
    pgy_tensor *t = NULL;
    if (info->rank < 1 || info->rank > 3) return wrong_rank(info, "positions", "1 to 3", err);
    for (int32_t d = 0; d < info->rank; d++)
        shape[d] = dim_or(info, d,
                          d == info->rank - 1   ? s->length
                          : d == info->rank - 2 ? (int64_t)s->batch
                                                : 1);
    const pgy_status st = pgy_tensor_create(&t, PGY_I64, (size_t)info->rank, shape, err);
    if (st) return st;
    int64_t *to = pgy_tensor_data(t);
    const int64_t width = shape[info->rank - 1];
    for (size_t i = 0; i < pgy_tensor_count(t); i++) to[i] = s->past + (int64_t)i % width;
    return give(out, t, info, err);
}

/* [batch, total]: 1 for each token, 0 behind them if the model fixes the length. */
static pgy_status make_flat_mask(pgy_tensor **out, const pgy_tensor_info *info, const step_input *s,
                                 pgy_error *err)
{
    const int64_t total = s->past + s->length;
    const int64_t shape[2] = {dim_or(info, 0, (int64_t)s->batch), dim_or(info, 1, total)};
    pgy_tensor *t = NULL;
    const pgy_status st = pgy_tensor_create(&t, PGY_I64, 2, shape, err);
    if (st) return st;
    int64_t *to = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) to[i] = (int64_t)i % shape[1] < total;
    return give(out, t, info, err);
}

/* [batch, heads, sequence, total]: what may be seen is 1 for integers and bools, 0 for floats,
 * which are added. */
static pgy_status make_causal_mask(pgy_tensor **out, const pgy_tensor_info *info,
                                   const step_input *s, pgy_error *err)
{
    const bool added = pgy_dtype_is_float(info->dtype);
    const double hidden = info->dtype == PGY_F16 ? -65504 : -FLT_MAX;
    const int64_t shape[4] = {dim_or(info, 0, (int64_t)s->batch), dim_or(info, 1, 1),
                              dim_or(info, 2, s->length), dim_or(info, 3, s->past + s->length)};
    pgy_tensor *t = NULL;
    const pgy_status st = pgy_tensor_create(&t, PGY_F64, 4, shape, err);
    if (st) return st;
    double *to = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        const int64_t key = (int64_t)i % shape[3], query = (int64_t)i / shape[3] % shape[2];
        const bool seen = key <= s->past + query;
        to[i] = added ? (seen ? 0 : hidden) : seen;
    }
    return give(out, t, info, err);
}

/* The same number everywhere, in a tensor of rank 2 at most. */
static pgy_status make_filled(pgy_tensor **out, const pgy_tensor_info *info, const step_input *s,
                              int64_t value, pgy_error *err)
{
    int64_t shape[2] = {0};
    pgy_tensor *t = NULL;
    if (info->rank < 0 || info->rank > 2) return wrong_rank(info, "a number", "0 to 2", err);
    for (int32_t d = 0; d < info->rank; d++)
        shape[d] = dim_or(info, d, d == 0 ? (int64_t)s->batch : 1);
    const pgy_status st = pgy_tensor_create(&t, PGY_I64, (size_t)info->rank, shape, err);
    if (st) return st;
    int64_t *to = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) to[i] = value;
    return give(out, t, info, err);
}

/* Like the token ids, all 0. */
static pgy_status make_zeros(pgy_tensor **out, const pgy_tensor_info *info, const step_input *s,
                             pgy_error *err)
{
    int64_t shape[2];
    pgy_tensor *t = NULL;
    if (info->rank < 1 || info->rank > 2)
        return wrong_rank(info, "a number per token", "1 or 2", err);
    for (int32_t d = 0; d < info->rank; d++)
        shape[d] = dim_or(info, d, d == info->rank - 1 ? s->length : (int64_t)s->batch);
    const pgy_status st = pgy_tensor_create(&t, PGY_I64, (size_t)info->rank, shape, err);
    return st ? st : give(out, t, info, err);
}

pgy_status feed_make(pgy_tensor **out, const decode_input *input, const step_input *step,
                     pgy_error *err)
{
    const pgy_tensor_info *info = input->info;
    const int64_t total = step->past + step->length;
    switch (input->role) {
    case ROLE_TOKENS: return make_tokens(out, info, step, err);
    case ROLE_POSITIONS: return make_positions(out, info, step, err);
    case ROLE_MASK:
        if (info->rank == 2) return make_flat_mask(out, info, step, err);
        if (info->rank == 4) return make_causal_mask(out, info, step, err);
        return wrong_rank(info, "a mask", "2 or 4", err);
    case ROLE_PAST_LENGTH: return make_filled(out, info, step, step->past, err);
    case ROLE_TOTAL_LENGTH: return make_filled(out, info, step, total, err);
    case ROLE_LAST_INDEX: return make_filled(out, info, step, total - 1, err);
    case ROLE_USE_CACHE: return make_filled(out, info, step, !step->prefill, err);
    case ROLE_ZEROS: return make_zeros(out, info, step, err);
    default: return pgy_error_set(err, PGY_E_INTERNAL, "input '%s' is not made here", info->name);
    }
}
