/* SPDX-License-Identifier: Apache-2.0 */
/* Penalties and masks on the scores of the next token, in the order of ONNX Runtime: repetition,
 * repeated n-grams, mask of the vocabulary, mask of the first token, least length, temperature,
 * timestamps. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/class_generate.h"

static bool in_vocabulary(const generate *g, int64_t token)
{
    return token >= 0 && token < g->vocabulary;
}

/* Each word that the row has already becomes less likely, once however often it occurs. */
static void penalize_repetition(const generate *g, const int64_t *words, float *scores)
{
    for (int64_t i = 0; i < g->length; i++) {
        bool seen = !in_vocabulary(g, words[i]);
        for (int64_t j = 0; j < i && !seen; j++) seen = words[j] == words[i];
        if (seen) continue;
        float *s = &scores[words[i]];
        *s = *s < 0 ? *s * g->repetition_penalty : *s / g->repetition_penalty;
    }
}

/* Forbids each word that would complete an n-gram that the row has already. */
static void forbid_ngrams(const generate *g, const int64_t *words, float *scores)
{
    const int64_t before = g->ngram - 1;
    if (g->ngram > g->length) return;
    const int64_t *last = words + g->length - before;
    for (int64_t i = 0; i + g->ngram <= g->length; i++) {
        const int64_t word = words[i + before];
        if (in_vocabulary(g, word) && !memcmp(words + i, last, (size_t)before * sizeof *words))
            scores[word] = -FLT_MAX;
    }
}

static void forbid_masked(const generate *g, const int64_t *mask, float *scores)
{
    for (int64_t w = 0; mask && w < g->vocabulary; w++)
        if (!mask[w]) scores[w] = -FLT_MAX;
}

void generate_penalize(generate *g)
{
    for (int64_t r = 0; r < g->rows; r++) {
        const int64_t *words = g->words + r * g->max_length, entry = r / g->beams;
        float *scores = g->scores + r * g->vocabulary;
        if (g->repetition_penalty != 1) penalize_repetition(g, words, scores);
        if (g->ngram > 0) forbid_ngrams(g, words, scores);
        forbid_masked(g, g->vocab_mask, scores);
        if (g->prefix_mask && g->step == 1)
            forbid_masked(g, g->prefix_mask + entry * g->vocabulary, scores);
        if (g->length < g->min_length && in_vocabulary(g, g->eos)) scores[g->eos] = -FLT_MAX;
        for (int64_t w = 0; g->temperature > 0 && w < g->vocabulary; w++)
            scores[w] /= g->temperature;
    }
    if (g->has_times) generate_forbid_times(g);
}

void generate_log_softmax(generate *g)
{
    for (int64_t r = 0; r < g->rows; r++) {
        float *scores = g->scores + r * g->vocabulary;
        double most = -INFINITY, sum = 0;
        for (int64_t w = 0; w < g->vocabulary; w++) most = fmax(most, scores[w]);
        for (int64_t w = 0; w < g->vocabulary; w++) sum += exp(scores[w] - most);
        for (int64_t w = 0; w < g->vocabulary; w++)
            scores[w] = (float)(scores[w] - most - log(sum));
    }
}
