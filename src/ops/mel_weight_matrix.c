/* SPDX-License-Identifier: Apache-2.0 */
/* MelWeightMatrix: triangular bands, evenly spaced on the mel scale, over the bins of a spectrum.
 * Edges fall on whole bins; a triangle rises from 0 at its lower edge to 1 at its centre and falls
 * to 0 at its upper edge. */
#include <math.h>

#include "base/alloc.h"
#include "ops/class_window_function.h"

enum { BANDS, LENGTH, RATE, LOWER, UPPER };

static const op_attr_def ATTRS[] = {
    {"output_datatype", OP_ATTR_INT, false, "1"},
    {NULL},
};

static dim scalar_of(op_infer *c, size_t i)
{
    const dim *values;
    size_t count;
    if (rule_values(c, i, &values, &count) && count == 1) return *values;
    return dim_unknown(c->dims, "a size of the matrix is computed at run time");
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_dtype dtype;
    pgy_status st = window_function_type(&dtype, c->node, "output_datatype", err);
    dim *dims = op_dims(c, 2);
    if (st) return st;
    if (!dims) return rule_no_memory(c->node, err);
    const dim bands = scalar_of(c, BANDS), length = scalar_of(c, LENGTH);
    if (rule_is_negative(bands) || rule_is_negative(length))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "num_mel_bins and dft_length must not be negative");
    dims[0] = dim_add(c->dims, dim_div_floor(c->dims, length, dim_const(2)), dim_const(1));
    dims[1] = bands;
    op_set_output(c, 0, dtype, 2, dims);
    return PGY_OK;
}

/* Gives the spectrum bin of band edge i, limited to the spectrum; there are bands + 2 edges. */
static int64_t edge_bin(const op_eval *c, size_t i, size_t bands, size_t bins)
{
    const double length = (double)in_i64(c, LENGTH)[0], rate = (double)in_i64(c, RATE)[0];
    const double low = 2595 * log1p(in_f64(c, LOWER)[0] / 700) / log(10);
    const double high = 2595 * log1p(in_f64(c, UPPER)[0] / 700) / log(10);
    const double mel = low + (double)i * ((high - low) / (double)(bands + 2));
    const double bin = floor((length + 1) * (700 * expm1(mel / 2595 * log(10))) / rate);
    return bin > 0 ? bin < (double)bins ? (int64_t)bin : (int64_t)bins : 0;
}

static void fill_band(const op_eval *c, pgy_tensor *y, size_t band, size_t bands, size_t bins)
{
    const int64_t low = edge_bin(c, band, bands, bins), centre = edge_bin(c, band + 1, bands, bins),
                  high = edge_bin(c, band + 2, bands, bins);
    for (int64_t k = low; k <= high && k < (int64_t)bins; k++) {
        double weight = 0;
        if (k < centre || (k == centre && high == centre))
            weight = centre == low ? 1 : (double)(k - low) / (double)(centre - low);
        else if (k < high)
            weight = (double)(high - k) / (double)(high - centre);
        window_function_store(y, (size_t)k * bands + band, weight);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "IIIFF", err);
    if (!st) st = rule_output(c, 0, &y, err);
    for (size_t i = 0; !st && i <= UPPER; i++)
        if (in_count(c, i) != 1)
            st = op_error(c->node, err, PGY_E_SHAPE,
                          "input %zu has %zu elements, but must have one", i, in_count(c, i));
    if (st) return st;
    if (in_i64(c, RATE)[0] <= 0)
        return op_error(c->node, err, PGY_E_ARGUMENT, "sample_rate is %lld, but must be positive",
                        (long long)in_i64(c, RATE)[0]);
    if (!(in_f64(c, LOWER)[0] >= 0) || !(in_f64(c, UPPER)[0] >= in_f64(c, LOWER)[0]))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "the band from %g to %g Hz is not valid: its edges must be 0 or more, the "
                        "upper edge not below the lower",
                        in_f64(c, LOWER)[0], in_f64(c, UPPER)[0]);
    const size_t bins = (size_t)out_shape(c, 0)[0], bands = (size_t)out_shape(c, 0)[1];
    for (size_t i = 0; i < bands; i++) fill_band(c, y, i, bands, bins);
    return PGY_OK;
}

const op_def OP_mel_weight_matrix[] = {
    {"MelWeightMatrix", "", 17, 0, 5, 5, 1, 1, 0, ATTRS, "int32 int64", infer, eval, NULL},
    {NULL},
};
