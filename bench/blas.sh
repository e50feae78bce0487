# blas.sh - selects the OpenBLAS kernels of this processor (sourced). Where it does not know the model it computes as on
# one of 2004, and so would PyTorch, which is no peer then.
if [ -z "${OPENBLAS_CORETYPE:-}" ] && env OPENBLAS_VERBOSE=2 LD_PRELOAD=libopenblas.so.0 true 2>&1 | grep -q '^Core: Prescott'; then
    case $(grep -m 1 '^flags' /proc/cpuinfo) in
    *avx512f*) export OPENBLAS_CORETYPE=SKYLAKEX ;;
    *avx2*) export OPENBLAS_CORETYPE=HASWELL ;;
    esac
fi
