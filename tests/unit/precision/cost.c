/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/graph_case.h"
#include "precision/quant.h"

enum { LAYERS = 4 };

/* x -> a -> b -> c -> d -> y: Relus on tensors of 100 bytes. A Cast takes 1 ms. */
typedef struct chain {
    pgy_precision p;
    pgy_precision_layer layers[LAYERS];
    size_t nodes[LAYERS], layer_of[LAYERS];
    double wide[LAYERS], narrow[LAYERS];
    uint64_t input_bytes[1], output_bytes[LAYERS];
} chain;

static void make_chain(chain *c, const double *narrow)
{
    static const char *const NAMES[] = {"a", "b", "c", "d"};
    pgy_error err;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "25");
    for (size_t i = 0; i < LAYERS; i++) builder_node(&b, "Relu", i ? NAMES[i - 1] : "x", NAMES[i]);
    builder_output(&b, "d", PGY_F32, "25");
    *c = (chain){.input_bytes = {100}};
    for (size_t i = 0; i < LAYERS; i++) {
        c->nodes[i] = c->layer_of[i] = i;
        c->wide[i] = 10;
        c->narrow[i] = narrow[i];
        c->output_bytes[i] = 100;
        c->layers[i] = (pgy_precision_layer){.name = NAMES[i], .saved_bytes = 50};
    }
    c->p = (pgy_precision){.options = pgy_precision_options_default(),
                           .graph = import_graph(&b),
                           .layers = c->layers,
                           .nodes = c->nodes,
                           .layer_of = c->layer_of,
                           .times = {.ms = {c->wide, c->narrow},
                                     .cast_ms_per_byte = {[LEVEL_FIRST] = 0.01},
                                     .input_bytes = c->input_bytes},
                           .node_output_bytes = c->output_bytes};
    c->p.options.cost = PGY_PRECISION_TIME;
    c->p.summary.layers = LAYERS;
    c->p.summary.wide_bytes = 400;
    assert_int_equal(pgy_graph_infer_shapes(c->p.graph, NULL, &err), PGY_OK);
}

/* Gives the set that is left, as "ab.d". */
static void improve(char *left, const double *narrow, const char *set, bool expected)
{
    chain c;
    level in[LAYERS];
    bool changed = !expected;
    pgy_error err;
    make_chain(&c, narrow);
    for (size_t i = 0; i < LAYERS; i++) in[i] = set[i] != '.';
    assert_int_equal(cost_improve(&changed, &c.p, in, &err), PGY_OK);
    assert_int_equal(changed, expected);
    for (size_t i = 0; i < LAYERS; i++) left[i] = in[i] ? set[i] : '.';
    left[LAYERS] = 0;
    pgy_graph_destroy(c.p.graph);
}

static void test_cost__counts_the_casts_at_the_borders(void **state)
{
    (void)state;
    chain c;
    make_chain(&c, (const double[]){4, 4, 4, 4});
    assert_float_equal(cost_of(&c.p, (const level[]){false, false, false, false}), 40, 1e-9);
    assert_float_equal(cost_of(&c.p, (const level[]){true, true, true, true}), 18, 1e-9);
    assert_float_equal(cost_of(&c.p, (const level[]){true, false, true, false}), 32, 1e-9);
    c.p.options.cost = PGY_PRECISION_BYTES;
    assert_float_equal(cost_of(&c.p, (const level[]){true, true, false, false}), 300, 1e-9);
    pgy_graph_destroy(c.p.graph);
}

static void test_cost__takes_out_what_costs_more(void **state)
{
    (void)state;
    char left[LAYERS + 1];
    improve(left, (const double[]){4, 4, 4, 14}, "abcd", true);
    assert_string_equal(left, "abc.");
    /* One slow layer between fast ones: its Casts would cost more than it loses. */
    improve(left, (const double[]){4, 11, 4, 4}, "abcd", false);
    assert_string_equal(left, "abcd");
    /* No single layer can leave, but all together save less than two Casts. */
    improve(left, (const double[]){9.6, 9.6, 9.6, 9.6}, "abcd", true);
    assert_string_equal(left, "....");
    improve(left, (const double[]){4, 4, 9.5, 9.5}, "ab.d", true);
    assert_string_equal(left, "ab..");
}

