/* SPDX-License-Identifier: Apache-2.0 */
/* Fits data to a runner: finds the supplied tensor for each input, and casts and reshapes it where
 * needed. Every change is logged; a tensor that cannot be fitted is an error that names the input.
 */
#include <polygraphy/data.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/str.h"

#include "tensor/convert.h"
#include "tensor/elements.h"

static const char LOG_PATH[] = "comparator/data_loader.py";

/* ---- Shapes ---- */

static size_t dynamic_count(size_t rank, const int64_t *shape)
{
    size_t n = 0;
    for (size_t i = 0; i < rank; i++) n += shape[i] < 0;
    return n;
}

/* Takes the dynamic dimensions of `wanted` from the tensor. A single one follows from the element
 * count; several are copied if the ranks agree. */
static void freeze(int64_t *shape, size_t rank, const int64_t *wanted, const pgy_tensor *t)
{
    size_t dynamic = dynamic_count(rank, wanted);
    const int64_t *own = pgy_tensor_shape(t);
    if (rank) memcpy(shape, wanted, rank * sizeof *shape);
    if (dynamic == 1) {
        int64_t volume = 1;
        for (size_t i = 0; i < rank; i++)
            if (wanted[i] >= 0 && !i64_mul(&volume, volume, wanted[i])) return;
        for (size_t i = 0; i < rank; i++)
            if (wanted[i] < 0) shape[i] = volume ? (int64_t)pgy_tensor_count(t) / volume : 0;
    } else if (rank == pgy_tensor_rank(t)) {
        for (size_t i = 0; i < rank; i++)
            if (wanted[i] < 0) shape[i] = own[i];
    }
}

static bool same_shape(const pgy_tensor *t, size_t rank, const int64_t *shape)
{
    return pgy_tensor_rank(t) == rank &&
           (rank == 0 || memcmp(pgy_tensor_shape(t), shape, rank * sizeof *shape) == 0);
}

static void log_change(const char *verb, const pgy_tensor *from, const pgy_tensor *to,
                       const int64_t *permutation)
{
    str text = {0};
    str_printf(&text, "%s array of shape: ", verb);
    if (!permutation) {
        str_clear(&text);
        str_printf(&text, "%s array from shape: ", verb);
    }
    str_append_py_tuple(&text, pgy_tensor_shape(from), pgy_tensor_rank(from));
    str_append(&text, " to: ");
    str_append_py_tuple(&text, pgy_tensor_shape(to), pgy_tensor_rank(to));
    if (permutation) {
        str_append(&text, " using permutation ");
        str_append_py_ints(&text, permutation, pgy_tensor_rank(to));
    }
    LOG(INFO, "%s", str_text(&text));
    str_deinit(&text);
}

/* Reshapes *t; keeps it if the element counts differ. */
static pgy_status try_reshape(pgy_tensor **t, size_t rank, const int64_t *shape, pgy_error *err)
{
    size_t count;
    pgy_error ignored = {0};
    if (same_shape(*t, rank, shape)) return PGY_OK;
    if (dynamic_count(rank, shape) || pgy_shape_count(&count, rank, shape, &ignored) ||
        count != pgy_tensor_count(*t)) {
        str text = {0};
        str_append(&text, "Could not reshape array from shape: ");
        str_append_py_tuple(&text, pgy_tensor_shape(*t), pgy_tensor_rank(*t));
        str_append(&text, " to ");
        str_append_py_tuple(&text, shape, rank);
        LOG(WARNING, "%s. Skipping reshape.", str_text(&text));
        str_deinit(&text);
        return PGY_OK;
    }
    pgy_tensor *shaped = NULL;
    pgy_status st = pgy_tensor_reshape(&shaped, *t, rank, shape, err);
    if (st) return st;
    log_change("Reshaped", *t, shaped, NULL);
    pgy_tensor_release(*t);
    *t = shaped;
    return PGY_OK;
}

/* Finds for each dimension of `shape` the first unused axis of t with that size; false if the two
 * shapes differ in more than the order of their dimensions. */
static bool find_permutation(int64_t *axes, const pgy_tensor *t, const int64_t *shape)
{
    size_t rank = pgy_tensor_rank(t);
    bool used[PGY_MAX_RANK] = {false};
    for (size_t i = 0; i < rank; i++) {
        size_t k = 0;
        while (k < rank && (used[k] || pgy_tensor_shape(t)[k] != shape[i])) k++;
        if (k == rank) return false;
        used[k] = true;
        axes[i] = (int64_t)k;
    }
    return true;
}

