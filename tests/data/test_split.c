/* Tests of splits: percentages, names, each graph in one part only, and independence of order and of other records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/failing.h"
#include "support/folder.h"
#include "support/synth_data.h"

static const char *const devices[] = {"adreno-640", "cortex-a76"};

/* `networks` of them on both devices, families in turn; some of the second device only. */
static ft_dataset *make(const char *folder, uint32_t from, uint32_t to, bool is_backwards) {
    static const char *const families[] = {"one", "two", "three"};
    static const char *const parts[] = {"train", "valid", "test", "test_ood", "unused", ""};
    builder *b = synth_begin(folder);
    for (uint32_t i = from; i < to; i++) {
        uint32_t n = is_backwards ? to - 1 - (i - from) : i;
        for (uint32_t d = n % 7 == 0 ? 1 : 0; d < 2; d++) {
            synth_record r = {.network = n, .family = families[n % 3], .device = devices[d], .part = parts[n % 6]};
            r.time_us = 1 + n;
            synth_add(b, &r);
        }
    }
    return synth_end(b, folder);
}

static ft_split split_of(const ft_dataset *data, const char *spec, uint64_t seed) {
    ft_split split = {0};
    ft_error error;
    if (ft_split_make(data, spec, seed, &split, &error) != FT_OK) fail_msg("%s", error.message);
    return split;
}

static void refuses(const ft_dataset *data, const char *spec, const char *part) {
    ft_split split = {0};
    ft_error error = {.message = ""};
    assert_int_equal(ft_split_make(data, spec, 1, &split, &error), FT_ERR_USAGE);
    if (strstr(error.message, part) == NULL) fail_msg("%s: %s", spec, error.message);
    assert_null(split.parts);
}

/* All used records of a graph are in one part; counts are right. */
static void check_whole(const ft_dataset *data, const ft_split *split) {
    uint32_t count = ft_dataset_record_count(data), counts[4] = {0};
    const ft_record *records = ft_dataset_records(data);
    for (uint32_t i = 0; i < count; i++) {
        counts[split->parts[i]]++;
        for (uint32_t j = 0; j < i; j++) {
            if (records[i].graph != records[j].graph || split->parts[i] == 0 || split->parts[j] == 0) continue;
            assert_int_equal(split->parts[i], split->parts[j]);
        }
    }
    assert_memory_equal(counts, split->counts, sizeof counts);
}

/* The part of a network on a device. */
static ft_split_part part_of(const ft_dataset *data, const ft_split *split, uint32_t network, const char *device) {
    char name[32];
    snprintf(name, sizeof name, "net-%u", network);
    const ft_record *records = ft_dataset_records(data);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        if (strcmp(records[i].name, name) == 0 && strcmp(records[i].device, device) == 0)
            return (ft_split_part)split->parts[i];
    }
    fail_msg("no %s on %s", name, device);
    return FT_PART_UNUSED;
}

static void random_shares(void **state) {
    (void)state;
    ft_dataset *data = make("d", 0, 300, false);
    ft_split split = split_of(data, "random", 1);
    check_whole(data, &split);
    assert_string_equal(split.spec, "random");
    assert_int_equal(split.seed, 1);
    assert_int_equal(strlen(split.hash), 32);
    assert_int_equal(split.counts[FT_PART_UNUSED], 0);
    uint32_t count = ft_dataset_record_count(data);
    assert_in_range(split.counts[FT_PART_TRAIN], count * 74 / 100, count * 86 / 100);
    assert_in_range(split.counts[FT_PART_VALID], count * 5 / 100, count * 15 / 100);
    ft_split other = split_of(data, "random", 2), half = split_of(data, "random:50/0/50", 1);
    assert_string_not_equal(split.hash, other.hash);
    check_whole(data, &half);
    assert_int_equal(half.counts[FT_PART_VALID], 0);
    assert_in_range(half.counts[FT_PART_TEST], count * 40 / 100, count * 60 / 100);
    ft_split_free(&split);
    ft_split_free(&other);
    ft_split_free(&half);
    ft_split_free(NULL);
    ft_dataset_free(data);
}

