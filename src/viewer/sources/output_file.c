/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files of outputs. */
#include "viewer/sources/output_file.h"

#include <math.h>
#include <string.h>

#include "base/file.h"

bool output_file_is_npz(const char *path, span start)
{
    static const char ZIP[] = "PK\x03\x04", EMPTY_ZIP[] = "PK\x05\x06";
    return str_equal_nocase(path_extension(path), ".npz") && start.size >= 4 &&
           (!memcmp(start.data, ZIP, 4) || !memcmp(start.data, EMPTY_ZIP, 4));
}

static pgy_status read_arrays(pgy_results **out, const char *path, pgy_error *err)
{
    pgy_tensor_map *map = NULL;
    pgy_results *r = NULL;
    file_map file = {0};
    size_t runner = 0;
    pgy_status st = file_map_open(&file, path, err);
    if (st) return st;
    st = pgy_npz_parse(&map, file.data, file.size_bytes, err); /* without the path in errors */
    file_map_close(&file);
    if (!st && !pgy_tensor_map_count(map))
        st = pgy_error_set(err, PGY_E_FORMAT, "the archive has no array");
    if (!st) st = pgy_results_create(&r, err);
    if (!st) st = pgy_results_add_runner(r, path_basename(path), &runner, err);
    if (!st) st = pgy_results_add(r, runner, map, NAN, err);
    pgy_tensor_map_destroy(map);
    if (st)
        pgy_results_destroy(r);
    else
        *out = r;
    return st;
}

pgy_status output_file_open(pgy_results_reader **reader, pgy_results **first, const char *path,
                            pgy_error *err)
{
    *reader = NULL;
    *first = NULL;
    if (str_equal_nocase(path_extension(path), ".npz")) return read_arrays(first, path, err);
    pgy_status st = pgy_results_reader_open(reader, path, err);
    if (!st) st = pgy_results_reader_next(first, *reader, err);
    if (!st && !*first) st = pgy_error_set(err, PGY_E_FORMAT, "the file has no iteration");
    if (!st) return PGY_OK;
    pgy_results_reader_close(*reader);
    *reader = NULL;
    return st;
}
