/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "harness/extent_check.h"

enum { GUARD = 256, CANARY = 0x5a };

static uint64_t seed;

static float next_float(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(seed >> 40) / (double)(1 << 23) - 1);
}

/* ---- Memory with canaries ------------------------------------------------------------------- */

static void *guarded(size_t size)
{
    unsigned char *memory = mem_alloc_aligned(64, size + 2 * GUARD);
    assert_non_null(memory);
    memset(memory, CANARY, size + 2 * GUARD);
    return memory + GUARD;
}

static void release(void *data, size_t size, const char *what, const kernel *k)
{
    unsigned char *memory = (unsigned char *)data - GUARD;
    for (size_t i = 0; i < GUARD; i++)
        if (memory[i] != CANARY || memory[GUARD + size + i] != CANARY)
            fail_msg("%s writes outside of its %s", k->name, what);
    mem_free(memory);
}

/* ---- Making a case -------------------------------------------------------------------------- */

void case_start(kernel_case *c, const char *domain, const char *op, int64_t opset)
{
    *c = (kernel_case){0};
    seed = 42;
    c->node = (op_node){.def = op_find(domain, op, opset), .name = "n", .opset = opset};
    assert_non_null(c->node.def);
}

static op_attr *add_attr(kernel_case *c, const char *name, op_attr_kind kind)
{
    op_attr *a = &c->attrs[c->node.attr_count++];
    *a = (op_attr){.name = name, .kind = kind};
    c->node.attrs = c->attrs;
    return a;
}

void case_attr_int(kernel_case *c, const char *name, int64_t value)
{
    add_attr(c, name, OP_ATTR_INT)->i = value;
}

void case_attr_float(kernel_case *c, const char *name, float value)
{
    add_attr(c, name, OP_ATTR_FLOAT)->f = value;
}

void case_attr_ints(kernel_case *c, const char *name, const int64_t *values, size_t count)
{
    op_attr *a = add_attr(c, name, OP_ATTR_INTS);
    a->ints = values;
    a->count = count;
}

void case_attr_text(kernel_case *c, const char *name, const char *text)
{
    add_attr(c, name, OP_ATTR_STRING)->s = span_of(text);
}

size_t case_count(const kernel_tensor *t)
{
    return kernel_count(t);
}

static kernel_tensor describe(kernel_case *c, size_t slot, int32_t rank, const int64_t *shape)
{
    if (rank < 0) return (kernel_tensor){0};
    if (rank) memcpy(c->shapes[slot], shape, (size_t)rank * sizeof *shape);
    return (kernel_tensor){.dtype = PGY_F32, .rank = rank, .shape = c->shapes[slot]};
}

void case_input(kernel_case *c, bool constant, int32_t rank, const int64_t *shape)
{
    const size_t i = c->problem.input_count++;
    kernel_tensor *t = &c->problem.inputs[i];
    c->node.input_count++;
    *t = describe(c, i, rank, shape);
    if (rank < 0) return;
    const size_t count = kernel_count(t);
    c->inputs[i] = mem_alloc_aligned(64, count * sizeof(float) + 64);
    assert_non_null(c->inputs[i]);
    for (size_t k = 0; k < count; k++) c->inputs[i][k] = next_float();
    if (constant) t->data = c->inputs[i];
}

void case_output(kernel_case *c, int32_t rank, const int64_t *shape)
{
    const size_t i = c->problem.output_count++;
    c->node.output_count++;
    c->problem.outputs[i] = describe(c, KERNEL_MAX_INPUTS + i, rank, shape);
    if (i == 0) c->wanted = mem_calloc(kernel_count(&c->problem.outputs[0]) + 1, sizeof *c->wanted);
}

void case_end(kernel_case *c)
{
    for (size_t i = 0; i < c->problem.input_count; i++) mem_free(c->inputs[i]);
    mem_free(c->wanted);
}

/* ---- Layouts -------------------------------------------------------------------------------- */

static size_t place_of(const kernel_tensor *t, size_t linear)
{
    const size_t b = kernel_block(t->layout);
    if (b == 1) return linear;
    size_t inner = 1;
    for (int32_t i = 2; i < t->rank; i++) inner *= (size_t)t->shape[i];
    const size_t channels = (size_t)t->shape[1], blocks = (channels + b - 1) / b;
    const size_t at = linear % inner, channel = linear / inner % channels;
    const size_t n = linear / inner / channels;
    return ((n * blocks + channel / b) * inner + at) * b + channel % b;
}

static float *arrange(const kernel_tensor *t, const float *linear)
{
    const size_t count = kernel_count(t);
    float *out = guarded(kernel_size_bytes(t));
    memset(out, 0, kernel_size_bytes(t));
    for (size_t i = 0; i < count; i++) out[place_of(t, i)] = linear[i];
    return out;
}

/* ---- Running -------------------------------------------------------------------------------- */