static pgy_status try_permute(pgy_tensor **t, const int64_t *shape, pgy_error *err)
{
    size_t rank = pgy_tensor_rank(*t);
    int64_t axes[PGY_MAX_RANK], strides[PGY_MAX_RANK], permuted[PGY_MAX_RANK], step = 1;
    if (rank > PGY_MAX_RANK || pgy_dtype_describe(pgy_tensor_dtype(*t))->bits < 8 ||
        !find_permutation(axes, *t, shape))
        return PGY_OK;
    for (size_t i = rank; i-- > 0; step *= pgy_tensor_shape(*t)[i]) permuted[i] = step;
    for (size_t i = 0; i < rank; i++) strides[i] = permuted[axes[i]];
    pgy_view v = pgy_tensor_view(*t);
    v.shape = (int64_t *)shape;
    v.strides = strides;
    pgy_tensor *moved = NULL;
    pgy_status st = pgy_tensor_copy(&moved, v, err);
    if (st) return st;
    if (!same_shape(*t, rank, shape)) log_change("Permuted", *t, moved, axes);
    pgy_tensor_release(*t);
    *t = moved;
    return PGY_OK;
}

pgy_status pgy_match_shape(pgy_tensor **out, pgy_tensor *t, size_t rank, const int64_t *shape,
                           pgy_error *err)
{
    int64_t wanted[PGY_MAX_RANK];
    if (rank > PGY_MAX_RANK)
        return pgy_error_set(err, PGY_E_SHAPE, "rank %zu is larger than the supported rank", rank);
    pgy_tensor *result = pgy_tensor_retain(t);
    pgy_status st = PGY_OK;
    freeze(wanted, rank, shape, t);
    if (!same_shape(result, rank, wanted)) {
        if (pgy_tensor_rank(result) != rank) st = try_reshape(&result, rank, wanted, err);
        if (!st && pgy_tensor_rank(result) == rank && !same_shape(result, rank, wanted))
            st = try_permute(&result, wanted, err);
        if (!st) st = try_reshape(&result, rank, wanted, err);
    }
    if (st) {
        pgy_tensor_release(result);
        return st;
    }
    *out = result;
    return PGY_OK;
}

/* ---- Inputs ---- */

static pgy_tensor *find_supplied(const char **found, const pgy_tensor_map *feed, const char *name,
                                 size_t index)
{
    *found = name;
    pgy_tensor *exact = pgy_tensor_map_find(feed, name);
    if (exact) return exact;
    for (size_t i = 0; i < pgy_tensor_map_count(feed); i++) {
        *found = pgy_tensor_map_name(feed, i);
        if (str_contains_nocase(*found, name) || str_contains_nocase(name, *found))
            return pgy_tensor_map_at(feed, i);
    }
    if (index >= pgy_tensor_map_count(feed)) return NULL;
    *found = pgy_tensor_map_name(feed, index);
    return pgy_tensor_map_at(feed, index);
}

/* Smallest and largest finite value of a type that NumPy has; false for other types. */
static bool type_limits(double *low, double *high, pgy_dtype dtype)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    switch (info->kind) {
    case PGY_KIND_SIGNED:
        *low = -ldexp(1, (int)info->bits - 1), *high = ldexp(1, (int)info->bits - 1) - 1;
        return true;
    case PGY_KIND_UNSIGNED: *low = 0, *high = ldexp(1, (int)info->bits) - 1; return true;
    case PGY_KIND_FLOAT:
        if (dtype != PGY_F16 && dtype != PGY_F32) return false;
        *high = dtype == PGY_F16 ? 65504.0 : 3.4028234663852886e38;
        *low = -*high;
        return true;
    default: return false;
    }
}

static void warn_out_of_range(const char *name, const pgy_tensor *t, pgy_dtype to)
{
    double low, high;
    pgy_dtype from = pgy_tensor_dtype(t);
    if (from == PGY_STRING || pgy_dtype_describe(from)->kind == PGY_KIND_COMPLEX ||
        !type_limits(&low, &high, to))
        return;
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        double v = element_as_f64(from, pgy_tensor_data(t), i);
        if (v >= low && v <= high) continue;
        LOG(WARNING,
            "Some values in input tensor: %s are out of range of data type: %s. This may result in "
            "incorrect results; consider generating data of that type.",
            name, pgy_dtype_name(to));
        return;
    }
}

static pgy_status fit_type(pgy_tensor **t, const pgy_tensor_info *input, pgy_error *err)
{
    pgy_dtype have = pgy_tensor_dtype(*t);
    if (!input->dtype || have == input->dtype) return PGY_OK;
    if (have == PGY_STRING || input->dtype == PGY_STRING)
        return PGY_OK; /* the caller checks strings */
    LOG(WARNING,
        "Input tensor: %s | Buffer dtype (%s) does not match expected input dtype (%s), attempting "
        "to cast.",
        input->name, pgy_dtype_name(have), pgy_dtype_name(input->dtype));
    warn_out_of_range(input->name, *t, input->dtype);
    pgy_tensor *cast = NULL;
    pgy_status st = pgy_tensor_cast(&cast, pgy_tensor_view(*t), input->dtype, err);
    if (st) return st;
    pgy_tensor_release(*t);
    *t = cast;
    return PGY_OK;
}

static bool shape_serves(const pgy_tensor *t, const pgy_tensor_info *input)
{
    if (input->rank < 0) return true;
    if ((int32_t)pgy_tensor_rank(t) != input->rank) return false;
    for (int32_t i = 0; i < input->rank; i++)
        if (input->shape[i] >= 0 && input->shape[i] != pgy_tensor_shape(t)[i]) return false;
    return true;
}

