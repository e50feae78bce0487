/* split_small.c - moves units to parts of a split that are empty. */
#include "data/split_small.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static bool is_same_unit(const small_split *s, const ft_record *a, const ft_record *b) {
    return a->graph == b->graph || (s->is_by_name && strcmp(a->name, b->name) == 0);
}

/* Depends on content and seed alone, like the split itself. */
static uint64_t draw(const small_split *s, const ft_record *r) {
    char key[600];
    int length = snprintf(key, sizeof key, "move:%llu:%.512s", (unsigned long long)s->seed,
                          s->is_by_name ? r->name : ft_dataset_graph_id(s->data, r->graph));
    assert(length > 0 && (size_t)length < sizeof key);
    return hash_bytes(key, (size_t)length).low;
}

/* Counts the units of a part, up to MAX_UNITS; *last is a record of the one to move next. Records that only support
 * training never move. */
static uint32_t count_units(const small_split *s, ft_split_part part, uint32_t *last) {
    enum { MAX_UNITS = 3 };
    const ft_record *records = ft_dataset_records(s->data);
    uint32_t found[MAX_UNITS], count = 0;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < ft_dataset_record_count(s->data); i++) {
        uint32_t k = 0;
        if (s->parts[i] != part || strcmp(records[i].part, "support") == 0) continue;
        while (k < count && !is_same_unit(s, &records[found[k]], &records[i])) k++;
        if (k == count && count < MAX_UNITS) found[count++] = i;
        uint64_t number = draw(s, &records[i]);
        if (number < largest) continue;
        largest = number;
        *last = i;
    }
    return count;
}

static bool has_units(const small_split *s, ft_split_part part, uint32_t needed) {
    uint32_t unused;
    return !s->has_part[part] || count_units(s, part, &unused) >= needed;
}

/* Moves one unit, unless it is the only one of its part. */
static bool move_unit(const small_split *s, ft_split_part from, ft_split_part to) {
    const ft_record *records = ft_dataset_records(s->data);
    uint32_t moved = 0;
    if (count_units(s, from, &moved) < 2) return false;
    for (uint32_t i = 0; i < ft_dataset_record_count(s->data); i++)
        if (s->parts[i] == from && is_same_unit(s, &records[i], &records[moved])) s->parts[i] = (uint8_t)to;
    return true;
}

void small_split_fill(const small_split *s) {
    static const struct {
        ft_split_part part;
        uint32_t units;
    } needs[] = {{FT_PART_TRAIN, 1}, {FT_PART_VALID, 1}, {FT_PART_TEST, 1}, {FT_PART_VALID, 2}};
    static const ft_split_part sources[] = {FT_PART_TRAIN, FT_PART_TEST, FT_PART_VALID};
    for (uint32_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        for (uint32_t k = 0; k < sizeof sources / sizeof sources[0] && !has_units(s, needs[i].part, needs[i].units);
             k++)
            if (sources[k] != needs[i].part) move_unit(s, sources[k], needs[i].part);
}
