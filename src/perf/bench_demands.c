/* SPDX-License-Identifier: Apache-2.0 */
/* Demands and how they were met: budgets and tolerances are checked at each point for each side,
 * and the list is written as JUnit's XML. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/pytext.h"
#include "base/xml.h"
#include "perf/bench_budget.h"

struct pgy_bench_demands {
    pgy_bench_demand *items; /* own their texts */
    size_t count, capacity;
};

static const struct {
    pgy_bench_subject subject;
    const char *name;
} SUBJECTS[] = {
    {PGY_BENCH_REGRESSION, "regression"}, {PGY_BENCH_ACCURACY, "accuracy"},
    {PGY_BENCH_LATENCY, "latency"},       {PGY_BENCH_MEMORY, "memory"},
    {PGY_BENCH_THROUGHPUT, "throughput"}, {PGY_BENCH_ENERGY, "energy"},
    {PGY_BENCH_UNMEASURED, "unmeasured"},
};
enum { SUBJECT_COUNT = sizeof SUBJECTS / sizeof *SUBJECTS };

const char *pgy_bench_subject_name(pgy_bench_subject subject)
{
    for (size_t i = 0; i < SUBJECT_COUNT; i++)
        if (SUBJECTS[i].subject == subject) return SUBJECTS[i].name;
    return "unknown";
}

/* ---- The list -------------------------------------------------------------------------------- */

pgy_status pgy_bench_demands_create(pgy_bench_demands **out, pgy_error *err)
{
    *out = mem_calloc(1, sizeof **out);
    return *out ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

void pgy_bench_demands_destroy(pgy_bench_demands *d)
{
    if (!d) return;
    for (size_t i = 0; i < d->count; i++) {
        mem_free((char *)d->items[i].where);
        mem_free((char *)d->items[i].what);
        mem_free((char *)d->items[i].found);
    }
    mem_free(d->items);
    mem_free(d);
}

pgy_status pgy_bench_demands_add(pgy_bench_demands *d, const pgy_bench_demand *demand,
                                 pgy_error *err)
{
    pgy_bench_demand copy = {.subject = demand->subject,
                             .where = mem_strdup(demand->where),
                             .what = mem_strdup(demand->what),
                             .found = mem_strdup(demand->found),
                             .passed = demand->passed};
    if (copy.where && copy.what && copy.found &&
        mem_grow((void **)&d->items, &d->capacity, d->count + 1, sizeof *d->items)) {
        d->items[d->count++] = copy;
        return PGY_OK;
    }
    mem_free((char *)copy.where);
    mem_free((char *)copy.what);
    mem_free((char *)copy.found);
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

size_t pgy_bench_demands_count(const pgy_bench_demands *d)
{
    return d->count;
}

const pgy_bench_demand *pgy_bench_demands_at(const pgy_bench_demands *d, size_t i)
{
    return &d->items[i];
}

int pgy_bench_demands_status(const pgy_bench_demands *d)
{
    int least = 0;
    for (size_t i = 0; i < d->count; i++)
        if (!d->items[i].passed && (!least || (int)d->items[i].subject < least))
            least = (int)d->items[i].subject;
    return least;
}

/* ---- Budgets --------------------------------------------------------------------------------- */

/* Why a figure is not there. */
static void append_missing(str *out, const bench_limit *l, const pgy_bench *b,
                           const pgy_bench_accuracy *a)
{
    str_append(out, "not measured");
    if (l->on->subject == PGY_BENCH_ACCURACY)
        str_printf(out, ": %s", a ? a->reason : "outputs were not compared with a reference");
    else if (l->on->subject == PGY_BENCH_ENERGY)
        str_printf(out, ": %s", b->machine.energy ? b->machine.energy : "the file has no energy");
    else if (l->on->subject == PGY_BENCH_MEMORY)
        str_append(out, ": the system did not say the peak of the resident memory");
}

static void append_found(str *out, const bench_limit *l, double figure)
{
    if (strcmp(l->on->unit, "bytes") == 0) {
        str_append_bytes(out, (uint64_t)figure);
        return;
    }
    str_append_g(out, 5, figure);
    if (l->on->unit[0]) str_printf(out, " %s", l->on->unit);
}

static pgy_status add_limit(pgy_bench_demands *d, const bench_limit *l, const pgy_bench *b,
                            const pgy_bench_figures *f, const pgy_bench_accuracy *a,
                            const char *where, pgy_error *err)
{
    const double figure = l->on->figure(f, a);
    pgy_bench_demand demand = {.subject = l->on->subject, .where = where, .what = l->text};
    str found = {0};
    if (isnan(figure)) {
        demand.subject = PGY_BENCH_UNMEASURED;
        append_missing(&found, l, b, a);
    } else {
        demand.passed = bench_limit_holds(l, figure);
        append_found(&found, l, figure);
    }
    demand.found = str_text(&found);
    const pgy_status st = found.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                       : pgy_bench_demands_add(d, &demand, err);
    str_deinit(&found);
    return st;
}

static pgy_status check_side(pgy_bench_demands *d, const pgy_bench_budget *budget,
                             const pgy_bench_sweep *s, size_t point, size_t side, pgy_error *err)
{
    const pgy_bench *b = s->points[point];
    pgy_bench_figures f;
    pgy_bench_accuracy a;
    str where = {0};
    const bool checked = pgy_bench_check(&a, b, side);
    pgy_status st = pgy_bench_summarize(&f, b, side, err);
    bench_append_where(&where, s, point, b->sides[side].name);
    for (size_t i = 0; !st && i < budget->count; i++)
        st = add_limit(d, &budget->items[i], b, &f, checked ? &a : NULL, str_text(&where), err);
    str_deinit(&where);
    return st;
}

pgy_status pgy_bench_budget_check(pgy_bench_demands *d, const pgy_bench_budget *b,
                                  const pgy_bench_sweep *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t p = 0; !st && p < s->count; p++)
        for (size_t i = 0; !st && i < s->points[p]->count; i++) st = check_side(d, b, s, p, i, err);
    return st;
}

/* ---- Tolerances ------------------------------------------------------------------------------ */

static pgy_status check_accuracy(pgy_bench_demands *d, const pgy_bench_sweep *s, size_t point,
                                 size_t side, pgy_error *err)
{
    const pgy_bench *b = s->points[point];
    pgy_bench_accuracy a;
    str where = {0}, what = {0}, found = {0};
    if (!pgy_bench_check(&a, b, side)) return PGY_OK;
    bench_append_where(&where, s, point, b->sides[side].name);
    str_printf(&what, "agrees with '%s'", a.reference);
    if (a.measured) str_printf(&found, "error %.4g%s", a.error, a.passed ? "" : ": ");
    if (!a.passed) str_append(&found, a.reason);
    const pgy_bench_demand demand = {.subject =
                                         a.measured ? PGY_BENCH_ACCURACY : PGY_BENCH_UNMEASURED,
                                     .where = str_text(&where),
                                     .what = str_text(&what),
                                     .found = str_text(&found),
                                     .passed = a.passed};
    const pgy_status st = where.failed || what.failed || found.failed
                              ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                              : pgy_bench_demands_add(d, &demand, err);
    str_deinit(&where);
    str_deinit(&what);
    str_deinit(&found);
    return st;
}

pgy_status pgy_bench_accuracy_check(pgy_bench_demands *d, const pgy_bench_sweep *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t p = 0; !st && p < s->count; p++)
        for (size_t i = 0; !st && i < s->points[p]->count; i++)
            st = check_accuracy(d, s, p, i, err);
    return st;
}

