/* openapi.c - the description of the interface, serve/openapi.json, as part of the program. */
#include "server.h"

__asm__(".section .rodata\n"
        ".global openapi_begin\n"
        ".global openapi_end\n"
        "openapi_begin:\n"
        ".incbin \"serve/openapi.json\"\n"
        "openapi_end:\n"
        ".byte 0\n"
        ".previous\n");
