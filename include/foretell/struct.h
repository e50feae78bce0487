/* struct.h - layouts of public structs, for bindings of other languages: a binding compares its own declarations with
 * these when it loads the library, and refuses a library that it was not written for.
 *
 *     const ft_struct *s = ft_struct_at(0);   // {"ft_error", sizeof(ft_error), fields, 2}
 */
#ifndef FORETELL_STRUCT_H
#define FORETELL_STRUCT_H

#include <stdint.h>

#include "foretell/status.h"

FT_C_BEGIN

typedef struct ft_struct_field {
    const char *name;
    uint32_t offset, size; /* bytes */
} ft_struct_field;

typedef struct ft_struct {
    const char *name;
    uint32_t size; /* bytes */
    uint32_t field_count;
    const ft_struct_field *fields; /* in their order */
} ft_struct;

/* The structs that are passed by bindings, not all. NULL beyond the last. */
FT_API uint32_t ft_struct_count(void);
FT_API const ft_struct *ft_struct_at(uint32_t index);

FT_C_END

#endif
