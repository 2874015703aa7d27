/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions by each kernel that can compute them: depthwise [ROUNDS]
 *
 * For layers of several networks, on one thread, all kernels of this processor (and
 * POLYGRAPHY_CPU) run in turn. Prints the best times in microseconds, since other work on the
 * machine only adds to them, and in brackets the estimates that a build without timing compares.
 * Those of kernels on blocked tensors leave out what it costs to make such tensors:
 *
 *     LAYER  KERNEL US (US)  KERNEL US (US) ...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "kernels/packing.h"

typedef struct layer {
    int64_t channels, size, kernel, stride, dilation;
} layer;

static const layer LAYERS[] = {
    {32, 112, 3, 1, 1}, {96, 112, 3, 2, 1}, {144, 56, 3, 1, 1}, {144, 56, 3, 2, 1},
    {144, 56, 5, 2, 1}, {96, 56, 7, 1, 1},  {192, 28, 3, 1, 1}, {240, 28, 5, 1, 1},
    {240, 28, 3, 2, 1}, {240, 28, 5, 2, 1}, {192, 28, 7, 1, 1}, {384, 14, 3, 1, 1},
    {672, 14, 5, 1, 1}, {672, 14, 5, 2, 1}, {384, 14, 7, 1, 1}, {960, 7, 3, 1, 1},
    {960, 7, 5, 1, 1},  {768, 7, 7, 1, 1},  {64, 64, 3, 1, 2},  {144, 160, 3, 1, 1},
    {72, 24, 3, 1, 1},  {64, 512, 3, 1, 1}, {64, 40, 5, 1, 1},  {128, 20, 3, 1, 1},
    {64, 224, 7, 2, 1}, {64, 33, 3, 1, 1},  {128, 17, 7, 1, 1},
};

enum { SIDES = 8 };

/* The convolution by one kernel. */
typedef struct side {
    const kernel *k;
    kernel_problem problem;
    kernel_plan plan;
    void *tensors[4], *scratch;
    double estimate, best;
} side;

static void *floats(size_t count)
{
    float *p = mem_alloc_aligned(64, count * sizeof *p + 64);
    for (size_t i = 0; p && i < count; i++) p[i] = (float)(rand() % 2001 - 1000) / 1000;
    if (!p) abort();
    return p;
}

/* False: the kernel does not compute the problem. */
static bool start(side *s, const kernel *k, const kernel_problem *u)
{
    *s = (side){.k = k, .problem = *u, .best = 1e30};
    for (int layout = KERNEL_LINEAR; layout <= KERNEL_BLOCKED_16; layout++) {
        s->problem.inputs[0].layout = (kernel_layout)layout;
        if (kernel_accept(k, &s->problem, &s->estimate)) break;
        if (layout == KERNEL_BLOCKED_16) return false;
    }
    if (kernel_prepare(&s->plan, k, &s->problem, NULL)) abort();
    s->tensors[0] = floats(kernel_size_bytes(&s->problem.inputs[0]) / sizeof(float));
    s->tensors[3] = floats(kernel_size_bytes(&s->problem.outputs[0]) / sizeof(float));
    s->scratch = floats(s->plan.scratch_bytes / sizeof(float));
    return true;
}

static void end(side *s)
{
    kernel_plan_deinit(&s->plan);
    mem_free(s->tensors[0]);
    mem_free(s->tensors[3]);
    mem_free(s->scratch);
}

static void run(side *s)
{
    const int64_t begin = clock_ns();
    s->k->run(&(kernel_run){.self = s->k,
                            .params = s->plan.params,
                            .packed = s->plan.packed,
                            .tensors = s->tensors,
                            .scratch = s->scratch,
                            .parts = 1});
    const double took = (double)(clock_ns() - begin) / 1000;
    if (took < s->best) s->best = took;
}

static bool is_measured(const kernel *k)
{
    static const char *const NAMES[] = {"conv_f32_plane_", "conv_f32_flat_", "conv_f32_depthwise_"};
    const char *last = strrchr(k->name, '_');
    if (strcmp(last + 1, cpu_level_name(cpu_features())) != 0) return false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strncmp(k->name, NAMES[i], strlen(NAMES[i])) == 0) return true;
    return false;
}

static void measure(const layer *l, size_t rounds)
{
    const int64_t pad = l->kernel / 2 * l->dilation;
    const int64_t out = (l->size + 2 * pad - (l->kernel - 1) * l->dilation - 1) / l->stride + 1;
    const int64_t x[] = {1, l->channels, l->size, l->size}, y[] = {1, l->channels, out, out};
    const int64_t w[] = {l->channels, 1, l->kernel, l->kernel};
    const int64_t pads[] = {pad, pad, pad, pad}, strides[] = {l->stride, l->stride};
    const int64_t dilations[] = {l->dilation, l->dilation};
    const op_attr attrs[] = {
        {.name = "pads", .kind = OP_ATTR_INTS, .ints = pads, .count = 4},
        {.name = "strides", .kind = OP_ATTR_INTS, .ints = strides, .count = 2},
        {.name = "dilations", .kind = OP_ATTR_INTS, .ints = dilations, .count = 2},
        {.name = "group", .kind = OP_ATTR_INT, .i = l->channels},
        {.name = "activation", .kind = OP_ATTR_STRING, .s = {"Relu", 4}},
    };
    const op_node node = {.def = op_find("com.microsoft", "FusedConv", 1),
                          .name = "",
                          .opset = 1,
                          .attrs = attrs,
                          .attr_count = sizeof attrs / sizeof *attrs};
    void *weights = floats((size_t)(l->channels * l->kernel * l->kernel));
    void *bias = floats((size_t)l->channels);
    const kernel_problem u = {
        .node = &node,
        .input_count = 3,
        .inputs = {{.dtype = PGY_F32, .rank = 4, .shape = x},
                   {.dtype = PGY_F32, .rank = 4, .shape = w, .data = weights},
                   {.dtype = PGY_F32, .rank = 1, .shape = x + 1, .data = bias}},
        .output_count = 1,
        .outputs = {{.dtype = PGY_F32, .rank = 4, .shape = y}}};
    side s[SIDES];
    size_t count = 0;
    const kernel *k;
    for (size_t i = 0; (k = kernel_for("com.microsoft", "FusedConv", i)) && count < SIDES; i++)
        if (is_measured(k) && start(&s[count], k, &u)) count++;
    for (size_t r = 0; r < rounds; r++)
        for (size_t i = 0; i < count; i++) run(&s[i]);
    printf("%4lldx%-3lld k%lld s%lld d%lld", (long long)l->channels, (long long)l->size,
           (long long)l->kernel, (long long)l->stride, (long long)l->dilation);
    for (size_t i = 0; i < count; i++) {
        printf("  %s %.1f (%.1f)", s[i].k->name + strlen("conv_f32_"), s[i].best,
               s[i].estimate / 1000);
        end(&s[i]);
    }
    printf("\n");
    mem_free(weights);
    mem_free(bias);
}

int main(int argc, char **argv)
{
    const size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : 100;
    for (size_t i = 0; i < sizeof LAYERS / sizeof *LAYERS; i++) measure(&LAYERS[i], rounds);
    return 0;
}
