/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MurmurHash3: MurmurHash3_x86_32 of the bytes of each element or string. */
#include <string.h>

#include "ops/class_check.h"

static const op_attr_def ATTRS[] = {
    {"positive", OP_ATTR_INT, false, "1", .range = "0..1"},
    {"seed", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    (void)err;
    op_set_output(c, 0, op_attr_int(c->node, "positive", 1) ? PGY_U32 : PGY_I32, x->rank, x->dims);
    return PGY_OK;
}

static uint32_t rotate(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static uint32_t scramble(uint32_t k)
{
    return rotate(k * 0xcc9e2d51u, 15) * 0x1b873593u;
}

static uint32_t murmur(const unsigned char *bytes, size_t count, uint32_t h)
{
    const size_t whole = count / 4 * 4;
    for (size_t i = 0; i < whole; i += 4) {
        const uint32_t k = (uint32_t)bytes[i] | (uint32_t)bytes[i + 1] << 8 |
                           (uint32_t)bytes[i + 2] << 16 | (uint32_t)bytes[i + 3] << 24;
        h = rotate(h ^ scramble(k), 13) * 5 + 0xe6546b64u;
    }
    uint32_t rest = 0;
    for (size_t i = count; i-- > whole;) rest = rest << 8 | bytes[i];
    h ^= scramble(rest);
    h ^= (uint32_t)count;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* The hash of element i, whose bytes are those of its declared type. */
static uint32_t hash_element(const op_eval *c, size_t i, uint32_t seed)
{
    unsigned char bytes[8];
    float narrow;
    switch (c->inputs[0].dtype) {
    case PGY_F64: memcpy(bytes, &in_f64(c, 0)[i], 8); return murmur(bytes, 8, seed);
    case PGY_F32:
        narrow = (float)in_f64(c, 0)[i];
        memcpy(bytes, &narrow, 4);
        return murmur(bytes, 4, seed);
    default: break;
    }
    const bool is_long = c->inputs[0].dtype == PGY_I64 || c->inputs[0].dtype == PGY_U64;
    const uint64_t value = ((const uint64_t *)in_data(c, 0))[i];
    for (int b = 0; b < 8; b++) bytes[b] = (unsigned char)(value >> 8 * b);
    return murmur(bytes, is_long ? 8 : 4, seed);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const uint32_t seed = (uint32_t)op_attr_int(c->node, "seed", 0);
    const bool positive = op_attr_int(c->node, "positive", 1) != 0;
    const bool texts = c->inputs[0].dtype == PGY_STRING;
    const pgy_status st = inputs_check(c, "!", err);
    if (st) return st;
    for (size_t i = 0; i < out_count(c, 0); i++) {
        uint32_t h;
        if (texts) {
            const pgy_string *s = &((const pgy_string *)in_data(c, 0))[i];
            h = murmur((const unsigned char *)s->data, s->size, seed);
        } else {
            h = hash_element(c, i, seed);
        }
        out_i64(c, 0)[i] = positive ? (int64_t)h : (int64_t)(int32_t)h;
    }
    return PGY_OK;
}

const op_def OP_murmur_hash3[] = {
    {"MurmurHash3", "com.microsoft", 1, 0, 1, 1, 1, 1, 0, ATTRS,
     "uint32 int32 uint64 int64 float32 float64 string", infer, eval, NULL,
     .signature = "T1 = uint32 int32 uint64 int64 float32 float64 string; T2 = uint32 int32; "
                  "X:T1 -> Y:T2"},
    {NULL},
};
