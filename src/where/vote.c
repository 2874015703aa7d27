/* SPDX-License-Identifier: Apache-2.0 */
/* A vote is three comparisons of two sides, and up to three more with the referee. */
#include "where/vote.h"

#include <polygraphy/record.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"

enum { AB, AC, BC, PAIRS, SIDES = 3 };

static const struct {
    size_t a, b;
} PAIR[PAIRS] = {{0, 1}, {0, 2}, {1, 2}};

typedef struct ballot {
    pgy_where_side sides[SIDES];
    pgy_where_options options;
    pgy_where_report *pairs[PAIRS];
    pgy_where_report *distances[SIDES]; /* the referee as side A; NULL: a pair has it */
    int referee;
    pgy_tensor_map **feeds; /* every comparison gets the same */
    size_t feed_count;
} ballot;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Comparing ------------------------------------------------------------------------------- */

/* The side that computes in float64; the reference may be told to round. */
static int find_referee(const ballot *b)
{
    for (int i = SIDES; i--;) {
        char *precision = NULL;
        const pgy_where_side *s = &b->sides[i];
        if (!pgy_backend_has(s->backend, PGY_BACKEND_IS_REFERENCE)) continue;
        const bool told =
            s->options &&
            !pgy_backend_options_get(&precision, s->options, "opref_precision", NULL) && precision;
        const bool rounds = told && !strcmp(precision, "model");
        pgy_text_free(precision);
        if (!rounds) return i;
    }
    return -1;
}

static pgy_model *model_of(const ballot *b)
{
    for (size_t i = 0; i < SIDES; i++)
        if (b->sides[i].model) return b->sides[i].model;
    return NULL;
}

static pgy_status compare(pgy_where_report **out, const ballot *b, const pgy_where_side *left,
                          const pgy_where_side *right, pgy_error *err)
{
    pgy_where_options o = b->options;
    pgy_data_loader *data = NULL;
    pgy_status st = b->feed_count
                        ? pgy_list_loader_create(&data, (const pgy_tensor_map *const *)b->feeds,
                                                 b->feed_count, err)
                        : PGY_OK;
    o.data = data;
    if (!st) st = pgy_where(out, left, right, &o, err);
    pgy_data_loader_destroy(data);
    return st;
}

static pgy_status compare_pairs(ballot *b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < PAIRS; i++) {
        st = compare(&b->pairs[i], b, &b->sides[PAIR[i].a], &b->sides[PAIR[i].b], err);
        if (st)
            pgy_error_prefix(err, st, "sides %c and %c: ", 'A' + (int)PAIR[i].a,
                             'A' + (int)PAIR[i].b);
    }
    return st;
}

/* A referee that cannot run the model leaves the distances unknown; the vote counts even so. */
static pgy_status ask_referee(ballot *b, const char **why, pgy_error *err)
{
    const pgy_backend *reference = pgy_backend_find_trait(PGY_BACKEND_IS_REFERENCE);
    pgy_where_side referee = {.size = sizeof referee, .backend = reference};
    *why = "";
    referee.model = model_of(b);
    if (b->referee >= 0) return PGY_OK;
    if (!referee.model || !reference) *why = "no side has a model that the referee can run";
    for (size_t i = 0; !**why && i < SIDES; i++) {
        pgy_error reason = {0};
        const pgy_status st = compare(&b->distances[i], b, &referee, &b->sides[i], &reason);
        if (st == PGY_E_CANCELLED || st == PGY_E_MEMORY)
            return pgy_error_set(err, st, "%s", reason.text);
        if (st) *why = "the referee cannot run the model";
    }
    return PGY_OK;
}

/* Takes all data first, because a loader may not be able to start again. */
static pgy_status take_feeds(ballot *b, pgy_error *err)
{
    pgy_model *model = model_of(b);
    size_t capacity = 0;
    pgy_status st = PGY_OK;
    while (!st && b->options.data && model) {
        pgy_tensor_map *feed = NULL;
        st = b->feed_count ? pgy_data_loader_next(&feed, b->options.data, err)
                           : pgy_record_feed(&feed, model, b->options.data, err);
        if (st || !feed) break;
        if (!mem_grow((void **)&b->feeds, &capacity, b->feed_count + 1, sizeof *b->feeds)) {
            pgy_tensor_map_destroy(feed);
            return no_memory(err);
        }
        b->feeds[b->feed_count++] = feed;
    }
    return st;
}

