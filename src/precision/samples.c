/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the samples: maps that fit the inputs of the graph, and gives their shapes to models. */
#include <polygraphy/transform.h>

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "evaluate/interface.h"
#include "precision/precision.h"

static const char LOG_PATH[] = "precision/samples.c";

static pgy_status add_sample(pgy_precision *p, const pgy_tensor_map *feed,
                             const pgy_metadata *inputs, pgy_error *err)
{
    const size_t count = p->summary.samples;
    pgy_tensor_map **more = mem_realloc(p->samples, (count + 1) * sizeof *more);
    if (!more) return search_no_memory(err);
    p->samples = more;
    const pgy_status st = pgy_feed_match(&more[count], feed, inputs, err);
    if (st) return pgy_error_prefix(err, st, "sample %zu: ", count);
    p->summary.samples++;
    return PGY_OK;
}

pgy_status samples_read(pgy_precision *p, pgy_data_loader *data, pgy_error *err)
{
    pgy_metadata *inputs = NULL;
    pgy_status st = pgy_metadata_create(&inputs, err);
    if (!st) st = interface_describe_all(inputs, p->graph->inputs, p->graph->input_count, err);
    if (!st) st = pgy_data_loader_set_metadata(data, inputs, err);
    while (!st && (int64_t)p->summary.samples < p->options.samples) {
        pgy_tensor_map *feed = NULL;
        st = cancel_check(err);
        if (!st) st = pgy_data_loader_next(&feed, data, err);
        if (st || !feed) break;
        st = add_sample(p, feed, inputs, err);
        pgy_tensor_map_destroy(feed);
    }
    pgy_metadata_destroy(inputs);
    if (st) return st;
    if (!p->summary.samples)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the data loader has no input data");
    const size_t count = p->summary.samples;
    p->summary.held_out = count < 2 ? 0 : count < 8 ? 1 : count / 4;
    if (count < 2)
        LOG(WARNING, "There is only one sample: none is held out, so the set found is judged on "
                     "the sample that it was chosen by. Give more data.");
    return PGY_OK;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static bool same_shape(const pgy_tensor_info *a, const pgy_tensor_info *b)
{
    return a->rank == b->rank &&
           (a->rank <= 0 || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0);
}

/* Have all samples the shapes `first`? */
static pgy_status shapes_agree(bool *out, const pgy_precision *p, const pgy_metadata *first,
                               pgy_error *err)
{
    pgy_status st = PGY_OK;
    *out = true;
    for (size_t s = 1; !st && *out && s < p->summary.samples; s++) {
        pgy_metadata *other = NULL;
        st = pgy_metadata_from_map(&other, p->samples[s], err);
        for (size_t i = 0; !st && *out && i < pgy_metadata_count(first); i++)
            *out = same_shape(pgy_metadata_at(first, i), pgy_metadata_at(other, i));
        pgy_metadata_destroy(other);
    }
    return st;
}

pgy_status samples_fix_shapes(pgy_model **out, const pgy_precision *p, pgy_model *model,
                              pgy_error *err)
{
    pgy_metadata *shapes = NULL;
    pgy_graph *g = NULL;
    bool agree = false;
    pgy_status st = pgy_metadata_from_map(&shapes, p->samples[0], err);
    if (!st) st = shapes_agree(&agree, p, shapes, err);
    if (!st) st = pgy_graph_import(&g, model, err);
    if (!st && agree) st = pgy_graph_override_shapes(g, shapes, err);
    if (!st) st = pgy_graph_export(out, g, err);
    pgy_graph_destroy(g);
    pgy_metadata_destroy(shapes);
    return st;
}
