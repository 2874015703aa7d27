/* SPDX-License-Identifier: Apache-2.0 */
/* Whisper's timestamps. Words from beginning_timestamp_token_id on are times; a segment of text
 * stands between two of them, and times never fall. The rules forbid the words that would break
 * this, and all text where times together are more likely than the likeliest word of the text. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "ops/class_generate.h"

enum { MOST_INITIAL_TIME = 50 }; /* the first time is at most this many steps after the beginning */

typedef struct time_rules {
    int64_t first, words;                 /* times are the words [first, words) */
    int64_t no_times, start_of_lm;        /* never chosen */
    int64_t start, translate, transcribe; /* only chosen before the first time */
    int64_t end;
} time_rules;

/* Gives the words [from, to) the lowest score. */
static void forbid(float *scores, const time_rules *r, int64_t from, int64_t to)
{
    if (from < 0) from = 0;
    if (to > r->words) to = r->words;
    for (int64_t w = from; w < to; w++) scores[w] = -FLT_MAX;
}

static void forbid_word(float *scores, const time_rules *r, int64_t word)
{
    if (word >= 0) forbid(scores, r, word, word == INT64_MAX ? word : word + 1);
}

static void forbid_marks(float *scores, const time_rules *r, bool has_started)
{
    forbid_word(scores, r, r->no_times);
    forbid_word(scores, r, r->start_of_lm);
    if (!has_started) return;
    forbid_word(scores, r, r->start);
    forbid_word(scores, r, r->translate);
    forbid_word(scores, r, r->transcribe);
}

/* All text goes if the sum of the probabilities of times exceeds the largest of a text's word. */
static void prefer_times(float *scores, const time_rules *r)
{
    float most_time = -FLT_MAX, most_text = -FLT_MAX;
    double sum = 0;
    for (int64_t w = 0; w < r->first; w++) most_text = fmaxf(most_text, scores[w]);
    for (int64_t w = r->first; w < r->words; w++) most_time = fmaxf(most_time, scores[w]);
    for (int64_t w = r->first; w < r->words; w++)
        if (scores[w] > -FLT_MAX) sum += exp((double)scores[w] - most_time);
    if (sum > 0 && (float)(log(sum) + most_time) > most_text) forbid(scores, r, 0, r->first);
}

static void forbid_row(float *scores, const time_rules *r, const int64_t *words, int64_t length)
{
    int64_t begin = 0, last = -1; /* words up to the first time; the last time */
    while (begin < length && words[begin] < r->first) begin++;
    if (begin < length) begin++;
    for (int64_t i = 0; i < length; i++)
        if (words[i] >= r->first) last = words[i];
    const bool ends = length > 0 && words[length - 1] >= r->first;
    const bool paired = length <= begin || words[length - 2] >= r->first;

    forbid_marks(scores, r, length > begin);
    if (ends && paired) forbid(scores, r, r->first, r->words);
    if (ends && !paired) forbid(scores, r, 0, r->end);
    if (last >= 0) forbid(scores, r, r->first, ends && !paired ? last : last + 1);
    if (length == begin) forbid(scores, r, r->first + MOST_INITIAL_TIME + 1, r->words);
    prefer_times(scores, r);
}

static time_rules read_rules(const generate *g)
{
    const op_node *n = g->c->node;
    return (time_rules){.first = op_attr_int(n, "beginning_timestamp_token_id", -1),
                        .words = g->vocabulary,
                        .no_times = op_attr_int(n, "no_timestamps_token_id", -1),
                        .start_of_lm = op_attr_int(n, "start_of_lm_token_id", -1),
                        .start = g->start,
                        .translate = op_attr_int(n, "translate_token_id", -1),
                        .transcribe = op_attr_int(n, "transcribe_token_id", -1),
                        .end = g->eos};
}

pgy_status generate_check_times(const generate *g, pgy_error *err)
{
    const int64_t first = op_attr_int(g->c->node, "beginning_timestamp_token_id", -1);
    if (!g->has_times || (first > 0 && first < g->vocabulary)) return PGY_OK;
    return op_error(g->c->node, err, PGY_E_ARGUMENT,
                    "logits_processor 1 needs attribute beginning_timestamp_token_id within the "
                    "%" PRId64 " words of the vocabulary; it is %" PRId64,
                    g->vocabulary, first);
}

void generate_forbid_times(generate *g)
{
    const time_rules rules = read_rules(g);
    for (int64_t r = 0; r < g->rows; r++)
        forbid_row(g->scores + r * g->vocabulary, &rules, g->words + r * g->max_length, g->length);
}
