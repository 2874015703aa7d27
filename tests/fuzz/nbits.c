/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on packed weights of a few bits: the bytes choose one of them, attributes and inputs
 * that mostly fit each other, and their contents. What the shape rule lets pass and a kernel
 * accepts, the definition must compute, too, to about the same numbers. Kernels run on memory of
 * exactly their size. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/launch.h"
#include "kernels/packing.h"

enum { MAX_ATTRS = 8, MAX_INPUTS = 16, MOST = 1 << 16 };

typedef struct source {
    const uint8_t *data;
    size_t size;
    bool wild; /* a number so large or special that rounding may decide about the result */
} source;

typedef struct trial {
    op_node node;
    op_attr attrs[MAX_ATTRS];
    pgy_tensor *inputs[MAX_INPUTS]; /* declared; NULL: omitted */
    size_t count;
    bool exact; /* kernels compute what the definition does, but for rounding */
} trial;

static uint8_t byte(source *s)
{
    if (!s->size) return 0;
    s->size--;
    return *s->data++;
}

/* One in sixteen is any number. */
static int64_t near(source *s, int64_t usual)
{
    static const int64_t LIMITS[] = {INT64_MIN, INT64_MAX, INT32_MAX, -1, 0, 1, 3, 1 << 20};
    const uint8_t b = byte(s);
    if (b >= 248) return LIMITS[b - 248];
    return b >= 240 ? usual + (b % 2 ? 1 : -1) : usual;
}

static float real(source *s)
{
    static const float LIMITS[] = {1e30f, -1e30f, INFINITY, NAN, 1e-40f, 0, -0.0f, 65504};
    const uint8_t b = byte(s);
    if (b >= 250) s->wild = true;
    return b >= 250 ? LIMITS[b % 8] : ((float)b - 120) / 16;
}

static void attribute(trial *t, const char *name, int64_t value)
{
    t->attrs[t->node.attr_count++] = (op_attr){.name = name, .kind = OP_ATTR_INT, .i = value};
}

static void fill(source *s, pgy_tensor *t)
{
    for (size_t i = 0; i < pgy_tensor_count(t); i++) switch (pgy_tensor_dtype(t)) {
        case PGY_F32: ((float *)pgy_tensor_data(t))[i] = real(s); break;
        case PGY_I32: ((int32_t *)pgy_tensor_data(t))[i] = (int32_t)near(s, byte(s) % 4); break;
        default: ((uint8_t *)pgy_tensor_data(t))[i] = byte(s); break;
        }
}

static void input(trial *t, source *s, pgy_dtype dtype, size_t rank, const int64_t *sizes)
{
    int64_t shape[4];
    size_t count = 1;
    for (size_t d = 0; d < rank; d++) {
        const uint8_t b = byte(s);
        shape[d] = sizes[d] + (b == 255) - (b == 254 && sizes[d] > 0);
        if (shape[d] < 0 || shape[d] > MOST) shape[d] = 1;
        count *= (size_t)shape[d];
        if (count > MOST) shape[d] = 0, count = 0;
    }
    pgy_tensor *made = NULL;
    if (pgy_tensor_create(&made, dtype, rank, shape, NULL)) made = NULL;
    if (made) fill(s, made);
    t->inputs[t->count++] = made;
}

static void start(trial *t, const char *op)
{
    t->node = (op_node){
        .def = op_find("com.microsoft", op, 1), .name = "fuzz", .opset = 1, .attrs = t->attrs};
    t->exact = true;
}

static int64_t bits_of(source *s)
{
    static const int64_t BITS[] = {2, 4, 8, 4, 4, 2, 8, 3};
    return BITS[byte(s) % 8];
}

/* ---- The operators -------------------------------------------------------------------------- */

static void make_product(trial *t, source *s)
{
    const int64_t k = 1 + byte(s) % 90, n = 1 + byte(s) % 40, bits = bits_of(s);
    const int64_t block = near(s, 16 << byte(s) % 3), step = block > 0 && block < 512 ? block : 16;
    const int64_t blocks = (k + step - 1) / step, level = byte(s) % 6;
    const uint8_t options = byte(s);
    start(t, "MatMulNBits");
    attribute(t, "K", near(s, k));
    attribute(t, "N", near(s, n));
    attribute(t, "bits", bits);
    attribute(t, "block_size", block);
    attribute(t, "accuracy_level", level);
    t->exact = level != 4;
    input(t, s, PGY_F32, 2, (const int64_t[]){1 + byte(s) % 9, k});
    input(t, s, PGY_U8, 3, (const int64_t[]){n, blocks, step * bits / 8});
    input(t, s, PGY_F32, 1, (const int64_t[]){n * blocks});
    if (options & 1)
        input(t, s, PGY_U8, 1, (const int64_t[]){n * ((blocks * bits + 7) / 8)});
    else if (options & 2)
        input(t, s, PGY_F32, 2, (const int64_t[]){n, blocks});
    else
        t->count++;
    if (options & 4)
        input(t, s, PGY_I32, 1, (const int64_t[]){k});
    else
        t->count++;
    if (options & 8) input(t, s, PGY_F32, 1, (const int64_t[]){n});
}

