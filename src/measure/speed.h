/* speed.h - loops that a processor runs at its peak. */
#ifndef MEASURE_SPEED_H
#define MEASURE_SPEED_H

#include <stddef.h>
#include <stdint.h>

typedef struct speed_kernels {
    const char *name; /* of the instructions */
    /* Runs so many rounds; returns how many operations they were. */
    double (*float32)(uint64_t rounds);
    double (*float64)(uint64_t rounds);
    /* Reads an array that is aligned to 64 bytes and a multiple of 512 long. */
    void (*read)(const void *data, size_t size);
} speed_kernels;

/* Results that nothing reads go here, so that the compiler keeps the loops. */
extern _Thread_local volatile double speed_sink;

const speed_kernels *speed_kernels_of_machine(void);

#endif
