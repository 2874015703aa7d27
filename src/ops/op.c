/* SPDX-License-Identifier: Apache-2.0 */
/* Access to a node for all operators: attributes with their defaults, words for element types, and
 * messages that name the node. */
#include "ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pgy_dtype op_storage(pgy_dtype declared)
{
    if (declared == PGY_DTYPE_NONE || declared == PGY_U64) return declared;
    switch (pgy_dtype_describe(declared)->kind) {
    case PGY_KIND_BOOL: return PGY_BOOL;
    case PGY_KIND_SIGNED:
    case PGY_KIND_UNSIGNED: return PGY_I64;
    case PGY_KIND_FLOAT: return PGY_F64;
    case PGY_KIND_COMPLEX: return PGY_C128;
    case PGY_KIND_STRING: return PGY_STRING;
    }
    return PGY_DTYPE_NONE;
}

/* ---- Attributes ----------------------------------------------------------------------------- */

const op_attr *op_attr_find(const op_node *n, const char *name)
{
    for (size_t i = 0; i < n->attr_count; i++)
        if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
    return NULL;
}

static const op_attr_def *find_def(const op_def *def, const char *name)
{
    for (const op_attr_def *d = def->attrs; d && d->name; d++)
        if (strcmp(d->name, name) == 0) return d;
    return NULL;
}

static const char *default_text(const op_node *n, const char *name)
{
    const op_attr_def *d = find_def(n->def, name);
    return d ? d->fallback : NULL;
}

int64_t op_attr_int(const op_node *n, const char *name, int64_t fallback)
{
    const op_attr *a = op_attr_find(n, name);
    if (a && a->kind == OP_ATTR_INT) return a->i;
    const char *text = default_text(n, name);
    return text ? strtoll(text, NULL, 10) : fallback;
}

double op_attr_float(const op_node *n, const char *name, double fallback)
{
    const op_attr *a = op_attr_find(n, name);
    if (a && a->kind == OP_ATTR_FLOAT) return (double)a->f;
    const char *text = default_text(n, name);
    return text ? (double)strtof(text, NULL) : fallback; /* attributes are float32, defaults too */
}

bool op_attr_is(const op_node *n, const char *name, const char *text, const char *fallback)
{
    const op_attr *a = op_attr_find(n, name);
    if (a && a->kind == OP_ATTR_STRING) return span_equals(a->s, text);
    const char *preset = default_text(n, name);
    if (!preset) preset = fallback;
    return preset && strcmp(preset, text) == 0;
}

const int64_t *op_attr_ints(const op_node *n, const char *name, size_t *count)
{
    const op_attr *a = op_attr_find(n, name);
    const bool given = a && a->kind == OP_ATTR_INTS;
    *count = given ? a->count : 0;
    return given ? a->ints : NULL;
}

const float *op_attr_floats(const op_node *n, const char *name, size_t *count)
{
    const op_attr *a = op_attr_find(n, name);
    const bool given = a && a->kind == OP_ATTR_FLOATS;
    *count = given ? a->count : 0;
    return given ? a->floats : NULL;
}

/* ---- Types ---------------------------------------------------------------------------------- */

static bool word_holds(span word, pgy_dtype dtype)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    const bool integer = info->kind == PGY_KIND_SIGNED || info->kind == PGY_KIND_UNSIGNED;
    if (span_equals(word, "all")) return true;
    if (span_equals(word, "float")) return info->kind == PGY_KIND_FLOAT;
    if (span_equals(word, "int")) return info->kind == PGY_KIND_SIGNED;
    if (span_equals(word, "uint")) return info->kind == PGY_KIND_UNSIGNED;
    if (span_equals(word, "number")) return integer || info->kind == PGY_KIND_FLOAT;
    return span_equals(word, info->name);
}

bool op_type_in(const char *words, pgy_dtype dtype)
{
    if (!words || !*words) return true;
    while (*words) {
        const size_t size = strcspn(words, " ");
        if (size && word_holds((span){words, size}, dtype)) return true;
        words += size + strspn(words + size, " ");
    }
    return false;
}

/* ---- Messages ------------------------------------------------------------------------------- */

pgy_status op_error(const op_node *n, pgy_error *err, pgy_status st, const char *format, ...)
{
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return pgy_error_set(err, st, "%s '%s': %s", n->def->name, n->name ? n->name : "", text);
}

void op_print_shape(str *out, int32_t rank, const dim *dims)
{
    if (rank < 0) {
        str_append(out, "(unknown rank)");
        return;
    }
    str_append(out, "(");
    for (int32_t i = 0; i < rank; i++) {
        if (i) str_append(out, ", ");
        dim_print(out, dims[i]);
    }
    str_append(out, rank == 1 ? ",)" : ")");
}