static void make_table(trial *t, source *s)
{
    const int64_t k = 8 * (1 + byte(s) % 10), n = 1 + byte(s) % 40, block = 8 << byte(s) % 4;
    start(t, "MatMulBnb4");
    attribute(t, "K", near(s, k));
    attribute(t, "N", near(s, n));
    attribute(t, "block_size", near(s, block));
    attribute(t, "quant_type", near(s, byte(s) % 2));
    attribute(t, "transB", byte(s) % 8 != 0);
    input(t, s, PGY_F32, 2, (const int64_t[]){1 + byte(s) % 9, k});
    input(t, s, PGY_U8, 1, (const int64_t[]){(n * k + 1) / 2});
    input(t, s, PGY_F32, 1, (const int64_t[]){(n * k + block - 1) / block});
}

static void make_gather(trial *t, source *s)
{
    const int64_t bits = bits_of(s), per = bits > 2 ? 8 / bits : 4, block = 16 << byte(s) % 2;
    const size_t rank = 2 + byte(s) % 2, along = byte(s) % rank;
    int64_t data[3], scales[3], zeros[3];
    for (size_t d = 0; d < rank; d++) {
        data[d] = 1 + byte(s) % 20;
        const int64_t size = data[d] * (d + 1 == rank ? per : 1);
        scales[d] = d == along ? (size + block - 1) / block : size;
        zeros[d] = d + 1 == rank ? (scales[d] + per - 1) / per : scales[d];
    }
    start(t, "GatherBlockQuantized");
    attribute(t, "bits", bits);
    attribute(t, "block_size", near(s, block));
    attribute(t, "gather_axis", near(s, byte(s) % (int64_t)rank));
    attribute(t, "quantize_axis", near(s, (int64_t)along));
    input(t, s, PGY_U8, rank, data);
    input(t, s, PGY_I32, 1, (const int64_t[]){byte(s) % 6});
    input(t, s, PGY_F32, rank, scales);
    if (byte(s) % 2) input(t, s, PGY_U8, rank, zeros);
}

static void make_layer(trial *t, source *s, int64_t experts, int64_t out, int64_t in, int64_t bits,
                       int64_t blocks)
{
    input(t, s, bits ? PGY_U8 : PGY_F32, 3,
          (const int64_t[]){experts, out, bits ? in * bits / 8 : in});
    if (bits) input(t, s, PGY_F32, 3, (const int64_t[]){experts, out, blocks});
    if (byte(s) % 2)
        input(t, s, PGY_F32, 2, (const int64_t[]){experts, out});
    else
        t->count++;
}

static void make_experts(trial *t, source *s)
{
    static const char *const NAMES[] = {"relu", "gelu", "silu", "identity", "swiglu"};
    const int64_t bits = byte(s) % 2 ? bits_of(s) : 0, experts = 1 + byte(s) % 5;
    const int64_t hidden = 8 * (1 + byte(s) % 4), inter = 8 * (1 + byte(s) % 4);
    const int64_t block = byte(s) % 2 ? 16 : 8, fusion = byte(s) % 3;
    const char *name = NAMES[byte(s) % 5];
    const bool gated = strcmp(name, "swiglu") == 0 && fusion;
    start(t, bits ? "QMoE" : "MoE");
    t->attrs[t->node.attr_count++] =
        (op_attr){.name = "activation_type", .kind = OP_ATTR_STRING, .s = span_of(name)};
    attribute(t, "swiglu_fusion", fusion);
    attribute(t, "k", near(s, 1 + byte(s) % experts));
    attribute(t, "normalize_routing_weights", byte(s) % 2);
    if (bits) attribute(t, "expert_weight_bits", bits);
    if (bits) attribute(t, "block_size", near(s, block));
    const int64_t tokens = byte(s) % 12;
    input(t, s, PGY_F32, 2, (const int64_t[]){tokens, hidden});
    input(t, s, PGY_F32, 2, (const int64_t[]){tokens, experts});
    make_layer(t, s, experts, gated ? 2 * inter : inter, hidden, bits,
               (hidden + block - 1) / block);
    make_layer(t, s, experts, hidden, inter, bits, (inter + block - 1) / block);
    if (!gated && byte(s) % 2)
        make_layer(t, s, experts, inter, hidden, bits, (hidden + block - 1) / block);
}

/* ---- Running -------------------------------------------------------------------------------- */

static void *exact_size(size_t bytes)
{
    void *p = mem_alloc_aligned(64, bytes ? bytes : 1);
    if (!p) abort();
    memset(p, 0, bytes);
    return p;
}

