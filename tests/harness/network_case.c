/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a network to a model, serializes and parses it, and runs the result in the reference and
 * in the engine, so that the tests cover what a file would hold. */
#include "harness/network_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/context/context.h"
#include "evaluate/execute.h"

typedef struct shape_text {
    size_t rank;
    int64_t dims[8], declared[8];
} shape_text;

static shape_text read_shape(const char *text)
{
    shape_text s = {0};
    while (*text) {
        char *end;
        s.dims[s.rank] = strtoll(text, &end, 10);
        assert_true(end != text && s.rank < 8);
        s.declared[s.rank] = *end == '?' ? -1 : s.dims[s.rank];
        s.rank++;
        text = end + strspn(end, "?, ");
    }
    return s;
}

network_case net_start(void)
{
    network_case c = {0};
    net_ok(&c, pgy_network_create(&c.net, "case", &c.err));
    net_ok(&c, pgy_tensor_map_create(&c.feed, &c.err));
    return c;
}

static pgy_tensor *make(network_case *c, pgy_dtype dtype, const shape_text *s, const void *values)
{
    pgy_tensor *t = NULL;
    net_ok(c, pgy_tensor_create(&t, dtype, s->rank, s->dims, &c->err));
    if (pgy_tensor_count(t)) memcpy(pgy_tensor_data(t), values, pgy_tensor_size_bytes(t));
    return t;
}

static pgy_value *input(network_case *c, const char *name, pgy_dtype dtype, const char *shape,
                        const void *values)
{
    const shape_text s = read_shape(shape);
    pgy_value *v = NULL;
    net_ok(c, pgy_network_add_input(&v, c->net, name, dtype, (int32_t)s.rank, s.declared, &c->err));
    net_ok(c, pgy_tensor_map_adopt(c->feed, name, make(c, dtype, &s, values), &c->err));
    return v;
}

pgy_value *net_floats(network_case *c, const char *name, const char *shape, const float *values)
{
    return input(c, name, PGY_F32, shape, values);
}

pgy_value *net_ints(network_case *c, const char *name, const char *shape, const int64_t *values)
{
    return input(c, name, PGY_I64, shape, values);
}

pgy_value *net_bools(network_case *c, const char *name, const char *shape, const bool *values)
{
    return input(c, name, PGY_BOOL, shape, values);
}

static pgy_value *constant(network_case *c, pgy_tensor *t)
{
    pgy_layer *layer = NULL;
    net_ok(c, pgy_network_add_constant(&layer, c->net, t, &c->err));
    pgy_tensor_release(t);
    return layer->outputs[0];
}

pgy_value *net_const_floats(network_case *c, const char *shape, const float *values)
{
    const shape_text s = read_shape(shape);
    return constant(c, make(c, PGY_F32, &s, values));
}

pgy_value *net_const_ints(network_case *c, const char *shape, const int64_t *values)
{
    const shape_text s = read_shape(shape);
    return constant(c, make(c, PGY_I64, &s, values));
}

pgy_value *net_const(network_case *c, pgy_dtype dtype, const char *shape, const double *values)
{
    const shape_text s = read_shape(shape);
    pgy_tensor *wide = make(c, PGY_F64, &s, values), *t = NULL;
    net_ok(c, pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, &c->err));
    pgy_tensor_release(wide);
    return constant(c, t);
}

void net_expect(network_case *c, pgy_value *v, const char *shape, const double *values)
{
    const shape_text s = read_shape(shape);
    char name[16];
    assert_true(c->expected_count < CASE_MAX_OUTPUTS);
    snprintf(name, sizeof name, "expected%zu", c->expected_count);
    if (!v->is_output) net_ok(c, pgy_network_mark_output(c->net, v, &c->err));
    snprintf(c->expected[c->expected_count].name, 128, "%s", v->name);
    c->expected[c->expected_count].rank = s.rank;
    c->expected[c->expected_count].count = 1;
    c->expected[c->expected_count].tolerance = 1e-4;
    for (size_t i = 0; i < s.rank; i++) {
        c->expected[c->expected_count].shape[i] = s.dims[i];
        c->expected[c->expected_count].count *= (size_t)s.dims[i];
    }
    assert_true(c->expected[c->expected_count].count <= 256);
    for (size_t i = 0; i < c->expected[c->expected_count].count; i++)
        c->expected[c->expected_count].values[i] = values[i];
    c->expected_count++;
}

void net_ok(network_case *c, pgy_status st)
{
    if (st) fail_msg("%s: %s", pgy_status_name(st), c->err.text);
}

void net_refused(network_case *c, pgy_status st, pgy_status wanted, const char *part)
{
    if (st != wanted) fail_msg("%s: %s", pgy_status_name(st), c->err.text);
    if (!strstr(c->err.text, part)) fail_msg("'%s' does not say '%s'", c->err.text, part);
    c->err.text[0] = '\0';
}

