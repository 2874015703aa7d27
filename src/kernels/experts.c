/* SPDX-License-Identifier: Apache-2.0 */
/* MoE and QMoE of com.microsoft: reading the problem and packing the experts' weights. */
#include "kernels/experts.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

enum { MAX_PARTS = 64 };

/* Indices of a layer's inputs; 0: the operator has no such input. */
typedef struct layer_inputs {
    uint32_t weights, bias, scales, zeros;
} layer_inputs;

static bool is_quantised(const kernel_problem *u)
{
    return strcmp(u->node->def->name, "QMoE") == 0;
}

static layer_inputs inputs_of(const kernel_problem *u, uint32_t layer)
{
    if (is_quantised(u))
        return (layer_inputs){2 + 3 * layer, 4 + 3 * layer, 3 + 3 * layer, 11 + layer};
    return (layer_inputs){2 + 2 * layer, 3 + 2 * layer, 0, 0};
}

static bool has(const kernel_problem *u, uint32_t i)
{
    return i && i < u->input_count && u->inputs[i].dtype;
}

static bool is_constant(const kernel_problem *u, uint32_t i, pgy_dtype dtype, uint64_t count)
{
    return has(u, i) && u->inputs[i].dtype == dtype && u->inputs[i].data &&
           kernel_count(&u->inputs[i]) == count;
}

static uint64_t up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* ---- Layers --------------------------------------------------------------------------------- */

/* Describes the weights of all experts as one matrix of count * out rows. */
static bool read_few_bits(nbits_weights *w, const experts *p, const kernel_problem *u,
                          uint32_t layer)
{
    static const char *const NAMES[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                        "fc3_expert_weight_bits"};
    const layer_inputs in = inputs_of(u, layer);
    const experts_layer *l = &p->layers[layer];
    const uint64_t block = (uint64_t)op_attr_int(u->node, "block_size", 0);
    const int64_t bits =
        op_attr_int(u->node, NAMES[layer], op_attr_int(u->node, "expert_weight_bits", 4));
    *w = (nbits_weights){.bits = (uint32_t)bits,
                         .n = p->count * l->out,
                         .k = l->in,
                         .block = block ? block : l->in,
                         .row = l->in};
    w->scale_row = up(l->in, w->block);
    for (uint32_t i = 0; w->bits <= 4 && i < NBITS_CODES; i++)
        w->table[i] = (float)(i & ((1u << w->bits) - 1)) - (float)(1u << (w->bits - 1));
    const uint64_t row_bytes = up(w->scale_row * w->bits, 8);
    w->zero_row = block ? row_bytes * 8 / w->bits : 1;
    const uint64_t zeros =
        block ? p->count * l->out * row_bytes : p->count * up(l->out * w->bits, 8);
    if (!is_constant(u, in.weights, PGY_U8, w->n * l->in * w->bits / 8) ||
        !is_constant(u, in.scales, PGY_F32, w->n * w->scale_row) ||
        (has(u, in.zeros) && !is_constant(u, in.zeros, PGY_U8, zeros)))
        return false;
    w->codes = u->inputs[in.weights].data;
    w->scales = u->inputs[in.scales].data;
    if (has(u, in.zeros)) w->zeros = u->inputs[in.zeros].data;
    return true;
}

/* The weights of one expert, out of those of all. */
static nbits_weights expert_of(const nbits_weights *all, const experts_layer *l, uint64_t expert)
{
    nbits_weights w = *all;
    w.n = l->out;
    w.codes += expert * l->out * l->in * w.bits / 8;
    w.scales += expert * l->out * w.scale_row;
    if (w.zeros && w.zero_row > 1) w.zeros += expert * l->out * w.zero_row * w.bits / 8;
    if (w.zeros && w.zero_row == 1) w.zeros += expert * up(l->out * w.bits, 8);
    return w;
}

static bool read_layer(experts *p, const kernel_problem *u, uint32_t layer, uint64_t out,
                       uint64_t in)
{
    const layer_inputs at = inputs_of(u, layer);
    experts_layer *l = &p->layers[layer];
    nbits_weights w;
    if (!has(u, at.weights)) return layer == 2;
    *l = (experts_layer){.out = out, .in = in, .bias = has(u, at.bias) ? at.bias : 0};
    if (!out || !in || u->inputs[at.weights].rank != 3) return false;
    if (l->bias && (u->inputs[l->bias].dtype != PGY_F32 ||
                    kernel_count(&u->inputs[l->bias]) != p->count * out))
        return false;
    if (!is_quantised(u)) return is_constant(u, at.weights, PGY_F32, p->count * out * in);
    if (!read_few_bits(&w, p, u, layer)) return false;
    w.n = out;
    nbits_matmul_start(&l->packed, &w, (cpu_level)p->level, false);
    l->packed.has_bias = l->bias != 0;
    l->few_bits = true;
    return true;
}

