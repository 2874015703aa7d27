/* SPDX-License-Identifier: Apache-2.0 */
/* Reading measurements. Figures and verdicts in the file are for other readers; here they are
 * computed again from the slices. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "perf/bench.h"

typedef struct reading {
    arena *memory;
    const char *path;
    pgy_bench *bench;
} reading;

static pgy_status refuse(const reading *r, const json_value *parent, const json_value *v,
                         const char *key, const char *expected, pgy_error *err)
{
    static const char *const TYPES[] = {"null",   "a truth value", "a number", "a number",
                                        "a text", "a list",        "an object"};
    const char *found = v ? TYPES[v->type] : "missing";
    char number[32];
    if (v && (v->type == JSON_INT || v->type == JSON_REAL)) {
        snprintf(number, sizeof number, "%g", v->real);
        found = number;
    }
    return pgy_error_set(err, PGY_E_FORMAT, "%s: line %u: '%s' is %s; expected %s", r->path,
                         (v ? v : parent)->line, key, found, expected);
}

/* ---- Values --------------------------------------------------------------------------------- */

static pgy_status read_real(double *out, const reading *r, const json_value *o, const char *key,
                            bool or_null, pgy_error *err)
{
    const json_value *v = json_get(o, key);
    const bool number = v && (v->type == JSON_INT || v->type == JSON_REAL);
    if (number && isfinite(v->real) && v->real >= 0)
        *out = v->real;
    else if (or_null && v && v->type == JSON_NULL)
        *out = -1;
    else
        return refuse(r, o, v, key,
                      or_null ? "a number of at least 0, or null" : "a number of at least 0", err);
    return PGY_OK;
}

static pgy_status read_int(int64_t *out, const reading *r, const json_value *o, const char *key,
                           bool or_null, pgy_error *err)
{
    const json_value *v = json_get(o, key);
    if (v && v->type == JSON_INT && v->integer >= 0)
        *out = v->integer;
    else if (or_null && v && v->type == JSON_NULL)
        *out = -1;
    else
        return refuse(r, o, v, key,
                      or_null ? "an integer of at least 0, or null" : "an integer of at least 0",
                      err);
    return PGY_OK;
}

/* *out lives in the arena. */
static pgy_status read_text(const char **out, reading *r, const json_value *o, const char *key,
                            pgy_error *err)
{
    const json_value *v = json_get(o, key);
    size_t size = 0;
    if (!v || v->type != JSON_STRING) return refuse(r, o, v, key, "a text", err);
    *out = json_string(v, r->memory, &size);
    if (!*out) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (strlen(*out) != size) return refuse(r, o, v, key, "a text without NUL", err);
    return PGY_OK;
}

