/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces weights of a built engine: y = x w + bias, where w is replaced while a context exists.
 * It also builds a plan without weights, which runs after it is refitted.
 *
 *     refit
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>
#include <polygraphy/refit.h>

enum { INNER = 64, COLUMNS = 32 };

static pgy_status make_tensor(pgy_tensor **out, size_t rank, const int64_t *shape, float number, pgy_error *err)
{
    pgy_status st = pgy_tensor_create(out, PGY_F32, rank, shape, err);
    for (size_t i = 0; !st && i < pgy_tensor_count(*out); i++) ((float *)pgy_tensor_data(*out))[i] = number;
    return st;
}

/* Adds a weight with a name, by which the refitter finds it. */
static pgy_status add_weight(pgy_value **out, pgy_network *net, const char *name, size_t rank, const int64_t *shape, float number, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_layer *constant = NULL;
    pgy_status st = make_tensor(&t, rank, shape, number, err);
    if (!st) st = pgy_network_add_constant(&constant, net, t, err);
    if (!st) st = pgy_network_rename_tensor(net, constant->outputs[0], name, err);
    pgy_tensor_release(t);
    if (!st) *out = constant->outputs[0];
    return st;
}

static pgy_status make_model(pgy_model **out, float w_number, pgy_error *err)
{
    static const int64_t X[] = {1, INNER}, W[] = {INNER, COLUMNS}, B[] = {COLUMNS};
    pgy_network *net = NULL;
    pgy_value *x = NULL, *w = NULL, *bias = NULL;
    pgy_layer *product = NULL, *sum = NULL;
    pgy_status st = pgy_network_create(&net, "linear", err);
    if (!st) st = pgy_network_add_input(&x, net, "x", PGY_F32, 2, X, err);
    if (!st) st = add_weight(&w, net, "w", 2, W, w_number, err);
    if (!st) st = add_weight(&bias, net, "bias", 1, B, 0.5f, err);
    if (!st) st = pgy_network_add_matrix_multiply(&product, net, x, PGY_MATRIX_NONE, w, PGY_MATRIX_NONE, err);
    if (!st) st = pgy_network_add_elementwise(&sum, net, product->outputs[0], bias, PGY_ELEMENTWISE_SUM, err);
    if (!st) st = pgy_network_rename_tensor(net, sum->outputs[0], "y", err);
    if (!st) st = pgy_network_mark_output(net, sum->outputs[0], err);
    if (!st) st = pgy_network_to_model(out, net, err);
    pgy_network_destroy(net);
    return st;
}

static pgy_status build(pgy_engine **out, float w_number, bool strip, pgy_error *err)
{
    const pgy_build_config config = {.size = sizeof config, .refittable = true, .strip_plan = strip};
    pgy_model *model = NULL;
    pgy_status st = make_model(&model, w_number, err);
    if (!st) st = pgy_engine_build(out, model, &config, err);
    pgy_model_destroy(model);
    return st;
}

/* Is y the right result of w and bias for an input of ones? */
static pgy_status run(bool *right, pgy_context *context, float w_number, pgy_error *err)
{
    const float wanted = INNER * w_number + 0.5f;
    float x[INNER], y[COLUMNS] = {0};
    for (int i = 0; i < INNER; i++) x[i] = 1;
    pgy_status st = pgy_context_set_input(context, "x", x, sizeof x, err);
    if (!st) st = pgy_context_set_output(context, "y", y, sizeof y, err);
    if (!st) st = pgy_context_execute(context, err);
    if (st) return st;
    printf("w is %g: y is %g ... %g\n", (double)w_number, (double)y[0], (double)y[COLUMNS - 1]);
    for (int i = 0; i < COLUMNS; i++)
        if (y[i] != wanted) *right = false;
    return PGY_OK;
}

/* Replaces one weight, which it finds by its name. */
static pgy_status refit_weight(pgy_engine *engine, float w_number, pgy_error *err)
{
    static const int64_t W[] = {INNER, COLUMNS};
    pgy_refitter *refitter = NULL;
    pgy_tensor *w = NULL;
    pgy_status st = pgy_refitter_create(&refitter, engine, err);
    for (size_t i = 0; !st && i < pgy_refitter_weight_count(refitter); i++) printf("weight %s\n", pgy_refitter_weight_at(refitter, i)->name);
    if (!st) st = make_tensor(&w, 2, W, w_number, err);
    if (!st) st = pgy_refitter_set_weights(refitter, "w", w, err);
    if (!st) st = pgy_refitter_refit(refitter, err);
    pgy_tensor_release(w);
    pgy_refitter_destroy(refitter);
    return st;
}

static pgy_status exchange(bool *right, pgy_error *err)
{
    pgy_engine *engine = NULL;
    pgy_context *context = NULL;
    pgy_status st = build(&engine, 1, false, err);
    if (!st) st = pgy_context_create(&context, engine, NULL, err);
    if (!st) st = run(right, context, 1, err);
    if (!st) st = refit_weight(engine, 2, err);
    if (!st) st = run(right, context, 2, err);
    pgy_context_destroy(context);
    pgy_engine_release(engine);
    return st;
}

/* Makes a plan without weights in memory; all weights come from a model again. */
static pgy_status strip(bool *right, pgy_error *err)
{
    pgy_engine *built = NULL, *loaded = NULL;
    pgy_context *context = NULL;
    pgy_refitter *refitter = NULL;
    pgy_model *model = NULL;
    void *plan = NULL;
    size_t size = 0;
    pgy_status st = build(&built, 1, true, err);
    if (!st) st = pgy_engine_serialize(&plan, &size, built, err);
    if (!st) st = pgy_engine_load(&loaded, plan, size, false, err);
    if (!st && !pgy_engine_is_stripped(loaded)) *right = false;
    if (!st) st = make_model(&model, 3, err);
    if (!st) st = pgy_refitter_create(&refitter, loaded, err);
    if (!st && pgy_refitter_missing_count(refitter) == 0) *right = false;
    if (!st) printf("a plan of %zu bytes, %zu weights are missing\n", size, pgy_refitter_missing_count(refitter));
    if (!st) st = pgy_refitter_set_model(refitter, model, err);
    if (!st) st = pgy_refitter_refit(refitter, err);
    if (!st) st = pgy_context_create(&context, loaded, NULL, err);
    if (!st) st = run(right, context, 3, err);
    pgy_context_destroy(context);
    pgy_refitter_destroy(refitter);
    pgy_model_destroy(model);
    pgy_engine_release(loaded);
    pgy_engine_free_bytes(plan);
    pgy_engine_release(built);
    return st;
}

int main(void)
{
    pgy_error err = {0};
    bool right = true;
    pgy_status st = exchange(&right, &err);
    if (!st) st = strip(&right, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    return st || !right;
}