/* Another order of records, and additional records: each network stays in its part. */
static void order_and_other_records_do_not_matter(void **state) {
    (void)state;
    ft_dataset *data = make("a", 0, 90, false), *backwards = make("b", 0, 90, true), *more = make("c", 0, 120, false);
    const char *const specs[] = {"random",       "family:two",    "device:cortex-a76", "device:cortex-a76:shared",
                                 "all",          "fewshot:one:5", "fold:name:4:2",     "fold:graph:3:1",
                                 "name:50/25/25"};
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        ft_split x = split_of(data, specs[s], 7), y = split_of(backwards, specs[s], 7), z = split_of(more, specs[s], 7);
        assert_string_equal(x.hash, y.hash);
        assert_string_not_equal(x.hash, z.hash);
        for (uint32_t n = 0; n < 90; n++) {
            assert_int_equal(part_of(data, &x, n, "cortex-a76"), part_of(backwards, &y, n, "cortex-a76"));
            if (s != 5) assert_int_equal(part_of(data, &x, n, "cortex-a76"), part_of(more, &z, n, "cortex-a76"));
        }
        ft_split_free(&x);
        ft_split_free(&y);
        ft_split_free(&z);
    }
    ft_dataset_free(data);
    ft_dataset_free(backwards);
    ft_dataset_free(more);
}

static void by_family(void **state) {
    (void)state;
    ft_dataset *data = make("d", 0, 90, false);
    ft_split split = split_of(data, "family:two", 3), few = split_of(data, "fewshot:two:4", 3);
    const ft_record *records = ft_dataset_records(data);
    check_whole(data, &split);
    check_whole(data, &few);
    bool is_shot[90] = {false};
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        bool is_two = strcmp(records[i].family, "two") == 0;
        assert_int_equal(split.parts[i] == FT_PART_TEST, is_two);
        if (!is_two) assert_int_equal(split.parts[i], few.parts[i]);
        if (is_two && few.parts[i] == FT_PART_TRAIN) is_shot[records[i].graph] = true;
        assert_true(few.parts[i] != FT_PART_TEST || is_two);
    }
    uint32_t shots = 0;
    for (int i = 0; i < 90; i++) shots += is_shot[i];
    assert_int_equal(shots, 4);
    assert_true(split.counts[FT_PART_VALID] > 0);
    ft_split_free(&split);
    ft_split_free(&few);
    ft_dataset_free(data);
}

static void by_device(void **state) {
    (void)state;
    ft_dataset *data = make("d", 0, 120, false);
    ft_split split = split_of(data, "device:cortexA76cpu_tflite21", 3),
             shared = split_of(data, "device:cortex-a76:shared", 3);
    const ft_record *records = ft_dataset_records(data);
    check_whole(data, &split);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        bool is_held_out = strcmp(records[i].device, "cortex-a76") == 0;
        assert_true(!is_held_out || split.parts[i] == FT_PART_TEST || split.parts[i] == FT_PART_UNUSED);
        assert_true(is_held_out || split.parts[i] != FT_PART_TEST);
        assert_int_equal(shared.parts[i] == FT_PART_TEST, is_held_out);
        assert_int_not_equal(shared.parts[i], FT_PART_UNUSED);
    }
    assert_true(split.counts[FT_PART_TEST] > 10 && split.counts[FT_PART_TEST] < 40);
    ft_split_free(&split);
    ft_split_free(&shared);
    ft_dataset_free(data);
}

