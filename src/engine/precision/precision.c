/* SPDX-License-Identifier: Apache-2.0 */
/* Applies int8 first, as it is calibrated in float32, then 16-bit floats to the other layers. Types
 * of inputs and outputs are changed earlier, before the engine describes them. */
#include "engine/precision/precision.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/passes/pass.h"
#include "graph/size_arithmetic.h"

static const char LOG_PATH[] = "engine/precision/precision.c";

static precision start(pgy_graph *g, const pgy_build_config *config, pgy_error *err)
{
    return (precision){.p = {.f = {.graph = g,
                                   .state = state_of(g),
                                   .weak_names = pgy_model_proto(g->model)->ir_version < 4},
                             .pass = "precision",
                             .err = err},
                       .config = config};
}

static pgy_status finish(precision *x)
{
    pgy_graph *g = x->p.f.graph;
    pgy_status st = x->p.status;
    arena_deinit(&x->p.f.memory);
    precision_values_deinit(&x->values);
    graph_guards_deinit(&x->guards);
    id_marks_deinit(&x->sizes);
    if (!st) st = pgy_graph_remove_unused(g, x->p.err);
    if (!st) st = pgy_graph_sort(g, x->p.err);
    return st ? st : pgy_graph_infer_shapes(g, NULL, x->p.err);
}

/* ---- What is asked for ---------------------------------------------------------------------- */

static bool asks_for(const pgy_build_config *c, pgy_dtype dtype)
{
    for (size_t i = 0; i < c->layer_type_count; i++)
        if (c->layer_types[i].dtype == dtype) return true;
    return false;
}

/* Finds Q/DQ, or the integer operators that earlier passes made of them. */
bool precision_is_explicit(const pgy_graph *g)
{
    static const char *const SIGNS[] = {"QuantizeLinear", "DequantizeLinear", "QLinear",
                                        "QGemm",          "Quantized",        "ConvInteger",
                                        "MatMulInteger"};
    for (size_t i = 0; i < g->node_count; i++) {
        const char *op = g->nodes[i]->op_type;
        for (size_t k = 0; k < sizeof SIGNS / sizeof *SIGNS; k++)
            if (str_starts_with(op, SIGNS[k])) return true;
    }
    return false;
}

/* Fuses functions and normalisations first: written out, they would lose precision step by step,
 * and could not be fused any more. If single layers are asked for by name, all layers keep their
 * names. */
static pgy_status fuse_first(pgy_graph *g, const pgy_build_config *config, pgy_error *err)
{
    const pass *const PASSES[] = {&PASS_fuse_gelu, &PASS_fuse_swish, &PASS_fuse_layer_norm};
    pgy_status st = PGY_OK;
    if (config->layer_type_count) return PGY_OK;
    for (size_t i = 0; !st && i < sizeof PASSES / sizeof *PASSES; i++) {
        size_t changes = 0;
        st = PASSES[i]->run(g, &changes, err);
    }
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    return st ? st : pgy_graph_sort(g, err);
}

static pgy_status apply_int8(pgy_graph *g, const pgy_build_config *config,
                             const calibration_runner *runner, pgy_error *err)
{
    if (precision_is_explicit(g)) {
        LOG(INFO, "The model has Q/DQ, which decide where int8 is used; calibration is skipped%s",
            config->calibration && config->calibration->cache
                ? "; the calibration cache is neither read nor written"
                : "");
        return PGY_OK;
    }
    const pgy_status st = fuse_first(g, config, err);
    if (st) return st;
    precision x = start(g, config, err);
    x.runner = runner;
    precision_quantize(&x);
    if (!x.p.status) LOG(INFO, "Layers in int8: %zu", x.quantized_count);
    if (!x.p.status && !x.quantized_count && !config->layer_type_count)
        LOG(WARNING, "int8: the model has no layer that can compute in int8; expected a "
                     "convolution or matrix product of float32 with constant weights");
    return finish(&x);
}

