/* SPDX-License-Identifier: Apache-2.0 */
/* The class marker at the end of the top-level JSON object tells the kind of a file. A list, or an
 * object without a marker, holds inputs. */
#include <polygraphy/saved.h>

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"

static pgy_status kind_of_json(pgy_saved_kind *out, const char *path, pgy_error *err)
{
    static const char *const NAMES[] = {[PGY_SAVED_INPUTS] = "",
                                        [PGY_SAVED_RESULTS] = "RunResults",
                                        [PGY_SAVED_ACCURACY] = "AccuracyResults"};
    static const char LEGACY[] = "__polygraphy_encoded_RunResults";
    file_map map = {.fd = -1};
    arena memory = {0};
    json_value *root = NULL;
    pgy_status st = file_map_open(&map, path, err);
    if (st) return st;
    st = json_parse(&root, map.data, map.size_bytes, &memory, err);
    if (st) pgy_error_prefix(err, st, "%s: ", path);
    pgy_saved_kind kind = PGY_SAVED_INPUTS;
    const json_value *marker = root ? json_get(root, "polygraphy_class") : NULL;
    for (pgy_saved_kind k = PGY_SAVED_RESULTS; marker && k <= PGY_SAVED_ACCURACY; k++)
        if (marker->type == JSON_STRING && span_equals(marker->raw, NAMES[k])) kind = k;
    if (root && json_get(root, LEGACY)) kind = PGY_SAVED_RESULTS;
    arena_deinit(&memory);
    file_map_close(&map);
    if (!st) *out = kind;
    return st;
}

pgy_status pgy_saved_kind_of(pgy_saved_kind *out, const char *path, pgy_error *err)
{
    static const char *const BINARY[] = {".npz", ".npy", ".safetensors", ".pb"};
    for (size_t i = 0; i < sizeof BINARY / sizeof *BINARY; i++)
        if (str_ends_with(path, BINARY[i])) {
            *out = PGY_SAVED_INPUTS;
            return PGY_OK;
        }
    if (!file_is_dir(path)) return kind_of_json(out, path, err);
    strvec names = {0};
    char *first = NULL;
    pgy_status st = file_list_dir(&names, path, ".json", err);
    if (!st && !names.count) {
        char *test_set = path_join(path, "input_0.pb");
        if (test_set && file_exists(test_set))
            *out = PGY_SAVED_INPUTS;
        else
            st = pgy_error_set(err, PGY_E_NOT_FOUND, "%s: the folder has no *.json file", path);
        mem_free(test_set);
    } else if (!st) {
        first = path_join(path, names.items[0]);
        st = first ? kind_of_json(out, first, err)
                   : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    mem_free(first);
    strvec_deinit(&names);
    return st;
}
