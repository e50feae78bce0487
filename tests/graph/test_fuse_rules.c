/* Loading of rule files: bundled sets, valid files, and every kind of invalid file with its message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/embedded.h"
#include "graph/fuse.h"
#include "graph/opdef.h"
#include "support/folder.h"

#define HEAD "{\"foretell_rules\": 1, \"name\": \"mine\""

static ft_status parse(const char *text, ft_rules **rules, ft_error *error) {
    return rules_parse(text, strlen(text), "my.json", rules, error);
}

static void accepts(const char *text) {
    ft_rules *rules = NULL;
    ft_error error = {.message = ""};
    if (parse(text, &rules, &error) != FT_OK) fail_msg("%s: %s", text, error.message);
    ft_rules_free(rules);
}

/* Fails with this status, and with a message that begins with the file and holds all of the parts. */
static void refuses(const char *text, ft_status status, const char *part, const char *other) {
    ft_rules *rules = NULL;
    ft_error error = {.message = ""};
    ft_status found = parse(text, &rules, &error);
    if (found != status) fail_msg("%s: status %d, %s", text, found, error.message);
    assert_null(rules);
    assert_int_equal(error.status, status);
    if (strncmp(error.message, "my.json: ", 9) != 0 || strstr(error.message, part) == NULL ||
        strstr(error.message, other) == NULL)
        fail_msg("%s: the message is \"%s\"", text, error.message);
    assert_int_equal(parse(text, &rules, NULL), status);
}

static void test_bundled_sets(void **state) {
    (void)state;
    static const char *const sets[] = {"tflite-cpu", "tflite-gpu",  "openvino-vpu",
                                       "vela",       "torch-eager", "torch-compile",
                                       "ncnn-cpu",   "tensorrt",    "onnxruntime-cuda"};
    const uint32_t count = sizeof sets / sizeof sets[0];
    assert_int_equal(ft_rules_count(), count);
    for (uint32_t i = 0; i < rules_builtin_count; i++) accepts(rules_builtin[i].json);
    for (size_t i = 0; i < count; i++) {
        ft_rules *rules = NULL;
        ft_error error = {.message = ""};
        if (ft_rules_open(sets[i], &rules, &error) != FT_OK) fail_msg("%s", error.message);
        assert_string_equal(ft_rules_name(rules), sets[i]);
        bool is_listed = false;
        for (uint32_t k = 0; k < ft_rules_count(); k++) {
            if (strcmp(ft_rules_name_at(k), sets[i]) != 0) continue;
            is_listed = true;
            assert_string_equal(ft_rules_text_at(k), rules->text);
            assert_true(strlen(rules->text) > 20);
        }
        assert_true(is_listed);
        ft_rules_free(rules);
    }
    assert_null(ft_rules_name_at(count));
    assert_null(ft_rules_text_at(count));
    ft_rules_free(NULL);
}

/* A kernel name of the table, as computed by fuse_name.c. */
static bool is_in_table(const char *name) {
    static const char *const made[] = {"dwconv", "fc", "gap", "select", "matmul"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        if (strcmp(made[i], name) == 0) return true;
    }
    for (uint32_t i = 0; i < ft_opdef_count(); i++) {
        const ft_opdef *def = ft_opdef_at(i);
        if (strcasecmp(def->kernel != NULL ? def->kernel : def->name, name) == 0) return true;
    }
    return false;
}

/* A name in the rules that no operator and no block has would be a rule that never applies: a mistake. */
static void test_bundled_names(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ft_rules_count(); i++) {
        ft_rules *rules = NULL;
        assert_int_equal(ft_rules_open(ft_rules_name_at(i), &rules, NULL), FT_OK);
        for (uint32_t k = 0; k < rules->symbols.capacity; k++) {
            const char *name = rules->symbols.slots[k].key;
            bool is_known = name == NULL || is_in_table(name);
            for (uint32_t b = 0; !is_known && b < rules->block_count; b++)
                is_known = strcmp(rules->blocks[b].name, name) == 0;
            if (!is_known) fail_msg("%s: nothing is called '%s'", ft_rules_name(rules), name);
        }
        ft_rules_free(rules);
    }
}

/* The pairs that nn-Meter recorded as true, as far as our sets include them (docs/fusion.md lists the others). */
static bool has_pair(const ft_rules *rules, const char *root, const char *next) {
    uint32_t a, b;
    return map_get(&rules->symbols, root, &a) && map_get(&rules->symbols, next, &b) &&
           rules->pairs[a * rules->symbol_count + b];
}