static void by_order(void **state) {
    (void)state;
    ft_dataset *data = make("d", 0, 60, false);
    ft_split split = split_of(data, "order", 0), ood = split_of(data, "order:ood", 0);
    check_whole(data, &split);
    static const ft_split_part expected[] = {FT_PART_TRAIN,  FT_PART_VALID,  FT_PART_TEST,
                                             FT_PART_UNUSED, FT_PART_UNUSED, FT_PART_UNUSED};
    for (uint32_t n = 0; n < 60; n++) {
        assert_int_equal(part_of(data, &split, n, "cortex-a76"), expected[n % 6]);
        ft_split_part other = n % 6 == 2 ? FT_PART_UNUSED : n % 6 == 3 ? FT_PART_TEST : expected[n % 6];
        assert_int_equal(part_of(data, &ood, n, "cortex-a76"), other);
    }
    ft_split_free(&split);
    ft_split_free(&ood);
    ft_dataset_free(data);
}

/* A published set without a validation part has one of a tenth of its training graphs. */
static void by_order_without_validation(void **state) {
    (void)state;
    builder *b = synth_begin("d");
    for (uint32_t n = 0; n < 60; n++) {
        synth_record record = {
            .network = n, .family = "one", .device = "adreno-640", .part = n % 3 == 0 ? "test" : "train"};
        record.time_us = 1;
        synth_add(b, &record);
    }
    ft_dataset *data = synth_end(b, "d");
    ft_split split = split_of(data, "order", 0);
    assert_int_equal(split.counts[FT_PART_TEST], 20);
    assert_in_range(split.counts[FT_PART_VALID], 1, 12);
    assert_int_equal(split.counts[FT_PART_TRAIN] + split.counts[FT_PART_VALID], 40);
    ft_split_free(&split);
    ft_dataset_free(data);
}

/* Supporting records are in training in every split, but not on a held-out device. */
static void support_is_never_tested(void **state) {
    (void)state;
    builder *b = synth_begin("d");
    for (uint32_t n = 0; n < 60; n++) {
        synth_record record = {
            .network = n, .family = n < 30 ? "one" : "two", .device = "adreno-640", .part = "support"};
        record.time_us = 1;
        if (n >= 20) record.part = "";
        synth_add(b, &record);
        record.device = "cortex-a76";
        synth_add(b, &record);
    }
    ft_dataset *data = synth_end(b, "d");
    static const char *const specs[] = {"random:50/25/25",   "family:one",   "fewshot:two:3", "all",
                                        "device:cortex-a76", "fold:name:3:1"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        ft_split split = split_of(data, specs[i], 3);
        for (uint32_t n = 0; n < 20; n++) {
            assert_int_equal(part_of(data, &split, n, "adreno-640"), FT_PART_TRAIN);
            ft_split_part held_out = i == 4 ? FT_PART_UNUSED : FT_PART_TRAIN;
            assert_int_equal(part_of(data, &split, n, "cortex-a76"), held_out);
        }
        ft_split_free(&split);
    }
    ft_dataset_free(data);
}

/* The same graph in two families, and in two parts of the published split. */
static void equal_graphs_stay_together(void **state) {
    (void)state;
    builder *b = synth_begin("d");
    for (uint32_t n = 0; n < 30; n++) {
        synth_add(
            b, &(synth_record){.network = n, .family = "one", .device = "adreno-640", .part = "train", .time_us = 1});
        synth_record twin = {
            .network = n, .family = n < 15 ? "two" : "three", .device = "adreno-640", .setting = "run=2"};
        twin.part = n < 5 ? "test" : n < 9 ? "valid" : "train";
        twin.time_us = 2;
        synth_add(b, &twin);
    }
    ft_dataset *data = synth_end(b, "d");
    const char *const specs[] = {"random", "family:two", "fewshot:two:3", "order"};
    for (size_t i = 0; i < 4; i++) {
        ft_split split = split_of(data, specs[i], 5);
        check_whole(data, &split);
        if (i == 1) assert_int_equal(split.counts[FT_PART_TEST], 15);
        if (i == 1) assert_int_equal(split.counts[FT_PART_UNUSED], 15);
        if (i == 3) assert_int_equal(split.counts[FT_PART_TEST], 5);
        if (i == 3) assert_int_equal(split.counts[FT_PART_VALID], 4);
        if (i == 3) assert_int_equal(split.counts[FT_PART_TRAIN], 42);
        ft_split_free(&split);
    }
    ft_dataset_free(data);
}

