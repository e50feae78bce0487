/* allocator.h - how much memory a caching allocator holds, which is what a tool outside of the process sees.
 *
 * PyTorch's allocator takes memory from the driver in segments and never gives it back: what is free in a segment is
 * used again when it fits, and segments are not joined. docs/memory.md tells the rules. */
#ifndef COST_ALLOCATOR_H
#define COST_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct allocator allocator;

/* `pieces`: numbers of pieces are below it. `limit`: bytes that the driver has; when they are used up, segments that
 * hold nothing are given back. NULL when out of memory. */
allocator *allocator_new(uint32_t pieces, uint64_t limit);
void allocator_free(allocator *a);

/* False when out of memory (ours). A piece of no bytes is none; one of more than 16 TiB is cut. */
bool allocator_take(allocator *a, uint32_t piece, uint64_t bytes);
void allocator_give(allocator *a, uint32_t piece);
void allocator_give_below(allocator *a, uint32_t end); /* all pieces with numbers below `end` */
void allocator_pass_on(allocator *a, uint32_t piece, uint32_t from);

/* Takes a piece and gives it back before anything else happens. */
bool allocator_borrow(allocator *a, uint64_t bytes);

/* Gives segments that hold nothing back to the driver. */
void allocator_release(allocator *a);

/* Whether the segments are those of the last time this was asked, with as much taken in them. */
bool allocator_is_settled(allocator *a);

uint64_t allocator_reserved(const allocator *a); /* the most that segments were at any time */
uint64_t allocator_taken(const allocator *a);    /* the most that pieces were at any time, rounded as they are */
bool allocator_is_over(const allocator *a);      /* the limit did not suffice; it went on without one */

#endif