static void test_recorded_pairs(void **state) {
    (void)state;
    static const char *const recorded[][2] = {
        {"tflite-cpu", "bn relu,conv bn,dwconv bn,se relu,conv hswish,fc add,fc relu,conv relu,add relu,relu relu,"
                       "dwconv relu,reshape relu,reshape reshape"},
        {"tflite-gpu",
         "bn relu,conv bn,dwconv bn,se relu,conv hswish,maxpool add,avgpool relu,fc add,fc relu,"
         "convtrans add,convtrans relu,concat add,concat relu,conv add,conv relu,add add,add relu,relu add,"
         "relu relu,dwconv add,dwconv relu,reshape add,reshape reshape"},
        {"openvino-vpu", "conv bn,dwconv bn,se relu,conv hswish,maxpool add,avgpool relu,convtrans relu,conv maxpool,"
                         "conv relu,add avgpool,add relu,dwconv relu,reshape reshape"},
    };
    static const char *const denied[][2] = {
        {"tflite-cpu", "conv add,avgpool relu,conv maxpool,conv se,add add"},
        {"tflite-gpu", "conv maxpool,conv se,add conv,relu conv,avgpool concat"},
        {"openvino-vpu", "bn relu,conv add,conv se,fc relu,relu relu,add add"},
    };
    for (size_t i = 0; i < 6; i++) {
        const char *const *row = i < 3 ? recorded[i] : denied[i - 3];
        ft_rules *rules = NULL;
        assert_int_equal(ft_rules_open(row[0], &rules, NULL), FT_OK);
        char copy[512], *rest, *inner;
        snprintf(copy, sizeof copy, "%s", row[1]);
        for (char *pair = strtok_r(copy, ",", &rest); pair != NULL; pair = strtok_r(NULL, ",", &rest)) {
            char *root = strtok_r(pair, " ", &inner), *next = strtok_r(NULL, " ", &inner);
            if (has_pair(rules, root, next) != (i < 3)) fail_msg("%s: %s, %s", row[0], root, next);
        }
        ft_rules_free(rules);
    }
}

static void test_good_files(void **state) {
    (void)state;
    accepts(HEAD "}");
    accepts(HEAD ", \"text\": \"\", \"free\": [], \"blocks\": [], \"pairs\": [], \"reductions\": []}");
    accepts(HEAD ", \"convolutions\": \"array\"}");
    accepts(HEAD ", \"grow\": \"trees\", \"types\": \"set\", \"free\": [\"@view\", \"@data-movement\"]}");
    accepts(HEAD ", \"blocks\": [{\"name\": \"b\", \"class\": \"matrix-product\", \"root\": \"a\","
                 " \"pattern\": [\"a(x)\", \" a ( c | b ? ( x , _ ) , y:c(#, $) )\"]}]}");
}

static void test_bad_values(void **state) {
    (void)state;
    refuses("", FT_ERR_DAMAGED, "line 1", "");
    refuses(HEAD, FT_ERR_DAMAGED, "line 1", "");
    refuses("[]", FT_ERR_FORMAT, "a list", "an object");
    refuses("{}", FT_ERR_FORMAT, "foretell_rules", "not a rule file");
    refuses("{\"foretell_rules\": 1}", FT_ERR_DAMAGED, "no key 'name'", "");
    refuses("{\"foretell_rules\": 2, \"name\": \"a\"}", FT_ERR_UNSUPPORTED, "'foretell_rules'", "version");
    refuses("{\"foretell_rules\": 1, \"name\": \"A b\"}", FT_ERR_DAMAGED, "'name'", "'A b'");
    refuses(HEAD ", \"name\": \"twice\"}", FT_ERR_DAMAGED, "line 1", "duplicate");
    refuses(HEAD ", \"pears\": []}", FT_ERR_DAMAGED, "'pears'", "unknown key");
    refuses(HEAD ", \"free\": {}}", FT_ERR_DAMAGED, "'free'", "an object");
    refuses(HEAD ", \"free\": [\"conv\", 7]}", FT_ERR_DAMAGED, "'free': item 2", "a number");
    refuses(HEAD ", \"free\": [\"Conv\"]}", FT_ERR_DAMAGED, "'free': item 1", "'Conv'");
    refuses(HEAD ", \"free\": [\"@views\"]}", FT_ERR_DAMAGED, "item 1", "'@views'");
    refuses(HEAD ", \"free\": [\"a\\u0000b\"]}", FT_ERR_DAMAGED, "", "");
    refuses(HEAD ", \"convolutions\": \"gpu\"}", FT_ERR_DAMAGED, "'convolutions'", "'cores' or 'array'");
    refuses(HEAD ", \"grow\": \"bushes\"}", FT_ERR_DAMAGED, "'grow'", "'chains' or 'trees'");
    refuses(HEAD ", \"types\": null}", FT_ERR_DAMAGED, "'types'", "null");
    refuses(HEAD ", \"pairs\": {}}", FT_ERR_DAMAGED, "'pairs'", "list");
    refuses(HEAD ", \"pairs\": [{\"roots\": []}]}", FT_ERR_DAMAGED, "'pairs': item 1", "'take'");
    refuses(HEAD ", \"pairs\": [{\"roots\": [], \"take\": [true]}]}", FT_ERR_DAMAGED, "'take': item 1", "a boolean");
    refuses(HEAD ", \"pairs\": [{\"roots\": [], \"take\": [], \"and\": []}]}", FT_ERR_DAMAGED, "item 1", "no others");
}

