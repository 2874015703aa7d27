/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the feed of a runner: names, then types and shapes. Order and texts are the original's,
 * because its users grep for them. */
#include "runner/feed.h"

#include "base/pytext.h"
#include "base/str.h"
#include "tensor/elements.h"

/* Appends a name to a Python set as text: "{'a', 'b'}", or "set()" for none. */
static void append_name(str *s, const char *name)
{
    str_append(s, s->size ? ", " : "{");
    str_append_py_repr(s, name);
}

static void close_names(str *s)
{
    str_append(s, s->size ? "}" : "set()");
}

static void append_names_of_map(str *s, const pgy_tensor_map *feed)
{
    for (size_t i = 0; i < pgy_tensor_map_count(feed); i++)
        append_name(s, pgy_tensor_map_name(feed, i));
    close_names(s);
}

static void append_names_of_metadata(str *s, const pgy_metadata *inputs)
{
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++)
        append_name(s, pgy_metadata_at(inputs, i)->name);
    close_names(s);
}

static pgy_status names_error(const char *what, str *bad, const pgy_tensor_map *feed,
                              const pgy_metadata *inputs, pgy_error *err)
{
    str wanted = {0}, given = {0};
    close_names(bad);
    append_names_of_metadata(&wanted, inputs);
    append_names_of_map(&given, feed);
    pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT,
                                  "%s: %s. Note: inputs requested were: %s, but all inputs are: %s",
                                  what, str_text(bad), str_text(&wanted), str_text(&given));
    str_deinit(&wanted);
    str_deinit(&given);
    return st;
}

static bool is_sequence(const pgy_tensor_info *info)
{
    return info->form == PGY_FORM_SEQUENCE || info->form == PGY_FORM_OPTIONAL_SEQUENCE;
}

/* Is the input given by several tensors? */
static bool has_elements(const pgy_tensor_info *info)
{
    return is_sequence(info) || info->form == PGY_FORM_MAP;
}

/* Is the input given? An optional may be left out. The names of a sequence's elements are checked
 * later. */
static bool is_given(const pgy_tensor_map *feed, const pgy_tensor_info *info)
{
    return info->form != PGY_FORM_TENSOR || pgy_tensor_map_find(feed, info->name);
}

static bool is_known(const pgy_metadata *inputs, const char *name)
{
    const pgy_tensor_info *named = pgy_metadata_find(inputs, name);
    if (named && named->form != PGY_FORM_SEQUENCE && named->form != PGY_FORM_MAP) return true;
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        if (has_elements(info) && elements_belongs(name, info->name)) return true;
    }
    return false;
}

static pgy_status check_sequence(const pgy_tensor_map *feed, const pgy_tensor_info *info,
                                 pgy_error *err)
{
    size_t count;
    if (info->form == PGY_FORM_OPTIONAL_SEQUENCE && !elements_given(feed, info->name))
        return PGY_OK;
    const pgy_status st = elements_count(&count, feed, info->name, err);
    return st ? pgy_error_prefix(err, st, "Input ") : PGY_OK;
}

/* Checks that a map has keys and values. The runner checks their types. */
static pgy_status check_map(const pgy_tensor_map *feed, const pgy_tensor_info *info, pgy_error *err)
{
    pgy_tensor *keys, *values;
    const pgy_status st = elements_map(&keys, &values, feed, info->name, err);
    if (st) return pgy_error_prefix(err, st, "Input ");
    if (keys) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "Input '%s' is a map: give its keys as '%s[keys]' and its values as "
                         "'%s[values]', vectors of equal length",
                         info->name, info->name, info->name);
}

