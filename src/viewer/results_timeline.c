/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a view as a block of the page: columns, and each text once. */
#include <string.h>

#include "base/alloc.h"
#include "viewer/results.h"

/* Numbers texts in the order of their first use. The map's values are numbers plus one. */
static bool number_text(strmap *numbers, const char *text)
{
    if (!text || strmap_has(numbers, text)) return true;
    return strmap_put(numbers, text, (void *)(uintptr_t)(numbers->count + 1));
}

static bool number_texts(strmap *numbers, const view_timeline *t)
{
    if (!number_text(numbers, "")) return false;
    for (size_t i = 0; i < t->slice_count; i++)
        if (!number_text(numbers, t->slices[i].name) ||
            !number_text(numbers, t->slices[i].category))
            return false;
    return true;
}

static void put_text_number(json_writer *w, const strmap *numbers, const char *text)
{
    json_uint(w, text ? (uintptr_t)strmap_get(numbers, text) - 1 : 0);
}

enum { ROW, START, DURATION, NAME, CATEGORY, NODE, RUN, COLUMN_COUNT };

static void put_value(json_writer *w, const strmap *numbers, int column, const view_slice *s)
{
    switch (column) {
    case ROW: json_uint(w, s->row); break;
    case START: json_real(w, s->start_us); break;
    case DURATION: json_real(w, s->duration_us); break;
    case NAME: put_text_number(w, numbers, s->name); break;
    case CATEGORY: put_text_number(w, numbers, s->category); break;
    case NODE: json_int(w, s->node == VIEW_NONE ? -1 : (int64_t)s->node); break;
    default: json_int(w, s->run); break;
    }
}

static void put_columns(json_writer *w, const strmap *numbers, const view_timeline *t)
{
    static const char *const NAMES[COLUMN_COUNT] = {"row",      "start", "duration", "name",
                                                    "category", "node",  "run"};
    json_key(w, "slice");
    json_begin_object(w);
    for (int column = 0; column < COLUMN_COUNT; column++) {
        json_key(w, NAMES[column]);
        json_begin_array(w);
        for (size_t i = 0; i < t->slice_count; i++) put_value(w, numbers, column, &t->slices[i]);
        json_end_array(w);
    }
    json_end_object(w);
}

void view_timeline_write(json_writer *w, const view_results *r)
{
    const view_timeline *t = &r->timeline;
    strmap numbers = {0};
    const bool fits = number_texts(&numbers, t);
    const view_timeline none = {0};
    const char *note = fits ? t->note : "The slices are left out: memory ran out.";
    json_begin_object(w);
    json_put_text(w, "source", t->source);
    json_put_bool(w, "synthetic", t->is_synthetic);
    json_put_text(w, "note", note);
    json_key(w, "rows");
    json_begin_array(w);
    for (uint32_t i = 0; i < t->row_count; i++) {
        json_begin_object(w);
        json_put_text(w, "process", t->rows[i].process);
        json_put_text(w, "name", t->rows[i].name);
        json_end_object(w);
    }
    json_end_array(w);
    json_key(w, "strings");
    json_begin_array(w);
    for (size_t i = 0; fits && i < numbers.count; i++) json_text(w, numbers.entries[i].key);
    json_end_array(w);
    put_columns(w, &numbers, fits ? t : &none);
    json_end_object(w);
    strmap_deinit(&numbers);
}
