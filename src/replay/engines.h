/* engines.h - the engines of a device, as text says them, and which kernels each takes.
 *
 *     spec   = engine { (";" | ",") engine }
 *     engine = name [":" lanes] [":" kind { "," kind }]
 *
 * A word after a comma that has no ':' is one more kind of the engine before it. A kind is matched, as a shell would,
 * with the type of a kernel and with each word of it: "conv" takes conv-bn-relu, "conv*" also conv2d. Engines that name
 * a kind go before those that take everything ("*"). An engine without kinds takes everything, but one that is called
 * "copy" takes what only moves data. */
#ifndef REPLAY_ENGINES_H
#define REPLAY_ENGINES_H

#include "base/arena.h"
#include "foretell/replay.h"

typedef struct engine {
    const char *name;
    uint32_t lanes;
    const char *const *kinds;
    uint32_t kind_count; /* 0: everything */
    double gap_us;
} engine;

typedef struct engine_list {
    engine items[FT_REPLAY_MAX_ENGINES];
    uint32_t count;
} engine_list;

/* `gaps` may be NULL. Strings are from `memory`. */
ft_status engines_parse(const char *spec, const char *gaps, arena *memory, engine_list *list, ft_error *error);
/* The engine for a kernel of this type, or for one that wants an engine by name (`wanted`, may be NULL); FT_NONE when
 * there is none. */
uint32_t engines_find(const engine_list *list, const char *wanted, const char *type);

#endif
