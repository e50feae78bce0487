/* openapi.c - the description of the interface, serve/openapi.json, as part of the program, with a zero behind it. */
#include "server.h"

__asm__(".section .rodata\n"
        ".global openapi_text\n"
        "openapi_text:\n"
        ".incbin \"serve/openapi.json\"\n"
        ".byte 0\n"
        ".previous\n");
