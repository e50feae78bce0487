/* text.c - see text.h. */
#include "program/text.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* No spaces, and padding that is the same on all sides as a number, because the logs of one device write "SAME" where
 * those of another write 1. */
static bool spell_workload(const char *key, const workload *w, char spelled[static PROGRAM_TASK_SIZE]) {
    size_t length = 0;
    for (; *key != '\0'; key++) {
        if (*key == ' ') continue;
        if (length + 24 > PROGRAM_TASK_SIZE) return false;
        spelled[length++] = *key;
    }
    spelled[length] = '\0';
    bool has_padding = w->kernel_height > 0;
    bool is_even = w->pad_top == w->pad_left && w->pad_top == w->pad_bottom && w->pad_top == w->pad_right;
    char *list = strstr(spelled + 1, ",["), *last = list != NULL ? list : strrchr(spelled, ',');
    if (has_padding && is_even && last != NULL) snprintf(last, 24, ",%lld]", (long long)w->pad_top);
    return true;
}

/* ["conv2d_layer",1,64,...] + _add -> conv2d_layer 1 64 ... add */
static void name_task(const char *spelled, const char *fused, char task[static PROGRAM_TASK_SIZE]) {
    size_t length = 0;
    for (; *spelled != '\0' && length + 32 < PROGRAM_TASK_SIZE; spelled++) {
        if (*spelled == '"' || *spelled == '[' || *spelled == ']') continue;
        task[length++] = *spelled == ',' ? ' ' : *spelled;
    }
    snprintf(task + length, PROGRAM_TASK_SIZE - length, "%s%.24s", fused[0] != '\0' ? " " : "",
             fused[0] == '_' ? fused + 1 : fused);
}

ft_status program_text(const ansor_record *record, buf *text, char task[static PROGRAM_TASK_SIZE], workload *w,
                       ft_error *error) {
    char spelled[PROGRAM_TASK_SIZE];
    FT_TRY(workload_parse(record->workload, record->fused, w, error));
    if (!spell_workload(record->workload, w, spelled))
        return ft_fail(error, FT_ERR_LIMIT, "the key of its workload is too long");
    name_task(spelled, record->fused, task);
    text->length = 0;
    ansor_write_program(record, spelled, text);
    return text->failed ? FT_NOMEM(error) : FT_OK;
}
