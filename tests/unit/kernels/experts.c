/* SPDX-License-Identifier: Apache-2.0 */
/* MoE and QMoE against their definitions: activations, gates, numbers of tokens and of bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/reference_case.h"

typedef struct moe_case {
    int64_t tokens, hidden, inter, experts, k;
    const char *activation;
    int64_t fusion, bits, block; /* bits: 0: MoE */
    bool third, bias, normalises, zeros, limit, router, mixes;
    pgy_dtype dtype; /* 0: float32 */
} moe_case;

static pgy_dtype type_of(const moe_case *m)
{
    return m->dtype ? m->dtype : PGY_F32;
}

static void *add(reference_case *c, pgy_dtype dtype, int64_t a, int64_t b, int64_t d)
{
    char shape[64];
    if (d)
        snprintf(shape, sizeof shape, "%lld %lld %lld", (long long)a, (long long)b, (long long)d);
    else
        snprintf(shape, sizeof shape, "%lld %lld", (long long)a, (long long)b);
    return reference_input(c, dtype, shape);
}

static void *add_bytes(reference_case *c, int64_t a, int64_t b, int64_t d)
{
    uint8_t *to = add(c, PGY_U8, a, b, d);
    const int64_t count = a * b * (d ? d : 1);
    for (int64_t i = 0; i < count; i++) to[i] = (uint8_t)(i * 131 % 257 + i / 7);
    reference_constant(c);
    return to;
}

static void add_bias(reference_case *c, const moe_case *m, int64_t out)
{
    if (m->bias)
        add(c, type_of(m), m->experts, out, 0);
    else
        reference_input(c, PGY_F32, NULL);
}

static int64_t blocks_of(const moe_case *m, int64_t in)
{
    return m->block ? (in + m->block - 1) / m->block : 1;
}

static void add_layer(reference_case *c, const moe_case *m, int64_t out, int64_t in)
{
    if (m->bits) {
        add_bytes(c, m->experts, out, in * m->bits / 8);
        add(c, type_of(m), m->experts, out, m->block ? blocks_of(m, in) : 0);
    } else {
        add(c, type_of(m), m->experts, out, in);
    }
    reference_constant(c);
    add_bias(c, m, out);
}

static void add_none(reference_case *c, size_t count)
{
    for (size_t i = 0; i < count; i++) reference_input(c, PGY_F32, NULL);
}

static void add_zeros(reference_case *c, const moe_case *m, int64_t out, int64_t in)
{
    if (m->block)
        add_bytes(c, m->experts, out, (blocks_of(m, in) * m->bits + 7) / 8);
    else
        add_bytes(c, m->experts, (out * m->bits + 7) / 8, 0);
}

static void run(moe_case m)
{
    reference_case c;
    const int64_t first = m.fusion ? 2 * m.inter : m.inter;
    reference_start(&c, "com.microsoft", m.bits ? "QMoE" : "MoE", 1);
    reference_attr_int(&c, "k", m.k);
    reference_attr_text(&c, "activation_type", m.activation);
    reference_attr_int(&c, "swiglu_fusion", m.fusion);
    reference_attr_int(&c, "normalize_routing_weights", m.normalises);
    if (m.mixes) reference_attr_int(&c, "use_sparse_mixer", 1);
    if (m.limit) reference_attr_float(&c, "swiglu_limit", 1.5f);
    if (m.bits) reference_attr_int(&c, "expert_weight_bits", m.bits);
    if (m.block) reference_attr_int(&c, "block_size", m.block);
    reference_attr_float(&c, "activation_alpha", 1.25f);
    add(&c, type_of(&m), m.tokens, m.hidden, 0);
    float *scores = add(&c, type_of(&m), m.tokens, m.experts, 0);
    /* Some are within 2 % of each other, and some negative. */
    for (int64_t i = 0; m.mixes && i < m.tokens * m.experts; i++)
        scores[i] = (i / m.experts % 3 ? 2 : -2) + 0.015f * (float)(i * 7 % 11);
    add_layer(&c, &m, first, m.hidden);
    add_layer(&c, &m, m.hidden, m.inter);
    if (m.third)
        add_layer(&c, &m, m.inter, m.hidden);
    else
        add_none(&c, m.bits ? 3 : 2);
    if (m.zeros) {
        add_zeros(&c, &m, first, m.hidden);
        add_zeros(&c, &m, m.hidden, m.inter);
        if (m.router) add_none(&c, 1);
    } else if (m.router) {
        add_none(&c, 3);
    }
    if (m.router) add(&c, type_of(&m), m.tokens, m.experts, 0);
    assert_int_equal(reference_run(&c, 1, m.dtype ? 0x1.02p-8 : 1e-5), 1 + (size_t)cpu_features());
}

static void test_experts__activations(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"relu", "gelu", "silu", "identity", "swiglu"};
    for (size_t i = 0; i < 5; i++)
        for (int third = 0; third < 2; third++)
            run((moe_case){.tokens = 5,
                           .hidden = 12,
                           .inter = 20,
                           .experts = 3,
                           .k = 2,
                           .activation = NAMES[i],
                           .third = third,
                           .bias = third,
                           .normalises = i & 1});
    for (int64_t fusion = 1; fusion <= 2; fusion++)
        for (int limit = 0; limit < 2; limit++)
            run((moe_case){.tokens = 4,
                           .hidden = 8,
                           .inter = 150,
                           .experts = 3,
                           .k = 1,
                           .activation = "swiglu",
                           .fusion = fusion,
                           .bias = true,
                           .limit = limit});
}

/* One token, experts without a token, many tokens for each expert. */
static void test_experts__tokens(void **state)
{
    (void)state;
    static const int64_t SIZES[][3] = {{1, 16, 4}, {3, 40, 2}, {70, 4, 2}, {300, 2, 2}};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        for (int64_t bits = 0; bits <= 4; bits += 4)
            run((moe_case){.tokens = SIZES[i][0],
                           .hidden = 32,
                           .inter = 48,
                           .experts = SIZES[i][1],
                           .k = SIZES[i][2],
                           .activation = "silu",
                           .bits = bits,
                           .block = bits ? 16 : 0,
                           .bias = true});
}

static void test_experts__bits(void **state)
{
    (void)state;
    for (int64_t bits = 2; bits <= 8; bits *= 2)
        for (int64_t block = 0; block <= 32; block += 16)
            for (int zeros = 0; zeros < 2; zeros++)
                run((moe_case){.tokens = 9,
                               .hidden = 40,
                               .inter = 24,
                               .experts = 3,
                               .k = 2,
                               .activation = "swiglu",
                               .fusion = 1,
                               .bits = bits,
                               .block = block,
                               .zeros = zeros,
                               .router = block == 16,
                               .normalises = zeros});
    run((moe_case){.tokens = 2,
                   .hidden = 16,
                   .inter = 16,
                   .experts = 2,
                   .k = 1,
                   .activation = "relu",
                   .bits = 4,
                   .third = true,
                   .dtype = PGY_BF16});
}

static void test_experts__sparse_mixer(void **state)
{
    (void)state;
    for (int64_t bits = 0; bits <= 4; bits += 4)
        for (int router = 0; router < 2; router++)
            run((moe_case){.tokens = 12,
                           .hidden = 32,
                           .inter = 48,
                           .experts = 8,
                           .k = 2,
                           .activation = "silu",
                           .bits = bits,
                           .router = bits && router,
                           .normalises = router,
                           .mixes = true});
}
