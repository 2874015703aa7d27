/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a page's tensors: weights from models, outputs from saved results. They are read
 * when asked for, and the tensor that was asked for last stays in memory. */
#ifndef VIEWER_SERVE_VALUES_H
#define VIEWER_SERVE_VALUES_H

#include <polygraphy/compare.h>

#include "viewer/page.h"

typedef struct page_values {
    const pgy_page *page;
    pgy_model *models[VIEW_GRAPH_LIMIT]; /* with external data; NULL: not needed yet */
    pgy_tensor *last;
    uint32_t last_graph, last_tensor;
    int last_side;
} page_values;

void page_values_deinit(page_values *v);
/* The model of a graph, with external data.
 * @return PGY_E_UNSUPPORTED for a plan and other graphs without a model */
pgy_status page_values_model(pgy_model **out, page_values *v, uint32_t graph,
                             pgy_error *err) PGY_MUST_CHECK;
/* Gives a tensor's values, borrowed until the next call. @param side  0: runner A, 1: runner B; a
 * weight has the same values on both sides
 * @return PGY_E_NOT_FOUND if there are none */
pgy_status page_values_get(pgy_tensor **out, page_values *v, uint32_t graph, uint32_t tensor,
                           int side, pgy_error *err) PGY_MUST_CHECK;

/* A piece of the plane of a tensor's last two axes. */
typedef struct value_piece {
    const int64_t *at; /* indices of the other axes */
    size_t at_count;
    int64_t row, column, rows, columns; /* cut to what the plane has */
} value_piece;

/* Writes the piece as JSON: shape of the tensor, place and size of the piece, its numbers. */
pgy_status page_values_write(str *out, const pgy_tensor *t, value_piece piece,
                             pgy_error *err) PGY_MUST_CHECK;

#endif