static void test_bad_blocks(void **state) {
    (void)state;
    static const struct {
        const char *block, *part, *other;
    } cases[] = {
        {"7", "block 1", "a number"},
        {"{}", "block 1", "'pattern'"},
        {"{\"name\": \"a\"}", "block 1", "'pattern'"},
        {"{\"name\": \"@view\", \"pattern\": \"a(x)\"}", "'name'", "class"},
        {"{\"name\": \"a\", \"pattern\": \"a(x)\", \"class\": \"conv\"}", "'class'", "'conv'"},
        {"{\"name\": \"a\", \"pattern\": \"a(x)\", \"roots\": \"a\"}", "'roots'", "unknown key"},
        {"{\"name\": \"a\", \"pattern\": []}", "'pattern'", "0 patterns"},
        {"{\"name\": \"a\", \"pattern\": \"\"}", "column 1", "expected a name"},
        {"{\"name\": \"a\", \"pattern\": \"x\"}", "outermost", ""},
        {"{\"name\": \"a\", \"pattern\": \"#\"}", "outermost", ""},
        {"{\"name\": \"a\", \"pattern\": \"a?(x)\"}", "outermost", ""},
        {"{\"name\": \"a\", \"pattern\": \"a(x\"}", "column 4", "')'"},
        {"{\"name\": \"a\", \"pattern\": \"a()\"}", "column 3", "expected a name"},
        {"{\"name\": \"a\", \"pattern\": \"a(x))\"}", "column 5", "end of the pattern"},
        {"{\"name\": \"a\", \"pattern\": \"a(b|c)\"}", "column 6", "'('"},
        {"{\"name\": \"a\", \"pattern\": \"a(b|(x))\"}", "expected a name", "column 5"},
        {"{\"name\": \"a\", \"pattern\": \"a(x, x:b(y))\"}", "after its first use", "column 8"},
        {"{\"name\": \"a\", \"pattern\": \"a(x:b)\"}", "expected '('", "column 6"},
        {"{\"name\": \"a\", \"pattern\": \"a(y:b?(x))\"}", "optional", "column"},
        {"{\"name\": \"a\", \"pattern\": \"a(@nothing(x))\"}", "'@nothing'", "pattern"},
        {"{\"name\": \"a\", \"pattern\": \"a(B(x))\"}", "'B'", "pattern"},
        {"{\"name\": \"a\", \"pattern\": \"a(b,c,d,e,f)\"}", "too many arguments", "column"},
        {"{\"name\": \"a\", \"pattern\": \"a(b,c,d,p(e,f,g,q(h,i,j)))\"}", "too many variables", "column"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, HEAD ", \"blocks\": [%s]}", cases[i].block);
        refuses(text,
                strstr(cases[i].part, "'pattern'") && strstr(cases[i].other, "0 p") ? FT_ERR_LIMIT : FT_ERR_DAMAGED,
                cases[i].part, cases[i].other);
    }
}

/* --- Limits: as much as is possible, and one more ------------------------------------------------------------- */

