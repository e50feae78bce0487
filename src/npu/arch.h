/* arch.h - the accelerators that are known: their units, their shared buffer, their memories.
 *
 * Numbers are those of Vela 3.10 with its default system configuration and memory mode. On an Ethos-U55 all feature
 * maps are in SRAM and weights in flash; on an Ethos-U65 both are in DRAM, and a small SRAM is a cache that the
 * compiler fills. */
#ifndef NPU_ARCH_H
#define NPU_ARCH_H

#include <stdbool.h>
#include <stdint.h>

typedef enum npu_area { NPU_SRAM, NPU_SLOW, NPU_AREAS } npu_area; /* SLOW: flash or DRAM */

typedef struct npu_memory {
    double bytes_per_cycle;
    int32_t burst_bytes, read_latency, write_latency;
} npu_memory;

/* What the output stage takes per element, by kind of operation. */
typedef enum npu_stage {
    STAGE_UNARY_32,
    STAGE_BINARY_32,
    STAGE_MUL_TO_32,
    STAGE_MUL,
    STAGE_ADD_SIMPLE,
    STAGE_ADD,
    STAGE_MAX,
    STAGE_OTHER,
    STAGE_KINDS
} npu_stage;

typedef struct npu_arch {
    const char *name; /* of the device */
    double clock_hz;
    int32_t macs, cores; /* multiply-accumulates a cycle of one core */
    int32_t ublock_w, ublock_h, ublock_d;
    int32_t banks; /* of the shared buffer, 1 KiB each */
    int32_t granule_map, granule_map32, granule_sum32, granule_sum40;
    double stage_cycles[STAGE_KINDS];
    double table_cycles, clamp_cycles; /* per element, of an activation by table and of a clamp */
    npu_memory memories[NPU_AREAS];
    bool is_cached;     /* feature maps are in slow memory, and SRAM is a cache of them */
    bool has_dram;      /* slow memory is DRAM, else flash */
    int64_t fast_bytes; /* of SRAM that the compiler may use */
} npu_arch;

enum { NPU_ARCHS = 4 };
extern const npu_arch npu_archs[NPU_ARCHS];

/* NULL when the device is no accelerator that is known. */
const npu_arch *npu_arch_find(const char *device);

#endif
