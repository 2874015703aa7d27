/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets: "p99<12ms,peak<300M,err<1e-3". A figure is a row of a table with the units that its
 * limits may have. A time without a unit is refused, because it would be a guess. */
#include "perf/bench_budget.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "base/pytext.h"

/* ---- Figures --------------------------------------------------------------------------------- */

static double known(double v)
{
    return v >= 0 ? v : NAN;
}

#define FIGURE(name, expression)                                                \
    static double name(const pgy_bench_figures *f, const pgy_bench_accuracy *a) \
    {                                                                           \
        (void)f;                                                                \
        (void)a;                                                                \
        return expression;                                                      \
    }
FIGURE(median, f->median_ms)
FIGURE(p50, f->p50_ms)
FIGURE(p90, f->p90_ms)
FIGURE(p99, f->p99_ms)
FIGURE(p999, f->p999_ms)
FIGURE(first, known(f->first_run_ms))
FIGURE(load, known(f->load_ms))
FIGURE(peak, f->peak_bytes < 0 ? NAN : (double)f->peak_bytes)
FIGURE(throughput, f->throughput)
FIGURE(cpu_energy, known(f->cpu_joules))
FIGURE(gpu_energy, known(f->gpu_joules))
FIGURE(error, a ? a->error : NAN)
FIGURE(relative_error, a ? a->relative_error : NAN)

/* ---- Units ----------------------------------------------------------------------------------- */

typedef struct suffix {
    const char *text;
    double factor;
} suffix;
enum { SUFFIXES = 12 };
typedef enum unit_kind { TIME, BYTES, RATE, JOULES, NUMBER } unit_kind;
static const suffix UNITS[][SUFFIXES] = {
    [TIME] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}},
    [BYTES] = {{"", 1},
               {"B", 1},
               {"K", 1024},
               {"M", 1048576},
               {"G", 1073741824},
               {"T", 1099511627776},
               {"KiB", 1024},
               {"MiB", 1048576},
               {"GiB", 1073741824},
               {"TiB", 1099511627776}},
    [RATE] = {{"", 1}, {"/s", 1}},
    [JOULES] = {{"J", 1}, {"mJ", 1e-3}, {"uJ", 1e-6}},
    [NUMBER] = {{"", 1}},
};

static const bench_limited FIGURES[] = {
    {"median", PGY_BENCH_LATENCY, "ms", median, TIME},
    {"p50", PGY_BENCH_LATENCY, "ms", p50, TIME},
    {"p90", PGY_BENCH_LATENCY, "ms", p90, TIME},
    {"p99", PGY_BENCH_LATENCY, "ms", p99, TIME},
    {"p99.9", PGY_BENCH_LATENCY, "ms", p999, TIME},
    {"first", PGY_BENCH_LATENCY, "ms", first, TIME},
    {"load", PGY_BENCH_LATENCY, "ms", load, TIME},
    {"peak", PGY_BENCH_MEMORY, "bytes", peak, BYTES},
    {"throughput", PGY_BENCH_THROUGHPUT, "runs/s", throughput, RATE},
    {"cpu_energy", PGY_BENCH_ENERGY, "J", cpu_energy, JOULES},
    {"gpu_energy", PGY_BENCH_ENERGY, "J", gpu_energy, JOULES},
    {"err", PGY_BENCH_ACCURACY, "", error, NUMBER},
    {"rel_err", PGY_BENCH_ACCURACY, "", relative_error, NUMBER},
};
enum { FIGURE_COUNT = sizeof FIGURES / sizeof *FIGURES };

