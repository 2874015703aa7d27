/* SPDX-License-Identifier: Apache-2.0 */
/* Constants for small graphs, folding with or without options, and what came of it. */
#ifndef TESTS_FOLD_TEXT_H
#define TESTS_FOLD_TEXT_H

#include "graph_text.h"

static inline pgy_gs_tensor *text_constant(pgy_gs_graph *g, const char *name, pgy_dtype dtype,
                                           size_t rank, const int64_t *shape, const void *items)
{
    pgy_gs_tensor *t = NULL;
    pgy_tensor *values = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_create(&values, dtype, rank, shape, &err), PGY_OK);
    const size_t bytes = pgy_tensor_size_bytes(values);
    if (bytes) memcpy(pgy_tensor_data(values), items, bytes);
    assert_int_equal(pgy_gs_constant(&t, g, name, values, &err), PGY_OK);
    pgy_tensor_release(values);
    return t;
}

/* A list of numbers by blanks. */
static inline size_t text_numbers(double *out, const char *numbers)
{
    size_t count = 0;
    char *end = NULL;
    for (const char *at = numbers;; at = end) {
        const double x = strtod(at, &end);
        if (end == at) return count;
        assert_true(count < TEXT_NAMES);
        out[count++] = x;
    }
}

static inline pgy_gs_tensor *text_floats(pgy_gs_graph *g, const char *name, const char *numbers)
{
    double items[TEXT_NAMES];
    float narrow[TEXT_NAMES];
    const int64_t count = (int64_t)text_numbers(items, numbers);
    for (int64_t i = 0; i < count; i++) narrow[i] = (float)items[i];
    return text_constant(g, name, PGY_F32, 1, &count, narrow);
}

static inline pgy_gs_tensor *text_ints(pgy_gs_graph *g, const char *name, const char *numbers)
{
    double items[TEXT_NAMES];
    int64_t whole[TEXT_NAMES];
    const int64_t count = (int64_t)text_numbers(items, numbers);
    for (int64_t i = 0; i < count; i++) whole[i] = (int64_t)items[i];
    return text_constant(g, name, PGY_I64, 1, &count, whole);
}

static inline pgy_gs_tensor *text_bool(pgy_gs_graph *g, const char *name, bool value)
{
    return text_constant(g, name, PGY_BOOL, 0, NULL, &value);
}

/* Of a tensor that the graph has. Sizes by blanks; a word that is no number is a dynamic one. */
static inline void text_type(pgy_gs_graph *g, const char *name, pgy_dtype dtype, const char *sizes)
{
    pgy_dim dims[TEXT_NAMES];
    int32_t rank = 0;
    char text[256];
    pgy_error err = {0};
    snprintf(text, sizeof text, "%s", sizes);
    for (char *rest = NULL, *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        const bool number = *w >= '0' && *w <= '9';
        assert_true(rank < TEXT_NAMES);
        dims[rank++] = (pgy_dim){number ? strtoll(w, NULL, 10) : -1, number ? NULL : w};
    }
    pgy_gs_tensor *t = pgy_gs_find_tensor(g, name);
    assert_non_null(t);
    assert_int_equal(pgy_gs_set_type(t, dtype, rank, dims, &err), PGY_OK);
}

static inline void text_attr(pgy_gs_node *n, pgy_gs_attr a)
{
    pgy_error err = {0};
    assert_int_equal(pgy_gs_set_attr(n, &a, &err), PGY_OK);
}

static inline void fold_with(pgy_gs_graph *g, pgy_gs_fold_options o)
{
    pgy_error err = {0};
    const pgy_status st = pgy_gs_fold_constants(g, &o, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(st, PGY_OK);
    assert_edges(g);
}

static inline void fold(pgy_gs_graph *g)
{
    fold_with(g, pgy_gs_fold_options_default());
}

/* "float32 (1, 3): 3 3 3", or "variable". */
static inline void assert_value(pgy_gs_graph *g, const char *name, const char *wanted)
{
    str text = {0};
    pgy_tensor *values = NULL, *wide = NULL;
    pgy_error err = {0};
    pgy_gs_tensor *t = pgy_gs_find_tensor(g, name);
    assert_non_null(t);
    if (t->kind == PGY_GS_CONSTANT) {
        str_printf(&text, "%s (", pgy_dtype_name(t->dtype));
        for (int32_t i = 0; i < t->rank; i++)
            str_printf(&text, "%s%lld", i ? ", " : "", (long long)t->dims[i].value);
        str_append(&text, "):");
        assert_int_equal(pgy_gs_values(&values, t, &err), PGY_OK);
        assert_int_equal(pgy_tensor_cast(&wide, pgy_tensor_view(values), PGY_F64, &err), PGY_OK);
        for (size_t i = 0; i < pgy_tensor_count(wide); i++)
            str_printf(&text, " %g", ((const double *)pgy_tensor_data(wide))[i]);
        pgy_tensor_release(values);
        pgy_tensor_release(wide);
    } else {
        str_append(&text, "variable");
    }
    assert_string_equal(str_text(&text), wanted);
    str_deinit(&text);
}

static inline void assert_variable(pgy_gs_graph *g, const char *name)
{
    assert_value(g, name, "variable");
}

/* What is logged. Static in tests, as one that fails leaves it open. */
typedef struct text_log {
    str text;
    size_t lines;
} text_log;

static inline void text_log_take(pgy_severity severity, const char *text, size_t size, void *user)
{
    text_log *log = user;
    (void)severity;
    str_append_n(&log->text, text, size);
    log->lines++;
}

static inline void text_log_open(text_log *log)
{
    *log = (text_log){0};
    pgy_log_set_sink(text_log_take, log);
}

static inline void text_log_close(text_log *log)
{
    pgy_log_set_sink(NULL, NULL);
    str_deinit(&log->text);
}

#endif
