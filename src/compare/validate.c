/* SPDX-License-Identifier: Apache-2.0 */
/* Validation: checks that no output has NaN or infinity. Integers, bools and strings are always
 * valid. The infinity check counts every non-finite value, including NaN. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/pytext.h"
#include "compare/compare.h"
#include "compare/judge.h"
#include "compare/stats.h"

static const char LOG_PATH[] = "comparator/comparator.py";

typedef struct validate_run {
    pgy_view view;
    pgy_tensor *narrow;
    bool has_nan, has_infinity; /* an infinity, not a NaN */
    array_stats stats;
} validate_run;

/* Views a complex array as the reals it consists of. */
static pgy_view real_view(const pgy_tensor *t, int64_t *length)
{
    pgy_dtype dtype = pgy_tensor_dtype(t) == PGY_C64 ? PGY_F32 : PGY_F64;
    *length = 2 * (int64_t)pgy_tensor_count(t);
    return pgy_view_of(pgy_tensor_data(t), dtype, 1, length);
}

static bool has_values(pgy_dtype dtype)
{
    return pgy_dtype_is_float(dtype) || pgy_dtype_describe(dtype)->kind == PGY_KIND_COMPLEX;
}

/* With a NaN, minimum and maximum do not show infinities, so this checks the elements. */
static bool find_infinity(const source *s)
{
    double v[256];
    for (size_t i = 0; i < s->count; i += 256) {
        size_t n = s->count - i < 256 ? s->count - i : 256;
        arith_widen(WORK_F64, v, s->a_dtype, s->a, i, n);
        for (size_t k = 0; k < n; k++)
            if (isinf(v[k])) return true;
    }
    return false;
}

static pgy_status check_values(validate_run *run, pgy_error *err)
{
    source s = source_array(pgy_tensor_view(run->narrow));
    stats_request request = {0};
    if (LOG_IS_ON(INFO)) request = stats_request_line();
    pgy_status st = stats_compute(&run->stats, NULL, &s, &request, err);
    if (st) return st;
    stats_place place = {"",    &s,  0,         (size_t)run->view.rank, run->view.shape,
                         false, {0}, &run->view};
    st = stats_log(&place, &run->stats, err);
    if (st || !has_values(run->view.dtype)) return st;
    array_stats parts = run->stats;
    int64_t length;
    if (pgy_dtype_describe(run->view.dtype)->kind == PGY_KIND_COMPLEX) {
        s = source_array(real_view(run->narrow, &length));
        st = stats_compute(&parts, NULL, &s, &(stats_request){0}, err);
        if (st) return st;
    }
    run->has_nan = parts.has_nan;
    run->has_infinity = parts.has_nan ? find_infinity(&s) : isinf(parts.min) || isinf(parts.max);
    return PGY_OK;
}

/* Logs the positions as an array of bools of the same shape, as the original does, and the values
 * themselves. */
static pgy_status log_places(const validate_run *run, bool nan_only, pgy_error *err)
{
    pgy_tensor *mask = NULL, *values = NULL;
    str text = {0};
    size_t count = pgy_tensor_count(run->narrow), found = 0;
    source s = source_array(pgy_tensor_view(run->narrow));
    pgy_status st =
        pgy_tensor_create(&mask, PGY_BOOL, (size_t)run->view.rank, run->view.shape, err);
    if (st) return st;
    uint8_t *to = pgy_tensor_data(mask);
    for (size_t i = 0; i < count; i++) {
        double v;
        arith_widen(WORK_F64, &v, s.a_dtype, s.a, i, 1);
        to[i] = nan_only ? isnan(v) : !isfinite(v);
        found += to[i];
    }
    st = compare_array_text(&text, 0, pgy_tensor_view(mask), err);
    if (st) goto done;
    LOG(EXTRA_VERBOSE, "Note: %s at:\n%s", nan_only ? "NaNs" : "non-finite values",
        str_text(&text));
    if (nan_only) goto done;
    st = pgy_tensor_create(&values, PGY_F64, 1, (int64_t[]){(int64_t)found}, err);
    if (st) goto done;
    found = 0;
    for (size_t i = 0; i < count; i++)
        if (to[i])
            arith_widen(WORK_F64, (double *)pgy_tensor_data(values) + found++, s.a_dtype, s.a, i,
                        1);
    str_clear(&text);
    st = compare_array_text(&text, 0, pgy_tensor_view(values), err);
    if (!st) LOG(EXTRA_VERBOSE, "Note: non-finite values:\n%s", str_text(&text));
done:
    str_deinit(&text);
    pgy_tensor_release(mask);
    pgy_tensor_release(values);
    return st;
}

static pgy_status log_faults(bool *valid, const validate_run *run, bool check_nan, bool check_inf,
                             pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (check_nan && run->has_nan) {
        *valid = false;
        LOG(ERROR, "NaN Detected | One or more NaNs were encountered in this output");
        LOG_ONCE(
            INFO,
            "Note: Use -vv or set logging verbosity to EXTRA_VERBOSE to display locations of NaNs");
        if (LOG_IS_ON(EXTRA_VERBOSE)) st = log_places(run, true, err);
    }
    if (!st && check_inf && (run->has_nan || run->has_infinity)) {
        *valid = false;
        LOG(ERROR, "Inf Detected | One or more non-finite values were encountered in this output");
        LOG_ONCE(
            INFO,
            "Note: Use -vv or set logging verbosity to EXTRA_VERBOSE to display non-finite values");
        if (LOG_IS_ON(EXTRA_VERBOSE)) st = log_places(run, false, err);
    }
    return st;
}

static pgy_status validate_output(bool *valid, pgy_tensor *t, bool check_nan, bool check_inf,
                                  pgy_error *err)
{
    validate_run run = {0};
    pgy_tensor *loaded = NULL;
    *valid = true;
    pgy_status st = pgy_tensor_load(&loaded, t, err);
    if (st) return st;
    run.view = pgy_tensor_view(loaded);
    if (run.view.dtype == PGY_STRING) {
        pgy_log_write(PGY_LOG_INFO, "comparator/util.py", __LINE__,
                      "<Error while computing statistics>");
        goto done;
    }
    st = arith_compact(&run.narrow, loaded, err);
    if (!st) st = check_values(&run, err);
    if (!st) st = log_faults(valid, &run, check_nan, check_inf, err);
done:
    pgy_tensor_release(run.narrow);
    pgy_tensor_release(loaded);
    return st;
}

pgy_status validate_iteration(bool *valid, const pgy_iteration *it, const char *prefix,
                              bool check_nan, bool check_inf, bool fail_fast, pgy_error *err)
{
    bool all = true;
    for (size_t i = 0; i < pgy_tensor_map_count(it->outputs) && (all || !fail_fast); i++) {
        const char *name = pgy_tensor_map_name(it->outputs, i);
        bool good;
        LOG(START, "%-35s | %sValidating output: %s (check_inf=%s, check_nan=%s)", it->runner_name,
            prefix, name, check_inf ? "True" : "False", check_nan ? "True" : "False");
        pgy_log_indent(1);
        pgy_status st =
            validate_output(&good, pgy_tensor_map_at(it->outputs, i), check_nan, check_inf, err);
        if (!st && good) LOG(FINISH, "PASSED | Output: %s is valid", name);
        if (!st && !good) LOG(ERROR, "FAILED | Errors detected in output: %s", name);
        pgy_log_indent(-1);
        if (st) return st;
        all &= good;
    }
    *valid = all;
    return PGY_OK;
}
