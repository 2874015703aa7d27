/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces are found by a key: the form, its numbers, and what identifies the elements. A piece that
 * a thread is filling is already in the table, so that others wait for it instead of packing the
 * same weights a second time. */
#include "kernels/packing.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/str.h"

typedef enum piece_state { FILLING, READY, FAILED } piece_state;

struct packed_piece {
    packed_table *table; /* retained */
    packed_piece *next;  /* in its bucket */
    size_t users;
    piece_state state;
    char *key;
    uint64_t hash; /* of the key */
    void *data;
    uint64_t size_bytes;
    bool borrowed;        /* the data is not the piece's own */
    bool pinned;          /* belongs to the table, and ends with it */
    packed_recipe recipe; /* without form: there is none */
};

struct packed_table {
    size_t users; /* owners and pieces */
    pthread_mutex_t lock;
    pthread_cond_t filled;
    packed_piece **buckets;
    size_t bucket_count, count;
    uint64_t bytes;
    bool lasts; /* packed_table_set_lasting */
};

enum { FIRST_BUCKETS = 64 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for packed weights");
}

/* ---- The table ------------------------------------------------------------------------------ */

packed_table *packed_table_create(void)
{
    packed_table *t = mem_calloc(1, sizeof *t);
    if (!t) return NULL;
    t->users = 1;
    t->bucket_count = FIRST_BUCKETS;
    t->buckets = mem_calloc(FIRST_BUCKETS, sizeof(packed_piece *));
    if (!t->buckets || pthread_mutex_init(&t->lock, NULL)) {
        mem_free(t->buckets);
        mem_free(t);
        return NULL;
    }
    pthread_cond_init(&t->filled, NULL);
    return t;
}

packed_table *packed_table_retain(packed_table *t)
{
    pthread_mutex_lock(&t->lock);
    t->users++;
    pthread_mutex_unlock(&t->lock);
    return t;
}

static void free_piece(packed_piece *p)
{
    if (!p->borrowed) mem_free_block(p->data, p->size_bytes);
    mem_free(p->key);
    mem_free(p);
}

/* Unlocks the table after it lost a user. */
static void leave(packed_table *t)
{
    const bool last = !--t->users;
    pthread_mutex_unlock(&t->lock);
    if (!last) return;
    for (size_t i = 0; i < t->bucket_count; i++) /* only pinned pieces are left */
        for (packed_piece *p = t->buckets[i], *next; p; p = next) {
            next = p->next;
            free_piece(p);
        }
    pthread_cond_destroy(&t->filled);
    pthread_mutex_destroy(&t->lock);
    mem_free(t->buckets);
    mem_free(t);
}

void packed_table_release(packed_table *t)
{
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    leave(t);
}

void packed_table_set_lasting(packed_table *t)
{
    t->lasts = true;
}

packed_count packed_table_count(packed_table *t)
{
    pthread_mutex_lock(&t->lock);
    const packed_count c = {t->count, t->bytes};
    pthread_mutex_unlock(&t->lock);
    return c;
}

/* ---- Pieces; the caller holds the lock ------------------------------------------------------- */

static packed_piece **bucket_of(packed_table *t, uint64_t hash)
{
    return &t->buckets[hash % t->bucket_count];
}

/* A table that cannot grow stays correct, only slower. */
static void grow(packed_table *t)
{
    const size_t count = t->bucket_count * 2;
    packed_piece **larger = t->count < t->bucket_count ? NULL : mem_calloc(count, sizeof *larger);
    if (!larger) return;
    for (size_t i = 0; i < t->bucket_count; i++)
        for (packed_piece *p = t->buckets[i], *next; p; p = next) {
            next = p->next;
            p->next = larger[p->hash % count];
            larger[p->hash % count] = p;
        }
    mem_free(t->buckets);
    t->buckets = larger;
    t->bucket_count = count;
}

static void link_piece(packed_table *t, packed_piece *p)
{
    grow(t);
    packed_piece **bucket = bucket_of(t, p->hash);
    p->next = *bucket;
    *bucket = p;
    t->count++;
    t->bytes += p->size_bytes;
}

static void unlink_piece(packed_piece *p)
{
    packed_piece **at = bucket_of(p->table, p->hash);
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    p->table->count--;
    p->table->bytes -= p->size_bytes;
}

static packed_piece *find(packed_table *t, const char *key, uint64_t hash, uint64_t size_bytes)
{
    for (packed_piece *p = *bucket_of(t, hash); p; p = p->next)
        if (p->hash == hash && p->size_bytes == size_bytes && p->state != FAILED &&
            strcmp(p->key, key) == 0)
            return p;
    return NULL;
}

