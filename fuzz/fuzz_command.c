/* fuzz_command.c - any bytes as the body of a request; the first byte chooses the command. What is parsed must be
 * sound.
 */
#include <stdlib.h>

#include "foretell/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const commands[] = {"predict", "fits", "max-batch", "inspect"};
    ft_command *request = NULL;
    ft_error error;
    if (size == 0) return 0;
    if (ft_command_parse(commands[data[0] % 4], data + 1, size - 1, &request, &error) != FT_OK) return 0;
    if (ft_command_count(request) == 0 || ft_command_count(request) > FT_MAX_REQUESTS) abort();
    for (uint32_t i = 0; i < ft_command_count(request); i++)
        if (ft_output_name(ft_command_output(request, i)) == NULL) abort();
    ft_command_free(request);
    return 0;
}
