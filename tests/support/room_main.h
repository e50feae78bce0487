/* room_main.h - the table of test files that one test program runs; scripts/test-list writes it. */
#ifndef SUPPORT_ROOM_MAIN_H
#define SUPPORT_ROOM_MAIN_H

#include <stddef.h>

typedef struct room_test {
    const char *name; /* of the file, without its suffix */
    int (*run)(void); /* its main */
} room_test;

extern const room_test room_tests[];
extern const size_t room_test_count;

#endif
