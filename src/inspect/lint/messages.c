/* SPDX-License-Identifier: Apache-2.0 */
/* Cleans messages of a runtime: removes the parts that say nothing about the model. */
#include <string.h>

#include "inspect/lint/report.h"

/* Removes "file.cc:12 function(arguments)" of ONNX Runtime's sources. */
static void drop_source_place(char *text)
{
    char *place = strstr(text, "/onnxruntime_src/"), *end = place ? strchr(place, '(') : NULL;
    int depth = 0;
    for (; end && *end; end++) {
        depth += (*end == '(') - (*end == ')');
        if (depth == 0) break;
    }
    if (!end || !*end) return;
    end++;
    while (*end == ' ') end++;
    memmove(place, end, strlen(end) + 1);
}

/* Removes the prefixes that ONNX Runtime and its backend put before the message. */
static void drop_runtime_prefix(char *text)
{
    static const char ADAPTER[] = "ONNX Runtime, ", STATUS[] = "[ONNXRuntimeError] : ";
    static const char NODE[] = "Non-zero status code returned", MESSAGE[] = "Status Message: ";
    char *from = text;
    if (!strncmp(from, ADAPTER, sizeof ADAPTER - 1) && strstr(from, ": "))
        from = strstr(from, ": ") + 2;
    if (!strncmp(from, STATUS, sizeof STATUS - 1)) {
        for (int i = 0; i < 3 && strstr(from, " : "); i++) from = strstr(from, " : ") + 3;
    }
    if (!strncmp(from, NODE, sizeof NODE - 1) && strstr(from, MESSAGE))
        from = strstr(from, MESSAGE) + sizeof MESSAGE - 1;
    memmove(text, from, strlen(from) + 1);
}

/* Removes phrases without information, such as "Error: ". */
static void drop_phrases(char *text)
{
    static const char *const PHRASES[] = {"This is an invalid model. ",
                                          "Error: ", "Failed to load model with error: ",
                                          "Exception caught: ", "Exception during loading: "};
    for (size_t i = 0; i < sizeof PHRASES / sizeof *PHRASES; i++) {
        const size_t size = strlen(PHRASES[i]);
        for (char *at = text; (at = strstr(at, PHRASES[i]));)
            memmove(at, at + size, strlen(at + size) + 1);
    }
    static const struct {
        const char *begin, *end;
    } PLACES[] = {{"In Node, ", ", Error "}, {"Node (", "[ShapeInferenceError] "}};
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        const char *end = strstr(text, PLACES[i].end);
        if (strncmp(text, PLACES[i].begin, strlen(PLACES[i].begin)) != 0 || !end) continue;
        end += strlen(PLACES[i].end);
        memmove(text, end, strlen(end) + 1);
    }
}

char *lint_clean_message(arena *a, const char *message)
{
    char *text = arena_strdup(a, message);
    if (!text) return NULL;
    drop_runtime_prefix(text);
    drop_source_place(text);
    drop_phrases(text);
    size_t size = strlen(text);
    while (size && strchr(" \r\n", text[size - 1])) text[--size] = 0;
    for (char *p = text; *p; p++) {
        if (*p == '"') *p = '`';
        if (*p == '\n' || *p == '\r') *p = ' ';
    }
    return text;
}