static pgy_status apply_half(pgy_graph *g, const pgy_build_config *config, pgy_error *err)
{
    const pgy_status st = fuse_first(g, config, err);
    if (st) return st;
    precision x = start(g, config, err);
    if (config->fp16 || asks_for(config, PGY_F16))
        x.p.status = graph_guard_mark(&x.guards, g, PGY_F16, err);
    if (!x.p.status && (config->bf16 || asks_for(config, PGY_BF16)))
        x.p.status = graph_guard_mark(&x.guards, g, PGY_BF16, err);
    if (!x.p.status) x.p.status = graph_size_arithmetic_mark(&x.sizes, g, err);
    precision_halve(&x);
    if (!x.p.status && (x.count[0] || config->fp16))
        LOG(INFO, "Layers in float16: %zu", x.count[0]);
    if (!x.p.status && (x.count[1] || config->bf16))
        LOG(INFO, "Layers in bfloat16: %zu", x.count[1]);
    if (!x.p.status && x.count[2]) LOG(INFO, "Layers converted to float32: %zu", x.count[2]);
    return finish(&x);
}

/* ---- Saving --------------------------------------------------------------------------------- */

/* The opset for saving: the model's own, so that runtimes that ran it still can, but at least one
 * that supports the types in use. */
static int64_t opset_to_save(const pgy_graph *g, const pgy_build_config *c)
{
    const int64_t came = pgy_model_opset(pgy_model_proto(g->model), "");
    const int64_t least = c->bf16 || asks_for(c, PGY_BF16) ? 22 : 17;
    return came > least ? came : least;
}

/* *out NULL: this opset cannot express the model. */
static pgy_status export_as(pgy_model **out, pgy_graph *g, int64_t version, pgy_error *err)
{
    pgy_graph *copy = NULL;
    pgy_error why = {0};
    pgy_status st = graph_clone(&copy, g, err);
    /* normalising also raised the version of the file format; reset it */
    if (!st) state_of(copy)->ir_version = 0;
    if (!st && pgy_graph_convert_opset(copy, version, NULL, &why))
        LOG(WARNING, "The model with its new types is saved in opset %lld instead of %lld: %s",
            (long long)pgy_graph_opset(g, ""), (long long)version, why.text);
    else if (!st)
        st = pgy_graph_export(out, copy, err);
    pgy_graph_destroy(copy);
    return st;
}

static pgy_status save(pgy_graph *g, const pgy_build_config *config, pgy_error *err)
{
    pgy_model *model = NULL;
    const int64_t version = opset_to_save(g, config);
    pgy_status st = PGY_OK;
    if (version < pgy_graph_opset(g, "")) st = export_as(&model, g, version, err);
    if (!st && !model) st = pgy_graph_export(&model, g, err);
    if (!st) {
        LOG(INFO, "Saving the model with its new types to %s", config->save_quantized);
        st = pgy_model_save(model, config->save_quantized, NULL, err);
    }
    pgy_model_destroy(model);
    return st;
}

pgy_status precision_apply(pgy_graph *g, const pgy_build_config *config,
                           const calibration_runner *runner, pgy_error *err)
{
    const bool int8 = config->int8 || asks_for(config, PGY_I8);
    const bool half = config->fp16 || config->bf16 || asks_for(config, PGY_F16) ||
                      asks_for(config, PGY_BF16) || asks_for(config, PGY_F32);
    pgy_status st = PGY_OK;
    if (config->layer_type_count) {
        precision x = start(g, config, err);
        precision_check_choices(&x);
        st = x.p.status;
        arena_deinit(&x.p.f.memory);
        precision_values_deinit(&x.values);
    }
    if (!st && (int8 || half)) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st && (int8 || half)) st = pgy_graph_sort(g, err);
    if (!st && int8) st = apply_int8(g, config, runner, err);
    if (!st && half) st = apply_half(g, config, err);
    return st || !config->save_quantized ? st : save(g, config, err);
}
