/* SPDX-License-Identifier: Apache-2.0 */
/* A vote is three comparisons of two sides, and up to three more with the referee. */
#include "where/vote.h"

#include <polygraphy/record.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/sized.h"
#include "where/where.h"

enum { AB, AC, BC, PAIRS = VOTE_PAIRS, SIDES = VOTE_SIDES };

static const struct {
    size_t a, b;
} PAIR[PAIRS] = {{0, 1}, {0, 2}, {1, 2}};

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
        else
            st = cancel_check(err);
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
        if (st == PGY_E_CANCELLED) *why = "the vote ended before the referee";
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

static const char *key_of(const where_row *r, bool other)
{
    const char *key = other ? r->other_key : r->key;
    return key ? key : other ? r->line.other_name : r->line.name;
}

/* The compared row of a tensor by its key on one side of a pair. Reports have about the same order,
 * so the search begins at the place that the tensor has in another. */
static const where_row *row_of(const pgy_where_report *r, const char *key, bool other, size_t place)
{
    const size_t count = r && key ? r->rows.count : 0;
    for (size_t i = 0; i < count; i++) {
        const where_row *row = &r->rows.items[(place + i) % count];
        if (!strcmp(key_of(row, other), key)) return row;
    }
    return NULL;
}

static const pgy_where_tensor *compared(const where_row *r)
{
    return r && r->line.compared ? &r->line : NULL;
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
                    const char *const *keys, size_t place)
{
    static const size_t BETWEEN[SIDES][SIDES] = {{PAIRS, AB, AC}, {AB, PAIRS, BC}, {AC, BC, PAIRS}};
    for (size_t i = 0; i < SIDES; i++) {
        if (b->referee < 0)
            row->referee[i] = error_of(compared(row_of(b->distances[i], keys[i], true, place)));
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

/* Copies what the row shows of the tensor, from the pair that shows the odd side. Pairs may have
 * different worst iterations. */
static pgy_status describe(pgy_vote *v, pgy_vote_tensor *row, const where_row *const *found,
                           pgy_error *err)
{
    const bool by_c = compared(found[AC]) && found[AC]->line.differs &&
                      (row->odd == 2 || !compared(found[AB]) || !found[AB]->line.differs);
    const pgy_where_tensor *t = &found[by_c ? AC : AB]->line, *first = &found[AB]->line;
    for (size_t i = 0; i < PAIRS && !row->note[0]; i++)
        if (found[i]) row->note = found[i]->line.note;
    int64_t *iterations = arena_alloc_array(&v->memory, t->iteration_count + 1, sizeof *iterations);
    row->name = arena_strdup(&v->memory, t->name);
    row->node = arena_strdup(&v->memory, row->odd == 2 ? t->node : first->node);
    row->op_type = arena_strdup(&v->memory, row->odd == 2 ? t->op_type : first->op_type);
    row->note = arena_strdup(&v->memory, row->note);
    if (!iterations || !row->name || !row->node || !row->op_type || !row->note)
        return no_memory(err);
    for (size_t i = 0; i < t->iteration_count; i++) iterations[i] = t->iterations[i];
    row->iterations = iterations;
    row->iteration_count = t->iteration_count;
    return PGY_OK;
}

static pgy_status count_row(pgy_vote *v, const ballot *b, size_t place, pgy_error *err)
{
    const where_row *ab = &b->pairs[AB]->rows.items[place];
    const char *keys[SIDES] = {key_of(ab, false), key_of(ab, true)};
    const where_row *found[PAIRS] = {ab, row_of(b->pairs[AC], keys[0], false, place),
                                     row_of(b->pairs[BC], keys[1], false, place)};
    const pgy_where_tensor *t[PAIRS] = {compared(ab), compared(found[AC]), compared(found[BC])};
    pgy_vote_tensor *row = &v->rows[v->count++];
    keys[2] = found[AC] ? key_of(found[AC], true) : NULL;
    *row = (pgy_vote_tensor){.ab = error_of(t[AB]), .ac = error_of(t[AC]), .bc = error_of(t[BC])};
    for (size_t i = 0; i < PAIRS; i++) row->differs |= t[i] && t[i]->differs;
    row->odd = find_odd(t, &row->note);
    measure(row, b, t, keys, place);
    return describe(v, row, found, err);
}

/* A tensor that only other pairs have, such as one of a body that sides A and B could not compare.
 */
static pgy_status add_unlisted(pgy_vote *v, const ballot *b, pgy_error *err)
{
    for (size_t i = AC; i < PAIRS && !pgy_vote_first(v); i++)
        for (size_t k = 0; b->pairs[i] && k < b->pairs[i]->rows.count; k++) {
            const pgy_where_tensor *t = compared(&b->pairs[i]->rows.items[k]);
            if (!t || !t->differs) continue;
            const char *text = arena_printf(
                &v->memory, "sides %c and %c differ at '%s', which sides A and B did not compare",
                'A' + (int)PAIR[i].a, 'A' + (int)PAIR[i].b, t->name);
            if (!text || !strvec_push(&v->failures, text)) return no_memory(err);
            break;
        }
    return PGY_OK;
}

static pgy_status add_failures(pgy_vote *v, const ballot *b, pgy_error *err)
{
    for (size_t i = 0; i < PAIRS; i++)
        for (size_t k = 0; b->pairs[i] && k < pgy_where_report_failure_count(b->pairs[i]); k++) {
            const char *text =
                arena_printf(&v->memory, "sides %c and %c: %s", 'A' + (int)PAIR[i].a,
                             'A' + (int)PAIR[i].b, pgy_where_report_failure(b->pairs[i], k));
            if (!text || !strvec_push(&v->failures, text)) return no_memory(err);
        }
    return PGY_OK;
}

static pgy_status count(pgy_vote *v, const ballot *b, const char *why, bool complete,
                        pgy_error *err)
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
    if (!complete && !strvec_push(&v->failures, "the vote was interrupted")) return no_memory(err);
    for (size_t i = 0; !st && i < rows; i++) st = count_row(v, b, i, err);
    for (size_t i = 0; i < v->count && *why; i++)
        if (!v->rows[i].note[0]) v->rows[i].note = why;
    if (!st) st = add_unlisted(v, b, err);
    return st ? st : add_failures(v, b, err);
}

/* ---- The vote -------------------------------------------------------------------------------- */

static pgy_status take(ballot *b, const pgy_where_side *const *sides,
                       const pgy_where_options *options, pgy_error *err)
{
    pgy_status st = PGY_OK;
    b->options = pgy_where_options_default();
    if (options) st = SIZED_TAKE(pgy_where_options, &b->options, options, err);
    for (size_t i = 0; !st && i < SIDES; i++) {
        if (!sides[i]) return pgy_error_set(err, PGY_E_ARGUMENT, "side %zu is NULL", i);
        b->sides[i].size = sizeof b->sides[i];
        st = SIZED_TAKE(pgy_where_side, &b->sides[i], sides[i], err);
    }
    b->referee = find_referee(b);
    return st;
}

static void release(ballot *b)
{
    for (size_t i = 0; i < b->feed_count; i++) pgy_tensor_map_destroy(b->feeds[i]);
    mem_free(b->feeds);
    for (size_t i = 0; i < PAIRS; i++) pgy_where_report_destroy(b->pairs[i]);
    for (size_t i = 0; i < SIDES; i++) pgy_where_report_destroy(b->distances[i]);
    *b = (ballot){.referee = -1};
}

pgy_status pgy_vote_run(pgy_vote **out, const pgy_where_side *const sides[3],
                        const pgy_where_options *options, pgy_error *err)
{
    const char *why = "";
    if (!out || !sides)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'sides' must not be NULL");
    pgy_vote *v = mem_calloc(1, sizeof *v);
    if (!v) return no_memory(err);
    ballot *b = &v->kept;
    b->referee = -1;
    pgy_status st = take(b, sides, options, err);
    if (!st) st = take_feeds(b, err);
    if (!st) st = compare_pairs(b, err);
    if (!st) st = ask_referee(b, &why, err);
    const bool cancelled = st == PGY_E_CANCELLED && b->pairs[AB];
    const pgy_status counted =
        !st || cancelled ? count(v, b, why, !st, cancelled ? NULL : err) : PGY_OK;
    if (!st) st = counted;
    if (!cancelled) release(b);
    if ((st && !cancelled) || counted)
        pgy_vote_destroy(v);
    else
        *out = v;
    return st;
}

void pgy_vote_destroy(pgy_vote *v)
{
    if (!v) return;
    release(&v->kept);
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

const pgy_vote_tensor *pgy_vote_first(const pgy_vote *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->rows[i].differs) return &v->rows[i];
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
