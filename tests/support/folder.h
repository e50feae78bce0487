/* folder.h - an empty folder of its own for a test that writes files. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

/* Setup and teardown of cmocka: *state is the name of the folder, which is the working folder meanwhile. Of a test, or
 * of a group of tests. */
int folder_enter(void **state);
int folder_leave(void **state);

/* How many entries a folder has, those that begin with a dot left out; -1 when there is no such folder. */
int folder_count(const char *folder);
/* The file holds exactly this text. */
void folder_expect(const char *path, const char *text);

#endif
