/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise and depthwise convolutions of inverted residual blocks: expanded_conv [ROUNDS]
 *
 * For the blocks of several networks, on one thread: the two convolutions as steps of their own,
 * and as one step, whose expanded tensor stays in the cache. They run in turn. Prints the best
 * times in microseconds, since other work on the machine only adds to them, and the ratio:
 *
 *     NAME apart US (pointwise US depthwise US)  one US  ratio R
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "kernels/packing.h"

typedef struct block {
    const char *name, *activation;
    int64_t in, expanded, size, kernel, stride;
} block;

static const block BLOCKS[] = {
    {"mobilenet_v2 2", "Clip", 16, 96, 112, 3, 2},
    {"mobilenet_v2 3", "Clip", 24, 144, 56, 3, 1},
    {"mobilenet_v2 4", "Clip", 24, 144, 56, 3, 2},
    {"mobilenet_v2 5", "Clip", 32, 192, 28, 3, 1},
    {"mobilenet_v2 7", "Clip", 32, 192, 28, 3, 2},
    {"mobilenet_v2 8", "Clip", 64, 384, 14, 3, 1},
    {"mobilenet_v2 12", "Clip", 96, 576, 14, 3, 1},
    {"mobilenet_v2 15", "Clip", 160, 960, 7, 3, 1},
    {"efficientnet_b0 2", "Silu", 16, 96, 112, 3, 2},
    {"efficientnet_b0 3", "Silu", 24, 144, 56, 3, 1},
    {"efficientnet_b0 4", "Silu", 24, 144, 56, 5, 2},
    {"efficientnet_b0 5", "Silu", 40, 240, 28, 5, 1},
    {"efficientnet_b0 9", "Silu", 80, 480, 14, 5, 1},
    {"efficientnet_b0 13", "Silu", 192, 1152, 7, 5, 1},
    {"mnasnet1_0 2", "Relu", 16, 48, 112, 3, 2},
    {"mnasnet1_0 5", "Relu", 24, 72, 56, 5, 2},
    {"mnasnet1_0 of 96", "Relu", 24, 72, 24, 3, 1},
    {"mobilenet_v3 5", "HardSwish", 40, 240, 28, 3, 2},
    {"detector", "Silu", 24, 144, 160, 3, 1},
};

/* The convolutions as steps of their own, and as one step. */
enum { FIRST, SECOND, ONE, SIDES };

typedef struct side {
    op_attr attrs[12];
    op_node node;
    kernel_problem problem;
    const kernel *k;
    kernel_plan plan;
    void *tensors[6], *scratch, *workspace;
} side;

static void *floats(size_t count)
{
    float *p = mem_alloc_aligned(64, count * sizeof *p);
    for (size_t i = 0; p && i < count; i++) p[i] = (float)(rand() % 2001 - 1000) / 1000;
    if (!p) abort();
    return p;
}

static void add_ints(side *s, const char *name, const int64_t *values, size_t count)
{
    s->attrs[s->node.attr_count++] =
        (op_attr){.name = name, .kind = OP_ATTR_INTS, .ints = values, .count = count};
}

static void add_text(side *s, const char *name, const char *text)
{
    s->attrs[s->node.attr_count++] =
        (op_attr){.name = name, .kind = OP_ATTR_STRING, .s = {text, strlen(text)}};
}

static void add_limits(side *s, const char *name)
{
    static const float LIMITS[] = {0, 6};
    s->attrs[s->node.attr_count++] =
        (op_attr){.name = name, .kind = OP_ATTR_FLOATS, .floats = LIMITS, .count = 2};
}

static void add_tensor(side *s, const int64_t *shape, int32_t rank, bool constant)
{
    size_t count = 1;
    for (int32_t d = 0; d < rank; d++) count *= (size_t)shape[d];
    s->problem.inputs[s->problem.input_count++] = (kernel_tensor){
        .dtype = PGY_F32, .rank = rank, .shape = shape, .data = constant ? floats(count) : NULL};
}

static void start(side *s, const char *domain, const char *op, const char *kernel_name)
{
    static const char *const LEVELS[] = {"portable", "avx2", "avx512"};
    char name[64];
    snprintf(name, sizeof name, "%s_%s", kernel_name, LEVELS[cpu_features()]);
    *s = (side){.node = {.def = op_find(domain, op, 1), .name = "", .opset = 1}};
    s->node.attrs = s->attrs;
    for (size_t i = 0; kernel_at(i); i++)
        if (strcmp(kernel_at(i)->name, name) == 0) s->k = kernel_at(i);
    if (!s->node.def || !s->k) abort();
}

