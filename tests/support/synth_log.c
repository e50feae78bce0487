/* synth_log.c - synthetic tuning logs. */
#include "support/synth_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Three sizes, and tiles of 1 to 32 in both directions. */
static int size_of(uint32_t number) {
    return 32 << number % 3;
}

static int tile_of(uint32_t number, int direction) {
    return 1 << (direction == 0 ? number / 3 % 6 : number / 18 % 6);
}

const char *synth_line(uint32_t number, double seconds) {
    static char line[1024];
    int size = size_of(number);
    snprintf(line, sizeof line,
             "{\"i\":[[\"[\\\"matmul_layer\\\", %d, 64, %d]\",\"cuda\",[-1,16,64,49152,1,1024,8,32],\"\",0,[]],[[],["
             "[\"SP\",2,0,%d,[%d],1],[\"SP\",2,2,%d,[%d],1],[\"RE\",2,[0,2,1,3,4]],[\"AN\",2,0,5],[\"AN\",2,2,6],"
             "[\"PR\",2,0,\"auto_unroll_max_step$%d\"]]]],\"r\":[[%.9g],0,1.5,1637575039],\"v\":\"v0.6\"}",
             size, size, size, tile_of(number, 0), size, tile_of(number, 1), number % 2 == 0 ? 0 : 64, seconds);
    return line;
}

double synth_seconds(uint32_t number, int device) {
    double size = size_of(number), waste = 1 + 4.0 / tile_of(number, 0) + 2.0 / tile_of(number, 1);
    return (device == 0 ? 1e-9 : 50e-9) * size * size * waste;
}

void synth_logs(const char *folder, uint32_t programs) {
    static const char *const names[] = {"v100.jsonl", "k80.jsonl"};
    mkdir(folder, 0777);
    for (int device = 0; device < 2; device++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, names[device]);
        FILE *log = fopen(path, "w");
        assert_non_null(log);
        for (uint32_t i = 0; i < programs; i++) fprintf(log, "%s\n", synth_line(i, synth_seconds(i, device)));
        assert_int_equal(fclose(log), 0);
    }
}