static pgy_status fit_shape(pgy_tensor **t, const pgy_tensor_info *input, pgy_error *err)
{
    if (shape_serves(*t, input)) return PGY_OK;
    str have = {0}, want = {0};
    str_append_py_tuple(&have, pgy_tensor_shape(*t), pgy_tensor_rank(*t));
    str_append_py_tuple(&want, input->shape, (size_t)input->rank);
    LOG(WARNING,
        "Input tensor: %s | Buffer shape (%s) does not match expected input shape (%s), attempting "
        "to transpose/reshape.",
        input->name, str_text(&have), str_text(&want));
    str_deinit(&have);
    str_deinit(&want);
    pgy_tensor *shaped = NULL;
    pgy_status st = pgy_match_shape(&shaped, *t, (size_t)input->rank, input->shape, err);
    if (st) return st;
    pgy_tensor_release(*t);
    *t = shaped;
    return PGY_OK;
}

static void append_kind(str *out, pgy_dtype dtype, const int64_t *shape, int32_t rank)
{
    str_append(out, "[");
    if (dtype) str_printf(out, "dtype=%s", pgy_dtype_name(dtype));
    if (rank >= 0) {
        str_append(out, dtype ? ", shape=" : "shape=");
        str_append_py_tuple(out, shape, (size_t)rank);
    }
    str_append(out, "]");
}

static pgy_status refuse_mismatch(const pgy_tensor *t, const pgy_tensor_info *input, pgy_error *err)
{
    str given = {0}, wanted = {0};
    append_kind(&given, pgy_tensor_dtype(t), pgy_tensor_shape(t), (int32_t)pgy_tensor_rank(t));
    append_kind(&wanted, input->dtype, input->shape, input->rank);
    pgy_status st = pgy_error_set(
        err, PGY_E_ARGUMENT,
        "Input tensor: %s | Cannot reuse input data due to mismatch in shape or data type: "
        "provided input: %s, requested input: %s",
        input->name, str_text(&given), str_text(&wanted));
    str_deinit(&given);
    str_deinit(&wanted);
    return st;
}

static pgy_status serve(pgy_tensor **out, const pgy_tensor_map *feed, const pgy_tensor_info *input,
                        size_t index, pgy_error *err)
{
    const char *found;
    pgy_tensor *supplied = find_supplied(&found, feed, input->name, index), *t = NULL;
    if (!supplied)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "Input tensor: %s | Does not exist in the provided input data.",
                             input->name);
    if (strcmp(found, input->name))
        LOG(WARNING, "Input tensor: %s | Buffer name (%s) does not match expected input name (%s).",
            input->name, found, input->name);
    pgy_status st = pgy_tensor_load(&t, supplied, err);
    if (!st) st = fit_type(&t, input, err);
    if (!st) st = fit_shape(&t, input, err);
    if (!st && ((input->dtype && pgy_tensor_dtype(t) != input->dtype) || !shape_serves(t, input)))
        st = refuse_mismatch(t, input, err);
    if (st) {
        pgy_tensor_release(t);
        return st;
    }
    *out = t;
    return PGY_OK;
}

/* Elements of sequences, keys and values of maps are matched by exact name; the runner reports
 * missing ones. */
static pgy_status serve_sequence(pgy_tensor_map *m, const pgy_tensor_map *feed,
                                 const pgy_tensor_info *input, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(feed); i++) {
        const char *name = pgy_tensor_map_name(feed, i);
        pgy_tensor *t = NULL;
        if (!elements_belongs(name, input->name)) continue;
        st = pgy_tensor_load(&t, pgy_tensor_map_at(feed, i), err);
        if (!st && !str_ends_with(name, "[]") && input->form != PGY_FORM_MAP)
            st = fit_type(&t, input, err);
        if (!st)
            st = pgy_tensor_map_adopt(m, name, t, err);
        else
            pgy_tensor_release(t);
    }
    return st;
}

pgy_status pgy_feed_match(pgy_tensor_map **out, const pgy_tensor_map *feed,
                          const pgy_metadata *inputs, pgy_error *err)
{
    pgy_tensor_map *m = NULL;
    pgy_status st = pgy_tensor_map_create(&m, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *input = pgy_metadata_at(inputs, i);
        pgy_tensor *t = NULL;
        const bool given = pgy_tensor_map_find(feed, input->name) != NULL;
        if (input->form == PGY_FORM_SEQUENCE || input->form == PGY_FORM_MAP ||
            (input->form != PGY_FORM_TENSOR && !given)) {
            st = serve_sequence(m, feed, input, err);
            continue;
        }
        st = serve(&t, feed, input, i, err);
        if (!st) st = pgy_tensor_map_adopt(m, input->name, t, err);
    }
    if (!st) {
        *out = m;
        m = NULL;
    }
    pgy_tensor_map_destroy(m);
    return st;
}