/* ---- JUnit ----------------------------------------------------------------------------------- */

static void attribute(str *out, const char *name, const char *value)
{
    str_printf(out, " %s=\"", name);
    str_append_xml(out, value);
    str_append_char(out, '"');
}

static void open_case(str *out, const char *class_name, const char *name, double seconds)
{
    str_append(out, "    <testcase");
    attribute(out, "classname", class_name);
    attribute(out, "name", name);
    str_printf(out, " time=\"%.6f\"", seconds);
}

static void demand_case(str *out, const pgy_bench_demand *demand)
{
    str name = {0}, failure = {0};
    str_printf(&name, "%s: %s", demand->where, demand->what);
    open_case(out, pgy_bench_subject_name(demand->subject), str_text(&name), 0);
    if (demand->passed) {
        str_append(out, "/>\n");
    } else {
        str_printf(&failure, "%s: %s: %s", demand->where, demand->what, demand->found);
        str_append(out, ">\n      <failure");
        attribute(out, "message", str_text(&failure));
        str_append(out, "/>\n    </testcase>\n");
    }
    out->failed = out->failed || name.failed || failure.failed;
    str_deinit(&name);
    str_deinit(&failure);
}

static void open_suite(str *out, const char *name, size_t tests, size_t failures)
{
    str_printf(
        out,
        "  <testsuite name=\"%s\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n",
        name, tests, failures);
}

static void append_subject(str *out, const pgy_bench_demands *d, pgy_bench_subject subject)
{
    size_t tests = 0, failures = 0;
    for (size_t i = 0; i < d->count; i++)
        if (d->items[i].subject == subject) {
            tests++;
            failures += !d->items[i].passed;
        }
    if (!tests) return;
    open_suite(out, pgy_bench_subject_name(subject), tests, failures);
    for (size_t i = 0; i < d->count; i++)
        if (d->items[i].subject == subject) demand_case(out, &d->items[i]);
    str_append(out, "  </testsuite>\n");
}

static double measured_seconds(const bench_side *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->count; i++) sum += (double)s->slices[i].total_ns / 1e9;
    return sum;
}

/* A case for each side at each point, which took the time of its runs. */
static size_t append_measured(str *out, const pgy_bench_sweep *s)
{
    const size_t cases = s->count * s->points[0]->count;
    open_suite(out, "measured", cases, 0);
    for (size_t p = 0; p < s->count; p++)
        for (size_t i = 0; i < s->points[p]->count; i++) {
            const bench_side *side = &s->points[p]->sides[i];
            str where = {0};
            bench_append_where(&where, s, p, side->name);
            open_case(out, "measured", str_text(&where), measured_seconds(side));
            str_append(out, "/>\n");
            out->failed = out->failed || where.failed;
            str_deinit(&where);
        }
    str_append(out, "  </testsuite>\n");
    return cases;
}

pgy_status pgy_bench_demands_save_junit(const char *path, const pgy_bench_demands *d,
                                        const pgy_bench_sweep *s, pgy_error *err)
{
    str out = {0}, suites = {0};
    size_t failures = 0;
    const size_t measured = append_measured(&suites, s);
    for (size_t i = 0; i < d->count; i++) failures += !d->items[i].passed;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) append_subject(&suites, d, SUBJECTS[i].subject);
    str_printf(&out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"bench\" "
               "tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
               d->count + measured, failures);
    str_append_n(&out, str_text(&suites), suites.size);
    str_append(&out, "</testsuites>\n");
    pgy_status st =
        out.failed || suites.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
    if (!st) st = file_write_all(path, str_text(&out), out.size, err);
    str_deinit(&suites);
    str_deinit(&out);
    return st;
}
