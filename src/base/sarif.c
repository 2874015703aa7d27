/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a SARIF file that every report of this program shares. Only what viewers show is
 * written: rules with a sentence each, results with level, message and place. */
#include "base/sarif.h"

#include <ctype.h>
#include <string.h>

static void message(json_writer *w, const char *key, const char *value)
{
    json_key(w, key);
    json_begin_object(w);
    json_put_text(w, "text", value);
    json_end_object(w);
}

/* A path as a URI reference. */
static void uri(json_writer *w, const char *path)
{
    str encoded = {0};
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        bool plain = *p < 0x80 && (isalnum(*p) || strchr("-._~/", *p));
        if (plain)
            str_append_char(&encoded, (char)*p);
        else
            str_printf(&encoded, "%%%02X", *p);
    }
    json_put_text(w, "uri", str_text(&encoded));
    str_deinit(&encoded);
}

static void artifact(json_writer *w, const char *path)
{
    json_key(w, "physicalLocation");
    json_begin_object(w);
    json_key(w, "artifactLocation");
    json_begin_object(w);
    uri(w, path);
    json_end_object(w);
    json_end_object(w);
}

static void logical(json_writer *w, const sarif_result *r)
{
    json_key(w, "logicalLocations");
    json_begin_array(w);
    json_begin_object(w);
    json_put_text(w, "name", r->name);
    if (r->full_name) json_put_text(w, "fullyQualifiedName", r->full_name);
    if (r->kind) json_put_text(w, "kind", r->kind);
    json_end_object(w);
    json_end_array(w);
}

static void locations(json_writer *w, const sarif_result *r)
{
    if (!r->path && !r->name) return;
    json_key(w, "locations");
    json_begin_array(w);
    json_begin_object(w);
    if (r->path) artifact(w, r->path);
    if (r->name) logical(w, r);
    json_end_object(w);
    json_end_array(w);
}

static void tool(json_writer *w, const sarif_rule *rules, size_t count)
{
    json_key(w, "tool");
    json_begin_object(w);
    json_key(w, "driver");
    json_begin_object(w);
    json_put_text(w, "name", "polygraphy");
    json_put_text(w, "version", PGY_VERSION);
    json_key(w, "rules");
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(w);
        json_put_text(w, "id", rules[i].id);
        message(w, "shortDescription", rules[i].text);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
    json_end_object(w);
}

void sarif_begin(json_writer *w, const sarif_rule *rules, size_t count)
{
    json_begin_object(w);
    json_put_text(w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_put_text(w, "version", "2.1.0");
    json_key(w, "runs");
    json_begin_array(w);
    json_begin_object(w);
    tool(w, rules, count);
    json_key(w, "results");
    json_begin_array(w);
}

void sarif_add(json_writer *w, const sarif_rule *rules, const sarif_result *r)
{
    json_begin_object(w);
    json_put_text(w, "ruleId", rules[r->rule].id);
    json_put_int(w, "ruleIndex", (int64_t)r->rule);
    json_put_text(w, "level", r->level);
    message(w, "message", r->message);
    locations(w, r);
    json_end_object(w);
}

void sarif_end(json_writer *w)
{
    json_end_array(w);
    json_end_object(w);
    json_end_array(w);
    json_end_object(w);
}
