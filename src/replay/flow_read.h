/* flow_read.h - reading flows from memory, for those who have the bytes already. */
#ifndef REPLAY_FLOW_READ_H
#define REPLAY_FLOW_READ_H

#include "replay/flow_table.h"

ft_status flow_read_memory(const void *bytes, size_t size, const char *name, ft_flow **flow, ft_error *error);

#endif
