/* SPDX-License-Identifier: Apache-2.0 */
/* Logs the statistics of an array: one line, and below it a histogram and, if they are few, the
 * values. Parts that the log level hides are not computed. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/str.h"
#include "compare/compare.h"
#include "compare/stats.h"

static const char LOG_PATH[] = "comparator/util.py";

#define MOST_VALUES 100

static const pgy_dtype WORK_DTYPE[] = {PGY_F32, PGY_F64, PGY_I64, PGY_U64};

pgy_status stats_materialise(pgy_tensor **out, const source *s, size_t stream_index, size_t rank,
                             const int64_t *shape, pgy_error *err)
{
    const stream *info = &s->streams[stream_index];
    pgy_tensor *t = NULL, *as_bool = NULL;
    block *b = NULL;
    pgy_status st = pgy_tensor_create(&t, WORK_DTYPE[info->work], rank, shape, err);
    if (st) return st;
    b = mem_alloc_aligned(64, sizeof *b);
    if (!b) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while printing %zu differences",
                           s->count);
        goto done;
    }
    b->counts = (pair_counts){0};
    size_t bytes = info->work == WORK_F32 ? 4 : 8;
    for (size_t i = 0; i < s->count; i += ARITH_BLOCK) {
        size_t n = s->count - i < ARITH_BLOCK ? s->count - i : ARITH_BLOCK;
        source_fill(s, i, n, b);
        memcpy((char *)pgy_tensor_data(t) + i * bytes, b->values[stream_index], n * bytes);
    }
    if (info->dtype == PGY_BOOL) {
        st = pgy_tensor_cast(&as_bool, pgy_tensor_view(t), PGY_BOOL, err);
        if (st) goto done;
        pgy_tensor_release(t);
        t = as_bool;
    }
    *out = t;
    t = NULL;
done:
    mem_free(b);
    pgy_tensor_release(t);
    return st;
}

static void write_detail(bool failed, const char *text)
{
    pgy_log_write(failed ? PGY_LOG_INFO : PGY_LOG_VERBOSE, LOG_PATH, __LINE__, "%s", text);
}

static pgy_status log_values(const stats_place *place, pgy_error *err)
{
    pgy_tensor *made = NULL;
    str block_text = {0};
    pgy_view view;
    pgy_status st = PGY_OK;
    if (place->values) {
        view = *place->values;
    } else {
        st = stats_materialise(&made, place->s, place->stream, place->rank, place->shape, err);
        if (st) return st;
        view = pgy_tensor_view(made);
    }
    str_append(&block_text, "---- Values ----\n");
    st = compare_array_text(&block_text, 4, view, err);
    if (st) goto done;
    write_detail(place->failed, str_text(&block_text));
done:
    str_deinit(&block_text);
    pgy_tensor_release(made);
    return st;
}

static pgy_status log_histogram(const stats_place *place, const array_stats *stats, pgy_error *err)
{
    str text = {0}, why = {0};
    pgy_status st =
        histogram_append(&text, &why, place->s, place->stream, stats, &place->range, err);
    if (!st) {
        if (why.size)
            LOG(VERBOSE, "Could not generate histogram. Note: Error was: %s", str_text(&why));
        if (text.size && text.data[text.size - 1] == '\n') text.data[--text.size] = 0;
        write_detail(place->failed, str_text(&text));
    }
    str_deinit(&text);
    str_deinit(&why);
    return st;
}

pgy_status stats_log(const stats_place *place, const array_stats *stats, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (LOG_IS_ON(INFO)) {
        str line = {0};
        stats_append_line(&line, stats, place->rank, place->shape);
        LOG(INFO, "%s%s", place->prefix, str_text(&line));
        str_deinit(&line);
    }
    if (!(place->failed ? LOG_IS_ON(INFO) : LOG_IS_ON(VERBOSE))) return PGY_OK;
    pgy_log_indent(1);
    if (place->s->count <= MOST_VALUES) st = log_values(place, err);
    if (!st) st = log_histogram(place, stats, err);
    pgy_log_indent(-1);
    return st;
}
