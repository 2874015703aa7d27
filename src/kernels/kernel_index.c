/* SPDX-License-Identifier: Apache-2.0 */
/* The index covers the kernels of all families and their 16-bit adapters. It is made once and lives
 * as long as the process. Entries are sorted by key, so the kernels of one key are neighbours. */
#include "kernels/kernel_index.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/half_adapter.h"

#define KERNEL(family) extern const kernel KERNELS_##family[];
#include "kernels/kernels.def"
#undef KERNEL

static const kernel *const FAMILIES[] = {
#define KERNEL(family) KERNELS_##family,
#include "kernels/kernels.def"
#undef KERNEL
    NULL,
};

/* Fixed limits. A test finds every kernel by its keys, so it fails when one is exceeded. */
enum { MAX_KERNELS = 1024, MAX_WORDS = 4096 };

/* A kernel under one of its keys: an operator ("domain:op" or "op"), or its name. */
typedef struct entry {
    const char *key; /* key_size bytes, not terminated by 0 */
    size_t key_size;
    const kernel *kernel;
    size_t order; /* position among all kernels, in the order of the tables */
} entry;

/* Entries are sorted by key, then by order; kernels[i] is the kernel of entry i. */
typedef struct key_index {
    entry entries[MAX_WORDS];
    const kernel *kernels[MAX_WORDS];
    size_t count;
} key_index;

static const kernel *all[MAX_KERNELS];
static size_t all_count;
static key_index by_operator, by_name;

static int compare_keys(const char *a, size_t a_size, const char *b, size_t b_size)
{
    const int c = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return c ? c : (a_size > b_size) - (a_size < b_size);
}

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    const int c = compare_keys(x->key, x->key_size, y->key, y->key_size);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

static void add_entry(key_index *x, const char *key, size_t key_size, size_t order)
{
    if (x->count == MAX_WORDS) return;
    x->entries[x->count++] =
        (entry){.key = key, .key_size = key_size, .kernel = all[order], .order = order};
}

static void add_table(const kernel *table)
{
    const cpu_level has = cpu_features(); /* does not change while the process lives */
    for (const kernel *k = table; k->name && all_count < MAX_KERNELS; k++) {
        if (k->needs > has) continue;
        all[all_count] = k;
        add_entry(&by_name, k->name, strlen(k->name), all_count);
        all_count++;
    }
}

static void sort_entries(key_index *x)
{
    qsort(x->entries, x->count, sizeof *x->entries, compare_entries);
    for (size_t i = 0; i < x->count; i++) x->kernels[i] = x->entries[i].kernel;
}

static void make_index(void)
{
    for (size_t i = 0; FAMILIES[i]; i++) add_table(FAMILIES[i]);
    add_table(half_adapter_table(FAMILIES));
    sort_entries(&by_name);
}

static void make_operator_index(void)
{
    for (size_t i = 0; i < all_count; i++) {
        for (const char *word = all[i]->ops; *word;) {
            const size_t size = strcspn(word, " ");
            add_entry(&by_operator, word, size, i);
            word += size;
            word += strspn(word, " ");
        }
    }
    sort_entries(&by_operator);
}

static void need_index(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_index);
}

/* Opening a plan looks up names only, so it does not pay for the index of operators. */
static void need_operator_index(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    need_index();
    pthread_once(&once, make_operator_index);
}

/* Index of the first entry whose key is not below the given one. */
static size_t find_first(const key_index *x, const char *key, size_t size)
{
    size_t low = 0, high = x->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const entry *e = &x->entries[middle];
        if (compare_keys(e->key, e->key_size, key, size) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static kernel_span find_key(const key_index *x, const char *key, size_t size)
{
    const size_t first = find_first(x, key, size);
    size_t end = first;
    while (end < x->count && x->entries[end].key_size == size &&
           memcmp(x->entries[end].key, key, size) == 0)
        end++;
    return (kernel_span){.items = x->kernels + first, .count = end - first};
}

kernel_span kernel_index_all(void)
{
    need_index();
    return (kernel_span){.items = all, .count = all_count};
}

kernel_span kernel_index_of_operator(const char *domain, const char *op)
{
    char key[128];
    const size_t domain_size = strlen(domain), op_size = strlen(op);
    need_operator_index();
    if (!domain_size) return find_key(&by_operator, op, op_size);
    /* Longer than the name of any built-in operator. */
    if (domain_size + op_size + 1 > sizeof key) return (kernel_span){0};
    memcpy(key, domain, domain_size);
    key[domain_size] = ':';
    memcpy(key + domain_size + 1, op, op_size);
    return find_key(&by_operator, key, domain_size + op_size + 1);
}

kernel_span kernel_index_of_name(const char *name)
{
    need_index();
    return find_key(&by_name, name, strlen(name));
}
