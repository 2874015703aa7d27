/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft WordConvEmbedding: words [words, characters] as vectors: a convolution slides over
 * the embeddings of a word's characters, and the largest value of each filter goes through tanh.
 * Character 0 is padding: the length of a word is the number of its positive characters, but the
 * width of the window at least. A word that begins with padding is a vector of zeros. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { WORDS, WEIGHTS, BIAS, CHARACTERS };

static const op_attr_def ATTRS[] = {
    {"char_embedding_size", OP_ATTR_INT, false, "-1"},
    {"conv_window_size", OP_ATTR_INT, false, "-1"},
    {"embedding_size", OP_ATTR_INT, false, "-1"},
    {NULL},
};

/* Checks a size that an attribute may repeat. */
static pgy_status check_size(const op_infer *c, const char *attr, size_t input, size_t axis,
                             pgy_error *err)
{
    const int64_t wanted = op_attr_int(c->node, attr, -1);
    if (wanted == -1 || !rank_known(c, input)) return PGY_OK;
    return dim_check(c, input, axis, dim_const(wanted), attr, err);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const char WHY[] = "the shape of an input is not known";
    const op_value *words = &c->inputs[WORDS], *w = &c->inputs[WEIGHTS];
    pgy_status st = rank_check(c, WORDS, 2, 2, err);
    if (!st) st = rank_check(c, WEIGHTS, 4, 4, err);
    if (!st) st = rank_check(c, BIAS, 1, 1, err);
    if (!st) st = rank_check(c, CHARACTERS, 2, 2, err);
    if (!st && rank_known(c, WEIGHTS)) {
        st = dim_check(c, WEIGHTS, 1, dim_const(1), "the channel of a text", err);
        if (!st) st = dim_check(c, BIAS, 0, w->dims[0], "the filters", err);
        if (!st) st = dim_check(c, CHARACTERS, 1, w->dims[3], "the filters' width", err);
    }
    if (!st) st = check_size(c, "embedding_size", WEIGHTS, 0, err);
    if (!st) st = check_size(c, "conv_window_size", WEIGHTS, 2, err);
    if (!st) st = check_size(c, "char_embedding_size", CHARACTERS, 1, err);
    dim *dims = op_dims(c, 2);
    if (st || !dims) return st ? st : rule_no_memory(c->node, err);
    dims[0] = rank_known(c, WORDS) ? words->dims[0] : dim_unknown(c->dims, WHY);
    dims[1] = rank_known(c, WEIGHTS) ? w->dims[0] : dim_unknown(c->dims, WHY);
    op_set_output(c, 0, w->dtype, 2, dims);
    return PGY_OK;
}

typedef struct words {
    const op_eval *c;
    size_t letters, filters, window, size; /* letters: of a word; size: of a character's vector */
} words;

static size_t word_length(const words *w, const int64_t *word)
{
    size_t length = 0;
    if (word[0] <= 0) return 0;
    for (size_t i = 0; i < w->letters; i++) length += word[i] > 0;
    return length < w->window ? w->window : length;
}

static pgy_status check_words(const words *w, size_t count, pgy_error *err)
{
    const int64_t known = in_shape(w->c, CHARACTERS)[0], *word = in_i64(w->c, WORDS);
    if (!w->window || w->window > w->letters)
        return op_error(w->c->node, err, PGY_E_SHAPE,
                        "words have %zu characters, but the window has %zu", w->letters, w->window);
    for (size_t r = 0; r < count; r++, word += w->letters) {
        const size_t length = word_length(w, word);
        for (size_t i = 0; i < length; i++)
            if (word[i] < 0 || word[i] >= known)
                return op_error(w->c->node, err, PGY_E_ARGUMENT,
                                "character %" PRId64 " of word %zu is not among the %" PRId64
                                " that have vectors",
                                word[i], r, known);
    }
    return PGY_OK;
}

static double respond(const words *w, const int64_t *word, const double *filter)
{
    double sum = 0;
    for (size_t t = 0; t < w->window; t++) {
        const double *letter = in_f64(w->c, CHARACTERS) + (size_t)word[t] * w->size;
        for (size_t i = 0; i < w->size; i++) sum += letter[i] * filter[t * w->size + i];
    }
    return sum;
}

static void run(size_t begin, size_t end, void *user)
{
    const words *w = user;
    for (size_t r = begin; r < end; r++) {
        const int64_t *word = in_i64(w->c, WORDS) + r * w->letters;
        const size_t length = word_length(w, word);
        for (size_t f = 0; length && f < w->filters; f++) {
            const double *filter = in_f64(w->c, WEIGHTS) + f * w->window * w->size;
            double most = respond(w, word, filter);
            for (size_t i = 1; i + w->window <= length; i++) {
                const double next = respond(w, word + i, filter);
                if (next > most || isnan(next)) most = next;
            }
            out_f64(w->c, 0)[r * w->filters + f] = tanh(most + in_f64(w->c, BIAS)[f]);
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "IFFF", err);
    if (st || !out_count(c, 0)) return st;
    const int64_t *shape = in_shape(c, WEIGHTS);
    words w = {.c = c,
               .letters = (size_t)in_shape(c, WORDS)[1],
               .filters = (size_t)shape[0],
               .window = (size_t)shape[2],
               .size = (size_t)shape[3]};
    const size_t count = (size_t)in_shape(c, WORDS)[0];
    st = check_words(&w, count, err);
    if (!st) rows_run(count, 2 * w.letters * w.filters * w.window * w.size, run, &w);
    return st;
}

const op_def OP_word_conv_embedding[] = {
    {"WordConvEmbedding", "com.microsoft", 1, 0, 4, 4, 1, 1, 0, ATTRS, "int32", infer, eval, NULL,
     .signature = "T = int32; T1 = float32; Sequence:T, W:T1, B:T1, C:T1 -> Y:T1"},
    {NULL},
};
