/* arch.c - numbers of the four accelerators, as in Vela 3.10. */
#include "npu/arch.h"

#include <stddef.h>
#include <string.h>

#define U55_MEMORY                                                                                                     \
    .memories = {[NPU_SRAM] = {8, 32, 32, 32}, [NPU_SLOW] = {1, 128, 64, 64}}, .fast_bytes = INT64_C(1) << 32,         \
    .clock_hz = 500e6
#define U65_MEMORY                                                                                                     \
    .memories = {[NPU_SRAM] = {16, 32, 32, 32}, [NPU_SLOW] = {12, 128, 500, 250}}, .fast_bytes = 384 * 1024,           \
    .clock_hz = 1e9, .is_cached = true, .has_dram = true
#define BANKS_24 .banks = 24, .granule_ifm = 4, .granule_ifm32 = 8, .granule_acc32 = 8, .granule_acc40 = 12
#define BANKS_48 .banks = 48, .granule_ifm = 8, .granule_ifm32 = 16, .granule_acc32 = 16, .granule_acc40 = 20

#define STAGE_128 .stage_cycles = {0.75, 1.25, 0.75, 0.75, 1.0, 1.5, 0.25, 0.5}, .table_cycles = 1, .clamp_cycles = 0.5
#define STAGE_256                                                                                                      \
    .stage_cycles = {0.625, 1.125, 0.5, 0.375, 0.5, 0.75, 0.125, 0.25}, .table_cycles = 1, .clamp_cycles = 0.25
#define STAGE_512                                                                                                      \
    .stage_cycles = {0.3125, 0.5625, 0.25, 0.1875, 0.25, 0.375, 0.0625, 0.125}, .table_cycles = 0.5,                   \
    .clamp_cycles = 0.125

const npu_arch npu_archs[NPU_ARCHS] = {
    {.name = "ethos-u55-128",
     .macs = 128,
     .cores = 1,
     .ublock_w = 2,
     .ublock_h = 1,
     .ublock_d = 8,
     BANKS_24,
     STAGE_128,
     U55_MEMORY},
    {.name = "ethos-u55-256",
     .macs = 256,
     .cores = 1,
     .ublock_w = 2,
     .ublock_h = 2,
     .ublock_d = 8,
     BANKS_48,
     STAGE_256,
     U55_MEMORY},
    {.name = "ethos-u65-256",
     .macs = 256,
     .cores = 1,
     .ublock_w = 2,
     .ublock_h = 2,
     .ublock_d = 8,
     BANKS_48,
     STAGE_256,
     U65_MEMORY},
    {.name = "ethos-u65-512",
     .macs = 256,
     .cores = 2,
     .ublock_w = 2,
     .ublock_h = 2,
     .ublock_d = 8,
     BANKS_48,
     STAGE_512,
     U65_MEMORY},
};

const npu_arch *npu_arch_find(const char *device) {
    for (size_t i = 0; device != NULL && i < NPU_ARCHS; i++) {
        if (strcmp(npu_archs[i].name, device) == 0) return &npu_archs[i];
    }
    return NULL;
}