/* Each group is tested in one fold and no other; names stay together up to the dot, and where they share a graph. */
static void by_fold(void **state) {
    (void)state;
    builder *b = synth_begin("d");
    for (uint32_t n = 0; n < 60; n++) {
        char name[32];
        snprintf(name, sizeof name, "model%u.tag%u", n / 2, n % 2);
        synth_record r = {.network = n, .family = "one", .device = "adreno-640", .name = name, .time_us = 1};
        synth_add(b, &r);
        if (n % 10 != 0) continue;
        snprintf(name, sizeof name, "other%u", n % 20); /* the same graph; it connects three others */
        synth_add(b, &r);
    }
    ft_dataset *data = synth_end(b, "d");
    uint32_t tested[80] = {0}, first[80] = {0}, count = ft_dataset_record_count(data);
    const ft_record *records = ft_dataset_records(data);
    for (uint32_t f = 1; f <= 4; f++) {
        char spec[32];
        snprintf(spec, sizeof spec, "fold:name:4:%u", f);
        ft_split split = split_of(data, spec, 11);
        check_whole(data, &split);
        assert_int_equal(split.counts[FT_PART_UNUSED], 0);
        for (uint32_t i = 0; i < count; i++) {
            if (split.parts[i] != FT_PART_TEST) continue;
            tested[i]++;
            first[i] = f;
        }
        ft_split_free(&split);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(tested[i], 1);
        for (uint32_t j = 0; j < i; j++) {
            size_t stem = strcspn(records[i].name, ".");
            bool is_same = strcspn(records[j].name, ".") == stem && memcmp(records[i].name, records[j].name, stem) == 0;
            if (is_same || records[i].graph == records[j].graph) assert_int_equal(first[i], first[j]);
        }
    }
    ft_dataset_free(data);
}

/* Names that begin with the same letters stay together; a name without leading letters is alone. */
static void by_fold_of_letters(void **state) {
    (void)state;
    static const char *const names[] = {"net50", "net_b.x", "Net50", "netv2", "set50", "set9", "50net", "51net"};
    enum { NAMES = sizeof names / sizeof names[0], SEEDS = 60 };
    builder *b = synth_begin("d");
    for (uint32_t n = 0; n < NAMES; n++) {
        synth_record r = {.network = n, .family = "one", .device = "adreno-640", .name = names[n], .time_us = 1};
        synth_add(b, &r);
    }
    ft_dataset *data = synth_end(b, "d");
    const ft_record *records = ft_dataset_records(data);
    bool is_apart[NAMES][NAMES] = {{false}};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        ft_split split;
        if (ft_split_make(data, "fold:letters:2:1", seed, &split, NULL) != FT_OK) continue; /* all in one part */
        for (uint32_t i = 0; i < NAMES; i++)
            for (uint32_t j = 0; j < NAMES; j++) is_apart[i][j] |= split.parts[i] != split.parts[j];
        ft_split_free(&split);
    }
    for (uint32_t i = 0; i < NAMES; i++)
        for (uint32_t j = 0; j < NAMES; j++) {
            size_t one = strcspn(records[i].name, "0123456789_"), other = strcspn(records[j].name, "0123456789_");
            bool is_same = one == other && one > 0 && memcmp(records[i].name, records[j].name, one) == 0;
            assert_int_equal(is_apart[i][j], i != j && !is_same);
        }
    ft_dataset_free(data);
}