static pgy_status copy_text(char **out, reading *r, const json_value *o, const char *key,
                            pgy_error *err)
{
    const char *text = NULL;
    const pgy_status st = read_text(&text, r, o, key, err);
    if (st) return st;
    *out = mem_strdup(text);
    return *out ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status get_child(json_value **out, const reading *r, const json_value *o,
                            const char *key, json_type type, pgy_error *err)
{
    json_value *v = json_get(o, key);
    if (!v || v->type != type)
        return refuse(r, o, v, key, type == JSON_ARRAY ? "a list" : "an object", err);
    *out = v;
    return PGY_OK;
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static pgy_status read_options(pgy_bench_options *o, const reading *r, const json_value *root,
                               pgy_error *err)
{
    json_value *v = NULL;
    int64_t slices = 0, seed = 0;
    *o = pgy_bench_options_default();
    pgy_status st = get_child(&v, r, root, "options", JSON_OBJECT, err);
    if (!st) st = read_real(&o->duration_s, r, v, "duration_s", false, err);
    if (!st) st = read_int(&slices, r, v, "slices", false, err);
    if (!st) st = read_int(&seed, r, v, "seed", false, err);
    if (!st) st = read_real(&o->warm_up_ms, r, v, "warm_up_ms", false, err);
    if (!st) st = read_real(&o->confidence, r, v, "confidence", false, err);
    if (!st) st = read_real(&o->least_effect, r, v, "least_effect", false, err);
    o->slices = (size_t)slices;
    o->seed = (uint64_t)seed;
    return st;
}

static pgy_status read_machine(bench_machine *m, reading *r, const json_value *root, pgy_error *err)
{
    json_value *v = NULL;
    pgy_status st = get_child(&v, r, root, "machine", JSON_OBJECT, err);
    if (!st) st = copy_text(&m->processor, r, v, "processor", err);
    if (!st) st = copy_text(&m->governor, r, v, "governor", err);
    if (!st) st = copy_text(&m->flags, r, v, "flags", err);
    if (!st && json_get(v, "energy")) st = copy_text(&m->energy, r, v, "energy", err);
    if (!st) st = read_int(&m->processors, r, v, "processors", true, err);
    if (!st) st = read_real(&m->mhz_before, r, v, "mhz_before", true, err);
    if (!st) st = read_real(&m->mhz_after, r, v, "mhz_after", true, err);
    if (!st) st = read_int(&m->throttled, r, v, "throttled", true, err);
    return st;
}

/* Files of older releases lack some numbers. */
static pgy_status read_later(double *out, const reading *r, const json_value *o, const char *key,
                             pgy_error *err)
{
    *out = -1;
    return json_get(o, key) ? read_real(out, r, o, key, true, err) : PGY_OK;
}

static pgy_status read_times(bench_slice *s, const reading *r, const json_value *item,
                             pgy_error *err)
{
    json_value *list = NULL;
    pgy_status st = get_child(&list, r, item, "times_ns", JSON_ARRAY, err);
    if (st) return st;
    if (!list->count || list->count > BENCH_KEPT)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: line %u: 'times_ns' has %zu times; expected 1 to %d", r->path,
                             list->line, list->count, BENCH_KEPT);
    s->times_ns = mem_calloc(list->count, sizeof *s->times_ns);
    if (!s->times_ns) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (const json_value *v = list->first; v; v = v->next) {
        if (v->type != JSON_INT || v->integer <= 0)
            return refuse(r, list, v, "times_ns", "integers over 0", err);
        s->times_ns[s->count++] = v->integer;
    }
    bench_sort_times(s->times_ns, s->count);
    return PGY_OK;
}

static pgy_status read_slice(const json_value *item, size_t side, reading *r, pgy_error *err)
{
    bench_slice s = {0};
    int64_t place = 0, runs = 0;
    const json_value *flag = json_get(item, "disturbed");
    if (item->type != JSON_OBJECT) return refuse(r, item, item, "slices", "a list of objects", err);
    pgy_status st = read_times(&s, r, item, err);
    if (!st) st = read_int(&place, r, item, "place", false, err);
    if (!st) st = read_real(&s.others, r, item, "others", true, err);
    if (!st) st = read_int(&runs, r, item, "runs", false, err);
    if (!st) st = read_int(&s.total_ns, r, item, "total_ns", false, err);
    if (!st) st = read_later(&s.joules.cpu, r, item, "cpu_joules", err);
    if (!st) st = read_later(&s.joules.gpu, r, item, "gpu_joules", err);
    if (!st && (!flag || flag->type != JSON_BOOL))
        st = refuse(r, item, flag, "disturbed", "true or false", err);
    if (!st && ((uint64_t)runs < s.count || s.total_ns < s.times_ns[s.count - 1]))
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "%s: line %u: a slice has %" PRId64 " runs in %" PRId64
                           " ns; its %zu times need more",
                           r->path, item->line, runs, s.total_ns, s.count);
    if (st) {
        mem_free(s.times_ns);
        return st;
    }
    s.disturbed = flag->boolean;
    s.place = (size_t)place;
    s.runs = (uint64_t)runs;
    return bench_adopt(r->bench, side, &s, err);
}

/* A side without error needs a reason. */
static pgy_status read_accuracy(bench_accuracy *a, reading *r, const json_value *item,
                                pgy_error *err)
{
    json_value *v = NULL;
    const json_value *passed = NULL;
    if (!json_get(item, "accuracy")) return PGY_OK;
    pgy_status st = get_child(&v, r, item, "accuracy", JSON_OBJECT, err);
    if (!st) st = copy_text(&a->reference, r, v, "reference", err);
    if (!st) st = copy_text(&a->reason, r, v, "reason", err);
    if (!st) st = read_real(&a->error, r, v, "error", true, err);
    if (!st) st = read_real(&a->relative_error, r, v, "relative_error", true, err);
    if (st) return st;
    passed = json_get(v, "passed");
    a->measured = a->error >= 0;
    if (a->relative_error < 0) a->relative_error = INFINITY;
    if (!passed || passed->type != JSON_BOOL ||
        passed->boolean != (a->measured && a->reason[0] == 0))
        return refuse(r, v, passed, "passed",
                      "true if there is an error and 'reason' is empty, else false", err);
    if (!a->reason[0]) {
        mem_free(a->reason);
        a->reason = NULL;
    }
    return PGY_OK;
}

