/* SPDX-License-Identifier: Apache-2.0 */
/* Ten-bin histogram of a stream, with NumPy's rules: edges have the stream's float type, an element
 * belongs to the bin whose edges enclose it, the last bin is closed, elements outside the range are
 * left out. The kernels count the elements that reach each edge; a bin's count is the difference of
 * two neighbours. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pytext.h"
#include "compare/stats.h"
#include "tensor/convert.h"

#define BINS (TALLY_EDGES - 1)
#define BAR_WIDTH 40

typedef struct histogram {
    const source *s;
    size_t stream_index;
    pgy_dtype type; /* of edges and elements: F16, F32 or F64 */
    double edges[BINS + 1];
    uint64_t (*counts)[BINS + 1]; /* indexed by task: number of elements that reach each edge */
} histogram;

static double round_to(pgy_dtype type, double v)
{
    if (type == PGY_F16) return float_round(PGY_F16, v, false);
    return type == PGY_F32 ? (double)(float)v : v;
}

/* Edges of a given range are spaced in float64 and then rounded; those of the stream's own range
 * are spaced in its type. */
static void set_edges(histogram *h, double low, double high, bool given)
{
    pgy_dtype spacing = given ? PGY_F64 : h->type;
    if (low == high) {
        low = round_to(spacing, low - 0.5);
        high = round_to(spacing, high + 0.5);
    }
    double step = round_to(spacing, round_to(spacing, high - low) / BINS);
    for (int i = 0; i < BINS; i++) {
        double edge = round_to(spacing, round_to(spacing, i * step) + low);
        h->edges[i] = round_to(h->type, edge);
    }
    h->edges[BINS] = round_to(h->type, high);
}

static bool edges_rise(const histogram *h)
{
    for (int i = 0; i < BINS; i++)
        if (!(h->edges[i] < h->edges[i + 1])) return false;
    return true;
}

static void tally_integers(uint64_t *counts, const histogram *h, const void *x, size_t n)
{
    double wide[ARITH_BLOCK];
    if (h->s->streams[h->stream_index].work == WORK_I64)
        for (size_t i = 0; i < n; i++) wide[i] = (double)((const int64_t *)x)[i];
    else
        for (size_t i = 0; i < n; i++) wide[i] = (double)((const uint64_t *)x)[i];
    block_kernels_best()->tally_f64(counts, h->edges, wide, n);
}

static void visit(block *b, const block_place *at, void *user)
{
    const histogram *h = user;
    source_fill(h->s, at->start, at->count, b);
    const void *x = b->values[h->stream_index];
    uint64_t *counts = h->counts[at->task];
    float narrow[BINS + 1];
    switch (h->s->streams[h->stream_index].work) {
    case WORK_F32:
        for (int i = 0; i <= BINS; i++)
            narrow[i] = (float)h->edges[i]; /* exact: edges are already of this type */
        block_kernels_best()->tally_f32(counts, narrow, x, at->count);
        break;
    case WORK_F64: block_kernels_best()->tally_f64(counts, h->edges, x, at->count); break;
    default: tally_integers(counts, h, x, at->count);
    }
}

static pgy_status count(uint64_t *total, histogram *h, pgy_error *err)
{
    size_t *starts = NULL, blocks;
    pgy_status st = arith_partition(&starts, &blocks, h->s->count, h->s->tree, err);
    if (st) return st;
    size_t tasks = arith_tasks(blocks, h->s->count);
    memset(total, 0, BINS * sizeof *total);
    h->counts = mem_calloc(tasks + 1, sizeof *h->counts);
    if (!h->counts) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for a histogram");
        goto done;
    }
    if (h->s->count) st = arith_each(NULL, h->s, starts, blocks, visit, h, err);
    for (size_t t = 0; t < tasks; t++)
        for (int i = 0; i < BINS; i++) total[i] += h->counts[t][i] - h->counts[t][i + 1];
done:
    mem_free(h->counts);
    mem_free(starts);
    return st;
}

