/* SPDX-License-Identifier: Apache-2.0 */
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss against the reference definitions. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

typedef struct loss {
    const char *op, *scores, *labels, *weights, *reduction;
    size_t outputs;
    bool ignores, wide, odd; /* odd: infinities and NaN among the scores */
} loss;

static void check(const loss *l)
{
    reference_case c;
    reference_start(&c, "", l->op, 13);
    reference_attr_text(&c, "reduction", l->reduction);
    if (l->ignores) reference_attr_int(&c, "ignore_index", -3);
    float *x = reference_input(&c, PGY_F32, l->scores);
    const size_t count = pgy_tensor_count(c.inputs[0]);
    const int64_t classes = pgy_tensor_shape(c.inputs[0])[1];
    for (size_t i = 0; l->odd && i < count; i += 17)
        x[i] = (const float[]){INFINITY, NAN, -INFINITY, 80}[i % 4];
    void *labels = reference_input(&c, l->wide ? PGY_I64 : PGY_I32, l->labels);
    for (size_t i = 0; i < pgy_tensor_count(c.inputs[1]); i++) {
        const int64_t label = l->ignores && i % 5 == 2 ? -3 : (int64_t)(i * 7) % classes;
        if (l->wide)
            ((int64_t *)labels)[i] = label;
        else
            ((int32_t *)labels)[i] = (int32_t)label;
    }
    if (l->weights) reference_input(&c, PGY_F32, l->weights);
    assert_true(reference_run(&c, l->outputs, 2e-6) > 0);
}

static void test_loss__shapes_and_reductions(void **state)
{
    (void)state;
    static const char *const SHAPES[][3] = {{"5 7", "5", "7"},
                                            {"1 1", "1", "1"},
                                            {"3 1000", "3", "1000"},
                                            {"2 5 300", "2 300", "5"},
                                            {"2 4 3 90", "2 3 90", "4"}};
    static const char *const REDUCTIONS[] = {"none", "sum", "mean"};
    for (size_t s = 0; s < 5; s++)
        for (size_t k = 0; k < 3; k++)
            for (int how = 0; how < 32; how++) {
                const bool softmax = how & 1;
                const loss l = {.op = softmax ? "SoftmaxCrossEntropyLoss"
                                              : "NegativeLogLikelihoodLoss",
                                .scores = SHAPES[s][0],
                                .labels = SHAPES[s][1],
                                .weights = how & 2 ? SHAPES[s][2] : NULL,
                                .reduction = REDUCTIONS[k],
                                .outputs = softmax && how & 16 ? 2 : 1,
                                .ignores = how & 4,
                                .wide = how & 8,
                                .odd = false};
                check(&l);
            }
}

static void test_loss__special_numbers(void **state)
{
    (void)state;
    for (int flat = 0; flat < 2; flat++) {
        const loss l = {.op = "SoftmaxCrossEntropyLoss",
                        .scores = flat ? "40 30" : "2 5 300",
                        .labels = flat ? "40" : "2 300",
                        .reduction = "none",
                        .outputs = 2,
                        .wide = true,
                        .odd = true};
        check(&l);
    }
}