/* ---- Pieces --------------------------------------------------------------------------------- */

/* A pinned piece keeps its table only while others use it. The caller holds the lock. */
static void hold(packed_piece *p)
{
    p->users++;
    if (p->pinned) p->table->users++;
}

packed_piece *packed_piece_retain(packed_piece *p)
{
    pthread_mutex_lock(&p->table->lock);
    hold(p);
    pthread_mutex_unlock(&p->table->lock);
    return p;
}

void packed_piece_release(packed_piece *p)
{
    if (!p) return;
    packed_table *t = p->table;
    pthread_mutex_lock(&t->lock);
    if (--p->users) {
        if (p->pinned)
            leave(t);
        else
            pthread_mutex_unlock(&t->lock);
        return;
    }
    unlink_piece(p);
    leave(t);
    free_piece(p);
}

const void *packed_piece_data(const packed_piece *p)
{
    return p->data;
}

uint64_t packed_piece_bytes(const packed_piece *p)
{
    return p->size_bytes;
}

/* Makes a piece of `data`, or if that is NULL of a block without elements. Takes the key, also on
 * failure. */
static packed_piece *make_piece(packed_table *t, char *key, const void *data, uint64_t size_bytes)
{
    packed_piece *p = key ? mem_calloc(1, sizeof *p) : NULL;
    void *block = data || !p ? NULL : mem_alloc_block(size_bytes);
    if (!p || !(data || block)) {
        mem_free(key);
        mem_free(p);
        return NULL;
    }
    *p = (packed_piece){.table = t,
                        .users = 1,
                        .key = key,
                        .hash = hash_xxh64(key, strlen(key), 0),
                        .data = data ? (void *)data : block,
                        .borrowed = data != NULL,
                        .size_bytes = size_bytes};
    return p;
}

/* Retains the piece with this key once it is filled. *made: there was none, so the caller fills the
 * piece and calls finish; a piece of `data` needs no filling. Takes the key. NULL: out of memory.
 */
static packed_piece *find_or_add(packed_table *t, char *key, const void *data, uint64_t size_bytes,
                                 bool *made)
{
    const uint64_t hash = hash_xxh64(key, strlen(key), 0);
    packed_piece *p;
    *made = false;
    pthread_mutex_lock(&t->lock);
    while ((p = find(t, key, hash, size_bytes)) && p->state == FILLING)
        pthread_cond_wait(&t->filled, &t->lock);
    if (p) {
        hold(p);
        mem_free(key);
    } else if ((p = make_piece(t, key, data, size_bytes))) {
        *made = true;
        if (data) p->state = READY;
        link_piece(t, p);
        t->users++;
    }
    pthread_mutex_unlock(&t->lock);
    return p;
}

static void finish(packed_piece *p, bool filled)
{
    pthread_mutex_lock(&p->table->lock);
    p->state = filled ? READY : FAILED;
    pthread_cond_broadcast(&p->table->filled);
    pthread_mutex_unlock(&p->table->lock);
}

void kernel_plan_deinit(kernel_plan *p)
{
    mem_free(p->params);
    if (p->piece)
        packed_piece_release(p->piece);
    else
        mem_free(p->packed);
    *p = (kernel_plan){0};
}

/* ---- Packing -------------------------------------------------------------------------------- */

bool kernel_read_constant(void *to, const kernel_problem *u, const kernel_tensor *t)
{
    const size_t size_bytes = kernel_size_bytes(t);
    if (t->elsewhere) return u->load(to, size_bytes, t->source, u->load_user);
    if (size_bytes) memcpy(to, t->data, size_bytes);
    return true;
}

/* A problem whose constants are aligned. */
typedef struct aligned_problem {
    kernel_problem u;
    void *copies[KERNEL_MAX_INPUTS];
} aligned_problem;

static void aligned_deinit(aligned_problem *a)
{
    for (size_t i = 0; i < a->u.input_count; i++)
        mem_free_block(a->copies[i], a->copies[i] ? kernel_size_bytes(&a->u.inputs[i]) : 0);
}