/* Huge sums lose everything to rounding. */
static void compare(const float *got, const pgy_tensor *wanted)
{
    double most = 1;
    for (size_t i = 0; i < pgy_tensor_count(wanted); i++) {
        const double x = fabs(op_f64(wanted)[i]);
        if (!(x < 1e6)) return;
        if (x > most) most = x;
    }
    for (size_t i = 0; i < pgy_tensor_count(wanted); i++)
        if (!(fabs(op_f64(wanted)[i] - (double)got[i]) <= 1e-3 * most)) abort();
}

static void run_kernel(const kernel *k, const trial *t, const kernel_problem *offered,
                       const pgy_tensor *wanted)
{
    kernel_problem u = *offered;
    kernel_plan plan = {0};
    void *tensors[MAX_INPUTS + 1] = {0};
    double cost;
    if (!kernel_accept(k, &u, &cost) || kernel_prepare(&plan, k, &u, NULL)) return;
    for (size_t i = 0; i < u.input_count; i++) {
        if (!u.inputs[i].dtype || (plan.packed_inputs >> i & 1)) continue;
        tensors[i] = exact_size(kernel_size_bytes(&u.inputs[i]));
        memcpy(tensors[i], pgy_tensor_data(t->inputs[i]), kernel_size_bytes(&u.inputs[i]));
    }
    tensors[u.input_count] = exact_size(kernel_size_bytes(&u.outputs[0]));
    launch l = launch_of(k, &plan, 3);
    l.run.tensors = tensors;
    l.run.workspace = exact_size(plan.workspace_bytes);
    l.scratch = exact_size(plan.scratch_bytes);
    const pgy_status st = launch_alone(&l);
    if (!st && !wanted && kernel_count(&u.outputs[0])) abort();
    if (!st && wanted && t->exact) compare(tensors[u.input_count], wanted);
    mem_free(l.run.workspace);
    mem_free(l.scratch);
    for (size_t i = 0; i <= u.input_count; i++) mem_free(tensors[i]);
    kernel_plan_deinit(&plan);
}

/* Constant: all inputs but the first, or but the first two. */
static void run_kernels(const trial *t, const op_value *y, const pgy_tensor *wanted, size_t open)
{
    int64_t shape[PGY_MAX_RANK];
    kernel_problem u = {.node = &t->node, .input_count = t->count, .output_count = 1};
    for (size_t i = 0; i < t->count; i++)
        if (t->inputs[i])
            u.inputs[i] = (kernel_tensor){.dtype = pgy_tensor_dtype(t->inputs[i]),
                                          .rank = (int32_t)pgy_tensor_rank(t->inputs[i]),
                                          .shape = pgy_tensor_shape(t->inputs[i]),
                                          .data = i < open ? NULL : pgy_tensor_data(t->inputs[i])};
    for (int32_t d = 0; d < y->rank; d++) {
        if (!dim_is_const(y->dims[d])) return;
        shape[d] = y->dims[d].value;
    }
    u.outputs[0] = (kernel_tensor){.dtype = y->dtype, .rank = y->rank, .shape = shape};
    if (y->dtype != PGY_F32 || y->rank < 0 || kernel_count(&u.outputs[0]) > MOST) return;
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for("com.microsoft", t->node.def->name, i);
        if (!k) return;
        if (!k->device) run_kernel(k, t, &u, wanted);
    }
}

static void run(trial *t)
{
    const op_host host = {.max_bytes = 1 << 26};
    const bool named = true;
    const op_value *foreseen = NULL;
    op_tensor in[MAX_INPUTS] = {{0}}, out = {0};
    arena memory = {0};
    t->node.input_count = t->count;
    t->node.output_count = 1;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->inputs[i]) continue;
        in[i].dtype = pgy_tensor_dtype(t->inputs[i]);
        if (op_to_storage(&in[i].value, t->inputs[i], NULL)) goto done;
    }
    if (op_check_node(&t->node, NULL) ||
        op_foresee(&foreseen, &t->node, in, &named, &host, &memory, NULL))
        goto done;
    const bool refused = op_run(&t->node, in, &out, &named, &host, NULL) != PGY_OK;
    for (size_t open = 1; open <= 2; open++)
        run_kernels(t, &foreseen[0], refused ? NULL : out.value, open);
    op_tensor_release(&out);
done:
    for (size_t i = 0; i < t->count; i++) op_tensor_release(&in[i]);
    arena_deinit(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const MAKE[])(trial *, source *) = {make_product, make_table, make_gather,
                                                      make_experts};
    source s = {.data = data, .size = size};
    trial t = {0};
    MAKE[byte(&s) % 4](&t, &s);
    t.exact = t.exact && !s.wild;
    run(&t);
    for (size_t i = 0; i < t.count; i++) pgy_tensor_release(t.inputs[i]);
    return 0;
}