static pgy_status read_side(const json_value *item, size_t i, reading *r, pgy_error *err)
{
    bench_side *s = &r->bench->sides[i];
    json_value *slices = NULL;
    pgy_status st = read_real(&s->load_ms, r, item, "load_ms", true, err);
    if (!st) st = read_real(&s->first_run_ms, r, item, "first_run_ms", true, err);
    if (!st) st = read_int(&s->peak_bytes, r, item, "peak_bytes", true, err);
    if (!st) st = read_accuracy(&s->accuracy, r, item, err);
    if (!st) st = get_child(&slices, r, item, "slices", JSON_ARRAY, err);
    if (st) return st;
    if (!slices->count || slices->count > BENCH_SLICES)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: line %u: 'slices' has %zu items; expected 1 to %d", r->path,
                             slices->line, slices->count, BENCH_SLICES);
    for (const json_value *v = slices->first; !st && v; v = v->next) st = read_slice(v, i, r, err);
    return st;
}

/* ---- The file ------------------------------------------------------------------------------- */

static pgy_status check_header(reading *r, const json_value *root, pgy_error *err)
{
    const json_value *format = json_get(root, "format");
    int64_t version = 0;
    if (!format || format->type != JSON_STRING || !span_equals(format->raw, "polygraphy-bench"))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: 'format' is not \"polygraphy-bench\"; expected a file that "
                             "'bench -o' wrote",
                             r->path);
    const pgy_status st = read_int(&version, r, root, "version", false, err);
    if (!st && version != 1)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: the file has version %" PRId64 "; this library reads version 1",
                             r->path, version);
    return st;
}

static pgy_status create_sides(reading *r, const json_value *sides, const pgy_bench_options *o,
                               pgy_error *err)
{
    const char *names[BENCH_SIDES];
    size_t count = 0;
    pgy_status st = PGY_OK;
    if (!sides->count || sides->count > BENCH_SIDES)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: line %u: 'sides' has %zu items; expected 1 to %d", r->path,
                             sides->line, sides->count, BENCH_SIDES);
    for (const json_value *v = sides->first; !st && v; v = v->next)
        st = read_text(&names[count++], r, v, "name", err);
    if (st) return st;
    st = pgy_bench_create(&r->bench, names, count, o, err);
    return st == PGY_E_ARGUMENT ? pgy_error_prefix(err, PGY_E_FORMAT, "%s: ", r->path) : st;
}

static pgy_status read_root(reading *r, const json_value *root, pgy_error *err)
{
    pgy_bench_options o;
    json_value *sides = NULL;
    size_t i = 0;
    pgy_status st = check_header(r, root, err);
    if (!st) st = read_options(&o, r, root, err);
    if (!st) st = get_child(&sides, r, root, "sides", JSON_ARRAY, err);
    if (!st) st = create_sides(r, sides, &o, err);
    if (!st) st = read_machine(&r->bench->machine, r, root, err);
    for (const json_value *v = st ? NULL : sides->first; !st && v; v = v->next)
        st = read_side(v, i++, r, err);
    return st;
}

pgy_status bench_read_value(pgy_bench **out, const json_value *root, const char *path,
                            arena *memory, pgy_error *err)
{
    reading r = {.path = path, .memory = memory};
    const pgy_status st = read_root(&r, root, err);
    if (st)
        pgy_bench_destroy(r.bench);
    else
        *out = r.bench;
    return st;
}

pgy_status bench_parse(pgy_bench **out, span text, const char *path, pgy_error *err)
{
    arena memory = {0};
    json_value *root = NULL;
    pgy_status st = json_parse(&root, text.data, text.size, &memory, err);
    if (st)
        pgy_error_prefix(err, st, "%s: ", path);
    else
        st = bench_read_value(out, root, path, &memory, err);
    arena_deinit(&memory);
    return st;
}

pgy_status pgy_bench_load(pgy_bench **out, const char *path, pgy_error *err)
{
    str text = {0};
    pgy_status st = file_read(&text, path, err);
    if (!st) st = bench_parse(out, (span){str_text(&text), text.size}, path, err);
    str_deinit(&text);
    return st;
}
