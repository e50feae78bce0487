/* replay.c - runs a fuzz target over kept inputs, without a fuzzer.
 *
 *     replay_onnx fuzz/corpus/onnx fuzz/found/onnx
 *
 * Each argument is a file or a folder of files; one that does not exist is an empty folder, as a reader may have no
 * found cases. Each file is one test point of TAP. An input that takes longer than INPUT_SECONDS is a failure: a hang
 * on a hostile file is as bad as a crash. Under sanitizers a bad access stops the program, whose plan is then
 * incomplete, and the runner counts that as a failure. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define INPUT_SECONDS 10.0

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct tally {
    unsigned run;
    unsigned failed;
} tally;

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The bytes of a file in a block of exactly its size, so that a sanitizer detects a read past the end. */
static uint8_t *load(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    uint8_t *bytes = NULL;
    long length = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (length >= 0 && !fseek(file, 0, SEEK_SET)) bytes = malloc(length ? (size_t)length : 1);
    if (bytes && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    *size = bytes ? (size_t)length : 0;
    return bytes;
}

static void replay_file(const char *path, tally *t) {
    size_t size = 0;
    uint8_t *bytes = load(path, &size);
    double started = now_seconds();
    /* Printed before the run: when the target crashes, this is the last line of the log. */
    printf("# %s\n", path);
    fflush(stdout);
    if (bytes) LLVMFuzzerTestOneInput(bytes, size);
    bool ok = bytes && now_seconds() - started < INPUT_SECONDS;
    t->run++;
    t->failed += !ok;
    printf("%s %u - %s%s\n", ok ? "ok" : "not ok", t->run, path, bytes ? "" : " cannot be read");
    free(bytes);
}

static int is_not_hidden(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static void replay_folder(const char *path, tally *t) {
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_not_hidden, alphasort);
    for (int i = 0; i < count; i++) {
        char file[4096];
        int length = snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        if (length > 0 && (size_t)length < sizeof file) replay_file(file, t);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv) {
    tally t = {0};
    for (int i = 1; i < argc; i++) {
        struct stat status;
        if (stat(argv[i], &status)) continue;
        if (S_ISDIR(status.st_mode))
            replay_folder(argv[i], &t);
        else
            replay_file(argv[i], &t);
    }
    printf("1..%u\n", t.run);
    return t.failed ? 1 : 0;
}
