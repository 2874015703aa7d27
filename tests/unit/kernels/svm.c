/* SPDX-License-Identifier: Apache-2.0 */
/* SVMClassifier and SVMRegressor against their definitions: all kernel functions, transforms and
 * numbers of classes, sizes around those of vectors and blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "harness/reference_case.h"

enum { MOST = 9000, MOST_CLASSES = 6 };

typedef struct svm_case {
    const char *kernel, *transform;
    float degree;
    size_t rows, features, vectors, classes; /* classes: 0 for a regressor */
    bool one_class, probabilities;
} svm_case;

static const char *const KERNELS[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};

static float draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(*seed >> 40) / (float)(1 << 23) - 1;
}

static void draw_all(float *to, size_t count, float scale, uint64_t *seed)
{
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++) to[i] = scale * draw(seed);
}

/* Attributes of both operators; without vectors the coefficients are `linear` rows of features. */
static void add_machine(reference_case *c, const svm_case *s, size_t linear, uint64_t *seed)
{
    static float vectors[MOST], coefficients[MOST], rho[32], params[3];
    const size_t rows = s->classes ? s->classes - 1 : 1;
    const size_t count = s->vectors ? rows * s->vectors + !rows : linear * s->features;
    draw_all(vectors, s->vectors * s->features, 2, seed);
    draw_all(coefficients, count, 1, seed);
    draw_all(rho, 32, 0.3f, seed);
    params[0] = 0.2f + 0.1f * draw(seed);
    params[1] = 0.25f;
    params[2] = s->degree;
    reference_attr_text(c, "kernel_type", s->kernel);
    reference_attr_floats(c, "kernel_params", params, 3);
    reference_attr_floats(c, "coefficients", coefficients, count);
    if (s->vectors) reference_attr_floats(c, "support_vectors", vectors, s->vectors * s->features);
    const size_t pairs = s->classes * (s->classes - 1) / 2;
    reference_attr_floats(c, "rho", rho, s->classes && s->vectors && pairs ? pairs : 1);
}

/* Classes share the vectors unequally; one may have none. */
static void add_classes(reference_case *c, const svm_case *s, uint64_t *seed)
{
    static const int64_t LABELS[] = {7, -3, 0, 12, 5, 100};
    static int64_t counts[MOST_CLASSES];
    static float a[32], b[32];
    size_t left = s->vectors;
    for (size_t i = 0; i < s->classes; i++) {
        counts[i] = (int64_t)(i + 1 < s->classes ? left / (i == 1 ? 1 : 3) : left);
        left -= (size_t)counts[i];
    }
    reference_attr_ints(c, "classlabels_ints", LABELS, s->classes);
    if (s->vectors) reference_attr_ints(c, "vectors_per_class", counts, s->classes);
    if (s->transform) reference_attr_text(c, "post_transform", s->transform);
    if (!s->probabilities) return;
    draw_all(a, 32, 2, seed);
    draw_all(b, 32, 1, seed);
    reference_attr_floats(c, "prob_a", a, s->classes * (s->classes - 1) / 2);
    reference_attr_floats(c, "prob_b", b, s->classes * (s->classes - 1) / 2);
}

static void run(const svm_case *s, uint64_t seed)
{
    reference_case c;
    char shape[48];
    reference_start(&c, "ai.onnx.ml", s->classes ? "SVMClassifier" : "SVMRegressor", 1);
    add_machine(&c, s, s->classes ? s->classes : 1, &seed);
    if (s->classes) add_classes(&c, s, &seed);
    if (!s->classes && s->vectors) reference_attr_int(&c, "n_supports", (int64_t)s->vectors);
    if (s->one_class) reference_attr_int(&c, "one_class", 1);
    snprintf(shape, sizeof shape, "%zu %zu", s->rows, s->features);
    draw_all(reference_input(&c, PGY_F32, shape), s->rows * s->features, 2, &seed);
    assert_true(reference_run(&c, s->classes ? 2 : 1, s->probabilities ? 1e-4 : 2e-5) > 0);
}

static void test_svm__regressors(void **state)
{
    (void)state;
    static const size_t ROWS[] = {1, 2, 7, 15, 70}, VECTORS[] = {1, 15, 16, 40, 130};
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < 5; i++)
            for (size_t v = 0; v < 5; v++)
                run(&(svm_case){.kernel = KERNELS[k],
                                .degree = 3,
                                .rows = ROWS[i],
                                .features = 1 + 5 * v,
                                .vectors = VECTORS[v],
                                .one_class = (i + v) % 3 == 2},
                    i + 7 * v + 1);
}

