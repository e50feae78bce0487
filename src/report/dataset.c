/* dataset.c - overview of a data set: counts and ranges by device, family and metric.
 *
 * All values are listed with their group and sorted once; a group is then a run of them, and its median in the middle.
 * Every value is listed twice, for its family and for the family "all". */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/map.h"
#include "foretell/data_report.h"
#include "report/fields.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/style.h"

typedef struct entry {
    uint32_t device, family, metric;
    double value;
} entry;

/* Values of one metric on one device in one family; family 0 is all of them. */
typedef struct group {
    uint32_t device, family, metric;
    uint32_t count;
    double min, median, max;
} group;

typedef struct family_count {
    uint32_t records, graphs;
} family_count;

typedef struct overview {
    const ft_dataset *data;
    const char *name;
    const ft_style *style;
    arena memory;
    const char **devices, **families; /* in the order in which they appear; families[0] is "all" */
    uint32_t device_count, family_count;
    family_count *counts; /* by family */
    group *groups;
    uint32_t group_count;
    uint32_t *shown; /* groups in a table */
    uint32_t shown_count;
} overview;

/* --- Grouping ------------------------------------------------------------------------------------------------ */

typedef struct place {
    uint32_t device, family, graph;
} place;

static bool number_of(map *m, const char ***list, uint32_t *count, const char *text, uint32_t *number) {
    if (!map_add(m, text, *count, number)) return false;
    if (*number == *count) (*list)[(*count)++] = text;
    return true;
}

/* Lists devices and families, and assigns each record to its group. */
static place *find_places(overview *o) {
    uint32_t count = ft_dataset_record_count(o->data);
    const ft_record *records = ft_dataset_records(o->data);
    map devices, families;
    map_init(&devices, &o->memory);
    map_init(&families, &o->memory);
    place *places = ARENA_ARRAY(&o->memory, place, (size_t)count + 1);
    o->devices = ARENA_ARRAY(&o->memory, const char *, (size_t)count + 1);
    o->families = ARENA_ARRAY(&o->memory, const char *, (size_t)count + 1);
    if (places == NULL || o->devices == NULL || o->families == NULL) return NULL;
    o->families[o->family_count++] = "all";
    for (uint32_t i = 0; i < count; i++) {
        places[i].graph = records[i].graph;
        if (!number_of(&devices, &o->devices, &o->device_count, records[i].device, &places[i].device) ||
            !number_of(&families, &o->families, &o->family_count, records[i].family, &places[i].family))
            return NULL;
    }
    return places;
}

static int by_group(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->metric != y->metric) return x->metric < y->metric ? -1 : 1;
    if (x->family != y->family) return x->family < y->family ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static bool is_same_group(const entry *x, const entry *y) {
    return x->device == y->device && x->metric == y->metric && x->family == y->family;
}

static void add_group(overview *o, const entry *first, uint32_t count) {
    assert(count > 0);
    group *g = &o->groups[o->group_count++];
    *g = (group){.device = first->device, .family = first->family, .metric = first->metric, .count = count};
    g->min = first->value;
    g->max = first[count - 1].value;
    g->median = count % 2 != 0 ? first[count / 2].value : (first[count / 2 - 1].value + first[count / 2].value) / 2;
}

static bool find_groups(overview *o, const place *places) {
    uint32_t count = ft_dataset_record_count(o->data), metrics = ft_dataset_metric_count(o->data);
    entry *entries = ARENA_ARRAY(&o->memory, entry, (size_t)count * metrics * 2 + 1);
    if (entries == NULL) return false;
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t m = 0; m < metrics; m++) {
            double value = ft_dataset_records(o->data)[i].metrics[m];
            if (isnan(value)) continue;
            entries[used++] = (entry){places[i].device, places[i].family, m, value};
            entries[used++] = (entry){places[i].device, 0, m, value};
        }
    }
    qsort(entries, used, sizeof *entries, by_group);
    size_t groups = 0;
    for (size_t i = 0; i < used; i++) groups += i == 0 || !is_same_group(&entries[i - 1], &entries[i]);
    o->groups = ARENA_ARRAY(&o->memory, group, groups + 1);
    if (o->groups == NULL) return false;
    for (size_t i = 0, start = 0; i < used; i++) {
        if (i + 1 < used && is_same_group(&entries[i], &entries[i + 1])) continue;
        add_group(o, &entries[start], (uint32_t)(i + 1 - start));
        start = i + 1;
    }
    assert(o->group_count == groups);
    return true;
}

