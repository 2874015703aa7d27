/* SPDX-License-Identifier: Apache-2.0 */
/* Four ways to compute in other types than float32, for the same matrix product: the fp16 flag, a
 * type for one layer in the network, quantization in the network (Q/DQ), and int8 with a
 * calibrator.
 *
 *     precision
 */
#include <math.h>
#include <stdio.h>

#include <polygraphy/polygraphy.h>

enum { ROWS = 8, INNER = 32, COLUMNS = 16 };

static pgy_status add_numbers(pgy_value **out, pgy_network *net, size_t rank, const int64_t *shape, float (*number)(size_t), pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_layer *constant = NULL;
    pgy_status st = pgy_tensor_create(&t, PGY_F32, rank, shape, err);
    for (size_t i = 0; !st && i < pgy_tensor_count(t); i++) ((float *)pgy_tensor_data(t))[i] = number(i);
    if (!st) st = pgy_network_add_constant(&constant, net, t, err);
    pgy_tensor_release(t);
    if (!st) *out = constant->outputs[0];
    return st;
}

static float weight(size_t i)
{
    return (float)(i * 37 % 101) / 50 - 1;
}
static float data(size_t i)
{
    return (float)(i * 53 % 97) / 48 - 1;
}
static float scale(size_t i)
{
    (void)i;
    return 1.0f / 127;
}

/* Quantises *v and dequantises it again. */
static pgy_status add_q_dq(pgy_value **v, pgy_network *net, pgy_error *err)
{
    pgy_quantization p = {0};
    pgy_layer *q = NULL, *dq = NULL;
    pgy_status st = add_numbers(&p.scale, net, 0, NULL, scale, err);
    if (!st) st = pgy_network_add_quantize(&q, net, *v, &p, err);
    if (!st) st = pgy_network_add_dequantize(&dq, net, q->outputs[0], &p, err);
    if (!st) *v = dq->outputs[0];
    return st;
}

typedef enum kind { PLAIN, FP16_FLAG, FP16_LAYER, Q_DQ, CALIBRATED, KIND_COUNT } kind;
static const char *const NAMES[] = {"float32", "fp16 flag", "layer in float16", "Q/DQ", "int8 calibrated"};

static pgy_status make_model(pgy_model **out, kind k, pgy_error *err)
{
    static const int64_t A[] = {ROWS, INNER}, B[] = {INNER, COLUMNS};
    pgy_network *net = NULL;
    pgy_value *a = NULL, *b = NULL;
    pgy_layer *product = NULL;
    pgy_status st = pgy_network_create(&net, "product", err);
    if (!st) st = pgy_network_add_input(&a, net, "x", PGY_F32, 2, A, err);
    if (!st) st = add_numbers(&b, net, 2, B, weight, err);
    if (!st && k == Q_DQ) st = add_q_dq(&a, net, err);
    if (!st && k == Q_DQ) st = add_q_dq(&b, net, err);
    if (!st) st = pgy_network_add_matrix_multiply(&product, net, a, PGY_MATRIX_NONE, b, PGY_MATRIX_NONE, err);
    if (!st && k == FP16_LAYER) st = pgy_layer_set_precision(product, PGY_F16, err);
    if (!st) st = pgy_network_rename_tensor(net, product->outputs[0], "y", err);
    if (!st) st = pgy_network_mark_output(net, product->outputs[0], err);
    if (!st) printf("%-16s the product computes in %s\n", NAMES[k], pgy_dtype_name(product->precision));
    if (!st) st = pgy_network_to_model(out, net, err);
    pgy_network_destroy(net);
    return st;
}

/* The data for calibration: the batch itself. */
static pgy_status make_loader(pgy_data_loader **out, pgy_error *err)
{
    static const int64_t SHAPE[] = {ROWS, INNER};
    pgy_tensor_map *map = NULL;
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_map_create(&map, err);
    if (!st) st = pgy_tensor_create(&t, PGY_F32, 2, SHAPE, err);
    for (size_t i = 0; !st && i < ROWS * INNER; i++) ((float *)pgy_tensor_data(t))[i] = data(i);
    if (!st) st = pgy_tensor_map_set(map, "x", t, err);
    const pgy_tensor_map *maps[] = {map};
    if (!st) st = pgy_list_loader_create(out, maps, 1, err);
    pgy_tensor_release(t);
    pgy_tensor_map_destroy(map);
    return st;
}

static pgy_status run(float *y, pgy_engine *engine, pgy_error *err)
{
    float x[ROWS * INNER];
    pgy_context *context = NULL;
    for (size_t i = 0; i < ROWS * INNER; i++) x[i] = data(i);
    pgy_status st = pgy_context_create(&context, engine, NULL, err);
    if (!st) st = pgy_context_set_input(context, "x", x, sizeof x, err);
    if (!st) st = pgy_context_set_output(context, "y", y, ROWS * COLUMNS * sizeof *y, err);
    if (!st) st = pgy_context_execute(context, err);
    pgy_context_destroy(context);
    return st;
}

static pgy_status build_and_run(float *y, kind k, pgy_error *err)
{
    pgy_data_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_engine *engine = NULL;
    pgy_status st = make_model(&model, k, err);
    if (!st && k == CALIBRATED) st = make_loader(&loader, err);
    const pgy_calibration calibration = {.size = sizeof calibration, .kind = PGY_CALIBRATOR_MIN_MAX, .data = loader};
    const pgy_build_config config = {.size = sizeof config, .fp16 = k == FP16_FLAG, .int8 = k == CALIBRATED, .calibration = k == CALIBRATED ? &calibration : NULL};
    if (!st) st = pgy_engine_build(&engine, model, &config, err);
    if (!st) st = run(y, engine, err);
    pgy_engine_release(engine);
    pgy_model_destroy(model);
    pgy_data_loader_destroy(loader);
    return st;
}

int main(void)
{
    static const double ALLOWED[KIND_COUNT] = {1e-4, 0.05, 0.05, 0.2, 0.2}; /* of sums that reach about 10 */
    static float results[KIND_COUNT][ROWS * COLUMNS];
    pgy_error err = {0};
    pgy_status st = PGY_OK;
    bool right = true;
    for (int k = 0; !st && k < KIND_COUNT; k++) st = build_and_run(results[k], (kind)k, &err);
    for (int k = 0; !st && k < KIND_COUNT; k++) {
        double worst = 0;
        for (size_t i = 0; i < ROWS * COLUMNS; i++) {
            double exact = 0;
            for (size_t j = 0; j < INNER; j++) exact += (double)data(i / COLUMNS * INNER + j) * (double)weight(j * COLUMNS + i % COLUMNS);
            worst = fmax(worst, fabs((double)results[k][i] - exact));
        }
        printf("%-16s largest error %.5f\n", NAMES[k], worst);
        if (worst > ALLOWED[k] || (k > PLAIN && worst < 1e-5)) right = false;
    }
    if (st) fprintf(stderr, "error: %s\n", err.text);
    return st || !right;
}
