/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft NGramRepeatBlock against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "harness/reference_case.h"
#include "kernels/launch.h"

static void start(reference_case *c, int batch, int count, int words, int size)
{
    char shape[64];
    reference_start(c, "com.microsoft", "NGramRepeatBlock", 1);
    reference_attr_int(c, "ngram_size", size);
    snprintf(shape, sizeof shape, "%d %d", batch, count);
    int64_t *tokens = reference_input(c, PGY_I64, shape);
    for (int i = 0; i < batch * count; i++) tokens[i] = rand() % (words < 5 ? words : 5);
    snprintf(shape, sizeof shape, "%d %d", batch, words);
    reference_input(c, PGY_F32, shape);
}

static void test_n_gram_repeat_block__random_tokens(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 60; i++) {
        reference_case c;
        start(&c, 1 + rand() % 5, rand() % 30, 1 + rand() % 90, 1 + i % 5);
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

/* Runs the first kernel of the operator on the inputs of c alone; the output is float32. */
static pgy_status run_alone(reference_case *c, const int64_t *shape, int32_t rank, float *y)
{
    void *tensors[4] = {0};
    double cost;
    pgy_error err = {0};
    kernel_plan plan = {0};
    kernel_problem u = {.node = &c->node, .input_count = c->input_count, .output_count = 1};
    c->node.output_count = 1;
    for (size_t i = 0; i < c->input_count; i++) {
        u.inputs[i] = (kernel_tensor){.dtype = pgy_tensor_dtype(c->inputs[i]),
                                      .rank = (int32_t)pgy_tensor_rank(c->inputs[i]),
                                      .shape = pgy_tensor_shape(c->inputs[i])};
        tensors[i] = pgy_tensor_data(c->inputs[i]);
    }
    tensors[c->input_count] = y;
    u.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = rank, .shape = shape};
    const kernel *k = kernel_for(c->node.def->domain, c->node.def->name, 0);
    assert_true(kernel_accept(k, &u, &cost));
    pgy_status st = k->prepare(&plan, &u, &err);
    if (!st) {
        launch l = launch_of(k, &plan, 1);
        atomic_int fault = 0;
        l.run.tensors = tensors;
        l.run.fault = &fault;
        st = launch_alone(&l);
    }
    kernel_plan_deinit(&plan);
    for (size_t i = 0; i < c->input_count; i++) pgy_tensor_release(c->inputs[i]);
    return st;
}

static void test_n_gram_repeat_block__tokens_without_a_score(void **state)
{
    (void)state;
    static const int64_t TOKENS[] = {3, -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        reference_case c;
        float y[3];
        start(&c, 1, 4, 3, 1);
        ((int64_t *)pgy_tensor_data(c.inputs[0]))[2] = TOKENS[i];
        const pgy_status st = run_alone(&c, (const int64_t[]){1, 3}, 2, y);
        assert_true(st == PGY_E_SHAPE || st == PGY_E_MEMORY);
    }
}
