/* host.h - the host that launches kernels: what a launch takes, and the queue of host and GPU.
 *
 * The host issues one kernel after the other; the GPU starts a kernel when it was issued and the one before has ended.
 * So a step takes as long as the host where kernels are short, as long as the GPU where they are long, and longer than
 * either where a model has parts of both kinds. Classes of hosts are data (hosts/NAME.json, docs/hosts.md). */
#ifndef PREDICTOR_HOST_H
#define PREDICTOR_HOST_H

#include "base/arena.h"
#include "foretell/cost.h"
#include "foretell/graph.h"

/* How kernels are launched. Graphs are launched once for all of their kernels. */
typedef enum host_runtime {
    HOST_EAGER,    /* PyTorch, an operator at a time */
    HOST_COMPILED, /* torch.compile */
    HOST_GRAPHS,   /* CUDA graphs */
    HOST_ENGINE,   /* TensorRT: a loop in C++ over the kernels of a plan */
    HOST_SESSION,  /* ONNX Runtime with CUDA */
} host_runtime;

typedef struct host_class {
    char name[64];
    double start_us;          /* of a step, before the first launch and after the last kernel */
    double launch_us;         /* of a kernel under PyTorch */
    double backward_us;       /* of the backward pass of a kernel */
    double training_start_us; /* of a training step */
    double autocast_ratio;    /* of launches with autocast to those without */
    double interval_ratio;    /* end of the 90 % interval over the value, where launches are all that matters */
} host_class;

/* What a request says about its host. */
typedef struct host_request {
    char name[64];    /* of a class; "": the default */
    double launch_us; /* measured by the user; NaN: that of the class */
    bool has_graphs;  /* CUDA graphs */
    bool is_given;    /* any of these */
} host_request;

/* Reads the keys host, launch_us and graphs of a setting; others are ignored. A value that is none is FT_ERR_USAGE. */
ft_status host_request_parse(const char *setting, host_request *request, ft_error *error);

/* A bundled class by one of its names. */
ft_status host_open(const char *name, host_class *host, ft_error *error);

/* What launches take in a step. */
typedef struct host_launches {
    double start_us;
    double forward_us, backward_us; /* of each kernel; backward: 0 for inference */
    double interval_ratio;
} host_launches;

ft_status host_launches_of(const host_request *request, host_runtime runtime, ft_mode mode, bool is_mixed,
                           host_launches *launches, ft_error *error);
/* Start and all launches of `count` kernels. */
double host_total_us(const host_launches *launches, uint32_t count);
/* The same launches, made faster so that they take no longer in total. */
host_launches host_limit(host_launches launches, uint32_t count, double total_us);

/* The time of a step whose kernels take `gpu_us` on the GPU, in launch order. elapsed_us[i] is the part of kernel i:
 * its own time and what the GPU waited for it; they add up to the step. May be NULL. In training, a kernel has its
 * forward pass, a third of its time, and its backward pass, in reverse order. */
double host_queue_us(const host_launches *launches, const double *gpu_us, uint32_t count, double *elapsed_us);

/* --- What a predictor of kernels needs --------------------------------------------------------------------------- */

/* The kernels of a step, and how they are launched. */
typedef struct host_run {
    const host_request *request;
    host_runtime runtime;
    ft_mode mode;
    bool is_mixed;
    const double *gpu_us; /* must outlive the effect */
    uint32_t count;
} host_run;

/* What launches make of a step. */
typedef struct host_effect {
    const double *gpu_us;
    uint32_t count;
    host_launches launches;
    double *elapsed_us; /* by kernel, in order; NULL: no effect */
    double step_us;
    double ratio; /* of all launches to the time of all kernels: above 1 the host takes longer than the GPU */
    double share; /* of the step in which the GPU waits */
} host_effect;

ft_status host_effect_make(const host_run *run, arena *memory, host_effect *effect, ft_error *error);
/* Makes launches faster until the step takes no longer than this, or than the kernels alone. */
void host_effect_limit(host_effect *effect, double longest_us);
/* Half the interval of the step, of a logarithm: that of its kernels by their share, that of the launches by theirs, as
 * errors that do not depend on each other. */
double host_effect_width(const host_effect *effect, double kernels);

#endif
