/* SPDX-License-Identifier: Apache-2.0 */
/* GroupQueryAttention of domain pgy: that of com.microsoft, but output caches keep what the input
 * caches have behind the end of a sequence. */
#include <string.h>

#include "ops/class_check.h"

enum { PAST_K = 3, LENGTHS = 5 };

static const op_attr_def ATTRS[] = {
    {"kv_num_heads", OP_ATTR_INT, true, NULL},
    {"num_heads", OP_ATTR_INT, true, NULL},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {NULL},
};

static const op_def *original(void)
{
    return op_find("com.microsoft", "GroupQueryAttention", 1);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return original()->infer(c, err);
}

static void keep_rows(const op_eval *c, size_t output)
{
    const int64_t *s = out_shape(c, output), *past = in_shape(c, PAST_K + output - 1);
    const size_t size = (size_t)s[3], room = (size_t)s[2];
    for (size_t i = 0; past[2] == s[2] && i < (size_t)(s[0] * s[1]); i++) {
        const size_t length = (size_t)in_i64(c, LENGTHS)[i / (size_t)s[1]] + 1;
        const size_t at = (i * room + length) * size;
        memcpy(out_f64(c, output) + at, in_f64(c, PAST_K + output - 1) + at,
               (room - length) * size * sizeof(double));
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = original()->eval(c, err);
    for (size_t i = 1; !st && i < 3; i++)
        if (i < c->node->output_count && out_f64(c, i) && in_f64(c, PAST_K + i - 1))
            keep_rows(c, i);
    return st;
}

const op_def OP_pgy_group_query_attention[] = {
    {"GroupQueryAttention", "pgy", 1, 0, 7, 11, 1, 3, 0, ATTRS, TYPES_F4, infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; M = int32; query:T, ?key:T, ?value:T, "
                  "?past_key:T, ?past_value:T, seqlens_k:M, total_sequence_length:M, "
                  "?cos_cache:T, ?sin_cache:T, ?position_ids:int64, ?attention_bias:T -> "
                  "output:T, ?present_key:T, ?present_value:T"},
    {NULL},
};
