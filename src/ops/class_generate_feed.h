/* SPDX-License-Identifier: Apache-2.0 */
/* Building the inputs of the graphs of text generation; used by class_generate_feed.c and
 * class_generate_encoder.c only. */
#ifndef OPS_CLASS_GENERATE_FEED_H
#define OPS_CLASS_GENERATE_FEED_H

#include "ops/class_generate.h"

void *feed_graph(const generate *g, const char *attr); /* NULL: the node has no such graph */
/* Number of inputs or outputs of a graph; 0 if it is absent. */
size_t feed_count(const generate *g, const char *attr, bool of_outputs);
pgy_status feed_port(op_graph_port *out, const generate *g, const char *attr, bool of_outputs,
                     size_t i, pgy_error *err) PGY_MUST_CHECK;
/* Each of these releases what *out held. */
pgy_status feed_ints(op_tensor *out, const generate *g, int64_t rows, int64_t columns,
                     pgy_error *err) PGY_MUST_CHECK; /* zeros */
/* An empty cache of the declared heads and size; its rows are dim `rows_axis` (0 or 1). */
pgy_status feed_empty(op_tensor *out, const generate *g, const op_value *like, size_t rows_axis,
                      pgy_error *err) PGY_MUST_CHECK;
/* Row i of the result is row from[i] of `in`, which has `have` rows in dim `axis`. */
pgy_status feed_take_rows(op_tensor *out, const generate *g, const op_tensor *in, size_t axis,
                          int64_t have, const int64_t *from, pgy_error *err) PGY_MUST_CHECK;
pgy_status feed_alloc(generate *g, size_t in_count, size_t out_count,
                      pgy_error *err) PGY_MUST_CHECK;
/* Sets g->scores to the last logits of each row. */
pgy_status feed_read_scores(generate *g, const op_tensor *logits, pgy_error *err) PGY_MUST_CHECK;
/* Runs a graph on g->in and reads its scores. */
pgy_status feed_run(generate *g, const char *attr, pgy_error *err) PGY_MUST_CHECK;

/* generate_first and generate_next of decoder-only models. */
pgy_status feed_first_of_decoder(generate *g, pgy_error *err) PGY_MUST_CHECK;
pgy_status feed_next_of_decoder(generate *g, pgy_error *err) PGY_MUST_CHECK;

#endif
