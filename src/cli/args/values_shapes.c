/* SPDX-License-Identifier: Apache-2.0 */
/* The grammars of shapes, and of tensors with shape and type. Parsing follows the original, except
 * where it misreads a value silently (shapes without brackets): there the error shows the syntax
 * that works. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/pytext.h"
#include "cli/args/parser.h"
#include "cli/args/trtexec.h"
#include "cli/args/values.h"

static const char LOG_PATH[] = "cli/args/values_shapes.c";

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while reading option values");
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static pgy_status bad_shape(const char *text, const char *option, pgy_error *err)
{
    str form = {0};
    if (trtexec_shapes(&form, text)) {
        const pgy_status st =
            pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not NAME:[D0,D1,...]; write it as %s",
                          option, text, str_text(&form));
        str_deinit(&form);
        return st;
    }
    const char *split = strrchr(text, ':');
    if (!split || !strchr("0123456789", split[1]))
        split = strchr(text, ',') ? strchr(text, ',') : split;
    if (split && split > text && (isdigit((unsigned char)split[1]) || split[1] == '-')) {
        str_append_n(&form, text, (size_t)(split - text));
        str_append(&form, ":[");
        for (const char *p = split + 1; *p; p++) str_append_char(&form, *p == 'x' ? ',' : *p);
        str_append_char(&form, ']');
    } else {
        str_append(&form, "input:[1,3,224,224]");
    }
    pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not NAME:[D0,D1,...]; write it as '%s'",
                      option, text, str_text(&form));
    str_deinit(&form);
    return st;
}

/* Converts the syntax until 0.44, "name,1x3xH[,dtype]", to "name:[1,3,H]". NULL if the text has
 * another syntax. A dimension is a number or a quoted name. */
static const char *convert_old_shape(const char *text, arena *a)
{
    const char *comma = strchr(text, ',');
    if (!comma || comma == text || strchr(text, '[')) return NULL;
    size_t size = strcspn(comma + 1, ",");
    if (!size) return NULL;
    char *form = arena_printf(a, "%.*s:[%.*s]", (int)(comma - text), text, (int)size, comma + 1);
    bool digit = false, quoted = false;
    for (char *p = form ? form + (comma - text) + 2 : NULL; p && *p && *p != ']'; p++) {
        quoted ^= *p == '\'' || *p == '"';
        if (quoted || *p == '\'' || *p == '"') {
            digit = true;
        } else if (*p == 'x' && digit) {
            *p = ',';
            digit = false;
        } else if (isdigit((unsigned char)*p) || (*p == '-' && !digit)) {
            digit = true;
        } else {
            return NULL;
        }
    }
    return form && digit && !quoted ? form : NULL;
}

static pgy_status read_shape(pgy_tensor_info *out, const char *item, const char *option, arena *a,
                             pgy_error *err)
{
    const char *open = strrchr(item, '[');
    size_t size = strlen(item);
    if (!open || open == item || open[-1] != ':' || item[size - 1] != ']')
        return bad_shape(item, option, err);
    cast_value v = {0};
    const char *inside = open + 1;
    while (isspace((unsigned char)*inside)) inside++;
    if (*inside != ']') {
        pgy_status st = value_cast(&v, open, a, err);
        if (st) return st;
    }
    int64_t *shape = arena_alloc_array(a, v.count + 1, sizeof *shape);
    const char **names = arena_alloc_array(a, v.count + 1, sizeof *names);
    char *name = arena_strndup(a, item, (size_t)(open - 1 - item));
    if (!shape || !names || !name) return no_memory(err);
    if (v.count > PGY_MAX_RANK)
        return pgy_error_set(err, PGY_E_SHAPE, "%s: '%s' has more than %d dimensions", option, item,
                             PGY_MAX_RANK);
    for (size_t i = 0; i < v.count; i++) {
        if (v.items[i].kind == CAST_INT) {
            shape[i] = v.items[i].number.integer < 0 ? -1 : v.items[i].number.integer;
        } else if (v.items[i].kind == CAST_TEXT && v.items[i].text[0]) {
            shape[i] = -1;
            names[i] = v.items[i].text;
        } else {
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "%s: dimension %zu of '%s' is neither an integer nor a name",
                                 option, i, item);
        }
    }
    *out = (pgy_tensor_info){
        .name = name, .rank = (int32_t)v.count, .shape = shape, .dim_names = names};
    return PGY_OK;
}

/* Reads the current syntax, or that of releases before 0.45. */
static pgy_status read_bracketed(pgy_tensor_info *out, const char *item, const char *option,
                                 arena *a, pgy_error *err)
{
    const char *old = convert_old_shape(item, a);
    if (old)
        LOG(WARNING, "%s: '%s' has the syntax of releases before 0.45; it is read as '%s'", option,
            item, old);
    return read_shape(out, old ? old : item, option, a, err);
}

static pgy_status read_crossed(pgy_tensor_info *out, const char *item, const char *option, arena *a,
                               pgy_error *err)
{
    str quoted = {0};
    if (!trtexec_shapes(&quoted, item)) {
        str_deinit(&quoted);
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not %s; write it as 'input:%s'",
                             option, item, VALUES_CROSSES.form, VALUES_CROSSES.shape);
    }
    const char *bracketed = arena_strndup(a, str_text(&quoted) + 1, quoted.size - 2);
    str_deinit(&quoted);
    return bracketed ? read_shape(out, bracketed, option, a, err) : no_memory(err);
}

