/* schema.h - checks JSON documents against the schemas in docs/schema.
 *
 * The validator implements the few keywords that the schemas use and fails on any other. */
#ifndef TESTS_SCHEMA_H
#define TESTS_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

/* NULL, after a message, when it cannot be read. Tests run in the root of the repository. */
json_t *schema_load(const char *path);
/* Prints the first mismatch; `where` names the value in messages. */
bool schema_fits(json_t *value, json_t *rule, const char *where);
/* Fails the test unless every key of the schema is in the page, as `key`. */
void schema_is_documented(json_t *schema, const char *page);

#endif