static bool read_activation(experts *p, const op_node *n)
{
    static const char *const NAMES[] = {[EXPERTS_RELU] = "relu",
                                        [EXPERTS_GELU] = "gelu",
                                        [EXPERTS_SILU] = "silu",
                                        [EXPERTS_IDENTITY] = "identity",
                                        [EXPERTS_SWIGLU] = "swiglu"};
    for (uint32_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        p->activation = i;
        if (op_attr_is(n, "activation_type", NAMES[i], "relu")) return true;
    }
    return false;
}

static bool experts_describe(experts *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[EXPERTS_X], *router = &u->inputs[EXPERTS_ROUTER];
    const op_node *n = u->node;
    const bool quantised = is_quantised(u);
    const uint32_t second = inputs_of(u, 1).weights;
    *p = (experts){.level = u->self->needs, .inputs = (uint32_t)u->input_count};
    if (x->dtype != PGY_F32 || router->dtype != PGY_F32 || u->outputs[0].dtype != PGY_F32 ||
        x->rank < 2 || router->rank != 2 || !has(u, second) || u->inputs[second].rank != 3 ||
        !read_activation(p, n))
        return false;
    p->hidden = (uint64_t)x->shape[x->rank - 1];
    p->tokens = p->hidden ? kernel_count(x) / p->hidden : 0;
    p->count = (uint64_t)router->shape[1];
    p->k = (uint64_t)op_attr_int(n, "k", 1);
    p->inter = (uint64_t)u->inputs[second].shape[2];
    if (quantised)
        p->inter *= 8 / (uint64_t)op_attr_int(n, "fc2_expert_weight_bits",
                                              op_attr_int(n, "expert_weight_bits", 4));
    if (p->activation == EXPERTS_SWIGLU) p->fusion = (uint32_t)op_attr_int(n, "swiglu_fusion", 0);
    p->weights = quantised && has(u, 14) ? 14 : 0;
    p->mixes = op_attr_int(n, "use_sparse_mixer", 0) != 0 && !p->weights;
    p->normalises = !p->mixes && (op_attr_int(n, "normalize_routing_weights", 0) != 0 ||
                                  (quantised && !p->weights));
    p->alpha = (float)op_attr_float(n, "activation_alpha", 1);
    p->beta = (float)op_attr_float(n, "activation_beta", 0);
    p->limit = (float)op_attr_float(n, "swiglu_limit", (double)NAN);
    p->clamps = !isnan(p->limit);
    if (!p->clamps) p->limit = 0;
    if (!p->tokens || !p->count || (uint64_t)router->shape[0] != p->tokens || p->k < 1 ||
        p->k > p->count || p->tokens > INT32_MAX / p->k)
        return false;
    if (p->weights &&
        (u->inputs[14].dtype != PGY_F32 || kernel_count(&u->inputs[14]) != kernel_count(router)))
        return false;
    return read_layer(p, u, 0, p->fusion ? 2 * p->inter : p->inter, p->hidden) &&
           read_layer(p, u, 1, p->hidden, p->inter) &&
           (p->fusion || read_layer(p, u, 2, p->inter, p->hidden));
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static bool experts_accept(kernel_problem *u, double *cost_ns)
{
    const double flops_per_ns = u->self->rates[0];
    experts p;
    if (u->input_count < 5 || !experts_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 1000;
    for (size_t i = 0; i < EXPERTS_LAYERS; i++)
        *cost_ns += 2.0 * (double)(p.tokens * p.k) * (double)(p.layers[i].out * p.layers[i].in) /
                    flops_per_ns;
    return true;
}

static pgy_status measure_layers(experts *p, const kernel_problem *u, uint64_t *bytes,
                                 pgy_error *err)
{
    *bytes = 0;
    for (uint32_t i = 0; i < EXPERTS_LAYERS; i++) {
        experts_layer *l = &p->layers[i];
        nbits_weights w;
        uint64_t all;
        if (!l->out) continue;
        l->each = experts_float_bytes(p, l);
        if (l->few_bits) {
            (void)read_few_bits(&w, p, u, i); /* cannot fail after `accept` */
            const pgy_status st = nbits_matmul_measure(&l->packed, &w, true, &all, err);
            if (st) return st;
            l->each = nbits_matmul_packed_bytes(&l->packed);
        }
        l->at = *bytes;
        *bytes = extent_add(*bytes, extent_mul(l->each, p->count));
    }
    if (*bytes > SIZE_MAX / 2) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    return PGY_OK;
}

static pgy_status pack_layer(char *to, const experts *p, const kernel_problem *u, uint32_t layer,
                             pgy_error *err)
{
    const experts_layer *l = &p->layers[layer];
    const uint32_t at = inputs_of(u, layer).weights;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const matmul_shape s = experts_shape(l, 1);
    nbits_weights all;
    pgy_status st = PGY_OK;
    if (l->few_bits) (void)read_few_bits(&all, p, u, layer);
    for (uint64_t e = 0; !st && e < p->count; e++, to += l->each) {
        if (l->few_bits) {
            const nbits_weights w = expert_of(&all, l, e);
            st = nbits_matmul_pack(&l->packed, to, &w, err);
        } else {
            matmul_pack((float *)(void *)to, (const float *)u->inputs[at].data + e * l->out * l->in,
                        &s, t, 0, matmul_panel_count(&s, t));
        }
    }
    return st;
}

static pgy_status experts_pack(kernel_plan *out, experts *p, const kernel_problem *u,
                               pgy_error *err)
{
    uint64_t bytes;
    pgy_status st = measure_layers(p, u, &bytes, err);
    if (st) return st;
    out->packed = mem_alloc_aligned(64, bytes);
    if (!out->packed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for packed weights");
    memset(out->packed, 0, bytes);
    out->packed_bytes = bytes;
    for (uint32_t i = 0; !st && i < EXPERTS_LAYERS; i++) {
        const layer_inputs in = inputs_of(u, i);
        if (!p->layers[i].out) continue;
        st = pack_layer((char *)out->packed + p->layers[i].at, p, u, i, err);
        out->packed_inputs |= 1u << in.weights;
        if (in.scales) out->packed_inputs |= 1u << in.scales;
        if (has(u, in.zeros)) out->packed_inputs |= 1u << in.zeros;
    }
    return st;
}

static pgy_status experts_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    experts *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)experts_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .phases = EXPERTS_PHASES,
                         .parts = MAX_PARTS,
                         .in_place = -1};
    const pgy_status st = experts_pack(out, p, u, err);
    if (st) {
        kernel_plan_deinit(out);
        return st;
    }
    out->workspace_bytes = experts_lay_out(p);
    out->scratch_bytes = experts_scratch_bytes(p);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool check_layer(kernel_extent *e, const experts *p, uint32_t layer, uint64_t *packed)
{
    const experts_layer *l = &p->layers[layer];
    const uint64_t out = layer == 1 ? p->hidden : p->fusion && !layer ? 2 * p->inter : p->inter;
    const uint64_t most = INT32_MAX;
    kernel_extent own = {0};
    if (!l->out && layer == 2) return true;
    if (l->out != out || l->in != (layer == 1 ? p->inter : p->hidden) || l->out > most ||
        l->in > most || l->bias >= p->inputs || l->few_bits > 1)
        return extent_refuse(e, "shape of a layer");
    uint64_t each = experts_float_bytes(p, l);
    if (l->few_bits) {
        if (!nbits_matmul_extent(&own, &l->packed)) return extent_refuse(e, own.why);
        if (l->packed.n != l->out || l->packed.k != l->in || l->packed.level != p->level ||
            l->packed.a_bytes || l->packed.has_bias != (l->bias != 0))
            return extent_refuse(e, "weights of a layer");
        each = own.packed;
    }
    if (l->each != each || l->at != *packed) return extent_refuse(e, "place of the weights");
    *packed = extent_add(*packed, extent_mul(each, p->count));
    if (l->bias) extent_tensor(e, l->bias, extent_mul(p->count, l->out), sizeof(float));
    return true;
}

static bool experts_extent(kernel_extent *e, const kernel_claim *q)
{
    const experts *p = extent_params(e, q, sizeof *p);
    const uint64_t most = INT32_MAX;
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->weights >= p->inputs) return extent_refuse(e, "inputs");
    if (!p->tokens || !p->hidden || !p->inter || !p->count || !p->k || p->k > p->count ||
        p->tokens > most || p->hidden > most || p->inter > most / 2 || p->count > most ||
        p->tokens > most / p->k || p->fusion > 2 || p->activation > EXPERTS_SWIGLU ||
        (p->fusion && p->activation != EXPERTS_SWIGLU))
        return extent_refuse(e, "shape");
    if (p->fusion && p->layers[2].out) return extent_refuse(e, "third layer");
    for (uint32_t i = 0; i < EXPERTS_LAYERS; i++)
        if (!check_layer(e, p, i, &e->packed)) return false;
    experts again = *p;
    e->workspace = experts_lay_out(&again);
    if (memcmp(&again, p, sizeof again)) return extent_refuse(e, "place in the workspace");
    e->scratch = experts_scratch_bytes(p);
    e->phases = EXPERTS_PHASES;
    const uint64_t all = extent_mul(p->tokens, p->hidden);
    extent_tensor(e, EXPERTS_X, all, sizeof(float));
    extent_tensor(e, EXPERTS_ROUTER, extent_mul(p->tokens, p->count), sizeof(float));
    if (p->weights) extent_tensor(e, p->weights, extent_mul(p->tokens, p->count), sizeof(float));
    extent_tensor(e, p->inputs, all, sizeof(float));
    return true;
}

#define ROW(suffix, level, flops_per_ns)                                                         \
    {                                                                                            \
        .name = "experts_" #suffix, .version = 3, .ops = "com.microsoft:MoE com.microsoft:QMoE", \
        .needs = level, .rates = {flops_per_ns}, .accept = experts_accept,                       \
        .prepare = experts_prepare, .run = experts_run, .extent = experts_extent                 \
    }
const kernel KERNELS_experts[] = {
    ROW(portable, CPU_PORTABLE, 4),
    ROW(avx2, CPU_AVX2, 60),
    ROW(avx512, CPU_AVX512, 70),
    {0},
};