static void finish(side *s, const int64_t *shape)
{
    double cost;
    const kernel_layout layout =
        cpu_features() == CPU_AVX512 ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
    s->problem.node = &s->node;
    s->problem.inputs[0].layout = layout;
    s->problem.output_count = 1;
    s->problem.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 4, .shape = shape};
    if (!kernel_accept(s->k, &s->problem, &cost) ||
        kernel_prepare(&s->plan, s->k, &s->problem, NULL))
        abort();
    s->tensors[0] = floats(kernel_size_bytes(&s->problem.inputs[0]) / sizeof(float));
    s->tensors[s->problem.input_count] =
        floats(kernel_size_bytes(&s->problem.outputs[0]) / sizeof(float));
    s->scratch = floats(s->plan.scratch_bytes / sizeof(float) + 1);
    s->workspace = floats(s->plan.workspace_bytes / sizeof(float) + 1);
}

static double run(side *s)
{
    const int64_t begin = clock_ns();
    for (uint32_t phase = 0; phase < s->plan.phases; phase++)
        s->k->run(&(kernel_run){.self = s->k,
                                .params = s->plan.params,
                                .packed = s->plan.packed,
                                .tensors = s->tensors,
                                .workspace = s->workspace,
                                .scratch = s->scratch,
                                .phase = phase,
                                .parts = 1});
    return (double)(clock_ns() - begin) / 1000;
}

/* Shapes of the input, the expanded tensor, the weights of both convolutions and the output. */
typedef struct shapes {
    int64_t x[4], e[4], w[4], v[4], y[4], pads[4], strides[2];
} shapes;

static shapes shapes_of(const block *b)
{
    const int64_t pad = b->kernel / 2, out = (b->size + 2 * pad - b->kernel) / b->stride + 1;
    return (shapes){.x = {1, b->in, b->size, b->size},
                    .e = {1, b->expanded, b->size, b->size},
                    .w = {b->expanded, b->in, 1, 1},
                    .v = {b->expanded, 1, b->kernel, b->kernel},
                    .y = {1, b->expanded, out, out},
                    .pads = {pad, pad, pad, pad},
                    .strides = {b->stride, b->stride}};
}

static void add_attributes(side *s, int which, const block *b, const shapes *h)
{
    const bool clips = !strcmp(b->activation, "Clip");
    add_text(s, "activation", b->activation);
    if (clips) add_limits(s, "activation_params");
    if (which == ONE) add_text(s, "inner_activation", b->activation);
    if (which == ONE && clips) add_limits(s, "inner_activation_params");
    if (which == FIRST) return;
    add_ints(s, "pads", h->pads, 4);
    add_ints(s, "strides", h->strides, 2);
    s->attrs[s->node.attr_count++] =
        (op_attr){.name = "group", .kind = OP_ATTR_INT, .i = b->expanded};
}

static void make(side *s, int which, const block *b, const shapes *h)
{
    static const char *const KERNELS[] = {"conv_f32_direct", "conv_f32_depthwise",
                                          "expanded_conv_f32"};
    start(s, "pgy", which == ONE ? "ExpandedConv" : "FusedConv", KERNELS[which]);
    add_attributes(s, which, b, h);
    add_tensor(s, which == SECOND ? h->e : h->x, 4, false);
    add_tensor(s, which == SECOND ? h->v : h->w, 4, true);
    if (which == ONE) add_tensor(s, h->v, 4, true);
    add_tensor(s, h->e + 1, 1, true);
    if (which == ONE) add_tensor(s, h->e + 1, 1, true);
    finish(s, which == FIRST ? h->e : h->y);
}

/* The memory of the sides is kept until the program ends. */
static void measure(const block *b, size_t rounds)
{
    side s[SIDES];
    const shapes h = shapes_of(b);
    double apart = 1e30, one = 1e30, parts[2] = {0};
    for (int i = 0; i < SIDES; i++) make(&s[i], i, b, &h);
    s[SECOND].tensors[0] = s[FIRST].tensors[3];
    for (size_t r = 0; r < rounds; r++) {
        const double first = run(&s[FIRST]), second = run(&s[SECOND]), together = run(&s[ONE]);
        if (together < one) one = together;
        if (first + second >= apart) continue;
        apart = first + second;
        parts[0] = first;
        parts[1] = second;
    }
    printf("%-20s apart %7.1f (pointwise %7.1f depthwise %7.1f)  one %7.1f  ratio %.2f\n", b->name,
           apart, parts[0], parts[1], one, one / apart);
}

int main(int argc, char **argv)
{
    const size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : 200;
    for (size_t i = 0; i < sizeof BLOCKS / sizeof *BLOCKS; i++) measure(&BLOCKS[i], rounds);
    return 0;
}