/* ---- Counting -------------------------------------------------------------------------------- */

/* The line of a tensor by its name on the first side of a pair. */
static const pgy_where_tensor *line_of(const pgy_where_report *r, const char *name, bool other)
{
    for (size_t i = 0; r && name && i < pgy_where_report_count(r); i++) {
        const pgy_where_tensor *t = pgy_where_report_at(r, i);
        if (!strcmp(other ? t->other_name : t->name, name)) return t->compared ? t : NULL;
    }
    return NULL;
}

static double error_of(const pgy_where_tensor *t)
{
    return t ? t->error : NAN;
}

/* Which side differs from two that agree. If one pair differs and the third side agrees with both,
 * it is the one that is farther from the third. */
static int find_odd(const pgy_where_tensor *const *t, const char **note)
{
    *note = "";
    for (size_t i = 0; i < PAIRS; i++)
        if (!t[i]) {
            *note = "a pair was not compared";
            return PGY_VOTE_UNDECIDED;
        }
    const bool ab = t[AB]->differs, ac = t[AC]->differs, bc = t[BC]->differs;
    if (!ab && !ac && !bc) return PGY_VOTE_AGREED;
    if (ab && ac && bc) {
        *note = "no two sides agree";
        return PGY_VOTE_UNDECIDED;
    }
    if (ab + ac + bc == 1) *note = "the third side agrees with both";
    if (ab && ac) return 0;
    if (ab && bc) return 1;
    if (ac && bc) return 2;
    if (ab) return t[AC]->error > t[BC]->error ? 0 : 1;
    if (ac) return t[AB]->error > t[BC]->error ? 0 : 2;
    return t[AB]->error > t[AC]->error ? 1 : 2;
}

static void measure(pgy_vote_tensor *row, const ballot *b, const pgy_where_tensor *const *t,
                    const char *const *names)
{
    static const size_t BETWEEN[SIDES][SIDES] = {{PAIRS, AB, AC}, {AB, PAIRS, BC}, {AC, BC, PAIRS}};
    for (size_t i = 0; i < SIDES; i++) {
        if (b->referee < 0)
            row->referee[i] = error_of(line_of(b->distances[i], names[i], true));
        else if ((size_t)b->referee == i)
            row->referee[i] = 0;
        else
            row->referee[i] = error_of(t[BETWEEN[b->referee][i]]);
    }
    double others = 0;
    for (size_t i = 0; i < SIDES; i++)
        if ((int)i != row->odd && !(row->referee[i] <= others)) others = row->referee[i];
    row->margin = row->odd < 0                 ? NAN
                  : others > 0                 ? row->referee[row->odd] / others
                  : row->referee[row->odd] > 0 ? INFINITY
                                               : NAN;
}

static pgy_status count_row(pgy_vote *v, const ballot *b, const pgy_where_tensor *ab,
                            pgy_error *err)
{
    const pgy_where_tensor *t[PAIRS] = {ab->compared ? ab : NULL,
                                        line_of(b->pairs[AC], ab->name, false),
                                        line_of(b->pairs[BC], ab->other_name, false)};
    const char *names[SIDES] = {ab->name, ab->other_name, t[AC] ? t[AC]->other_name : NULL};
    pgy_vote_tensor *row = &v->rows[v->count++];
    *row = (pgy_vote_tensor){.name = arena_strdup(&v->memory, ab->name),
                             .node = arena_strdup(&v->memory, ab->node),
                             .op_type = arena_strdup(&v->memory, ab->op_type),
                             .ab = error_of(t[AB]),
                             .ac = error_of(t[AC]),
                             .bc = error_of(t[BC])};
    row->odd = find_odd(t, &row->note);
    measure(row, b, t, names);
    return row->name && row->node && row->op_type ? PGY_OK : no_memory(err);
}

static pgy_status add_failures(pgy_vote *v, const ballot *b, pgy_error *err)
{
    for (size_t i = 0; i < PAIRS; i++)
        for (size_t k = 0; k < pgy_where_report_failure_count(b->pairs[i]); k++) {
            const char *text =
                arena_printf(&v->memory, "sides %c and %c: %s", 'A' + (int)PAIR[i].a,
                             'A' + (int)PAIR[i].b, pgy_where_report_failure(b->pairs[i], k));
            if (!text || !strvec_push(&v->failures, text)) return no_memory(err);
        }
    return PGY_OK;
}

