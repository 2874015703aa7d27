/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a document that one function produces, to a file or to a text. */
#include "base/json.h"

pgy_status json_save(const char *path, json_body write, const void *user, pgy_error *err)
{
    json_output file = {0};
    pgy_status st = json_output_open(&file, path, err);
    if (!st) st = write(file.json, user, err);
    if (!st) st = json_output_commit(&file, err);
    json_output_close(&file);
    return st;
}

pgy_status json_to_text(char **out, json_body write, const void *user, pgy_error *err)
{
    str text = {0};
    json_writer *w = NULL;
    pgy_status st = json_writer_create_str(&w, &text, err);
    if (!st) st = write(w, user, err);
    if (!st) st = json_writer_finish(w, err);
    json_writer_destroy(w);
    if (!st) st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}
