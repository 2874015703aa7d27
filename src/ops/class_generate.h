/* SPDX-License-Identifier: Apache-2.0 */
/* Text generation, shared by GreedySearch, Sampling, BeamSearch and WhisperBeamSearch: a decoder
 * graph runs once per token; between its runs the operator rates every word of the vocabulary,
 * chooses the next tokens, and feeds them back with the caches ("present" becomes "past").
 *
 *     class_generate.c         parameters, shapes, the state and its memory
 *     class_generate_feed.c    the inputs of the graphs of decoder-only models
 *     class_generate_encoder.c the same for models with an encoder
 *     class_generate_scores.c  penalties and masks
 *     class_generate_times.c   the rules for Whisper's timestamps
 *     class_generate_rows.c    the loop without beams
 *     class_generate_beams.c   the choice and the finished hypotheses of a beam search
 *
 * Scores are float32, as the operators define them: a masked word has the lowest float32, and beams
 * that are out of the race -1e9, where sums of scores must round as they do elsewhere, so that ties
 * fall the same way. */
#ifndef OPS_CLASS_GENERATE_H
#define OPS_CLASS_GENERATE_H

#include "ops/class_check.h"

enum { GENERATE_MAX_LENGTH = 4096, GENERATE_MAX_BEAMS = 128 };
enum generate_model { GENERATE_DECODER, GENERATE_ENCODER_DECODER, GENERATE_WHISPER };

/* Index of each input of an operator; 0: the operator has no such input (input 0 is input_ids). */
typedef struct generate_inputs {
    uint8_t max_length, min_length, beams, returned, length_penalty, repetition_penalty, vocab_mask,
        prefix_mask, attention_mask, presence_mask, seed, decoder_ids, logits_processor,
        temperature;
    int64_t oldest_model, newest_model; /* range of model_type */
    bool empty_batch;                   /* a batch of no rows is allowed */
} generate_inputs;

/* State of one run. A row is one sequence that is being generated: batch entry i has rows
 * [i * beams, (i + 1) * beams). */
typedef struct generate {
    op_eval *c;
    const generate_inputs *at;
    int64_t model, eos, pad, start, ngram;
    int64_t batch, beams, rows, returned, prompt, max_length, min_length;
    float length_penalty, repetition_penalty, temperature;
    bool early_stopping;
    bool has_times; /* Whisper's timestamps obey their rules */
    const int64_t *vocab_mask, *prefix_mask, *attention_mask;

    int64_t *words, *other_words; /* [rows, max_length]; the second one while beams are reordered */
    int64_t length;               /* words of each row so far */
    int64_t *next, *from; /* per row: the token chosen last, and the row that it continues */
    int64_t *positions;   /* per row: position of the next token (decoder-only models) */
    int64_t vocabulary;   /* 0 until the first scores are there */
    float *scores;        /* [rows, vocabulary] of the step */
    int64_t step;         /* runs of a graph that gave scores */
    double *silence;      /* [batch]: output non_speech_probs, or NULL */

    op_tensor *in, *out;                               /* of the graph that runs in the loop */
    size_t in_count, out_count, past, present, caches; /* first past input, first present output */
    bool feeds_words; /* the decoder takes all words so far, not only the last one */
} generate;

/* Reads and checks attributes and inputs, and allocates what does not depend on the vocabulary.
 * generate_deinit is safe after a failure. */
pgy_status generate_init(generate *g, op_eval *c, const generate_inputs *at,
                         pgy_error *err) PGY_MUST_CHECK;
void generate_deinit(generate *g);
pgy_status generate_no_memory(const generate *g, pgy_error *err);
/* Appends g->next to the rows; row i continues row g->from[i]. */
void generate_append(generate *g);
/* Infers the node's graphs, so that what is in them gets types. */
pgy_status generate_infer_graphs(op_infer *c, pgy_error *err) PGY_MUST_CHECK;
/* Dim 0 of input 0, and the value of input `i`; unknown dims where they are not constant. */
dim generate_batch(op_infer *c);
dim generate_number(op_infer *c, size_t i, const char *why);

/* Runs the first graph (init_decoder, encoder or decoder) on the prompt, and sets g->scores to the
 * logits of each row's last word. */
pgy_status generate_first(generate *g, pgy_error *err) PGY_MUST_CHECK;
/* Feeds g->next and the caches of rows g->from to the decoder, and sets g->scores again. */
pgy_status generate_next(generate *g, pgy_error *err) PGY_MUST_CHECK;

/* Generation of one sequence per batch entry (GreedySearch, Sampling): `choose` sets g->next from
 * g->scores. Rows that have ended get padding words. Sets output 0, [batch, max_length]. */
typedef pgy_status (*generate_choose)(generate *g, void *user, pgy_error *err);
pgy_status generate_rows(generate *g, generate_choose choose, void *user,
                         pgy_error *err) PGY_MUST_CHECK;
pgy_status generate_infer_rows(op_infer *c, pgy_error *err); /* op_def.infer of both */

/* Beam search: sets outputs 0 (sequences), 1 (their scores) and 2 (the scores of every step). */
pgy_status generate_beams(generate *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status generate_infer_beams(op_infer *c, pgy_error *err); /* its op_def.infer */

/* Applies penalties and masks to g->scores. */
void generate_penalize(generate *g);
/* Applies the rules for timestamps to g->scores, which are logarithms of probabilities. */
void generate_forbid_times(generate *g);
/* Checks the attributes that the rules read, when the vocabulary is known. */
pgy_status generate_check_times(const generate *g, pgy_error *err) PGY_MUST_CHECK;
/* Turns g->scores into logarithms of probabilities. */
void generate_log_softmax(generate *g);

#endif