static pgy_status count(pgy_vote *v, const ballot *b, const char *why, pgy_error *err)
{
    const size_t rows = pgy_where_report_count(b->pairs[AB]);
    pgy_status st = PGY_OK;
    v->rows = arena_alloc_array(&v->memory, rows + 1, sizeof *v->rows);
    if (!v->rows) return no_memory(err);
    v->referee = b->referee;
    for (size_t i = 0; i < SIDES; i++) {
        const pgy_where_side *s = &b->sides[i];
        v->names[i] = arena_strdup(&v->memory, s->backend ? s->backend->name : s->results);
        if (!v->names[i]) return no_memory(err);
    }
    for (size_t i = 0; !st && i < rows; i++)
        st = count_row(v, b, pgy_where_report_at(b->pairs[AB], i), err);
    for (size_t i = 0; i < v->count && *why; i++)
        if (!v->rows[i].note[0]) v->rows[i].note = why;
    return st ? st : add_failures(v, b, err);
}

/* ---- The vote -------------------------------------------------------------------------------- */

static pgy_status take(ballot *b, const pgy_where_side *const *sides,
                       const pgy_where_options *options, pgy_error *err)
{
    pgy_status st = PGY_OK;
    b->options = pgy_where_options_default();
    if (options) st = SIZED_TAKE(pgy_where_options, &b->options, options, err);
    b->options.skip_inside = true;
    for (size_t i = 0; !st && i < SIDES; i++) {
        if (!sides[i]) return pgy_error_set(err, PGY_E_ARGUMENT, "side %zu is NULL", i);
        b->sides[i].size = sizeof b->sides[i];
        st = SIZED_TAKE(pgy_where_side, &b->sides[i], sides[i], err);
    }
    b->referee = find_referee(b);
    return st;
}

pgy_status pgy_vote_run(pgy_vote **out, const pgy_where_side *const sides[3],
                        const pgy_where_options *options, pgy_error *err)
{
    ballot b = {.referee = -1};
    const char *why = "";
    if (!out || !sides)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'sides' must not be NULL");
    pgy_vote *v = mem_calloc(1, sizeof *v);
    if (!v) return no_memory(err);
    pgy_status st = take(&b, sides, options, err);
    if (!st) st = take_feeds(&b, err);
    if (!st) st = compare_pairs(&b, err);
    if (!st) st = ask_referee(&b, &why, err);
    if (!st) st = count(v, &b, why, err);
    for (size_t i = 0; i < b.feed_count; i++) pgy_tensor_map_destroy(b.feeds[i]);
    mem_free(b.feeds);
    for (size_t i = 0; i < PAIRS; i++) pgy_where_report_destroy(b.pairs[i]);
    for (size_t i = 0; i < SIDES; i++) pgy_where_report_destroy(b.distances[i]);
    if (st)
        pgy_vote_destroy(v);
    else
        *out = v;
    return st;
}

void pgy_vote_destroy(pgy_vote *v)
{
    if (!v) return;
    strvec_deinit(&v->failures);
    arena_deinit(&v->memory);
    mem_free(v);
}

bool pgy_vote_passed(const pgy_vote *v)
{
    return v->count && !v->failures.count && !pgy_vote_first(v);
}

size_t pgy_vote_count(const pgy_vote *v)
{
    return v->count;
}

const pgy_vote_tensor *pgy_vote_at(const pgy_vote *v, size_t i)
{
    return i < v->count ? &v->rows[i] : NULL;
}

static bool differs(const pgy_vote_tensor *t)
{
    const bool compared = !isnan(t->ab) && !isnan(t->ac) && !isnan(t->bc);
    return t->odd >= 0 || (t->odd == PGY_VOTE_UNDECIDED && compared);
}

const pgy_vote_tensor *pgy_vote_first(const pgy_vote *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (differs(&v->rows[i])) return &v->rows[i];
    return NULL;
}

size_t pgy_vote_failure_count(const pgy_vote *v)
{
    return v->failures.count;
}

const char *pgy_vote_failure(const pgy_vote *v, size_t i)
{
    return i < v->failures.count ? v->failures.items[i] : NULL;
}
