/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps as JSON and CSV. In JSON each point has a whole document of bench_write.c, so that its
 * reader serves both. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "perf/bench_sweep.h"

static const char FORMAT[] = "polygraphy-bench-sweep";

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_axes(json_writer *w, const pgy_bench_axes *a)
{
    json_key(w, "axes");
    json_begin_array(w);
    for (size_t i = 0; i < a->count; i++) {
        json_begin_object(w);
        json_put_text(w, "name", a->items[i].name);
        json_put_ints(w, "sizes", a->items[i].sizes, a->items[i].count);
        json_end_object(w);
    }
    json_end_array(w);
}

static pgy_status write_point(json_writer *w, const pgy_bench_sweep *s, size_t point,
                              pgy_error *err)
{
    int64_t sizes[BENCH_AXES];
    for (size_t i = 0; i < s->axes->count; i++) sizes[i] = bench_axes_at(s->axes, point, i);
    json_begin_object(w);
    json_put_ints(w, "sizes", sizes, s->axes->count);
    json_key(w, "bench");
    const pgy_status st = bench_write(w, s->points[point], err);
    json_end_object(w);
    return st;
}

pgy_status bench_sweep_write(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_bench_sweep *s = user;
    pgy_status st = PGY_OK;
    if (!s->axes->count) return bench_write(w, s->points[0], err);
    json_begin_object(w);
    json_put_text(w, "format", FORMAT);
    json_put_int(w, "version", 1);
    write_axes(w, s->axes);
    json_key(w, "points");
    json_begin_array(w);
    for (size_t p = 0; !st && p < s->count; p++) st = write_point(w, s, p, err);
    json_end_array(w);
    json_end_object(w);
    return st;
}

pgy_status pgy_bench_sweep_save(const char *path, const pgy_bench_sweep *s, pgy_error *err)
{
    return json_save(path, bench_sweep_write, s, err);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void append_quoted(str *out, const char *text)
{
    str_append_char(out, '"');
    for (; *text; text++) {
        if (*text == '"') str_append_char(out, '"');
        str_append_char(out, *text);
    }
    str_append_char(out, '"');
}

/* An unknown number is an empty field. */
static void append_field(str *out, double v, bool known)
{
    str_append_char(out, ',');
    if (known && isfinite(v)) str_printf(out, "%.9g", v);
}

static pgy_status append_row(str *out, const pgy_bench_sweep *s, size_t point, size_t side,
                             pgy_error *err)
{
    const pgy_bench *b = s->points[point];
    pgy_bench_figures f;
    pgy_bench_verdict v = {0};
    pgy_bench_accuracy a = {0};
    const bool checked = pgy_bench_check(&a, b, side);
    pgy_status st = pgy_bench_summarize(&f, b, side, err);
    if (!st && side) st = pgy_bench_judge(&v, b, side, 0, err);
    if (st) return st;
    for (size_t i = 0; i < s->axes->count; i++)
        str_printf(out, "%" PRId64 ",", bench_axes_at(s->axes, point, i));
    append_quoted(out, b->sides[side].name);
    const double known[] = {f.median_ms, f.low_ms, f.high_ms, f.p50_ms,
                            f.p90_ms,    f.p99_ms, f.p999_ms, f.throughput};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) append_field(out, known[i], true);
    append_field(out, (double)f.peak_bytes, f.peak_bytes >= 0);
    append_field(out, f.cpu_joules, f.cpu_joules >= 0);
    append_field(out, f.gpu_joules, f.gpu_joules >= 0);
    append_field(out, a.error, checked && a.measured);
    append_field(out, a.relative_error, checked && a.measured);
    append_field(out, v.effect, side > 0);
    append_field(out, v.low, side > 0);
    append_field(out, v.high, side > 0);
    str_printf(out, ",%zu,%zu\r\n", f.slices, f.disturbed);
    return PGY_OK;
}

pgy_status pgy_bench_sweep_save_csv(const char *path, const pgy_bench_sweep *s, pgy_error *err)
{
    str out = {0};
    pgy_status st = PGY_OK;
    if (!s->axes->count) return pgy_bench_save_csv(path, s->points[0], err);
    for (size_t i = 0; i < s->axes->count; i++) {
        append_quoted(&out, s->axes->items[i].name);
        str_append_char(&out, ',');
    }
    str_append(&out, "side,median_ms,low_ms,high_ms,p50_ms,p90_ms,p99_ms,p99.9_ms,throughput,"
                     "peak_bytes,cpu_joules,gpu_joules,error,relative_error,effect,effect_low,"
                     "effect_high,slices,disturbed\r\n");
    for (size_t p = 0; !st && p < s->count; p++)
        for (size_t i = 0; !st && i < s->points[p]->count; i++) st = append_row(&out, s, p, i, err);
    if (!st && out.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = file_write_all(path, str_text(&out), out.size, err);
    str_deinit(&out);
    return st;
}

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct sweep_reading {
    arena memory;
    const char *path;
    pgy_bench_axes *axes;
    pgy_bench_sweep *sweep;
} sweep_reading;

static pgy_status refuse(const sweep_reading *r, const json_value *at, const char *what,
                         pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "%s: line %u: %s", r->path, at->line, what);
}

