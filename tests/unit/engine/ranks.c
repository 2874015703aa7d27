/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts as ranks: a plan with collectives, opened once and run in two threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include <polygraphy/communicator.h>
#include <polygraphy/runtime.h>

#include "harness/model_builder.h"

/* y = all_gather(2 * all_reduce(sum, reduce_scatter(max, x))) for two ranks */
static pgy_engine *make_engine(void)
{
    static const struct {
        const char *operation, *reduction, *in, *out;
    } NODES[] = {{"reduce_scatter", "max", "x", "part"},
                 {"all_reduce", "sum", "twice", "sum"},
                 {"all_gather", "none", "sum", "y"}};
    pgy_error err = {0};
    pgy_engine *e = NULL, *opened = NULL;
    void *bytes = NULL;
    size_t size = 0;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4, 2");
    for (size_t i = 0; i < 3; i++) {
        pgy_onnx_node *n = builder_node(&b, "DistCollective", NODES[i].in, NODES[i].out);
        builder_attr_string(&b, n, "collective_operation", NODES[i].operation);
        builder_attr_string(&b, n, "reduce_op", NODES[i].reduction);
        builder_attr_int(&b, n, "nb_rank", 2);
        if (!i) builder_node(&b, "Add", "part part", "twice");
    }
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *m = builder_finish_bytes(&b);
    if (pgy_engine_build(&e, m, NULL, &err) || pgy_engine_serialize(&bytes, &size, e, &err) ||
        pgy_engine_load(&opened, bytes, size, false, &err))
        fail_msg("%s", err.text);
    pgy_engine_free_bytes(bytes);
    pgy_engine_release(e);
    pgy_model_destroy(m);
    return opened;
}

typedef struct rank {
    pgy_communicator *c;
    pgy_context *context;
    int64_t index;
    bool skips;
    float y[8];
    pgy_status st;
    pgy_error err;
    pthread_t thread;
} rank;

static void *run_rank(void *user)
{
    rank *r = user;
    static const float X[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    r->st = pgy_communicator_enter(r->c, r->index, &r->err);
    if (!r->st) r->st = pgy_context_set_input(r->context, "x", X, sizeof X, &r->err);
    if (!r->st) r->st = pgy_context_set_output(r->context, "y", r->y, sizeof r->y, &r->err);
    if (!r->st && !r->skips) r->st = pgy_context_execute(r->context, &r->err);
    if (r->st) pgy_communicator_fail(r->c, r->err.text);
    pgy_communicator_leave();
    return NULL;
}

static void run_both(rank *all)
{
    for (int i = 0; i < 2; i++) pthread_create(&all[i].thread, NULL, run_rank, &all[i]);
    for (int i = 0; i < 2; i++) pthread_join(all[i].thread, NULL);
}

static void test_ranks__contexts_of_one_plan(void **state)
{
    (void)state;
    static const float WANTED[8] = {12, 16, 20, 24, 12, 16, 20, 24};
    pgy_error err = {0};
    pgy_communicator *c = NULL;
    pgy_engine *e = make_engine();
    rank all[2] = {0};
    assert_int_equal(pgy_communicator_create(&c, 2, &err), PGY_OK);
    for (int i = 0; i < 2; i++) {
        all[i] = (rank){.c = c, .index = i};
        if (pgy_context_create(&all[i].context, e, NULL, &err)) fail_msg("%s", err.text);
    }
    for (int run = 0; run < 3; run++) {
        run_both(all);
        for (int i = 0; i < 2; i++) {
            if (all[i].st) fail_msg("%s", all[i].err.text);
            assert_memory_equal(all[i].y, WANTED, sizeof WANTED);
            memset(all[i].y, 0, sizeof all[i].y);
        }
    }
    all[1].skips = true;
    run_both(all);
    assert_int_equal(all[0].st, PGY_E_DEVICE);
    assert_non_null(
        strstr(all[0].err.text, "rank 0 waits in reduce_scatter, but rank 1 has ended"));
    for (int i = 0; i < 2; i++) pgy_context_destroy(all[i].context);
    pgy_communicator_destroy(c);
    pgy_engine_release(e);
}

static void test_ranks__alone(void **state)
{
    (void)state;
    pgy_error err = {0};
    float x[8] = {0}, y[8];
    pgy_engine *e = make_engine();
    pgy_context *context = NULL;
    assert_int_equal(pgy_context_create(&context, e, NULL, &err), PGY_OK);
    assert_int_equal(pgy_context_set_input(context, "x", x, sizeof x, &err), PGY_OK);
    assert_int_equal(pgy_context_set_output(context, "y", y, sizeof y, &err), PGY_OK);
    assert_int_equal(pgy_context_execute(context, &err), PGY_E_DEVICE);
    assert_non_null(strstr(err.text, "it joins 2 ranks, but the model runs alone"));
    pgy_context_destroy(context);
    pgy_engine_release(e);
}
