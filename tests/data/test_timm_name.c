/* Tests of parsing timm's model names, precisions and versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "data/timm.h"

static void families(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"resnet50.a1_in1k", "resnet"},
        {"seresnext101_32x4d", "resnext"},
        {"legacy_seresnet18", "resnet"},
        {"wide_resnet50_2", "resnet"},
        {"ens_adv_inception_resnet_v2", "inception"},
        {"inception_next_tiny", "inception_next"},
        {"tf_efficientnetv2_s.in21k", "efficientnet"},
        {"gc_efficientnetv2_rw_t", "efficientnet"},
        {"vit_base_patch16_224.augreg_in21k", "vit"},
        {"flexivit_small", "vit"},
        {"tiny_vit_5m_224", "tiny_vit"},
        {"deit3_base_patch16_224", "deit"},
        {"swinv2_cr_tiny_224", "swin"},
        {"convnextv2_atto", "convnext"},
        {"cs3se_edgenet_x", "darknet"},
        {"halo2botnet50ts_256", "botnet"},
        {"eca_botnext26ts_256", "botnet"},
        {"nf_regnet_b1", "regnet"},
        {"dm_nfnet_f0", "nfnet"},
        {"mobilenet_edgetpu_v2_l", "mobilenet"},
        {"res2net50_26w_4s", "res2net"},
        {"pnasnet5large", "pnasnet"},
        {"newnet_tiny.some_tag", "newnet"},
        {"7up", "7up"},
        {"tf_", "tf"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char family[TIMM_FAMILY_BYTES];
        timm_family(pairs[i][0], family);
        if (strcmp(family, pairs[i][1]) != 0) fail_msg("%s: %s", pairs[i][0], family);
    }
}

static void long_names_are_cut(void **state) {
    (void)state;
    char name[300], family[TIMM_FAMILY_BYTES];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    timm_family(name, family);
    assert_int_equal(strlen(family), TIMM_FAMILY_BYTES - 1);
}

static void precisions(void **state) {
    (void)state;
    ft_dtype dtype;
    bool is_amp;
    assert_true(timm_precision("amp", &dtype, &is_amp) && dtype == FT_FLOAT16 && is_amp);
    assert_true(timm_precision("amp_bf16", &dtype, &is_amp) && dtype == FT_BFLOAT16 && is_amp);
    assert_true(timm_precision("bf16", &dtype, &is_amp) && dtype == FT_BFLOAT16 && !is_amp);
    assert_true(timm_precision("fp32", &dtype, &is_amp) && dtype == FT_FLOAT32 && !is_amp);
    assert_false(timm_precision("fp8", &dtype, &is_amp));
    assert_false(timm_precision("", &dtype, &is_amp));
}

static void versions(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"pt240", "2.4.0"}, {"pt221", "2.2.1"}, {"pt113", "1.13.0"}, {"pt2100", "2.10.0"}, {"", ""}};
    char version[TIMM_VERSION_BYTES];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        assert_true(timm_version(pairs[i][0], version));
        assert_string_equal(version, pairs[i][1]);
    }
    assert_false(timm_version("240", version));
    assert_false(timm_version("pt24", version));
    assert_false(timm_version("pt24000", version));
    assert_false(timm_version("pt24a", version));
    assert_false(timm_version("p", version));
}

static void graph_names(void **state) {
    (void)state;
    timm_graph_name name;
    assert_true(timm_graph_parse("vit_b16@224.onnx.gz", &name));
    assert_int_equal(name.model, 7);
    assert_int_equal(name.size, 224);
    assert_false(name.is_other_head || name.is_reparam);
    assert_true(timm_graph_parse("a@256_c512_reparam.onnx", &name) && name.is_other_head && name.is_reparam);
    assert_true(timm_graph_parse("a@256_reparam.onnx.gz", &name) && !name.is_other_head && name.is_reparam);
    assert_false(timm_graph_parse("@224.onnx", &name));
    assert_false(timm_graph_parse("a@.onnx", &name));
    assert_false(timm_graph_parse("a@99999999999999999999.onnx", &name));
    assert_false(timm_graph_parse("a@224_x.onnx", &name));
    assert_false(timm_graph_parse("README.md", &name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families), cmocka_unit_test(long_names_are_cut), cmocka_unit_test(precisions),
        cmocka_unit_test(versions), cmocka_unit_test(graph_names),
    };
    return cmocka_run_group_tests_name("data/timm_name", tests, NULL, NULL);
}
