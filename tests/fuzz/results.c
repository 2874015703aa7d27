/* SPDX-License-Identifier: Apache-2.0 */
/* Polygraphy's JSON: results, accuracy results and input lists. What is accepted is written again
 * and read back. */
#include <stddef.h>
#include <stdint.h>

#include "compare/results.h"
#include "data/array_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_feed(const json_value *v, const json_file *file)
{
    pgy_tensor_map *m = NULL;
    str text = {0};
    json_writer *w = NULL;
    if (feed_json_read(&m, v, file, "input", NULL)) return;
    if (!json_writer_create_str(&w, &text, NULL) && !feed_json_write(w, m, NULL) &&
        !json_writer_finish(w, NULL)) {
        json_file again;
        pgy_tensor_map *back = NULL;
        if (json_file_borrow(&again, "output", text.data, text.size, NULL) ||
            feed_json_read(&back, again.root, &again, "output", NULL))
            __builtin_trap();
        pgy_tensor_map_destroy(back);
        json_file_close(&again);
    }
    json_writer_destroy(w);
    str_deinit(&text);
    pgy_tensor_map_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_file file;
    pgy_results *results = NULL;
    pgy_accuracy_results *accuracy = NULL;
    pgy_error err = {0};
    if (json_file_borrow(&file, "input", data, size, &err)) return 0;
    if (!results_json_read(&results, &file, &err)) pgy_results_destroy(results);
    if (!accuracy_json_read(&accuracy, &file, &err)) {
        (void)pgy_accuracy_results_passed(accuracy);
        pgy_accuracy_results_destroy(accuracy);
    }
    fuzz_feed(file.root, &file);
    for (const json_value *v = file.root->type == JSON_ARRAY ? file.root->first : NULL; v;
         v = v->next)
        fuzz_feed(v, &file);
    json_file_close(&file);
    return 0;
}
