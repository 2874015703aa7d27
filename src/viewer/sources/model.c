/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models. Weights outside the file are neither read nor needed, and a damaged model is shown
 * as far as it can be read. */
#include "base/cancel.h"
#include "base/file.h"
#include "base/wire.h"
#include "viewer/page_graph.h"
#include "viewer/sources/salvage.h"
#include "viewer/sources/source.h"

enum { LAST_FIELD = 25, FIELDS_READ = 8 };

/* True if the field is one of ModelProto (onnx.proto), with its wire type. */
static bool is_model_field(const wire_field *f)
{
    static const uint32_t VARINTS = 1u << 1 | 1u << 5;
    static const uint32_t MESSAGES =
        1u << 2 | 1u << 3 | 1u << 4 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 14 | 1u << 20 | 1u << 25;
    if (f->number > LAST_FIELD) return false;
    const uint32_t bit = 1u << f->number;
    return (f->type == WIRE_VARINT && VARINTS & bit) || (f->type == WIRE_LEN && MESSAGES & bit);
}

/* ONNX files have no magic bytes, so a file without the usual name must begin with fields that a
 * ModelProto has. */
static bool starts_as_model(span start)
{
    const uint8_t *p = (const uint8_t *)start.data;
    wire_reader r = {p, p + start.size, p};
    wire_field f;
    bool more = true;
    size_t seen = 0;
    /* A graph longer than what was read is not a whole field: what comes before it decides. */
    while (seen < FIELDS_READ && !wire_next(&r, &f, &more, NULL) && more) {
        if (!is_model_field(&f)) return false;
        seen++;
    }
    return seen > 0;
}

static bool accept(const char *path, span start, const json_value *json)
{
    static const char EXTENSION[] = ".onnx";
    if (json) return false;
    if (str_equal_nocase(path_extension(path), EXTENSION)) return true;
    return starts_as_model(start);
}

/* Shows what can be read of a damaged file. *why is the error of the whole. */
static pgy_status add_damaged(pgy_page *p, const char *path, pgy_error *why)
{
    str note = {0}, text = {0};
    pgy_model *model = NULL;
    pgy_error err = {0};
    pgy_status st = model_salvage(&model, &note, path, &err);
    if (status_ends_all(st)) return pgy_error_set(why, st, "%s", err.text);
    if (st) return PGY_E_FORMAT;
    str_printf(&text, "the model is damaged: %s; %s", why->text, str_text(&note));
    if (text.failed || note.failed || !strvec_push(&p->warnings, str_text(&text)))
        st = pgy_error_set(why, PGY_E_MEMORY, "out of memory while a damaged model is read");
    if (!st) st = page_add_model(p, model, path_basename(path), why);
    pgy_model_destroy(model);
    str_deinit(&note);
    str_deinit(&text);
    return st;
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    const pgy_model_load_options options = {.size = sizeof options, .ignore_external_data = true};
    pgy_model *model = NULL;
    pgy_error why = {0};
    pgy_status st = pgy_model_load(&model, path, &options, &why);
    if (!st)
        st = page_add_model(p, model, path_basename(path), &why);
    else if (st == PGY_E_FORMAT)
        st = add_damaged(p, path, &why);
    pgy_model_destroy(model);
    if (st == PGY_E_FORMAT)
        return pgy_error_set(err, st, "nothing of the model can be read: %s", why.text);
    return st ? pgy_error_set(err, st, "%s", why.text) : PGY_OK;
}

const view_source view_source_model = {
    .name = "model", .label = "ONNX models", .accept = accept, .add = add};