static int by_family(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->family != y->family) return x->family < y->family ? -1 : 1;
    return (x->graph > y->graph) - (x->graph < y->graph);
}

static bool count_families(overview *o, place *places) {
    uint32_t count = ft_dataset_record_count(o->data);
    o->counts = ARENA_ARRAY(&o->memory, family_count, o->family_count);
    if (o->counts == NULL) return false;
    if (count > 0) qsort(places, count, sizeof *places, by_family);
    for (uint32_t i = 0; i < count; i++) {
        family_count *c = &o->counts[places[i].family];
        c->records++;
        c->graphs += i == 0 || by_family(&places[i - 1], &places[i]) != 0;
    }
    o->counts[0] = (family_count){count, ft_dataset_graph_count(o->data)};
    return true;
}

/* --- Table --------------------------------------------------------------------------------------------------- */

static void put(const overview *o, grid_cell *cell, const char *text) {
    text_fit(text, UINT32_MAX, o->style, cell->text, sizeof cell->text);
}

static void device_row(const void *user, uint32_t row, grid_cell *cells) {
    const overview *o = user;
    const group *g = &o->groups[o->shown[row]];
    const char *metric = ft_dataset_metric_name(o->data, g->metric);
    const double values[] = {g->min, g->median, g->max};
    put(o, &cells[0], o->devices[g->device]);
    put(o, &cells[1], metric);
    snprintf(cells[2].text, sizeof cells[2].text, "%u", g->count);
    for (int i = 0; i < 3; i++) metric_words(metric, values[i], cells[3 + i].text);
}

static void write_devices(const overview *o, sink *out) {
    static const grid_column columns[] = {
        {.title = "Device", .is_flexible = true}, {.title = "Metric", .is_flexible = true},
        {.title = "Records", .is_right = true},   {.title = "Min", .is_right = true, .drop = 1},
        {.title = "Median", .is_right = true},    {.title = "Max", .is_right = true, .drop = 2},
    };
    grid_write(&(grid){.style = o->style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = 2,
                       .row = device_row,
                       .user = o,
                       .row_count = o->shown_count},
               out);
}

static void family_row(const void *user, uint32_t row, grid_cell *cells) {
    const overview *o = user;
    uint32_t family = row + 1;
    put(o, &cells[0], o->families[family][0] != '\0' ? o->families[family] : "(none)");
    snprintf(cells[1].text, sizeof cells[1].text, "%u", o->counts[family].graphs);
    snprintf(cells[2].text, sizeof cells[2].text, "%u", o->counts[family].records);
}

static void write_families(const overview *o, sink *out) {
    static const grid_column columns[] = {{.title = "Family", .is_flexible = true},
                                          {.title = "Graphs", .is_right = true},
                                          {.title = "Records", .is_right = true}};
    grid_write(&(grid){.style = o->style,
                       .columns = columns,
                       .column_count = 3,
                       .indent = 2,
                       .row = family_row,
                       .user = o,
                       .row_count = o->family_count - 1},
               out);
}