static char *repeat(const char *before, const char *unit, uint32_t count, const char *after) {
    size_t size = strlen(before) + (strlen(unit) + 16) * (size_t)count + strlen(after) + 1;
    char *text = malloc(size), *at = text;
    assert_non_null(text);
    at += sprintf(at, "%s", before);
    for (uint32_t i = 0; i < count; i++) at += sprintf(at, unit, i);
    sprintf(at, "%s", after);
    return text;
}

static void check_limit(const char *before, const char *unit, uint32_t count, const char *after, ft_status status) {
    char *fits = repeat(before, unit, count, after), *exceeds = repeat(before, unit, count + 1, after);
    accepts(fits);
    refuses(exceeds, status, "", "");
    free(fits);
    free(exceeds);
}

static void test_limits(void **state) {
    (void)state;
    check_limit(HEAD ", \"free\": [\"n\"", ",\"n%u\"", RULES_MAX_NAMES - 1, "]}", FT_ERR_LIMIT);
    const char *unit = "{\"name\": \"b\", \"pattern\": \"b(x)\"},";
    check_limit(HEAD ", \"blocks\": [", unit, RULES_MAX_BLOCKS - 1, "{\"name\": \"b\", \"pattern\": \"b(x)\"}]}",
                FT_ERR_LIMIT);
    check_limit(HEAD ", \"blocks\": [{\"name\": \"b\", \"pattern\": [\"b(x)\"", ",\"b(x)\"", RULES_MAX_BLOCKS - 1,
                "]}]}", FT_ERR_LIMIT);
    /* Terms: one for each "b(", and the innermost variable. */
    char *tail = repeat("x", ")", PATTERN_MAX_TERMS - 1, "\"}]}"), *more = repeat("x", ")", PATTERN_MAX_TERMS, "\"}]}");
    char *fits = repeat(HEAD ", \"blocks\": [{\"name\": \"b\", \"pattern\": \"", "b(", PATTERN_MAX_TERMS - 1, tail);
    char *exceeds = repeat(HEAD ", \"blocks\": [{\"name\": \"b\", \"pattern\": \"", "b(", PATTERN_MAX_TERMS, more);
    accepts(fits);
    refuses(exceeds, FT_ERR_DAMAGED, "too many terms", "");
    free(tail);
    free(more);
    free(fits);
    free(exceeds);
    check_limit(HEAD ", \"blocks\": [{\"name\": \"b\", \"pattern\": \"a", "|a", PATTERN_MAX_NAMES - 1, "(x)\"}]}",
                FT_ERR_DAMAGED);
    char *large = calloc(1, RULES_MAX_BYTES + 2);
    assert_non_null(large);
    memset(large, ' ', RULES_MAX_BYTES + 1);
    memcpy(large, HEAD "}", strlen(HEAD "}"));
    refuses(large, FT_ERR_LIMIT, "a rule file has at most", "");
    large[RULES_MAX_BYTES] = '\0';
    accepts(large);
    free(large);
    /* Nesting that would exhaust the stack. */
    char *deep = repeat(HEAD ", \"free\": ", "[", 100000, "");
    refuses(deep, FT_ERR_DAMAGED, "line 1", "");
    free(deep);
}

/* --- Opening by name and by path ----------------------------------------------------------------------------- */

static void test_open(void **state) {
    (void)state;
    ft_rules *rules = NULL;
    ft_error error = {.message = ""};
    assert_int_equal(ft_rules_open("openvino-gpu", &rules, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "'openvino-gpu'"));
    assert_non_null(strstr(error.message, "openvino-vpu"));
    assert_int_equal(ft_rules_open("openvino-gpu", &rules, NULL), FT_ERR_USAGE);
    assert_int_equal(ft_rules_open("nowhere/at-all.json", &rules, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "nowhere/at-all.json"));
    assert_int_equal(ft_rules_open("", &rules, &error), FT_ERR_USAGE);

    const char *path = "./mine.json";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    const char *text = HEAD ", \"free\": [\"relu\"]}";
    fputs(text, file);
    fclose(file);
    assert_int_equal(ft_rules_open(path, &rules, &error), FT_OK);
    assert_string_equal(ft_rules_name(rules), "mine");
    ft_rules_free(rules);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bundled_sets),   cmocka_unit_test(test_bundled_names),
        cmocka_unit_test(test_recorded_pairs), cmocka_unit_test(test_good_files),
        cmocka_unit_test(test_bad_values),     cmocka_unit_test(test_bad_blocks),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_open),
    };
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