static void by_fold_of_families(void **state) {
    (void)state;
    ft_dataset *data = make("d", 0, 60, false);
    ft_split split = split_of(data, "fold:family:2:1", 1), other = split_of(data, "fold:family:2:2", 1);
    const ft_record *records = ft_dataset_records(data);
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++) {
        assert_int_not_equal(split.parts[i] == FT_PART_TEST, other.parts[i] == FT_PART_TEST);
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(records[i].family, records[j].family) == 0) assert_int_equal(split.parts[i], split.parts[j]);
        }
    }
    ft_split_free(&split);
    ft_split_free(&other);
    ft_dataset_free(data);
}

static void order_does_not_matter_with_deal(void **state) {
    (void)state;
    ft_dataset *data = make("a", 0, 90, false), *backwards = make("b", 0, 90, true);
    ft_split x = split_of(data, "deal:name:4:2", 7), y = split_of(backwards, "deal:name:4:2", 7);
    assert_string_equal(x.hash, y.hash);
    ft_split_free(&x);
    ft_split_free(&y);
    ft_dataset_free(data);
    ft_dataset_free(backwards);
}

/* Two families that contain most of the graphs are dealt to two folds for every seed, and folds have equal sizes;
 * the rest differs from seed to seed. */
static void dealt_folds_have_equal_sizes(void **state) {
    (void)state;
    static const uint32_t sizes[] = {40, 38, 9, 9, 9, 9, 9, 9, 9, 9};
    enum { FAMILIES = sizeof sizes / sizeof sizes[0], FOLDS = 3, SEEDS = 8 };
    builder *b = synth_begin("d");
    for (uint32_t f = 0, n = 0; f < FAMILIES; f++) {
        char family[32];
        snprintf(family, sizeof family, "family%u", f);
        for (uint32_t i = 0; i < sizes[f]; i++, n++) {
            synth_record r = {.network = n, .family = family, .device = "adreno-640", .time_us = 1};
            synth_add(b, &r);
        }
    }
    ft_dataset *data = synth_end(b, "d");
    const ft_record *records = ft_dataset_records(data);
    uint32_t count = ft_dataset_record_count(data), same = 0;
    uint32_t fold_of[SEEDS][FAMILIES];
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        for (uint32_t fold = 1; fold <= FOLDS; fold++) {
            char spec[32];
            snprintf(spec, sizeof spec, "deal:family:%d:%u", (int)FOLDS, fold);
            ft_split split = split_of(data, spec, seed);
            assert_in_range(split.counts[FT_PART_TEST], 45, 56);
            for (uint32_t i = 0; i < count; i++)
                if (split.parts[i] == FT_PART_TEST) fold_of[seed][records[i].family[6] - '0'] = fold;
            ft_split_free(&split);
        }
        assert_int_not_equal(fold_of[seed][0], fold_of[seed][1]);
        same += memcmp(fold_of[seed], fold_of[0], sizeof fold_of[0]) == 0;
    }
    assert_int_equal(same, 1);
    ft_dataset_free(data);
}

static void all_of_it(void **state) {
    (void)state;
    ft_dataset *data = make("d", 0, 60, false);
    ft_split split = split_of(data, "all", 0);
    check_whole(data, &split);
    assert_int_equal(split.counts[FT_PART_TEST], 0);
    assert_int_equal(split.counts[FT_PART_UNUSED], 0);
    assert_true(split.counts[FT_PART_VALID] > 0 && split.counts[FT_PART_VALID] < split.counts[FT_PART_TRAIN]);
    ft_split_free(&split);
    ft_dataset_free(data);
}

