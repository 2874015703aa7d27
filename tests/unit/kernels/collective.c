/* SPDX-License-Identifier: Apache-2.0 */
/* DistCollective: the kernel against the definition, in ranks that are threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/reference_case.h"
#include "kernels/packing.h"
#include "ops/class_collective.h"
#include "tensor/convert.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_F64, PGY_F16, PGY_BF16, PGY_I8,  PGY_I16,
                                  PGY_I32, PGY_I64, PGY_U8,  PGY_U16,  PGY_U32, PGY_U64};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

typedef struct job {
    pgy_communicator *c;
    int64_t rank, ranks;
    uint32_t operation;
    const char *reduction;
    pgy_dtype dtype;
    const char *shape;
    bool passed;
    pthread_t thread;
} job;

static void start(reference_case *c, const job *j)
{
    reference_start(c, "", "DistCollective", 17);
    reference_attr_text(c, "collective_operation", collective_name(j->operation));
    reference_attr_text(c, "reduce_op", j->reduction);
    reference_attr_int(c, "nb_rank", j->ranks);
    if (j->operation == COLLECTIVE_BROADCAST || j->operation == COLLECTIVE_REDUCE ||
        j->operation == COLLECTIVE_GATHER || j->operation == COLLECTIVE_SCATTER)
        reference_attr_int(c, "root", j->ranks - 1);
    c->seed += (uint64_t)j->rank; /* each rank has elements of its own */
    (void)reference_input(c, j->dtype, j->shape);
}

/* The kernel's result for the case's input; NULL: out of memory. */
static void *run_kernel(job *j, reference_case *c, size_t out_bytes)
{
    pgy_tensor *x = c->inputs[0];
    int64_t out_shape[4] = {(int64_t)out_bytes};
    kernel_problem u = {.node = &c->node, .input_count = 1, .output_count = 1};
    u.inputs[0] = (kernel_tensor){
        .dtype = j->dtype, .rank = (int32_t)pgy_tensor_rank(x), .shape = pgy_tensor_shape(x)};
    u.outputs[0] = (kernel_tensor){.dtype = j->dtype, .rank = 1, .shape = out_shape};
    double cost;
    kernel_plan plan = {0};
    void *y = mem_calloc(1, out_bytes + 1);
    const kernel *k = kernel_for("", "DistCollective", 0);
    if (!y) return NULL;
    assert_non_null(k);
    assert_true(kernel_accept(k, &u, &cost));
    assert_int_equal(kernel_prepare(&plan, k, &u, NULL), PGY_OK);
    void *tensors[] = {pgy_tensor_data(x), y};
    kernel_run_alone(k, &plan, tensors, 1);
    kernel_plan_deinit(&plan);
    return y;
}

static bool is_near(const job *j, const pgy_tensor *wanted, const void *got)
{
    const double tolerance = j->dtype == PGY_F32 ? 1e-6 : j->dtype == PGY_F64 ? 1e-15 : 0.01;
    const void *w = pgy_tensor_data(wanted);
    double scale = 0;
    if (!pgy_dtype_is_float(j->dtype)) return !memcmp(w, got, pgy_tensor_size_bytes(wanted));
    for (size_t i = 0; i < pgy_tensor_count(wanted); i++)
        scale = fmax(scale, fabs(element_as_f64(j->dtype, w, i)));
    for (size_t i = 0; i < pgy_tensor_count(wanted); i++)
        if (!(fabs(element_as_f64(j->dtype, w, i) - element_as_f64(j->dtype, got, i)) <=
              tolerance * scale))
            return false;
    return true;
}

static void *run_rank(void *user)
{
    job *j = user;
    reference_case c;
    pgy_tensor *wanted = NULL;
    if (pgy_communicator_enter(j->c, j->rank, NULL)) return NULL;
    start(&c, j);
    reference_wanted(&c, 1, &wanted);
    void *got = run_kernel(j, &c, pgy_tensor_size_bytes(wanted));
    j->passed = got && is_near(j, wanted, got);
    mem_free(got);
    pgy_tensor_release(wanted);
    pgy_tensor_release(c.inputs[0]);
    pgy_communicator_leave();
    return NULL;
}

static void run_ranks(int64_t ranks, uint32_t operation, const char *reduction, pgy_dtype dtype,
                      const char *shape)
{
    job jobs[4];
    pgy_communicator *c = NULL;
    pgy_error err = {0};
    if (pgy_communicator_create(&c, ranks, &err)) fail_msg("%s", err.text);
    for (int64_t i = 0; i < ranks; i++)
        jobs[i] = (job){c, i, ranks, operation, reduction, dtype, shape, false, 0};
    for (int64_t i = 0; i < ranks; i++)
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, run_rank, &jobs[i]), 0);
    for (int64_t i = 0; i < ranks; i++) {
        pthread_join(jobs[i].thread, NULL);
        if (!jobs[i].passed)
            fail_msg("rank %zu: %s %s of %s", (size_t)i, collective_name(operation), reduction,
                     pgy_dtype_name(dtype));
    }
    pgy_communicator_destroy(c);
}

static void test_collective__reductions(void **state)
{
    (void)state;
    static const char *const REDUCTIONS[] = {"sum", "prod", "min", "max", "avg"};
    for (size_t t = 0; t < TYPE_COUNT; t++)
        for (size_t r = 0; r < 5; r++)
            run_ranks(3, COLLECTIVE_ALL_REDUCE, REDUCTIONS[r], TYPES[t], "7 11");
    run_ranks(4, COLLECTIVE_ALL_REDUCE, "sum", PGY_F16, "3 1000");
    run_ranks(2, COLLECTIVE_ALL_REDUCE, "sum", PGY_F32, "");
}

static void test_collective__operations(void **state)
{
    (void)state;
    for (uint32_t o = 0; o < COLLECTIVE_OPERATIONS; o++)
        for (size_t t = 0; t < TYPE_COUNT; t += 3)
            for (int64_t ranks = 2; ranks <= 4; ranks++)
                run_ranks(ranks, o, collective_reduces(o) ? "max" : "none", TYPES[t], "12 5");
    run_ranks(2, COLLECTIVE_ALL_GATHER, "none", PGY_BOOL, "3 2");
    run_ranks(2, COLLECTIVE_ALL_GATHER, "none", PGY_F32, "0 2");
}

/* A group of one rank needs no others. */
static void test_collective__alone(void **state)
{
    (void)state;
    for (uint32_t o = 0; o < COLLECTIVE_OPERATIONS; o++) {
        reference_case c;
        start(
            &c,
            &(job){
                .ranks = 1, .operation = o, .reduction = "sum", .dtype = PGY_F32, .shape = "4 3"});
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}
