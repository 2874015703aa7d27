/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what is whole of a damaged ONNX file into a new one. A file that was cut off ends inside
 * its graph: the graph's parts before the cut are kept. If that does not help, some part has wrong
 * content: each part of the graph is then parsed by itself, and those that fail are left out. */
#include "viewer/sources/salvage.h"

#include "base/cancel.h"
#include "base/file.h"
#include "base/wire.h"

/* Field numbers of onnx.proto. */
enum { MODEL_GRAPH = 7, GRAPH_INITIALIZER = 5 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, WEIGHT_KEPT = 4096 };

typedef struct salvage {
    bool tries_each;
    size_t left_out;
} salvage;

/* Reads a field; one that is longer than what is there gives the bytes that are, with *cut. False:
 * the end, or bytes that are no field. */
static bool next_field(wire_reader *r, wire_field *f, bool *cut)
{
    const uint8_t *begin = r->p;
    uint64_t tag, size;
    bool more = false;
    *cut = false;
    if (!wire_next(r, f, &more, NULL)) return more;
    r->p = begin;
    *cut = true;
    if (wire_varint(r, &tag, NULL) || (tag & 7) != WIRE_LEN || tag >> 3 > UINT32_MAX ||
        wire_varint(r, &size, NULL))
        return false;
    *f = (wire_field){.number = (uint32_t)(tag >> 3),
                      .type = WIRE_LEN,
                      .data = r->p,
                      .size = (size_t)(r->end - r->p)};
    r->p = r->end;
    return true;
}

static void put_message(str *out, uint32_t number, const str *content)
{
    wire_put_tag(out, number, WIRE_LEN);
    wire_put_varint(out, content->size);
    str_append_n(out, str_text(content), content->size);
    out->failed |= content->failed;
}

/* ---- Parts of the graph --------------------------------------------------------------------- */

/* A weight without its values, of which a picture shows shape and type only. */
static void put_weight(str *out, const wire_field *f)
{
    wire_reader r = {f->data, f->data + f->size, f->data};
    wire_field part;
    bool more = true;
    str content = {0};
    while (!wire_next(&r, &part, &more, NULL) && more)
        if (part.number == TENSOR_DIMS || part.number == TENSOR_TYPE || part.number == TENSOR_NAME)
            str_append_n(&content, (const char *)part.begin, part.whole_size);
    put_message(out, f->number, &content);
    str_deinit(&content);
}

/* Can a model with this part alone be parsed? */
static bool is_good(const str *part)
{
    const pgy_model_load_options options = {.size = sizeof options, .ignore_external_data = true};
    pgy_model *m = NULL;
    str model = {0};
    put_message(&model, MODEL_GRAPH, part);
    const bool good =
        !model.failed && !pgy_model_parse(&m, str_text(&model), model.size, true, &options, NULL);
    pgy_model_destroy(m);
    str_deinit(&model);
    return good;
}

static void put_part(str *graph, salvage *s, const wire_field *f)
{
    str part = {0};
    if (f->number == GRAPH_INITIALIZER && f->type == WIRE_LEN && f->size > WEIGHT_KEPT)
        put_weight(&part, f);
    else
        str_append_n(&part, (const char *)f->begin, f->whole_size);
    if (s->tries_each && !is_good(&part))
        s->left_out++;
    else
        str_append_n(graph, str_text(&part), part.size);
    graph->failed |= part.failed;
    str_deinit(&part);
}

static void put_graph(str *model, salvage *s, const wire_field *f)
{
    wire_reader r = {f->data, f->data + f->size, f->data};
    wire_field part;
    str graph = {0};
    bool cut = false;
    while (next_field(&r, &part, &cut) && !cancel_requested()) {
        if (cut)
            s->left_out++;
        else
            put_part(&graph, s, &part);
    }
    put_message(model, MODEL_GRAPH, &graph);
    str_deinit(&graph);
}

/* ---- The model ------------------------------------------------------------------------------ */

static pgy_status rebuild(pgy_model **out, salvage *s, const file_map *file, pgy_error *err)
{
    const pgy_model_load_options options = {.size = sizeof options, .ignore_external_data = true};
    wire_reader r = {file->data, (const uint8_t *)file->data + file->size_bytes, file->data};
    wire_field f;
    bool cut;
    str model = {0};
    s->left_out = 0;
    while (next_field(&r, &f, &cut)) {
        if (f.number == MODEL_GRAPH && f.type == WIRE_LEN)
            put_graph(&model, s, &f);
        else if (cut)
            s->left_out++;
        else
            str_append_n(&model, (const char *)f.begin, f.whole_size);
    }
    pgy_status st = model.failed ? pgy_error_set(err, PGY_E_MEMORY,
                                                 "out of memory while a damaged model is read")
                                 : cancel_check(err);
    if (!st) st = pgy_model_parse(out, str_text(&model), model.size, false, &options, err);
    str_deinit(&model);
    return st;
}

pgy_status model_salvage(pgy_model **out, str *note, const char *path, pgy_error *err)
{
    file_map file = {0};
    salvage s = {0};
    pgy_model *m = NULL;
    pgy_status st = file_map_open(&file, path, err);
    if (st) return st;
    st = rebuild(&m, &s, &file, err);
    if (st && !status_ends_all(st)) {
        s.tries_each = true;
        st = rebuild(&m, &s, &file, err);
    }
    file_map_close(&file);
    if (st) return st;
    const pgy_onnx_graph *g = pgy_model_proto(m)->graph;
    if (!g || !g->node_count) {
        pgy_model_destroy(m);
        return pgy_error_set(err, PGY_E_FORMAT, "no node can be read");
    }
    str_printf(note,
               "what can be read is shown: nodes: %zu, weights: %zu, damaged parts left out: %zu",
               g->node_count, g->initializer_count, s.left_out);
    *out = m;
    return PGY_OK;
}