static void wrong_specs(void **state) {
    (void)state;
    ft_dataset *data = make("d", 0, 30, false);
    refuses(data, "", "expected random");
    refuses(data, "randomly", "split 'randomly': expected random[:80/10/10], name[:80/10/10], family:NAME");
    refuses(data, "random:80/20", "80/10/10");
    refuses(data, "random:80/10/10/0", "80/10/10");
    refuses(data, "random:80/30/-10", "80/10/10");
    refuses(data, "random:80/10/20", "add up to 100");
    refuses(data, "random:", "80/10/10");
    refuses(data, "random:100/0/0", "part 'test'");
    refuses(data, "random:0/0/100", "part 'train'");
    refuses(data, "family", "the name is missing");
    refuses(data, "family:", "the name is missing");
    refuses(data, "family:four", "the data set has no family 'four'; it has one, three, two");
    refuses(data, "device:abacus", "the data set has no device 'abacus'; it has adreno-640, cortex-a76");
    refuses(data, "device:myriad-vpu", "it has adreno-640");
    refuses(data, "fewshot:two", "NAME:K");
    refuses(data, "fewshot:two:0", "NAME:K");
    refuses(data, "fewshot:two:x", "NAME:K");
    refuses(data, "fewshot:two:10", "'two' has 10 graphs");
    refuses(data, "fewshot:four:1", "no family 'four'");
    refuses(data, "order:of magnitude", "'order' or 'order:ood'");
    refuses(data, "fold", "expected 'fold:KEY:K:I'");
    refuses(data, "name:50/25", "is not of the form 80/10/10");
    refuses(data, "fold:name:5", "expected 'fold:KEY:K:I'");
    refuses(data, "fold:name:5:0", "expected 'fold:KEY:K:I'");
    refuses(data, "fold:name:5:6", "expected 'fold:KEY:K:I'");
    refuses(data, "fold:name:1:1", "expected 'fold:KEY:K:I'");
    refuses(data, "fold:shoe:5:1", "expected 'fold:KEY:K:I'");
    refuses(data, "fold:name:5:1:2", "expected 'fold:KEY:K:I'");
    refuses(data, "deal:name:5:6", "expected 'deal:KEY:K:I'");
    refuses(data, "all:of it", "takes no argument");
    char longest[400];
    memset(longest, 'x', sizeof longest);
    longest[399] = '\0';
    refuses(data, longest, "too long");
    ft_dataset_free(data);
    builder *b = synth_begin("e");
    synth_add(b, &(synth_record){.network = 1, .family = "", .device = "adreno-640", .time_us = 1});
    data = synth_end(b, "e");
    refuses(data, "order", "the column 'part'");
    refuses(data, "family:one", "it has none");
    refuses(data, "random", "falls into the part");
    ft_dataset_free(data);
}

/* Three models are enough for every part, whatever the seed; the order of the records does not matter, and percentages
 * of zero stay empty. */
static void small_sets_have_all_parts(void **state) {
    (void)state;
    static const char *const specs[] = {"random", "name", "random:60/20/20", "all"};
    for (int count = 3; count <= 12; count++) {
        char folder[32];
        snprintf(folder, sizeof folder, "small%d", count);
        builder *b = synth_begin(folder);
        for (int i = 0; i < count; i++)
            synth_add(b, &(synth_record){.network = i, .family = "f", .device = "adreno-640", .time_us = 1 + i});
        ft_dataset *data = synth_end(b, folder);
        for (uint64_t seed = 0; seed < 40; seed++) {
            for (uint32_t s = 0; s < 4; s++) {
                ft_split split;
                ft_error error;
                if (ft_split_make(data, specs[s], seed, &split, &error) != FT_OK) fail_msg("%s", error.message);
                assert_true(split.counts[FT_PART_TRAIN] >= 1);
                assert_true(split.counts[FT_PART_VALID] >= (count > 3 || s == 3 ? 2 : 1));
                assert_int_equal(split.counts[FT_PART_TEST] >= 1, s != 3);
                ft_split_free(&split);
            }
            refuses(data, "random:100/0/0", "part 'test'");
        }
        ft_dataset_free(data);
    }
}