static bool write_table(overview *o, sink *out) {
    char title[512];
    o->shown = ARENA_ARRAY(&o->memory, uint32_t, (size_t)o->group_count + 1);
    if (o->shown == NULL) return false;
    for (uint32_t i = 0; i < o->group_count; i++) {
        if (o->groups[i].family == 0) o->shown[o->shown_count++] = i;
    }
    text_fit(o->name, o->style->width, o->style, title, sizeof title);
    buf_format(&out->text, "%s%s%s\n", tone_begin(o->style, TONE_TITLE), title, tone_end(o->style, TONE_TITLE));
    buf_format(&out->text, "  Graphs   %u distinct\n  Records  %u\n  Hash     %s\n\n", ft_dataset_graph_count(o->data),
               ft_dataset_record_count(o->data), ft_dataset_hash(o->data));
    write_devices(o, out);
    buf_char(&out->text, '\n');
    write_families(o, out);
    return true;
}

/* --- JSON and CSV -------------------------------------------------------------------------------------------- */

static void json_groups(const overview *o, json_writer *j) {
    jsonw_key(j, "values");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < o->group_count; i++) {
        const group *g = &o->groups[i];
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_string(j, "device", o->devices[g->device]);
        jsonw_pair_string(j, "family", o->families[g->family]);
        jsonw_pair_string(j, "metric", ft_dataset_metric_name(o->data, g->metric));
        jsonw_pair_uint(j, "n", g->count);
        jsonw_pair_double(j, "min", g->min);
        jsonw_pair_double(j, "median", g->median);
        jsonw_pair_double(j, "max", g->max);
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void write_json(const overview *o, sink *out) {
    json_writer j;
    jsonw_init(&j, &out->text);
    jsonw_open_object(&j, JSON_BLOCK);
    jsonw_pair_string(&j, "data", o->name);
    jsonw_pair_string(&j, "hash", ft_dataset_hash(o->data));
    jsonw_pair_uint(&j, "graphs", ft_dataset_graph_count(o->data));
    jsonw_pair_uint(&j, "records", ft_dataset_record_count(o->data));
    jsonw_key(&j, "families");
    jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t i = 1; i < o->family_count; i++) {
        jsonw_open_object(&j, JSON_LINE);
        jsonw_pair_string(&j, "family", o->families[i]);
        jsonw_pair_uint(&j, "graphs", o->counts[i].graphs);
        jsonw_pair_uint(&j, "records", o->counts[i].records);
        jsonw_close(&j);
    }
    jsonw_close(&j);
    json_groups(o, &j);
    jsonw_close(&j);
    buf_char(&out->text, '\n');
}

static void write_csv(const overview *o, sink *out) {
    buf_text(&out->text, "device,family,metric,n,min,median,max\n");
    for (uint32_t i = 0; i < o->group_count; i++) {
        const group *g = &o->groups[i];
        const double values[] = {g->min, g->median, g->max};
        csv_cell(&out->text, o->devices[g->device]);
        buf_char(&out->text, ',');
        csv_cell(&out->text, o->families[g->family]);
        buf_format(&out->text, ",%s,%u", ft_dataset_metric_name(o->data, g->metric), g->count);
        for (int k = 0; k < 3; k++) {
            char text[DOUBLE_TEXT_SIZE];
            double_text(values[k], text);
            buf_format(&out->text, ",%s", text);
        }
        buf_char(&out->text, '\n');
    }
}

ft_status ft_report_dataset(FILE *stream, const ft_style *style, const char *name, const ft_dataset *data,
                            ft_error *error) {
    FT_REQUIRE(error, stream, style, name, data);
    FT_TRY(style_check(style, error));
    overview o = {.data = data, .name = name, .style = style};
    sink out = {.stream = stream};
    arena_init(&o.memory, UINT64_MAX);
    place *places = find_places(&o);
    bool has_room = places != NULL && find_groups(&o, places) && count_families(&o, places);
    if (has_room && style->output == FT_TABLE) has_room = write_table(&o, &out);
    if (has_room && style->output == FT_JSON) write_json(&o, &out);
    if (has_room && style->output == FT_CSV) write_csv(&o, &out);
    ft_status status = has_room ? sink_flush(&out, error) : FT_NOMEM(error);
    sink_free(&out);
    arena_free(&o.memory);
    return status;
}
