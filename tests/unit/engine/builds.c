/* SPDX-License-Identifier: Apache-2.0 */
/* Several builds of one engine at once, for different shapes and for the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "engine/build/engine_state.h"
#include "engine/build/progress.h"
#include "engine/context/context.h"
#include "harness/model_builder.h"

enum { THREADS = 2, LARGEST = 12, WAIT_SECONDS = 20 };

/* Symbols, a branch that captures, a step by reference (Det) and kernels. */
static pgy_model *dynamic_model(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_input(&b, "p", PGY_BOOL, "");
    builder_floats(&b, "w", "4, 4", NULL);
    builder_node(&b, "MatMul", "x w", "m");
    builder_node(&b, "Relu", "m", "r");
    builder_node(&b, "Transpose", "r", "t");
    builder_node(&b, "MatMul", "t r", "square");
    builder_node(&b, "Det", "square", "d");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Neg", "r", "y1");
    builder_output(&yes, "y1", PGY_F32, NULL);
    builder_node(&no, "Add", "r m", "y2");
    builder_output(&no, "y2", PGY_F32, NULL);
    pgy_onnx_node *choice = builder_node(&b, "If", "p", "y");
    builder_attr_graph(&b, choice, "then_branch", &yes);
    builder_attr_graph(&b, choice, "else_branch", &no);
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "d", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static engine *build_engine(void)
{
    engine *e = NULL;
    pgy_error err = {0};
    pgy_model *model = dynamic_model();
    if (engine_build(&e, model, NULL, &err)) fail_msg("%s", err.text);
    engine_let_go(e); /* as behind pgy_engine_build: kernels go by estimates */
    pgy_model_destroy(model);
    return e;
}

static pgy_metadata *shapes_for(int64_t rows)
{
    pgy_metadata *m = NULL;
    const int64_t shape[2] = {rows, 4};
    const pgy_tensor_info x = {.name = "x", .dtype = PGY_F32, .rank = 2, .shape = shape};
    const pgy_tensor_info p = {.name = "p", .dtype = PGY_BOOL, .rank = 0, .shape = shape};
    assert_int_equal(pgy_metadata_create(&m, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_set(m, &x, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_set(m, &p, NULL), PGY_OK);
    return m;
}

/* ---- Threads -------------------------------------------------------------------------------- */

/* Where builds wait for each other. */
typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t came;
    int inside, met; /* builds that are in the phase now; that were not alone there */
} meeting;

typedef struct worker {
    pthread_t thread;
    engine *e;
    int64_t rows;
    program *made;
    pgy_status st;
    pgy_error err;
} worker;

static void *build_one(void *user)
{
    worker *w = user;
    pgy_metadata *shapes = shapes_for(w->rows);
    bool made;
    w->st = engine_program(&w->made, &made, w->e, shapes, &w->err);
    pgy_metadata_destroy(shapes);
    return NULL;
}

static void build_all(worker *workers)
{
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, build_one, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].st) fail_msg("%s", workers[i].err.text);
}

/* The first step of a program's build ends only when the other build has come to it, too. */
static bool meet(void *user, const char *phase, size_t step)
{
    meeting *m = user;
    struct timespec until;
    if (strcmp(phase, PROGRESS_PROGRAM) != 0 || step != 0) return true;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_SECONDS;
    pthread_mutex_lock(&m->lock);
    m->inside++;
    pthread_cond_broadcast(&m->came);
    while (m->inside < THREADS && !pthread_cond_timedwait(&m->came, &m->lock, &until)) continue;
    m->met += m->inside == THREADS;
    pthread_mutex_unlock(&m->lock);
    return true;
}

static void test_builds__two_shapes_are_built_at_the_same_time(void **state)
{
    (void)state;
    meeting m = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};
    const pgy_progress_monitor monitor = {.user = &m, .step = meet};
    engine *e = build_engine();
    worker workers[THREADS] = {{.e = e, .rows = 3}, {.e = e, .rows = 5}};
    e->config->monitor = &monitor;
    build_all(workers);
    e->config->monitor = NULL;
    assert_int_equal(m.met, THREADS);
    for (int i = 0; i < THREADS; i++) {
        const program *p = workers[i].made;
        assert_non_null(p);
        assert_int_equal(p->tensors[p->outputs[0]].shape[0], workers[i].rows);
        program_release(workers[i].made);
    }
    engine_release(e);
}

/* Who comes second waits for the program of the first. */
static void test_builds__the_same_shape_is_built_once(void **state)
{
    (void)state;
    engine *e = build_engine();
    worker workers[THREADS] = {{.e = e, .rows = 3}, {.e = e, .rows = 3}};
    build_all(workers);
    assert_non_null(workers[0].made);
    assert_ptr_equal(workers[0].made, workers[1].made);
    for (int i = 0; i < THREADS; i++) program_release(workers[i].made);
    engine_release(e);
}

/* ---- Results -------------------------------------------------------------------------------- */

static pgy_tensor_map *feed_for(int64_t rows)
{
    const int64_t shape[2] = {rows, 4};
    pgy_tensor_map *feed = NULL;
    pgy_tensor *x = NULL, *p = NULL;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&x, PGY_F32, 2, shape, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&p, PGY_BOOL, 0, NULL, NULL), PGY_OK);
    for (int64_t i = 0; i < 4 * rows; i++) ((float *)pgy_tensor_data(x))[i] = (float)(i % 7);
    *(bool *)pgy_tensor_data(p) = rows % 2;
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", x, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "p", p, NULL), PGY_OK);
    return feed;
}

typedef struct run {
    pthread_t thread;
    engine *e;
    int64_t first;
    float sums[LARGEST + 1]; /* of the elements of y, for each number of rows */
    bool failed;
} run;

/* All numbers of rows, each thread from another one on. */
static void *run_all(void *user)
{
    run *r = user;
    context *c = NULL;
    r->failed = context_create(&c, r->e, 1, NULL) != PGY_OK;
    for (int64_t i = 0; !r->failed && i < LARGEST; i++) {
        const int64_t rows = (r->first + i) % LARGEST + 1;
        pgy_tensor_map *feed = feed_for(rows), *out = NULL;
        r->failed = pgy_tensor_map_create(&out, NULL) || context_run(c, feed, out, NULL, NULL);
        const pgy_tensor *y = r->failed ? NULL : pgy_tensor_map_find(out, "y");
        r->sums[rows] = 0;
        for (size_t k = 0; y && k < pgy_tensor_count(y); k++)
            r->sums[rows] += ((const float *)pgy_tensor_data((pgy_tensor *)y))[k];
        pgy_tensor_map_destroy(out);
        pgy_tensor_map_destroy(feed);
    }
    context_destroy(c);
    return NULL;
}

/* Row sums of x times a matrix of ones, negated or doubled. */
static float expected(int64_t rows)
{
    float sum = 0;
    for (int64_t i = 0; i < 4 * rows; i++) sum += 4 * (float)(i % 7);
    return rows % 2 ? -sum : 2 * sum;
}

static void test_builds__contexts_of_many_shapes_run_beside_each_other(void **state)
{
    (void)state;
    engine *e = build_engine();
    run runs[THREADS] = {{.e = e, .first = 0}, {.e = e, .first = LARGEST / 2}};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&runs[i].thread, NULL, run_all, &runs[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(runs[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_false(runs[i].failed);
        for (int64_t rows = 1; rows <= LARGEST; rows++)
            assert_float_equal(runs[i].sums[rows], expected(rows), 1e-3f);
    }
    engine_release(e);
}