/* Published results name a split and a seed: the same records must be in the same parts in every version. */
static void splits_are_the_same_in_every_version(void **state) {
    (void)state;
    static const struct {
        const char *spec, *hash;
    } all[] = {
        {"random", "274366165320505c65f72240499f50a6"},
        {"random:50/25/25", "9d9b081951bd1ff10f46ecd8f167afbe"},
        {"name:60/20/20", "d370eb975bc7944dbc7bc27a2f27ddcd"},
        {"family:two", "413ff9b9e04a7cf6b0433ee179b28705"},
        {"device:cortex-a76", "aab6cedf8beb8b0ea2f71d87d287dcc6"},
        {"device:cortex-a76:shared", "64811ef7d58bbd24434759350b3f0c4f"},
        {"order", "3112e30bcff16c6d1d3b55ef603479a4"},
        {"order:ood", "6e44c80618641da265ff5323ba0b7419"},
        {"fewshot:two:3", "23c8204fc31b34a09902d5bef14d3749"},
        {"fold:name:3:1", "7fcbc59838157d008fe70188e1d599fd"},
        {"fold:graph:4:2", "5af509b780e9412da5379a5327b1cb9f"},
        {"deal:graph:4:2", "6e7af21e7d0d47dfba61169be7b2c852"},
        {"deal:name:3:3", "3c6e9aa9b9574f413c605e6f584f055d"},
        {"all", "401fb6492450064f1778bd9e5f4b494c"},
    };
    ft_dataset *data = make("d", 0, 60, false);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ft_split split = split_of(data, all[i].spec, UINT64_C(0x123456789abcdef0));
        if (strcmp(split.hash, all[i].hash) != 0) fail_msg("%s: %s", all[i].spec, split.hash);
        ft_split_free(&split);
    }
    ft_dataset_free(data);
}

static void parts_have_names(void **state) {
    (void)state;
    for (ft_split_part part = FT_PART_UNUSED; part <= FT_PART_TEST; part++) {
        ft_split_part parsed = FT_PART_UNUSED;
        assert_true(ft_split_part_parse(ft_split_part_name(part), &parsed));
        assert_int_equal(parsed, part);
    }
    ft_split_part none;
    assert_false(ft_split_part_parse("tests", &none));
    assert_false(ft_split_part_parse("", &none));
}

static void memory_runs_out(void **state) {
    (void)state;
    ft_dataset *data = make("d", 0, 12, false);
    const char *const specs[] = {"fewshot:two:2", "fold:graph:2:1", "deal:graph:2:1"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        for (long n = 0;; n++) {
            ft_split split = {0};
            failing_start(n);
            ft_status status = ft_split_make(data, specs[i], 1, &split, NULL);
            bool has_failed = failing_stop();
            ft_split_free(&split);
            if (!has_failed) break;
            assert_int_equal(status, FT_ERR_NOMEM);
        }
    }
    ft_dataset_free(data);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(random_shares),
        IN_FOLDER(order_and_other_records_do_not_matter),
        IN_FOLDER(by_family),
        IN_FOLDER(by_device),
        IN_FOLDER(by_order),
        IN_FOLDER(by_order_without_validation),
        IN_FOLDER(equal_graphs_stay_together),
        IN_FOLDER(support_is_never_tested),
        IN_FOLDER(by_fold),
        IN_FOLDER(by_fold_of_letters),
        IN_FOLDER(by_fold_of_families),
        IN_FOLDER(dealt_folds_have_equal_sizes),
        IN_FOLDER(order_does_not_matter_with_deal),
        IN_FOLDER(all_of_it),
        IN_FOLDER(small_sets_have_all_parts),
        IN_FOLDER(wrong_specs),
        IN_FOLDER(splits_are_the_same_in_every_version),
        cmocka_unit_test(parts_have_names),
        IN_FOLDER(memory_runs_out),
    };
    return cmocka_run_group_tests_name("data/split", tests, NULL, NULL);
}
