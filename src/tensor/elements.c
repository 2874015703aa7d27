/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the names that elements of sequences have. An index is written without leading zeros, so
 * that every element has one name only; a sequence's length follows from the names alone, so a gap
 * is found even if an index is huge. */
#include "tensor/elements.h"

#include <string.h>

#include "base/alloc.h"

/* What the last brackets of a name hold instead of an index. */
#define NO_ELEMENT SIZE_MAX
#define PART_OF_MAP (SIZE_MAX - 1)

/* Skips "[12]", "[]", "[keys]" or "[values]"; returns NULL if `s` begins with none. *index is
 * NO_ELEMENT for "[]" and PART_OF_MAP for the words. */
static const char *skip_index(const char *s, size_t *index)
{
    if (*s++ != '[') return NULL;
    if (!strcmp(s, "keys]") || !strcmp(s, "values]")) {
        *index = PART_OF_MAP;
        return s + strlen(s);
    }
    if (*s == ']') {
        *index = NO_ELEMENT;
        return s + 1;
    }
    if (*s == '0' && s[1] != ']') return NULL;
    const char *begin = s;
    for (*index = 0; *s >= '0' && *s <= '9'; s++) {
        if (s - begin > 15) return NULL;
        *index = *index * 10 + (size_t)(*s - '0');
    }
    return s > begin && *s == ']' ? s + 1 : NULL;
}

/* The outermost index of an element's name. False: the name does not belong to this stem. */
static bool outer_index(size_t *index, const char *name, const char *stem)
{
    const size_t size = strlen(stem);
    size_t inner = 0;
    if (strncmp(name, stem, size) != 0) return false;
    const char *rest = skip_index(name + size, index);
    inner = *index;
    while (rest && *rest && inner < PART_OF_MAP) rest = skip_index(rest, &inner);
    return rest && !*rest;
}

bool elements_belongs(const char *name, const char *stem)
{
    size_t index;
    return outer_index(&index, name, stem);
}

bool elements_given(const pgy_tensor_map *m, const char *stem)
{
    for (size_t i = 0; i < pgy_tensor_map_count(m); i++)
        if (elements_belongs(pgy_tensor_map_name(m, i), stem)) return true;
    return false;
}

/* Marks the indices that exist and counts them in *found; *none tells whether `stem[]` exists. An
 * index beyond the number of tensors implies a gap, so all of these share one mark. */
static void mark(bool *seen, size_t *found, bool *none, const pgy_tensor_map *m, const char *stem)
{
    const size_t count = pgy_tensor_map_count(m);
    size_t index;
    for (size_t i = 0; i < count; i++) {
        if (!outer_index(&index, pgy_tensor_map_name(m, i), stem)) continue;
        *none |= index == NO_ELEMENT;
        if (index >= PART_OF_MAP) continue;
        if (index >= count) index = count;
        *found += !seen[index];
        seen[index] = true;
    }
}

pgy_status elements_count(size_t *out, const pgy_tensor_map *m, const char *stem, pgy_error *err)
{
    const size_t room = pgy_tensor_map_count(m) + 1;
    bool *seen = mem_calloc(room, sizeof *seen), none = false;
    size_t found = 0, length = 0;
    pgy_status st = PGY_OK;
    if (!seen) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    mark(seen, &found, &none, m, stem);
    while (length < room && seen[length]) length++;
    if (!found && !none)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "'%s' is a sequence: give its elements as '%s[0]', '%s[1]' and so on, "
                           "or an empty sequence as '%s[]', a tensor of shape (0,)",
                           stem, stem, stem, stem);
    else if (found && none)
        st = pgy_error_set(
            err, PGY_E_ARGUMENT,
            "'%s[]' says that sequence '%s' is empty, but there is an element '%s[...]', too", stem,
            stem, stem);
    else if (length < found)
        st = pgy_error_set(
            err, PGY_E_ARGUMENT,
            "sequence '%s' lacks '%s[%zu]': elements must be numbered from 0 without gaps", stem,
            stem, length);
    if (!st) *out = length;
    mem_free(seen);
    return st;
}

pgy_status elements_adopt(pgy_tensor_map *m, const char *name, pgy_tensor *t, pgy_error *err)
{
    if (!pgy_tensor_map_find(m, name)) return pgy_tensor_map_adopt(m, name, t, err);
    pgy_tensor_release(t);
    return pgy_error_set(
        err, PGY_E_UNSUPPORTED,
        "the name '%s' belongs to a tensor and to an element of a sequence: rename one of them",
        name);
}

pgy_status elements_adopt_none(pgy_tensor_map *m, const char *stem, pgy_dtype dtype, pgy_error *err)
{
    static const int64_t SHAPE[] = {0};
    str name = {0};
    pgy_tensor *t = NULL;
    str_printf(&name, "%s[]", stem);
    pgy_status st = name.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                : pgy_tensor_create(&t, dtype ? dtype : PGY_F32, 1, SHAPE, err);
    if (!st) st = elements_adopt(m, str_text(&name), t, err);
    str_deinit(&name);
    return st;
}

static pgy_tensor *find_part(bool *failed, const pgy_tensor_map *m, const char *stem,
                             const char *part)
{
    str name = {0};
    str_printf(&name, "%s[%s]", stem, part);
    *failed |= name.failed;
    pgy_tensor *t = name.failed ? NULL : pgy_tensor_map_find(m, str_text(&name));
    str_deinit(&name);
    return t;
}

pgy_status elements_map(pgy_tensor **keys, pgy_tensor **values, const pgy_tensor_map *m,
                        const char *stem, pgy_error *err)
{
    bool failed = false;
    *keys = find_part(&failed, m, stem, "keys");
    *values = find_part(&failed, m, stem, "values");
    if (failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!*keys && !*values) return PGY_OK;
    if (!*keys || !*values)
        return pgy_error_set(err, PGY_E_ARGUMENT, "map '%s' lacks '%s[%s]'", stem, stem,
                             *keys ? "values" : "keys");
    if (pgy_tensor_rank(*keys) != 1 || pgy_tensor_rank(*values) != 1 ||
        pgy_tensor_count(*keys) != pgy_tensor_count(*values))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s[keys]' and '%s[values]' must be vectors of equal length", stem,
                             stem);
    return PGY_OK;
}

pgy_status elements_adopt_map(pgy_tensor_map *m, const char *stem, pgy_tensor *keys,
                              pgy_tensor *values, pgy_error *err)
{
    str name = {0};
    str_printf(&name, "%s[keys]", stem);
    pgy_status st = name.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
    if (st)
        pgy_tensor_release(keys);
    else
        st = elements_adopt(m, str_text(&name), keys, err);
    str_clear(&name);
    str_printf(&name, "%s[values]", stem);
    if (!st && name.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (st)
        pgy_tensor_release(values);
    else
        st = elements_adopt(m, str_text(&name), values, err);
    str_deinit(&name);
    return st;
}