static void test_svm__machines_without_vectors_are_linear(void **state)
{
    (void)state;
    for (size_t classes = 0; classes < 5; classes++)
        run(&(svm_case){.kernel = "RBF", .rows = 9, .features = 6, .classes = classes}, 3);
}

static void test_svm__degrees(void **state)
{
    (void)state;
    static const float DEGREES[] = {1, 2, 5, 8, 9, 0, 2.5f};
    for (size_t i = 0; i < sizeof DEGREES / sizeof *DEGREES; i++)
        run(
            &(svm_case){
                .kernel = "POLY", .degree = DEGREES[i], .rows = 5, .features = 3, .vectors = 20},
            11);
}

static void test_svm__classifiers(void **state)
{
    (void)state;
    static const size_t VECTORS[] = {3, 20, 64, 99};
    for (size_t k = 0; k < 4; k++)
        for (size_t classes = 1; classes <= MOST_CLASSES; classes++)
            for (size_t v = 0; v < 4; v++)
                run(&(svm_case){.kernel = KERNELS[k],
                                .degree = 2,
                                .rows = v % 2 ? 1 : 67,
                                .features = 4 + 3 * v,
                                .vectors = VECTORS[v],
                                .classes = classes},
                    k + 4 * v + 1);
}

static void test_svm__probabilities_and_transforms(void **state)
{
    (void)state;
    static const char *const TRANSFORMS[] = {NULL, "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    for (size_t classes = 2; classes <= 5; classes++)
        for (size_t t = 0; t < 5; t++)
            for (int probabilities = 0; probabilities < 2; probabilities++)
                run(&(svm_case){.kernel = "RBF",
                                .transform = TRANSFORMS[t],
                                .rows = 10,
                                .features = 5,
                                .vectors = 30,
                                .classes = classes,
                                .probabilities = probabilities},
                    classes + 9);
}

/* Far from 0, squared norms would lose what differences keep. */
static void test_svm__distances_do_not_cancel(void **state)
{
    (void)state;
    static float vectors[64], coefficients[16];
    static const float PARAMS[] = {0.5f, 0, 0}, RHO[] = {0.125f};
    uint64_t seed = 5;
    reference_case c;
    draw_all(vectors, 64, 1, &seed);
    draw_all(coefficients, 16, 1, &seed);
    for (size_t i = 0; i < 64; i++) vectors[i] += 4096;
    reference_start(&c, "ai.onnx.ml", "SVMRegressor", 1);
    reference_attr_text(&c, "kernel_type", "RBF");
    reference_attr_floats(&c, "kernel_params", PARAMS, 3);
    reference_attr_floats(&c, "coefficients", coefficients, 16);
    reference_attr_floats(&c, "support_vectors", vectors, 64);
    reference_attr_floats(&c, "rho", RHO, 1);
    reference_attr_int(&c, "n_supports", 16);
    float *x = reference_input(&c, PGY_F32, "9 4");
    draw_all(x, 36, 1, &seed);
    for (size_t i = 0; i < 36; i++) x[i] += 4096;
    assert_true(reference_run(&c, 1, 1e-5) > 0);
}

static void test_svm__features_that_are_no_numbers(void **state)
{
    (void)state;
    static const float VECTORS[] = {1, 2, -1, 0.5f}, COEFFICIENTS[] = {0.5f, -0.25f},
                       RHO[] = {0.1f}, PARAMS[] = {0.5f, 0, 3};
    for (size_t k = 1; k < 4; k++) {
        reference_case c;
        reference_start(&c, "ai.onnx.ml", "SVMRegressor", 1);
        reference_attr_text(&c, "kernel_type", KERNELS[k]);
        reference_attr_floats(&c, "kernel_params", PARAMS, 3);
        reference_attr_floats(&c, "coefficients", COEFFICIENTS, 2);
        reference_attr_floats(&c, "support_vectors", VECTORS, 4);
        reference_attr_floats(&c, "rho", RHO, 1);
        reference_attr_int(&c, "n_supports", 2);
        float *x = reference_input(&c, PGY_F32, "4 2");
        x[0] = NAN;
        x[2] = INFINITY;
        x[4] = -INFINITY;
        assert_true(reference_run(&c, 1, 1e-5) > 0);
    }
}