static pgy_status check_names(const pgy_tensor_map *feed, const pgy_metadata *inputs,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    str missing = {0}, extra = {0};
    size_t missing_count = 0, extra_count = 0; /* counted apart from the texts, which may lack names
                                                  if memory ran out */
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        if (is_given(feed, info)) continue;
        append_name(&missing, info->name);
        missing_count++;
    }
    for (size_t i = 0; i < pgy_tensor_map_count(feed); i++) {
        const char *name = pgy_tensor_map_name(feed, i);
        if (is_known(inputs, name)) continue;
        append_name(&extra, name);
        extra_count++;
    }
    if (missing_count)
        st = names_error("The following inputs were not found in input data", &missing, feed,
                         inputs, err);
    else if (extra_count)
        st = names_error("Extra inputs in input data", &extra, feed, inputs, err);
    str_deinit(&missing);
    str_deinit(&extra);
    return st;
}

static bool shape_fits(const pgy_tensor *t, const pgy_tensor_info *info)
{
    if (info->rank < 0) return true;
    if (pgy_tensor_rank(t) != (size_t)info->rank) return false;
    for (int32_t i = 0; i < info->rank; i++)
        if (info->shape[i] >= 0 && info->shape[i] != pgy_tensor_shape(t)[i]) return false;
    return true;
}

static void append_expected_shape(str *s, const pgy_tensor_info *info)
{
    str_append(s, "BoundedShape([");
    for (int32_t i = 0; i < info->rank; i++) {
        if (i) str_append(s, ", ");
        if (info->shape[i] >= 0)
            str_printf(s, "%lld", (long long)info->shape[i]);
        else if (info->dim_names && info->dim_names[i])
            str_append_py_repr(s, info->dim_names[i]);
        else
            str_append(s, "None");
    }
    str_append(s, "], min=None, max=None)");
}

static pgy_status shape_error(const char *name, const pgy_tensor *t, const pgy_tensor_info *info,
                              pgy_error *err)
{
    str given = {0}, expected = {0};
    str_append_py_tuple(&given, pgy_tensor_shape(t), pgy_tensor_rank(t));
    append_expected_shape(&expected, info);
    pgy_status st = pgy_error_set(err, PGY_E_SHAPE,
                                  "Input tensor: %s | Received incompatible shape: %s. "
                                  "Note: Expected a shape compatible with: %s",
                                  name, str_text(&given), str_text(&expected));
    str_deinit(&given);
    str_deinit(&expected);
    return st;
}

static pgy_status check_tensor(const char *name, const pgy_tensor *t, const pgy_tensor_info *info,
                               pgy_error *err)
{
    if (info->dtype != PGY_DTYPE_NONE && pgy_tensor_dtype(t) != info->dtype)
        return pgy_error_set(
            err, PGY_E_TYPE,
            "Input tensor: %s | Received unexpected dtype: %s. Note: Expected type: %s", name,
            pgy_dtype_name(pgy_tensor_dtype(t)), pgy_dtype_name(info->dtype));
    return shape_fits(t, info) ? PGY_OK : shape_error(name, t, info, err);
}

/* Checks types and shapes after the names. An empty sequence `s[]` has a shape of its own. */
static pgy_status check_elements(const pgy_tensor_map *feed, const pgy_tensor_info *info,
                                 pgy_error *err)
{
    pgy_status st = check_sequence(feed, info, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(feed); i++) {
        const char *name = pgy_tensor_map_name(feed, i);
        if (elements_belongs(name, info->name) && !str_ends_with(name, "[]") &&
            !str_ends_with(name, "[keys]") && !str_ends_with(name, "[values]"))
            st = check_tensor(name, pgy_tensor_map_at(feed, i), info, err);
    }
    return st;
}

pgy_status feed_check(const pgy_tensor_map *feed, const pgy_metadata *inputs, pgy_error *err)
{
    pgy_status st = check_names(feed, inputs, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        const pgy_tensor *t = pgy_tensor_map_find(feed, info->name);
        if (info->form == PGY_FORM_MAP)
            st = check_map(feed, info, err);
        else if (is_sequence(info))
            st = check_elements(feed, info, err);
        else if (t)
            st = check_tensor(info->name, t, info, err);
    }
    return st;
}