/* ---- Mixes ---------------------------------------------------------------------------------- */

/* Layers a and c can have 8 bits, all can have 16. A QuantizeLinear takes 3 ms. */
typedef struct mix_chain {
    chain c;
    quantizer q;
    size_t site_of[LAYERS];
    bool can_rest[LAYERS];
    double rest[LAYERS];
} mix_chain;

static void make_mix(mix_chain *m, const double *eight, const double *rest)
{
    *m = (mix_chain){.site_of = {1, 0, 2, 0}, .can_rest = {true, true, true, true}};
    make_chain(&m->c, eight);
    memcpy(m->rest, rest, sizeof m->rest);
    m->q.site_of = m->site_of;
    m->c.p.quantizer = &m->q;
    m->c.p.can_rest = m->can_rest;
    m->c.p.times.ms[LEVEL_REST] = m->rest;
    m->c.p.times.cast_ms_per_byte[LEVEL_FIRST] = 0.03;
    m->c.p.times.cast_ms_per_byte[LEVEL_REST] = 0.01;
}

static void test_cost__counts_both_kinds_of_borders_of_a_mix(void **state)
{
    (void)state;
    mix_chain m;
    make_mix(&m, (const double[]){2, 0, 2, 0}, (const double[]){5, 5, 5, 5});
    /* x is quantized; b, a Relu, passes 8 bits on to c; c -> d and d -> y need Casts */
    const level through[] = {LEVEL_FIRST, LEVEL_WIDE, LEVEL_FIRST, LEVEL_REST};
    assert_int_equal(border_bytes(&m.c.p, through, LEVEL_FIRST), 100);
    assert_int_equal(border_bytes(&m.c.p, through, LEVEL_REST), 200);
    assert_float_equal(cost_of(&m.c.p, through), 2 + 10 + 2 + 5 + 3 + 2, 1e-9);
    /* b computes 16 bits, so its input and c's need Casts, and c quantizes again */
    const level between[] = {LEVEL_FIRST, LEVEL_REST, LEVEL_FIRST, LEVEL_WIDE};
    assert_int_equal(border_bytes(&m.c.p, between, LEVEL_FIRST), 200);
    assert_int_equal(border_bytes(&m.c.p, between, LEVEL_REST), 200);
    pgy_graph_destroy(m.c.p.graph);
}

static void improve_mix(const double *eight, const double *rest, level *set, bool expected)
{
    mix_chain m;
    bool changed = !expected;
    pgy_error err;
    make_mix(&m, eight, rest);
    assert_int_equal(cost_improve(&changed, &m.c.p, set, &err), PGY_OK);
    assert_int_equal(changed, expected);
    pgy_graph_destroy(m.c.p.graph);
}

static void test_cost__layers_of_a_mix_get_16_bits_where_that_costs_less(void **state)
{
    (void)state;
    level good[] = {LEVEL_FIRST, LEVEL_WIDE, LEVEL_FIRST, LEVEL_WIDE};
    improve_mix((const double[]){2, 0, 2, 0}, (const double[]){5, 5, 5, 5}, good, false);
    /* in 8 bits c costs more than in 16, and a costs more than in any other type */
    level bad[] = {LEVEL_FIRST, LEVEL_REST, LEVEL_FIRST, LEVEL_REST};
    improve_mix((const double[]){20, 0, 9, 0}, (const double[]){15, 5, 5, 5}, bad, true);
    const level wanted[] = {LEVEL_WIDE, LEVEL_REST, LEVEL_REST, LEVEL_REST};
    assert_memory_equal(bad, wanted, sizeof bad);
}