/* Copies those of `inputs` that are not aligned. False: out of memory. */
static bool align(aligned_problem *a, const kernel_problem *u, uint32_t inputs)
{
    *a = (aligned_problem){.u = *u};
    for (size_t i = 0; i < u->input_count; i++) {
        kernel_tensor *t = &a->u.inputs[i];
        if (!(inputs >> i & 1) || !t->data) continue;
        const size_t item = (pgy_dtype_describe(t->dtype)->bits + 7) / 8;
        if (!t->elsewhere && (uintptr_t)t->data % (item > 8 ? 8 : item) == 0) continue;
        a->copies[i] = mem_alloc_block(kernel_size_bytes(t));
        if (!a->copies[i] || !kernel_read_constant(a->copies[i], u, t)) return false;
        t->data = a->copies[i];
        t->elsewhere = false;
    }
    return true;
}

static bool fill(void *to, const kernel_problem *u, const kernel_packing *how)
{
    aligned_problem a;
    const uint32_t inputs = how->any_address ? 0 : how->inputs;
    const bool filled = align(&a, u, inputs) && how->fill(to, &a.u, how->user);
    aligned_deinit(&a);
    return filled;
}

pgy_status kernel_prepare(kernel_plan *out, const kernel *k, const kernel_problem *u,
                          pgy_error *err)
{
    aligned_problem a;
    if (k->flags & KERNEL_SHARES_WEIGHTS) return k->prepare(out, u, err);
    const pgy_status st = align(&a, u, UINT32_MAX) ? k->prepare(out, &a.u, err) : no_memory(err);
    aligned_deinit(&a);
    return st;
}

/* The key of what a recipe makes. Constants without a source are small, or made by shape inference:
 * their elements are hashed into `rest`. */
static char *key_of(const packed_recipe *r, const char *rest)
{
    str key = {0};
    str_append(&key, r->form);
    for (size_t i = 0; i < PACKING_NUMBERS; i++)
        str_printf(&key, " %llu", (unsigned long long)r->numbers[i]);
    for (size_t i = 0; i < r->source_count; i++)
        str_printf(&key, " %u:%d@%p", r->sources[i].input, (int)r->sources[i].dtype,
                   r->sources[i].source);
    str_append(&key, rest);
    return str_take(&key);
}

/* Describes a packing; what has no source goes into `rest`. */
static packed_recipe recipe_of(const kernel_problem *u, const kernel_packing *how, str *rest)
{
    packed_recipe r = {.source_count = 0};
    snprintf(r.form, sizeof r.form, "%s", how->form);
    memcpy(r.numbers, how->numbers, sizeof r.numbers);
    for (uint32_t i = 0; i < u->input_count; i++) {
        const kernel_tensor *t = &u->inputs[i];
        if (!(how->inputs >> i & 1) || !t->data) continue;
        if (t->source && r.source_count < PACKING_SOURCES)
            r.sources[r.source_count++] = (packed_source){i, t->dtype, t->source};
        else if (t->source)
            str_printf(rest, " %u:%d@%p", i, (int)t->dtype, t->source);
        else
            str_printf(rest, " %u:%d#%016llx", i, (int)t->dtype,
                       (unsigned long long)hash_xxh64(t->data, kernel_size_bytes(t), 0));
    }
    return r;
}

const packed_recipe *packed_piece_recipe(const packed_piece *p)
{
    return p->recipe.form[0] ? &p->recipe : NULL;
}

packed_piece *packed_table_at(packed_table *t, const void *data)
{
    packed_piece *found = NULL;
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; !found && i < t->bucket_count; i++)
        for (packed_piece *p = t->buckets[i]; p && !found; p = p->next)
            if (p->data == data) found = p;
    pthread_mutex_unlock(&t->lock);
    return found;
}

pgy_status packed_table_offer(packed_table *t, const packed_recipe *r, const void *data,
                              uint64_t size_bytes, pgy_error *err)
{
    char *key = key_of(r, "");
    packed_piece *p = make_piece(t, key, data, size_bytes);
    if (!p) return no_memory(err);
    p->state = READY;
    p->pinned = true;
    p->recipe = *r;
    pthread_mutex_lock(&t->lock);
    link_piece(t, p);
    pthread_mutex_unlock(&t->lock);
    return PGY_OK;
}

static pgy_status pack_alone(kernel_plan *out, const kernel_problem *u, const kernel_packing *how,
                             pgy_error *err)
{
    void *to = mem_alloc_aligned(64, how->size_bytes);
    if (!to || !fill(to, u, how)) {
        mem_free(to);
        return no_memory(err);
    }
    out->packed = to;
    out->packed_bytes = how->size_bytes;
    return PGY_OK;
}

static uint64_t form_of(const kernel_packing *how)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < PACKING_NUMBERS; i++)
        hash = (hash ^ how->numbers[i]) * UINT64_C(1099511628211);
    return hash;
}