/* ---- Parsing --------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    bench_relation relation;
} RELATIONS[] = {
    {"<=", BENCH_AT_MOST}, {">=", BENCH_AT_LEAST}, {"<", BENCH_BELOW}, {">", BENCH_ABOVE}};

static pgy_status refuse(const char *condition, const char *why, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "bench.budget: '%s': %s; expected FIGURE<LIMIT, such as p99<12ms, "
                         "peak<300M or err<1e-3",
                         printable_name(condition), why);
}

static void append_figures(str *out)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        str_printf(out, "%s%s", i ? ", " : "", FIGURES[i].name);
}

static pgy_status find_figure(const bench_limited **out, const char *condition, size_t size,
                              pgy_error *err)
{
    str why = {0};
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        if (span_equals((span){condition, size}, FIGURES[i].name)) {
            *out = &FIGURES[i];
            return PGY_OK;
        }
    str_append(&why, "there is no such figure; there are ");
    append_figures(&why);
    const pgy_status st = refuse(condition, str_text(&why), err);
    str_deinit(&why);
    return st;
}

static pgy_status read_unit(double *factor, const bench_limited *on, const char *text,
                            const char *condition, pgy_error *err)
{
    str why = {0};
    for (size_t i = 0; i < SUFFIXES && UNITS[on->sizes][i].text; i++) {
        if (strcmp(UNITS[on->sizes][i].text, text) == 0) {
            *factor = UNITS[on->sizes][i].factor;
            str_deinit(&why);
            return PGY_OK;
        }
        if (UNITS[on->sizes][i].text[0])
            str_printf(&why, "%s%s", why.size ? ", " : "a unit of this figure is one of ",
                       UNITS[on->sizes][i].text);
    }
    const pgy_status st =
        refuse(condition, why.size ? str_text(&why) : "this figure has no unit", err);
    str_deinit(&why);
    return st;
}

/* Numbers begin with a digit: no "inf", no "nan", no sign, and no hexadecimal ones. */
static bool read_number(double *out, const char **end, const char *text)
{
    char *stop = NULL;
    if (text[0] < '0' || text[0] > '9' || text[1] == 'x' || text[1] == 'X') return false;
    *out = text_to_double(text, &stop);
    *end = stop;
    return stop != text && isfinite(*out);
}

static pgy_status read_limit(bench_limit *l, const char *condition, pgy_error *err)
{
    const char *at = strpbrk(condition, "<>"), *end = NULL;
    double factor = 1;
    if (!at) return refuse(condition, "it has no '<' or '>'", err);
    pgy_status st = find_figure(&l->on, condition, (size_t)(at - condition), err);
    if (st) return st;
    for (size_t i = 0; i < sizeof RELATIONS / sizeof *RELATIONS; i++)
        if (str_starts_with(at, RELATIONS[i].text)) {
            l->relation = RELATIONS[i].relation;
            at += strlen(RELATIONS[i].text);
            break;
        }
    if (!read_number(&l->value, &end, at))
        return refuse(condition, "the limit is not a number of at least 0", err);
    st = read_unit(&factor, l->on, end, condition, err);
    l->value *= factor;
    if (!st && !isfinite(l->value)) st = refuse(condition, "the limit is too large", err);
    return st;
}

/* Copies the condition without blanks, and reads the copy. */
static pgy_status add_condition(pgy_bench_budget *b, const char *text, size_t size, pgy_error *err)
{
    str condition = {0};
    bench_limit l = {0};
    for (size_t i = 0; i < size; i++)
        if (text[i] != ' ') str_append_char(&condition, text[i]);
    pgy_status st = str_give(&l.text, &condition, err);
    if (!st && b->count == BENCH_LIMITS)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "bench.budget: more than %d conditions",
                           BENCH_LIMITS);
    if (!st) st = read_limit(&l, l.text, err);
    if (st)
        mem_free(l.text);
    else
        b->items[b->count++] = l;
    return st;
}

pgy_status pgy_bench_budget_parse(pgy_bench_budget **out, const char *text, pgy_error *err)
{
    pgy_bench_budget *b = mem_calloc(1, sizeof *b);
    pgy_status st = b ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (const char *p = text; !st;) {
        const size_t size = strcspn(p, ",");
        st = add_condition(b, p, size, err);
        if (!p[size]) break;
        p += size + 1;
    }
    if (st)
        pgy_bench_budget_destroy(b);
    else
        *out = b;
    return st;
}

void pgy_bench_budget_destroy(pgy_bench_budget *b)
{
    if (!b) return;
    for (size_t i = 0; i < b->count; i++) mem_free(b->items[i].text);
    mem_free(b);
}

pgy_status pgy_bench_budget_text(char **out, const pgy_bench_budget *b, pgy_error *err)
{
    str text = {0};
    for (size_t i = 0; i < b->count; i++) str_printf(&text, "%s%s", i ? "," : "", b->items[i].text);
    return str_give(out, &text, err);
}

bool pgy_bench_budget_has(const pgy_bench_budget *b, pgy_bench_subject subject)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->items[i].on->subject == subject) return true;
    return false;
}

bool bench_limit_holds(const bench_limit *l, double figure)
{
    switch (l->relation) {
    case BENCH_BELOW: return figure < l->value;
    case BENCH_AT_MOST: return figure <= l->value;
    case BENCH_ABOVE: return figure > l->value;
    default: return figure >= l->value;
    }
}