static void check(const kernel *k, const kernel_case *c, const kernel_tensor *y, const float *got,
                  double tolerance)
{
    const size_t count = kernel_count(y);
    double scale = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(c->wanted[i])) scale = fmax(scale, fabs(c->wanted[i]));
    for (size_t i = 0; i < count; i++) {
        const double x = (double)got[place_of(y, i)], w = c->wanted[i];
        if (x == w || (isnan(x) && isnan(w))) continue;
        if (!(fabs(x - w) <= tolerance * scale))
            fail_msg("%s: element %zu is %.9g, not %.9g (largest %.3g)", k->name, i, x, w, scale);
    }
    /* In a blocked layout, the lanes beyond the last channel must be zero, because kernels may read
     * them. */
    double sum = 0, real = 0;
    for (size_t i = 0; i < kernel_size_bytes(y) / sizeof *got; i++) sum += fabs((double)got[i]);
    for (size_t i = 0; i < count; i++) real += fabs((double)got[place_of(y, i)]);
    if (isfinite(real) && fabs(sum - real) > 1e-9 * (real + 1))
        fail_msg("%s: lanes beyond the channels are not zero", k->name);
}

bool case_is_narrow(const kernel *k, const kernel_problem *offered)
{
#ifndef __SANITIZE_ADDRESS__
    if (k->needs >= cpu_features()) return false;
    for (size_t i = 0;; i++) {
        const op_def *op = offered->node->def;
        const kernel *other = kernel_for(op->domain, op->name, i);
        kernel_problem problem = *offered;
        double cost = -1;
        if (!other) return false;
        if (!other->device && other->needs == cpu_features() &&
            kernel_accept(other, &problem, &cost))
            return true;
    }
#else
    (void)k, (void)offered;
    return false;
#endif
}

static void run_variant(const kernel *k, kernel_case *c, const kernel_problem *problem, bool narrow,
                        double tolerance)
{
    static const uint32_t PARTS[] = {1, 2, 3, 7, 64};
    kernel_plan plan = {0};
    void *tensors[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS] = {0};
    pgy_error err = {0};
    if (k->prepare(&plan, problem, &err)) fail_msg("%s: %s", k->name, err.text);
    for (size_t i = 0; i < problem->input_count; i++)
        if (c->inputs[i] && !(plan.packed_inputs >> i & 1))
            tensors[i] = arrange(&problem->inputs[i], c->inputs[i]);
    const kernel_tensor *y = &problem->outputs[0];
    const size_t size = kernel_size_bytes(y);
    float *first = NULL;
    for (size_t p = 0; p < sizeof PARTS / sizeof *PARTS; p++) {
        if (narrow && PARTS[p] != 1 && PARTS[p] != 7) continue;
        float *out = guarded(size);
        memset(out, 0xff, size); /* NaN */
        tensors[problem->input_count] = out;
        for (size_t i = 1; i < problem->output_count; i++)
            if (problem->outputs[i].dtype)
                tensors[problem->input_count + i] =
                    guarded(kernel_size_bytes(&problem->outputs[i]));
        kernel_run_alone(k, &plan, tensors, PARTS[p]);
        if (p == 0) {
            check(k, c, y, out, tolerance);
            extent_check(k, &plan, problem, tensors);
        }
        if (first && memcmp(first, out, size))
            fail_msg("%s: %u parts give other bits than one", k->name, PARTS[p]);
        for (size_t i = 1; i < problem->output_count; i++)
            if (problem->outputs[i].dtype)
                release(tensors[problem->input_count + i], kernel_size_bytes(&problem->outputs[i]),
                        "output", k);
        if (first)
            release(out, size, "output", k);
        else
            first = out;
    }
    release(first, size, "output", k);
    for (size_t i = 0; i < problem->input_count; i++)
        if (tensors[i]) release(tensors[i], kernel_size_bytes(&problem->inputs[i]), "input", k);
    kernel_plan_deinit(&plan);
}

size_t case_run_layout(kernel_case *c, kernel_layout layout, double tolerance)
{
    size_t ran = 0;
    c->problem.node = &c->node;
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for(c->node.def->domain, c->node.def->name, i);
        if (!k) return ran;
        if (k->device) continue;
        kernel_problem problem = c->problem;
        double cost = -1;
        for (size_t j = 0; j < problem.input_count; j++)
            if (problem.inputs[j].rank >= 3 && !problem.inputs[j].data)
                problem.inputs[j].layout = layout;
        const kernel_problem offered = problem;
        if (!kernel_accept(k, &problem, &cost)) continue;
        if (!(cost >= 0)) fail_msg("%s accepts without a cost", k->name);
        run_variant(k, c, &problem, case_is_narrow(k, &offered), tolerance);
        ran++;
    }
}

size_t case_run(kernel_case *c, double tolerance)
{
    return case_run_layout(c, KERNEL_LINEAR, tolerance);
}
