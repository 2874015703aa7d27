/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to say about knobs: suggestions for unknown names, and the list of all as JSON. */
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "perf/route.h"

static bool stands_for_passes(const pgy_route_knob *k)
{
    return !strcmp(k->name, ROUTE_PASSES);
}

static bool stands_for_layers(const pgy_route_knob *k)
{
    return !strcmp(k->name, ROUTE_LAYERS);
}

/* ---- Suggestions ---------------------------------------------------------------------------- */

static void append_all(str *out)
{
    pgy_route_knob k;
    str_append(out, "; the knobs are");
    for (size_t i = 0; pgy_route_knob_at(&k, i); i++)
        str_printf(out, "%s -%s%s", i ? "," : "", k.name,
                   k.name[strlen(k.name) - 1] == ':' ? "NAME" : "");
}

void route_knob_suggest(str *out, const char *name)
{
    suggestions near = {.wanted = name};
    pgy_route_knob k;
    strvec names = {0};
    for (size_t i = 0; pgy_route_knob_at(&k, i); i++)
        if (!stands_for_passes(&k) && !stands_for_layers(&k)) strvec_push(&names, k.name);
    for (size_t i = 0; route_pass_at(i); i++) {
        str text = {0};
        str_printf(&text, ROUTE_PASSES "%s", route_pass_at(i));
        strvec_push(&names, str_text(&text));
        str_deinit(&text);
    }
    for (size_t i = 0; i < names.count; i++) suggest_offer(&near, names.items[i]);
    if (near.count)
        suggest_append(out, &near);
    else
        append_all(out);
    strvec_deinit(&names);
}

/* ---- The list ------------------------------------------------------------------------------- */

typedef struct wish {
    const char *name; /* NULL: all */
    bool found;
} wish;

/* `one` follows the name of a knob that stands for many. */
static void write_knob(json_writer *w, wish *wanted, const pgy_route_knob *k, const char *one)
{
    str option = {0}, values = {0};
    str_printf(&option, "-%s%s", k->name, one);
    str_printf(&values, "%s=%s", str_text(&option), k->values);
    if (!wanted->name || !strcmp(wanted->name, str_text(&option) + 1)) {
        wanted->found = true;
        json_begin_object(w);
        json_put_text(w, "option", str_text(&option));
        json_put_text(w, "allowed_values", str_text(&values));
        json_put_text(w, "default_value", k->initial);
        json_put_text(w, "help", k->help);
        json_end_object(w);
    }
    str_deinit(&option);
    str_deinit(&values);
}

/* Of layers, which belong to a model, only the one that was asked for can be named. */
static void write_many(json_writer *w, wish *wanted, const pgy_route_knob *k)
{
    const size_t size = strlen(k->name);
    if (stands_for_passes(k))
        for (size_t p = 0; route_pass_at(p); p++) write_knob(w, wanted, k, route_pass_at(p));
    else if (wanted->name && !strncmp(wanted->name, k->name, size))
        write_knob(w, wanted, k, wanted->name + size);
    else
        write_knob(w, wanted, k, "NAME");
}

static pgy_status write_list(json_writer *w, const void *user, pgy_error *err)
{
    wish *wanted = *(wish *const *)user;
    pgy_route_knob k;
    (void)err;
    json_begin_object(w);
    json_put_text(w, "tuner_version", pgy_version());
    json_key(w, "tuner_options");
    json_begin_array(w);
    for (size_t i = 0; pgy_route_knob_at(&k, i); i++) {
        if (stands_for_passes(&k) || stands_for_layers(&k))
            write_many(w, wanted, &k);
        else
            write_knob(w, wanted, &k, "");
    }
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_route_knobs_json(char **out, const char *name, pgy_error *err)
{
    wish wanted = {.name = name && *name == '-' ? name + 1 : name}, *at = &wanted;
    char *text = NULL;
    str near = {0};
    pgy_status st = json_to_text(&text, write_list, &at, err);
    if (st) return st;
    if (wanted.found) {
        *out = text;
        return PGY_OK;
    }
    route_knob_suggest(&near, wanted.name);
    st = pgy_error_set(err, PGY_E_NOT_FOUND, "there is no knob '-%s'%s",
                       printable_name(wanted.name), str_text(&near));
    str_deinit(&near);
    mem_free(text);
    return st;
}
