/* fuzz_pickle.c - any bytes as a pickled graph. */
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return downstream_of(&perfseer_reader, "bs2_fuzz_s['vggnet', 'vggnet', 'vggnet', 'vggnet']_bnum.pkl", data, size);
}
