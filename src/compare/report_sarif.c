/* SPDX-License-Identifier: Apache-2.0 */
/* SARIF 2.1.0: one result per output that failed in an iteration, and one for the run itself when
 * it failed. The model file is the artifact, the output the logical location, so that viewers group
 * by them. */
#include <ctype.h>
#include <string.h>

#include "compare/report.h"

static const struct {
    const char *id, *text;
} RULES[] = {{"output-mismatch", "Two runners disagree on an output by more than the tolerances."},
             {"run-failed", "The run failed, or its verdict is no."}};
enum { MISMATCH, RUN_FAILED, RULE_COUNT };

static void text(json_writer *w, const char *key, const char *value)
{
    json_key(w, key);
    json_text(w, value);
}

static void message(json_writer *w, const char *key, const char *value)
{
    json_key(w, key);
    json_begin_object(w);
    text(w, "text", value);
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
    text(w, "uri", str_text(&encoded));
    str_deinit(&encoded);
}

static void locations(json_writer *w, const char *path, const char *output)
{
    if (!path && !output) return;
    json_key(w, "locations");
    json_begin_array(w);
    json_begin_object(w);
    if (path) {
        json_key(w, "physicalLocation");
        json_begin_object(w);
        json_key(w, "artifactLocation");
        json_begin_object(w);
        uri(w, path);
        json_end_object(w);
        json_end_object(w);
    }
    if (output) {
        json_key(w, "logicalLocations");
        json_begin_array(w);
        json_begin_object(w);
        text(w, "name", output);
        text(w, "kind", "value");
        json_end_object(w);
        json_end_array(w);
    }
    json_end_object(w);
    json_end_array(w);
}

static void result(json_writer *w, int rule, const char *what, const char *path, const char *output)
{
    json_begin_object(w);
    text(w, "ruleId", RULES[rule].id);
    json_key(w, "ruleIndex");
    json_int(w, rule);
    text(w, "level", "error");
    message(w, "message", what);
    locations(w, path, output);
    json_end_object(w);
}

typedef struct visitor {
    json_writer *w;
    const char *path;
} visitor;

static void mismatch(void *user, const pgy_accuracy *a, size_t pair, size_t iteration,
                     const pgy_verdict *v)
{
    const visitor *to = user;
    const char *first, *second;
    str what = {0};
    if (v->passed) return;
    pgy_accuracy_pair(a, pair, &first, &second);
    str_printf(&what, "%s vs. %s, iteration %zu, ", first, second, iteration);
    report_describe(&what, v);
    result(to->w, MISMATCH, str_text(&what), to->path, v->output);
    str_deinit(&what);
}

static void tool(json_writer *w)
{
    json_key(w, "tool");
    json_begin_object(w);
    json_key(w, "driver");
    json_begin_object(w);
    text(w, "name", "polygraphy");
    text(w, "version", PGY_VERSION);
    json_key(w, "rules");
    json_begin_array(w);
    for (int i = 0; i < RULE_COUNT; i++) {
        json_begin_object(w);
        text(w, "id", RULES[i].id);
        message(w, "shortDescription", RULES[i].text);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
    json_end_object(w);
}

void report_write_sarif(json_writer *w, const run_facts *facts)
{
    visitor to = {.w = w, .path = facts->model_path};
    json_begin_object(w);
    text(w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    text(w, "version", "2.1.0");
    json_key(w, "runs");
    json_begin_array(w);
    json_begin_object(w);
    tool(w);
    json_key(w, "results");
    json_begin_array(w);
    if (!facts->passed)
        result(w, RUN_FAILED, facts->reason && *facts->reason ? facts->reason : "the run failed",
               facts->model_path, NULL);
    report_each(facts, mismatch, &to);
    json_end_array(w);
    json_end_object(w);
    json_end_array(w);
    json_end_object(w);
}
