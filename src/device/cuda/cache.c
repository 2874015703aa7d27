/* SPDX-License-Identifier: Apache-2.0 */
/* A file of the cache is a header and a cubin. The driver reads a cubin by the offsets in it and
 * runs it on the GPU, so a file counts only if nobody else could write it, its checksum is right
 * and its sections lie inside. */
#include "device/cuda/cache.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/hash.h"
#include "base/log.h"

static const char LOG_PATH[] = "device/cuda/cache.c";

static const char MAGIC[8] = "PGYCUBIN", SUFFIX[] = ".cubin";
enum { VERSION = 1, WRITABLE_BY_OTHERS = 022 };

typedef struct header {
    char magic[8];
    uint64_t version;
    cuda_key key;
    uint64_t size_bytes, checksum; /* size and checksum of the cubin that follows the header */
} header;

/* ---- Keys ----------------------------------------------------------------------------------- */

cuda_key cuda_key_of(const cuda_source *s, const cuda_nvrtc *n)
{
    str all = {0};
    str_printf(&all, "%s NVRTC %d.%d", s->architecture, n->major, n->minor);
    for (size_t i = 0; s->options[i]; i++) str_printf(&all, "\n%s", s->options[i]);
    str_append_char(&all, '\0');
    const uint64_t front = hash_xxh64(str_text(&all), all.size, 0);
    const size_t size = strlen(s->text);
    const cuda_key k = {
        .parts = {hash_xxh64(s->text, size, front), hash_xxh64(s->text, size, ~front)},
        .size = all.size + size};
    str_deinit(&all);
    return k;
}

bool cuda_key_equal(const cuda_key *a, const cuda_key *b)
{
    return a->parts[0] == b->parts[0] && a->parts[1] == b->parts[1] && a->size == b->size;
}

/* ---- The folder ----------------------------------------------------------------------------- */

char *cuda_cache_folder(void)
{
    static const struct {
        const char *variable, *below;
    } PLACES[] = {{"POLYGRAPHY_CUDA_CACHE", ""},
                  {"XDG_CACHE_HOME", "/polygraphy/cuda"},
                  {"HOME", "/.cache/polygraphy/cuda"}};
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        const char *value = getenv(PLACES[i].variable);
        str path = {0};
        if (!value || !*value) continue;
        if (i == 0 && strcmp(value, "off") == 0) return NULL;
        str_printf(&path, "%s%s", value, PLACES[i].below);
        return str_take(&path);
    }
    return NULL;
}

static char *path_of(const cuda_cache *c, const cuda_key *k)
{
    str path = {0};
    str_printf(&path, "%s/%016llx%016llx%s", c->folder, (unsigned long long)k->parts[0],
               (unsigned long long)k->parts[1], SUFFIX);
    return str_take(&path);
}

static bool is_own(const struct stat *s)
{
    return s->st_uid == geteuid() && !(s->st_mode & WRITABLE_BY_OTHERS);
}

static bool is_own_folder(const char *folder)
{
    struct stat s;
    if (stat(folder, &s)) return false;
    if (S_ISDIR(s.st_mode) && is_own(&s)) return true;
    LOG_ONCE(WARNING, "%s: no compiled kernels are kept there, because others can write to it",
             folder);
    return false;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static bool lies_within(uint64_t offset, uint64_t size, uint64_t whole)
{
    return offset <= whole && size <= whole - offset;
}

/* Do the tables and sections of an ELF file lie inside it? */
static bool is_whole_elf(const char *data, size_t size)
{
    Elf64_Ehdr e;
    if (size < sizeof e) return false;
    memcpy(&e, data, sizeof e);
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64) return false;
    if (e.e_shentsize != sizeof(Elf64_Shdr) ||
        !lies_within(e.e_shoff, (uint64_t)e.e_shnum * sizeof(Elf64_Shdr), size))
        return false;
    if (e.e_phnum && (e.e_phentsize != sizeof(Elf64_Phdr) ||
                      !lies_within(e.e_phoff, (uint64_t)e.e_phnum * sizeof(Elf64_Phdr), size)))
        return false;
    for (uint32_t i = 0; i < e.e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, data + e.e_shoff + i * sizeof s, sizeof s);
        if (s.sh_type != SHT_NOBITS && !lies_within(s.sh_offset, s.sh_size, size)) return false;
    }
    return true;
}

static bool is_whole(const file_map *m, const cuda_key *k)
{
    const char *code = (const char *)m->data + sizeof(header);
    header h;
    if (m->size_bytes < sizeof h) return false;
    memcpy(&h, m->data, sizeof h);
    return memcmp(h.magic, MAGIC, sizeof MAGIC) == 0 && h.version == VERSION &&
           cuda_key_equal(&h.key, k) && h.size_bytes == m->size_bytes - sizeof h &&
           h.checksum == hash_xxh64(code, h.size_bytes, 0) && is_whole_elf(code, h.size_bytes);
}

