/* arch.h - the supported accelerators: MAC array, shared buffer, memories.
 *
 * Numbers are those of Vela 3.10 with its default system configuration and memory mode. On an Ethos-U55 all feature
 * maps are in SRAM and weights in flash; on an Ethos-U65 both are in DRAM, and a small SRAM is a cache managed by the
 * compiler. */
#ifndef NPU_ARCH_H
#define NPU_ARCH_H

#include <stdbool.h>
#include <stdint.h>

typedef enum npu_area { NPU_SRAM, NPU_SLOW, NPU_AREAS } npu_area; /* SLOW: flash or DRAM */

typedef struct npu_memory {
    double bytes_per_cycle;
    int32_t burst_bytes, read_latency, write_latency;
} npu_memory;

/* Kinds of operation that the output stage processes at different rates. */
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
    const char *name; /* device name */
    double clock_hz;
    int32_t macs, cores; /* macs: multiply-accumulates per cycle and core */
    /* Micro-block: output elements that the MAC array computes at a time. Powers of two. */
    int32_t ublock_w, ublock_h, ublock_d;
    int32_t banks; /* of the shared buffer, 1 KiB each; allocated in granules: */
    int32_t granule_ifm, granule_ifm32, granule_acc32, granule_acc40;
    double stage_cycles[STAGE_KINDS];  /* per element in the output stage */
    double table_cycles, clamp_cycles; /* per element: lookup-table and clamp activations */
    npu_memory memories[NPU_AREAS];
    bool is_cached;     /* feature maps are in slow memory, and SRAM caches them */
    bool has_dram;      /* slow memory is DRAM, else flash */
    int64_t fast_bytes; /* SRAM that the compiler may use */
} npu_arch;

enum { NPU_ARCHS = 4 };
extern const npu_arch npu_archs[NPU_ARCHS];

/* NULL when the device is not a supported accelerator. */
const npu_arch *npu_arch_find(const char *device);

#endif