const value_syntax VALUES_BRACKETS = {
    .shape = "[1,3,224,224]", .form = "NAME:[D0,D1,...]", .read_shape = read_bracketed};
const value_syntax VALUES_CROSSES = {
    .separator = ',', .shape = "1x3x224x224", .form = "NAME:D0xD1x...", .read_shape = read_crossed};

pgy_status values_shapes(pgy_metadata **out, const pgy_text_list *list, const char *option,
                         args *line, pgy_error *err)
{
    const value_syntax *syntax = line->dialect->values;
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < list->count; i++) {
        pgy_tensor_info info;
        st = syntax->read_shape(&info, list->items[i], option, &line->memory, err);
        if (!st) st = pgy_metadata_set(m, &info, err);
    }
    if (!st) {
        *out = m;
        m = NULL;
    }
    pgy_metadata_destroy(m);
    return st;
}

/* ---- Tensors with shape and type ------------------------------------------------------------ */

static pgy_status bad_tensor(const char *text, const char *option, bool shapes, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         shapes ? "%s: '%s' is not NAME:SHAPE:DTYPE, as in 'x:[1,3,8]:float32' or "
                                  "'x:auto:auto'"
                                : "%s: '%s' is not NAME:DTYPE, as in 'y:float32' or 'y:auto'",
                         option, text);
}

static pgy_status read_dtype(pgy_dtype *out, const char *text, const char *item, const char *option,
                             pgy_error *err)
{
    if (str_equal_nocase(text, "auto")) return PGY_OK;
    *out = pgy_dtype_from_name(text);
    if (*out != PGY_DTYPE_NONE) return PGY_OK;
    str names = {0};
    const pgy_dtype_info *all;
    const size_t count = pgy_dtype_list(&all);
    for (size_t i = 0; i < count; i++) str_printf(&names, "%s%s", i ? ", " : "", all[i].name);
    const pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT,
                                        "%s: '%s': unknown type '%s'; expected auto or one of %s",
                                        option, item, text, str_text(&names));
    str_deinit(&names);
    return st;
}

/* Converts the syntax until 0.44, "name,1x3,float32" or "name,auto,auto" (without shapes:
 * "name,float32"), to "name:[1,3]:float32". NULL if the text has another syntax. */
static const char *convert_old_tensor(const char *text, bool shapes, arena *a)
{
    const char *last = strrchr(text, ',');
    if (!last || last == text || strchr(text, '[')) return NULL;
    char *front = arena_strndup(a, text, (size_t)(last - text));
    if (!front || !shapes) return front ? arena_printf(a, "%s:%s", front, last + 1) : NULL;
    char *comma = strrchr(front, ',');
    if (!comma || comma == front) return NULL;
    if (!str_equal_nocase(comma + 1, "auto")) {
        const char *shape = convert_old_shape(front, a);
        return shape ? arena_printf(a, "%s:%s", shape, last + 1) : NULL;
    }
    *comma = '\0';
    return arena_printf(a, "%s:auto:%s", front, last + 1);
}

static pgy_status read_tensor(pgy_tensor_info *out, const char *item, const char *option,
                              bool shapes, arena *a, pgy_error *err)
{
    const char *old = convert_old_tensor(item, shapes, a);
    if (old)
        LOG(WARNING, "%s: '%s' has the syntax of releases before 0.45; it is read as '%s'", option,
            item, old);
    char *text = arena_strdup(a, old ? old : item);
    if (!text) return no_memory(err);
    char *colon = strrchr(text, ':');
    pgy_tensor_info info = {.name = text, .rank = -1};
    pgy_dtype dtype = PGY_DTYPE_NONE;
    if (!colon || colon == text) return bad_tensor(item, option, shapes, err);
    *colon = '\0';
    pgy_status st = read_dtype(&dtype, colon + 1, item, option, err);
    if (!st && shapes) {
        char *shape = strrchr(text, ':');
        if (!shape || shape == text) return bad_tensor(item, option, shapes, err);
        if (str_equal_nocase(shape + 1, "auto"))
            *shape = '\0';
        else
            st = read_shape(&info, text, option, a, err);
    }
    info.dtype = dtype;
    if (!st) *out = info;
    return st;
}

pgy_status values_tensors(const pgy_tensor_info **out, size_t *count, const pgy_text_list *list,
                          const char *option, bool shapes, arena *a, pgy_error *err)
{
    pgy_tensor_info *items = arena_alloc_array(a, list->count + 1, sizeof *items);
    size_t n = 0;
    if (!items) return no_memory(err);
    for (size_t i = 0; i < list->count; i++) {
        pgy_tensor_info info;
        const pgy_status st = read_tensor(&info, list->items[i], option, shapes, a, err);
        if (st) return st;
        size_t k = 0;
        while (k < n && strcmp(items[k].name, info.name)) k++;
        if (k < n) LOG(WARNING, "%s: duplicate '%s'; the last value is used", option, info.name);
        items[k] = info;
        if (k == n) n++;
    }
    *out = items;
    *count = n;
    return PGY_OK;
}
