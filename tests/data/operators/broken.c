/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that lie: one infers another shape than it computes, one fails with a text of its own,
 * one infers a negative size. */
#include <polygraphy/operator.h>

static const pgy_operator_host *host;

static pgy_status same(pgy_operator_call *c, pgy_error *err)
{
    const pgy_operator_type x = host->input_type(c, 0);
    return host->set_output(c, 0, x.dtype, x.rank, x.dims, err);
}

static pgy_status shrink(pgy_operator_call *c, pgy_error *err)
{
    const int64_t dims[1] = {host->dim_sub(c, 3, 10)};
    return host->set_output(c, 0, PGY_F32, 1, dims, err);
}

static pgy_status other_shape(pgy_operator_call *c, pgy_error *err)
{
    void *data;
    const int64_t shape[1] = {7};
    return host->output_data(c, 0, 1, shape, &data, err);
}

static pgy_status refuse(pgy_operator_call *c, pgy_error *err)
{
    (void)c;
    return host->set_error(err, PGY_E_BACKEND, "not today");
}

#define OPERATOR(name_, infer_, compute_)                                                     \
    {                                                                                         \
        .size = sizeof(pgy_operator_definition), .abi = PGY_OPERATOR_ABI, .domain = "broken", \
        .name = name_, .since = 1, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,        \
        .max_outputs = 1, .infer = infer_, .compute = compute_                                \
    }
static const pgy_operator_definition LIAR = OPERATOR("Liar", same, other_shape);
static const pgy_operator_definition REFUSES = OPERATOR("Refuses", same, refuse);
static const pgy_operator_definition SHRINKS = OPERATOR("Shrinks", shrink, other_shape);

__attribute__((visibility("default"))) const pgy_operator_definition *const *pgy_operators_v1(
    const pgy_operator_host *h)
{
    static const pgy_operator_definition *const ALL[] = {&LIAR, &REFUSES, &SHRINKS, NULL};
    host = h;
    return ALL;
}