static pgy_status read_list(const json_value **out, const sweep_reading *r, const json_value *o,
                            const char *key, pgy_error *err)
{
    const json_value *v = json_get(o, key);
    if (!v || v->type != JSON_ARRAY)
        return pgy_error_set(err, PGY_E_FORMAT, "%s: line %u: '%s' is not a list", r->path, o->line,
                             key);
    *out = v;
    return PGY_OK;
}

static pgy_status read_axis(sweep_reading *r, const json_value *item, pgy_error *err)
{
    int64_t sizes[BENCH_POINTS];
    size_t count = 0, name_size = 0;
    const json_value *name = json_get(item, "name"), *list = NULL;
    if (!name || name->type != JSON_STRING)
        return refuse(r, item, "an axis has no 'name' that is a text", err);
    const char *text = json_string(name, &r->memory, &name_size);
    if (!text) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (strlen(text) != name_size || !name_size)
        return refuse(r, name, "the name of an axis is empty or has a NUL", err);
    pgy_status st = read_list(&list, r, item, "sizes", err);
    if (st) return st;
    if (list->count > BENCH_POINTS) return refuse(r, list, "an axis has more than 1000 sizes", err);
    for (const json_value *v = list->first; v; v = v->next) {
        if (v->type != JSON_INT) return refuse(r, v, "a size is not an integer", err);
        sizes[count++] = v->integer;
    }
    st = bench_axes_add(r->axes, text, name_size, sizes, count, err);
    return st == PGY_E_ARGUMENT
               ? pgy_error_prefix(err, PGY_E_FORMAT, "%s: line %u: ", r->path, item->line)
               : st;
}

static bool same_sizes(const json_value *list, const pgy_bench_axes *a, size_t point)
{
    size_t i = 0;
    if (!list || list->type != JSON_ARRAY || list->count != a->count) return false;
    for (const json_value *v = list->first; v; v = v->next, i++)
        if (v->type != JSON_INT || v->integer != bench_axes_at(a, point, i)) return false;
    return true;
}

/* All points must have the same sides: tables and verdicts count on it. */
static bool same_sides(const pgy_bench *a, const pgy_bench *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->sides[i].name, b->sides[i].name) == 0;
    return same;
}

static pgy_status read_point(sweep_reading *r, const json_value *item, size_t point, pgy_error *err)
{
    pgy_bench_sweep *s = r->sweep;
    const json_value *bench = json_get(item, "bench");
    if (!same_sizes(json_get(item, "sizes"), s->axes, point))
        return refuse(r, item, "'sizes' of a point are not those that the axes have at its place",
                      err);
    if (!bench || bench->type != JSON_OBJECT)
        return refuse(r, item, "a point has no 'bench' that is an object", err);
    const pgy_status st = bench_read_value(&s->points[point], bench, r->path, &r->memory, err);
    if (!st && !same_sides(s->points[0], s->points[point]))
        return refuse(r, item, "a point has other sides than the first point", err);
    return st;
}

static pgy_status read_sweep(sweep_reading *r, const json_value *root, pgy_error *err)
{
    const json_value *version = json_get(root, "version"), *list = NULL;
    size_t point = 0;
    if (!version || version->type != JSON_INT || version->integer != 1)
        return refuse(r, root, "'version' is not 1; this library reads version 1", err);
    pgy_status st = read_list(&list, r, root, "axes", err);
    if (st) return st;
    if (!list->count) return refuse(r, list, "there is no axis", err);
    r->axes = mem_calloc(1, sizeof *r->axes);
    if (!r->axes) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (const json_value *v = list->first; !st && v; v = v->next) st = read_axis(r, v, err);
    if (!st) st = read_list(&list, r, root, "points", err);
    if (!st && list->count != bench_axes_points(r->axes))
        st = refuse(r, list, "the number of points is not the product of the axes' sizes", err);
    if (!st) st = bench_sweep_create(&r->sweep, r->axes, err);
    for (const json_value *v = st ? NULL : list->first; !st && v; v = v->next)
        st = read_point(r, v, point++, err);
    return st;
}

/* A single measurement is a sweep without axes. */
static pgy_status read_single(sweep_reading *r, const json_value *root, pgy_error *err)
{
    const pgy_status st = bench_sweep_create(&r->sweep, NULL, err);
    return st ? st : bench_read_value(&r->sweep->points[0], root, r->path, &r->memory, err);
}

pgy_status bench_sweep_parse(pgy_bench_sweep **out, span text, const char *path, pgy_error *err)
{
    sweep_reading r = {.path = path};
    json_value *root = NULL;
    pgy_status st = json_parse(&root, text.data, text.size, &r.memory, err);
    if (st) {
        pgy_error_prefix(err, st, "%s: ", path);
    } else {
        const json_value *format = json_get(root, "format");
        const bool is_sweep =
            format && format->type == JSON_STRING && span_equals(format->raw, FORMAT);
        st = is_sweep ? read_sweep(&r, root, err) : read_single(&r, root, err);
    }
    pgy_bench_axes_destroy(r.axes);
    arena_deinit(&r.memory);
    if (st)
        pgy_bench_sweep_destroy(r.sweep);
    else
        *out = r.sweep;
    return st;
}

pgy_status pgy_bench_sweep_load(pgy_bench_sweep **out, const char *path, pgy_error *err)
{
    str text = {0};
    pgy_status st = file_read(&text, path, err);
    if (!st) st = bench_sweep_parse(out, (span){str_text(&text), text.size}, path, err);
    str_deinit(&text);
    return st;
}