pgy_status kernel_pack(kernel_plan *out, const kernel_problem *u, const kernel_packing *how,
                       pgy_error *err)
{
    out->packed_form = form_of(how);
    if (u->keeps_packed) {
        out->packed_bytes = how->size_bytes;
        return PGY_OK;
    }
    bool made;
    str rest = {0};
    if (!u->packed) return pack_alone(out, u, how, err);
    const packed_recipe recipe = recipe_of(u, how, &rest);
    char *key = rest.failed ? NULL : key_of(&recipe, str_text(&rest));
    packed_piece *p = key ? find_or_add(u->packed, key, NULL, how->size_bytes, &made) : NULL;
    const bool named = !rest.size;
    str_deinit(&rest);
    if (!p) return no_memory(err);
    if (made) {
        if (named) p->recipe = recipe;
        const bool filled = fill(p->data, u, how);
        finish(p, filled);
        if (!filled) {
            packed_piece_release(p);
            return no_memory(err);
        }
    }
    out->packed = p->data;
    out->packed_bytes = how->size_bytes;
    out->piece = p;
    return PGY_OK;
}

/* Finds or makes the piece with these bytes. Other bytes may have the same hash, so keys are
 * numbered. */
static packed_piece *intern(packed_table *t, const void *data, size_t size_bytes)
{
    for (size_t turn = 0;; turn++) {
        str key = {0};
        bool made;
        str_printf(&key, "bytes %zu %016llx", turn,
                   (unsigned long long)hash_xxh64(data, size_bytes, 0));
        char *text = str_take(&key);
        packed_piece *p = text ? find_or_add(t, text, NULL, size_bytes, &made) : NULL;
        if (!p) return NULL;
        if (made) {
            if (size_bytes) memcpy(p->data, data, size_bytes);
            finish(p, true);
            return p;
        }
        if (!size_bytes || memcmp(p->data, data, size_bytes) == 0) return p;
        packed_piece_release(p);
    }
}

pgy_status packed_table_adopt(packed_table *t, kernel_plan *plan, pgy_error *err)
{
    if (!plan->packed || plan->piece) return PGY_OK;
    packed_piece *p = intern(t, plan->packed, plan->packed_bytes);
    if (!p) return no_memory(err);
    mem_free(plan->packed);
    plan->packed = p->data;
    plan->piece = p;
    return PGY_OK;
}

typedef struct copying {
    void (*copied)(void *user);
    void *user;
} copying;

static bool copy_elements(void *to, const kernel_problem *u, const void *user)
{
    enum { TURN_BYTES = 16 << 20 };
    const copying *c = user;
    const char *from = u->inputs[0].data;
    const size_t size_bytes = kernel_size_bytes(&u->inputs[0]);
    if (u->inputs[0].elsewhere) return kernel_read_constant(to, u, &u->inputs[0]);
    for (size_t at = 0; at < size_bytes; at += TURN_BYTES) {
        const size_t left = size_bytes - at;
        memcpy((char *)to + at, from + at, left < TURN_BYTES ? left : TURN_BYTES);
        if (c->copied && left >= TURN_BYTES) c->copied(c->user);
    }
    return true;
}

/* A piece of elements that are not copied. */
static packed_piece *borrow(packed_table *t, const void *data, size_t size_bytes)
{
    str key = {0};
    bool made;
    str_printf(&key, "elements at %p", data);
    char *text = str_take(&key);
    return text ? find_or_add(t, text, data, size_bytes, &made) : NULL;
}

pgy_status packed_table_keep(packed_piece **out, const kernel_problem *u, bool stays,
                             void (*copied)(void *user), void *user, pgy_error *err)
{
    const copying c = {copied, user};
    const kernel_tensor *t = &u->inputs[0];
    const kernel_packing how = {.form = "elements",
                                .inputs = 1,
                                .size_bytes = kernel_size_bytes(t),
                                .fill = copy_elements,
                                .user = &c,
                                .any_address = true};
    kernel_plan plan = {0};
    if (!t->source || (u->packed->lasts && stays && (uintptr_t)t->data % 64 == 0)) {
        *out = t->source ? borrow(u->packed, t->data, how.size_bytes)
                         : intern(u->packed, t->data, how.size_bytes);
        return *out ? PGY_OK : no_memory(err);
    }
    const pgy_status st = kernel_pack(&plan, u, &how, err);
    *out = plan.piece;
    return st;
}
