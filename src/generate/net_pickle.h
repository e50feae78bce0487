/* net_pickle.h - a network as the data set stores it: a pickled networkx DiGraph (docs/formats/perfseer.md). */
#ifndef GENERATE_NET_PICKLE_H
#define GENERATE_NET_PICKLE_H

#include "base/buf.h"
#include "generate/net.h"

/* Appends the file. The graph has an attribute 'synthetic', which says that its labels are computed. */
ft_status net_pickle(const net *n, int64_t batch, arena *memory, buf *out, ft_error *error);

#endif