/* Marks the file as used, for the order in which files are removed. */
static bool read_file(void **out, size_t *out_size, const file_map *m, const cuda_key *k)
{
    struct stat s;
    if (m->fd < 0 || fstat(m->fd, &s) || !S_ISREG(s.st_mode) || !is_own(&s) || !is_whole(m, k))
        return false;
    const size_t size = m->size_bytes - sizeof(header);
    void *code = mem_alloc(size);
    if (!code) return false;
    memcpy(code, (const char *)m->data + sizeof(header), size);
    (void)futimens(m->fd, NULL);
    *out = code;
    *out_size = size;
    return true;
}

bool cuda_cache_read(void **out, size_t *out_size, const cuda_cache *c, const cuda_key *k)
{
    file_map map = {0};
    if (!c->folder || !file_is_dir(c->folder) || !is_own_folder(c->folder)) return false;
    char *path = path_of(c, k);
    bool found = false;
    if (path && file_exists(path) && !file_map_open(&map, path, NULL)) {
        found = read_file(out, out_size, &map, k);
        file_map_close(&map);
        if (!found) LOG(WARNING, "%s is not a whole file of this cache; it is replaced", path);
    }
    mem_free(path);
    return found;
}

/* ---- Writing -------------------------------------------------------------------------------- */

typedef struct entry {
    char *path;
    uint64_t size_bytes;
    struct timespec used;
} entry;

static int compare_age(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->path, y->path);
}

static size_t list_entries(entry *to, const strvec *names, const char *folder)
{
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++) {
        struct stat s;
        char *path = path_join(folder, names->items[i]);
        if (path && !lstat(path, &s) && S_ISREG(s.st_mode))
            to[count++] = (entry){path, (uint64_t)s.st_size, s.st_mtim};
        else
            mem_free(path);
    }
    return count;
}

/* Removes the oldest files while all together are larger than the limit. */
static void prune(const cuda_cache *c)
{
    strvec names = {0};
    entry *entries = NULL;
    size_t count = 0;
    uint64_t total = 0;
    if (file_list_dir(&names, c->folder, SUFFIX, NULL)) return;
    entries = mem_calloc(names.count + 1, sizeof *entries);
    if (entries) count = list_entries(entries, &names, c->folder);
    for (size_t i = 0; i < count; i++) total += entries[i].size_bytes;
    if (count) qsort(entries, count, sizeof *entries, compare_age);
    for (size_t i = 0; i < count && total > c->limit_bytes; i++) {
        total -= entries[i].size_bytes;
        (void)unlink(entries[i].path);
    }
    for (size_t i = 0; i < count; i++) mem_free(entries[i].path);
    mem_free(entries);
    strvec_deinit(&names);
}

static pgy_status write_file(const char *path, const cuda_key *k, const void *code,
                             size_t size_bytes, pgy_error *err)
{
    header h = {.version = VERSION,
                .key = *k,
                .size_bytes = size_bytes,
                .checksum = hash_xxh64(code, size_bytes, 0)};
    file_writer *w = NULL;
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    pgy_status st = file_writer_create(&w, path, err);
    if (!st) st = file_writer_write(w, &h, sizeof h, err);
    if (!st) st = file_writer_write(w, code, size_bytes, err);
    if (!st) st = file_writer_commit(w, err);
    file_writer_destroy(w);
    if (!st && chmod(path, 0600))
        st = pgy_error_set(err, PGY_E_IO, "%s: its mode cannot be set", path);
    return st;
}

static pgy_status make_folder(const char *folder, pgy_error *err)
{
    if (file_is_dir(folder)) return PGY_OK;
    pgy_status st = file_make_dirs(folder, err);
    if (!st && chmod(folder, 0700))
        st = pgy_error_set(err, PGY_E_IO, "%s: its mode cannot be set", folder);
    return st;
}

static pgy_status store(const cuda_cache *c, const cuda_key *k, const void *code, size_t size_bytes,
                        pgy_error *err)
{
    file_lock *lock = NULL;
    char *path = path_of(c, k), *whole = path_join(c->folder, "cache");
    pgy_status st = path && whole ? make_folder(c->folder, err)
                                  : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st && is_own_folder(c->folder)) {
        st = file_lock_take(&lock, whole, err);
        if (!st) st = write_file(path, k, code, size_bytes, err);
        if (!st) prune(c);
        file_lock_release(lock);
    }
    mem_free(path);
    mem_free(whole);
    return st;
}

void cuda_cache_write(const cuda_cache *c, const cuda_key *k, const void *code, size_t size_bytes)
{
    pgy_error why = {0};
    if (c->folder && store(c, k, code, size_bytes, &why))
        LOG_ONCE(WARNING, "Compiled kernels are not kept: %s", why.text);
}

void cuda_cache_remove(const cuda_cache *c, const cuda_key *k)
{
    char *path = c->folder ? path_of(c, k) : NULL;
    if (path) (void)unlink(path);
    mem_free(path);
}