pgy_value *net_out(network_case *c, pgy_status st, pgy_layer *const *layer)
{
    net_ok(c, st);
    return (*layer)->outputs[0];
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status by_reference(pgy_model *model, const pgy_tensor_map *feed, pgy_tensor_map *out,
                               pgy_error *err)
{
    pgy_graph *g = NULL;
    graph_plan plan = {0};
    const execute_limits limits = {0};
    pgy_status st = pgy_graph_import(&g, model, err);
    if (!st) st = plan_build(&plan, g, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = execute_graph(&plan, g, feed, out, false, &limits, err);
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
    return st;
}

static pgy_status by_engine(pgy_model *model, const pgy_tensor_map *feed, pgy_tensor_map *out,
                            pgy_error *err)
{
    engine *e = NULL;
    context *run = NULL;
    pgy_status st = engine_build(&e, model, NULL, err);
    if (!st) st = context_create(&run, e, 1, err);
    if (!st) st = context_run(run, feed, out, NULL, err);
    context_destroy(run);
    engine_release(e);
    return st;
}

/* Serializes and parses the model, as if it were read from a file. */
static pgy_model *to_model(network_case *c)
{
    pgy_model *built = NULL, *read = NULL;
    void *bytes = NULL;
    size_t size = 0;
    net_ok(c, pgy_network_to_model(&built, c->net, &c->err));
    net_ok(c, pgy_model_serialize(&bytes, &size, built, &c->err));
    net_ok(c, pgy_model_parse(&read, bytes, size, false, NULL, &c->err));
    pgy_text_free(bytes);
    pgy_model_destroy(built);
    return read;
}

static void compare(network_case *c, const pgy_tensor_map *got, const char *who)
{
    for (size_t i = 0; i < c->expected_count; i++) {
        const char *name = c->expected[i].name;
        const pgy_tensor *t = pgy_tensor_map_find(got, name);
        pgy_tensor *wide = NULL;
        if (!t) fail_msg("%s gives no '%s'", who, name);
        if (pgy_tensor_rank(t) != c->expected[i].rank ||
            (c->expected[i].rank && memcmp(pgy_tensor_shape(t), c->expected[i].shape,
                                           c->expected[i].rank * sizeof(int64_t)) != 0))
            fail_msg("%s: '%s' has rank %zu, first size %lld", who, name, pgy_tensor_rank(t),
                     pgy_tensor_rank(t) ? (long long)pgy_tensor_shape(t)[0] : 1);
        net_ok(c, pgy_tensor_cast(&wide, pgy_tensor_view(t), PGY_F64, &c->err));
        const double *x = pgy_tensor_data(wide);
        for (size_t k = 0; k < c->expected[i].count; k++) {
            const double y = c->expected[i].values[k];
            if (!(fabs(x[k] - y) <= c->expected[i].tolerance * (1 + fabs(y))))
                fail_msg("%s: %s[%zu] is %g, not %g", who, name, k, x[k], y);
        }
        pgy_tensor_release(wide);
    }
}

typedef pgy_status (*runner)(pgy_model *model, const pgy_tensor_map *feed, pgy_tensor_map *out,
                             pgy_error *err);

static const struct {
    const char *name;
    runner run;
} RUNNERS[] = {{"the reference", by_reference}, {"the engine", by_engine}};

void net_finish(network_case *c)
{
    pgy_model *model = to_model(c);
    for (size_t i = 0; i < sizeof RUNNERS / sizeof *RUNNERS; i++) {
        pgy_tensor_map *out = NULL;
        net_ok(c, pgy_tensor_map_create(&out, &c->err));
        if (RUNNERS[i].run(model, c->feed, out, &c->err))
            fail_msg("%s: %s", RUNNERS[i].name, c->err.text);
        compare(c, out, RUNNERS[i].name);
        pgy_tensor_map_destroy(out);
    }
    pgy_model_destroy(model);
    net_drop(c);
}

void net_finish_failing(network_case *c, const char *part)
{
    pgy_model *model = to_model(c);
    for (size_t i = 0; i < sizeof RUNNERS / sizeof *RUNNERS; i++) {
        pgy_tensor_map *out = NULL;
        net_ok(c, pgy_tensor_map_create(&out, &c->err));
        if (!RUNNERS[i].run(model, c->feed, out, &c->err)) fail_msg("%s ran", RUNNERS[i].name);
        if (!strstr(c->err.text, part)) fail_msg("%s: %s", RUNNERS[i].name, c->err.text);
        pgy_tensor_map_destroy(out);
    }
    pgy_model_destroy(model);
    net_drop(c);
}

void net_drop(network_case *c)
{
    pgy_network_destroy(c->net);
    pgy_tensor_map_destroy(c->feed);
    c->net = NULL;
    c->feed = NULL;
}