static void append_padded(str *out, const char *text, size_t width)
{
    str_append(out, text);
    for (size_t n = strlen(text); n < width; n++) str_append_char(out, ' ');
}

static bool edge_text(str *out, double v)
{
    str_append_g(out, 3, v);
    return !out->failed;
}

static void append_table(str *out, const histogram *h, const uint64_t *counts)
{
    str edges[BINS + 1] = {0};
    size_t first_width = 0, last_width = 0;
    uint64_t most = 1;
    for (int i = 0; i <= BINS; i++) {
        out->failed |= !edge_text(&edges[i], h->edges[i]);
        if (edges[i].size > first_width) first_width = edges[i].size;
        if (i && edges[i].size > last_width) last_width = edges[i].size;
        if (i < BINS && counts[i] > most) most = counts[i];
    }
    str_append(out, "---- Histogram ----\n");
    append_padded(out, "Bin Range", first_width + last_width + 5);
    str_append(out, "|  Num Elems | Visualization\n");
    for (int i = 0; i < BINS; i++) {
        str_append_char(out, '(');
        append_padded(out, str_text(&edges[i]), first_width);
        str_append(out, ", ");
        append_padded(out, str_text(&edges[i + 1]), last_width);
        str_printf(out, ") | %10llu | ", (unsigned long long)counts[i]);
        str_append_fill(out, '#', (size_t)((double)BAR_WIDTH * ((double)counts[i] / (double)most)));
        str_append_char(out, '\n');
    }
    for (int i = 0; i <= BINS; i++) str_deinit(&edges[i]);
}

static void append_end(str *out, double v)
{
    char text[32];
    py_double_repr(text, v);
    str_append(out, text);
}

pgy_status histogram_append(str *out, str *why, const source *s, size_t stream_index,
                            const array_stats *stats, const histogram_range *range, pgy_error *err)
{
    const stream *info = &s->streams[stream_index];
    histogram h = {.s = s, .stream_index = stream_index};
    h.type = info->dtype == PGY_F16 ? PGY_F16 : info->work == WORK_F32 ? PGY_F32 : PGY_F64;
    double low = range->given ? range->low : stats->min,
           high = range->given ? range->high : stats->max;
    uint64_t counts[BINS], all = 0;
    if (info->dtype == PGY_BOOL) return PGY_OK;
    if (!s->count && !range->given) high = 1;
    if (!isfinite(low) || !isfinite(high)) {
        str_append(why, range->given ? "supplied range of [" : "autodetected range of [");
        append_end(why, low);
        str_append(why, ", ");
        append_end(why, high);
        str_append(why, "] is not finite");
        return PGY_OK;
    }
    set_edges(&h, low, high, range->given);
    if (!edges_rise(&h)) {
        str_append(why, "Too many bins for data range. Cannot create 10 finite-sized bins.");
        return PGY_OK;
    }
    pgy_status st = count(counts, &h, err);
    if (st) return st;
    for (int i = 0; i < BINS; i++) all += counts[i];
    if (all)
        append_table(out, &h, counts);
    else
        str_append(out, "None");
    return PGY_OK;
}

pgy_status pgy_histogram_text(char **out, pgy_view v, double low, double high, pgy_error *err)
{
    str text = {0}, why = {0};
    pgy_tensor *compact = NULL;
    array_stats stats;
    pgy_status st = PGY_OK;
    if (v.dtype != PGY_STRING) {
        st = arith_compact_view(&compact, v, err);
        if (st) goto done;
        source s = source_array(pgy_tensor_view(compact));
        histogram_range range = {.given = !(low > high), .low = low, .high = high};
        st = stats_compute(&stats, NULL, &s, &(stats_request){0}, err);
        if (!st) st = histogram_append(&text, &why, &s, 0, &stats, &range, err);
        if (st) goto done;
    }
    char *result = text.failed || text.size ? str_take(&text) : mem_strdup("");
    if (result)
        *out = result;
    else
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for a histogram");
done:
    pgy_tensor_release(compact);
    str_deinit(&text);
    str_deinit(&why);
    return st;
}
