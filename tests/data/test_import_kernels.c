/* Tests of importing measured kernels and operators: a table of a user's own, and the layouts of published sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foretell/foretell.h"
#include "support/folder.h"

static char root[PATH_MAX]; /* of the project */
static char reported[16384];

static void on_skip(void *user, const char *where, const char *why) {
    (void)user;
    size_t used = strlen(reported);
    if (used + 400 < sizeof reported) snprintf(reported + used, sizeof reported - used, "%.200s: %.160s\n", where, why);
}

static ft_import_result import(const char *source) {
    ft_import_options options = {.skip = on_skip};
    ft_import_result result;
    ft_error error;
    reported[0] = '\0';
    if (ft_import("kernels", source, "set", &options, &result, &error) != FT_OK) fail_msg("%s", error.message);
    return result;
}

static void write_text(const char *path, const char *text) {
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0 && fclose(stream) == 0);
}

static ft_dataset *open_set(void) {
    ft_dataset *data;
    ft_error error;
    if (ft_dataset_open("set", &data, &error) != FT_OK) fail_msg("%s", error.message);
    return data;
}

static void was_reported(const char *text) {
    if (strstr(reported, text) == NULL) fail_msg("'%s' was not reported: %s", text, reported);
}

static double metric(const ft_dataset *data, uint32_t record, const char *name) {
    return ft_dataset_records(data)[record].metrics[ft_dataset_metric(data, name)];
}

/* Multiply-accumulates of a record's graph at its batch. */
static uint64_t macs(const ft_dataset *data, uint32_t record) {
    ft_graph *graph, *bound;
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_error error;
    const ft_record *r = &ft_dataset_records(data)[record];
    assert_int_equal(ft_dataset_graph(data, r->graph, &graph, &error), FT_OK);
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = r->batch}, &bound, &error), FT_OK);
    assert_false(ft_graph_is_scaled(bound));
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    uint64_t count = cost.total.forward.macs;
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
    return count;
}

static void table_of_a_user(void **state) {
    (void)state;
    write_text("k.csv", "op,inputs,attributes,device,batch,dtype,name,setting,time_ms,power_w,occupancy_percent\n"
                        "Gemm,Nx64;32x64:weight,transB=1,rtx-3090,10,fp16,,host=a,0.5,200,40\n"
                        "Gemm,Nx64;32x64:weight,transB=1,rtx-3090,20,fp16,mine,host=a,0.75,,\n"
                        "Gemm,Nx64;32x65:weight,transB=1,rtx-3090,20,fp16,,,0.75,,\n");
    ft_import_result result = import("k.csv");
    assert_int_equal(result.records, 2);
    assert_int_equal(result.graphs, 1);
    was_reported("k.csv: line 4");
    was_reported("the operator cannot be used");
    ft_dataset *data = open_set();
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].name, "Gemm");
    assert_string_equal(r[1].name, "mine");
    assert_int_equal(r[0].dtype, FT_FLOAT16);
    assert_true(metric(data, 0, "time_us") == 500);
    assert_true(metric(data, 0, "power_w") == 200);
    assert_true(metric(data, 0, "occupancy_ratio") == 0.4);
    assert_int_equal(macs(data, 1), 20 * 64 * 32);
    ft_dataset_free(data);
}

/* A table may hold models and operators; the same path is used for both. */
static void example(void **state) {
    (void)state;
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/examples/measurements/kernels.csv", root);
    ft_import_result result = import(path);
    assert_int_equal(result.skipped, 0);
    assert_int_equal(result.records, 6);
    assert_int_equal(result.graphs, 5);
}

#define LAUNCH "Latency,Device,Torch Version,CUDNN Version,Kernel Name,Kernels,"
static const char launch[] = "NVIDIA A10,p2.1.0,8902,\"void f<4, 2>(int)\",,";

static void neusight(void **state) {
    (void)state;
    char text[4096];
    mkdir("in", 0777);
    mkdir("in/deep", 0777);
    snprintf(text, sizeof text,
             "OPName," LAUNCH "B,M,N,K\nbmm,0.5,%s6,27,21,390\nlinear,0.25,%s1,58,13,141\nlinear,0.25,%s1,58,13,0\n"
             "conv1,0.25,%s1,58,13,1\nlinear,0.25,Tesla P4,p2.1.0,8902,k,,1,58,13,141\nlinear,,%s1,9,13,141\n"
             "linear,1,Wheel,p2.1.0,8902,k,,1,58,13,141\n",
             launch, launch, launch, launch, launch);
    write_text("in/train_linear.csv", text);
    snprintf(text, sizeof text,
             "OPName," LAUNCH "B,Input_Channel,Output_Channel,Kernel_Szie,Input_Size,Stride,Padding\n"
             "conv,1.5,%s3,8,4,3,10,2,1\nconv,1.5,%s3,8,4,3,10,1,0\n",
             launch, launch);
    write_text("in/deep/test_conv.csv", text);
    snprintf(text, sizeof text,
             "OPName," LAUNCH "B,H\nadd,1,%s7,9\naddu,2,%s7,9\nln,3,%s7,9\nsoftmax,4,%s7,9\nsort,1,%s7,9\n", launch,
             launch, launch, launch, launch);
    write_text("in/train_vec.csv", text);
    write_text("in/other.csv", "a,b\n1,2\n");
    ft_import_result result = import("in");
    assert_int_equal(result.records, 8);
    was_reported("B, M, N or K is not a size");
    was_reported("neither bmm nor linear");
    was_reported("the linear layers of P4's training file are throttled");
    was_reported("it has no time");
    was_reported("unknown device 'Wheel'");
    was_reported("an unknown vector operator");
    was_reported("other.csv: no layout of kernels has these columns");
    ft_dataset *data = open_set();
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].part, "test"); /* convolutions: the folder comes first */
    assert_int_equal(macs(data, 0), 3 * 5 * 5 * 4 * 8 * 9);
    assert_int_equal(macs(data, 1), 3 * 8 * 8 * 4 * 8 * 9);
    assert_string_equal(r[2].name, "bmm");
    assert_int_equal(r[2].batch, 6);
    assert_true(metric(data, 2, "time_us") == 500);
    assert_string_equal(r[2].device, "a10");
    assert_string_equal(r[2].setting, "amp=no;compile=no;layout=nchw;torch=2.1.0");
    assert_int_equal(macs(data, 2), 6 * 27 * 21 * 390);
    assert_int_equal(r[3].batch, 58);
    assert_int_equal(macs(data, 3), 58 * 13 * 141);
    assert_string_equal(r[5].name, "addu");
    ft_dataset_free(data);
}

/* Operators of language models: each layout, its types and its sizes. */
static void aiconfigurator(void **state) {
    (void)state;
    mkdir("in", 0777);
    write_text("in/h100-sxm.csv", "framework,version,op_name,kernel_source,gemm_dtype,m,n,k,latency_ms\n"
                                  "vllm,1,gemm,cutlass,fp8_block,16,32,64,0.5\n"
                                  "vllm,1,gemm,cutlass,int4_wo,16,32,64,0.5\n"
                                  "vllm,1,gemm,cutlass,int3,16,32,64,0.5\n"
                                  "vllm,1,gemm,cutlass,fp8,16,0,64,0.5\n");
    write_text("in/power.csv", "device,framework,version,op_name,kernel_source,batch_size,isl,num_heads,"
                               "num_key_value_heads,head_dim,window_size,attn_dtype,kv_cache_dtype,step,latency_ms,"
                               "power_w,power_limit_w\n"
                               "h100-sxm,v,1,context_attention,fa3,2,10,8,4,16,0,bfloat16,fp8,30,0.5,600,700\n"
                               "h100-sxm,v,1,generation_attention,fa3,2,1,8,4,16,,bfloat16,bfloat16,99,0.5,600,700\n"
                               "h100-sxm,v,1,generation_attention,fa3,2,1,8,4,16,50,bfloat16,fp8,99,0.5,,\n");
    write_text("in/moe.csv",
               "device,framework,version,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,"
               "topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency_ms\n"
               "h100-sxm,v,1,moe,t,bfloat16,10,16,64,4,8,2,2,balanced,1\n"
               "h100-sxm,v,1,moe,t,fp8,10,16,64,2,8,1,8,power_law,1\n");
    write_text("in/nccl.csv",
               "device,framework,version,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency_ms\n"
               "h100-sxm,nccl,2,all_gather,NCCL,half,4,4096,0.01\n"
               "h100-sxm,nccl,2,all_reduce,NCCL,int8,4,4096,0.01\n"
               "h100-sxm,nccl,2,gossip,NCCL,int8,4,4096,0.01\n");
    write_text("in/states.csv",
               "device,framework,version,op_name,kernel_source,phase,batch_size,seq_len,num_tokens,d_conv,"
               "num_k_heads,head_k_dim,num_v_heads,head_v_dim,model_name,latency_ms\n"
               "h100-sxm,v,1,gdn,causal_conv1d_fn,context,2,8,16,4,2,16,4,16,m,1\n"
               "h100-sxm,v,1,gdn,chunk_gated_delta_rule,context,2,8,16,4,2,16,4,16,m,1\n"
               "h100-sxm,v,1,gdn,fused_recurrent,generation,2,8,16,4,2,16,4,16,m,1\n");
    write_text("in/mla.csv",
               "device,framework,version,op_name,kernel_source,bmm_dtype,num_tokens,num_heads,latency_ms\n"
               "h100-sxm,v,1,mla_gen_pre,bmm,bfloat16,3,2,1\n");
    ft_import_result result = import("in");
    assert_int_equal(result.records, 13);
    was_reported("h100-sxm.csv: line 4: an unknown type of the arithmetic");
    was_reported("h100-sxm.csv: line 5: a size of the operator is missing");
    was_reported("nccl.csv: line 4: an unknown collective");
    ft_dataset *data = open_set();
    const ft_record *r = ft_dataset_records(data); /* files in the order of their names */
    assert_int_equal(r[0].dtype, FT_FLOAT8);
    assert_string_equal(r[0].setting, "framework=vllm;version=1;kernel=cutlass;type=fp8_block");
    assert_int_equal(macs(data, 0), 16 * 32 * 64);
    assert_int_equal(r[1].dtype, FT_FLOAT16);
    assert_int_equal(macs(data, 2), 2 * 3 * 128 * 512);
    assert_int_equal(macs(data, 3), 10 * 2 * 3 * 16 * 32); /* half of the choices and of the width on this rank */
    assert_int_equal(r[4].batch, 3);                       /* 20 choices over 8 ranks */
    assert_int_equal(macs(data, 4), 3 * 3 * 16 * 64);
    assert_string_equal(r[5].name, "all_gather");
    assert_int_equal(macs(data, 7), 2 * 8 * 10 * 40 * 16 * 2);
    assert_true(metric(data, 7, "power_w") == 600);
    assert_int_equal(macs(data, 8), 2 * 8 * 100 * 16 * 2);
    assert_int_equal(macs(data, 9), 2 * 8 * 50 * 16 * 2);
    assert_true(isnan(metric(data, 9, "power_w")));
    assert_int_equal(macs(data, 10), 2 * 8 * 128 * 4);
    assert_true(macs(data, 11) == 8 * macs(data, 12));
    ft_dataset_free(data);
}

static void deepbench(void **state) {
    (void)state;
    write_text(
        "k.csv",
        "phase,device,sheet,precision,section,application,fields\n"
        "train,NV_T4,s,Float,Dense Matrix Multiplication,,M=5;N=6;K=7;A Transpose=T;B Transpose=N;Time (msec)=0.25\n"
        "train,NV_T4,s,\"16 bit inputs, 32 bit addition\",Convolution,,W=10;H=8;C=3;N=4;K=2;S (Fitler width)=3;R "
        "(Filter height)=1;pad_w=1;pad_h=0;Horizontal Stride=2;Vertical stride=1;Forward (msec)=1;wrt Inputs "
        "(msec)=N/A*;wrt Parameters (msec)=3\n"
        "train,NV_T4,s,Float,Convolution,,W=10;H=8;C=3;N=4;K=2;S=3;R=1;pad_w=1;pad_h=0;Horizontal Stride=1;Vertical "
        "stride=1;Forward (msec)=1;wrt Inputs (msec)=2;wrt Parameters (msec)=3\n"
        "train,NV_T4,s,Float,Recurrent Layers - LSTM,,Hidden Units=8;N=3;Timesteps=5;Time Forward (msec)=2\n"
        "train,NV_T4,s,Float,All-Reduce,,Size # floats=1000;# chips / accelerator cards=2;Mean All Reduce Time "
        "(msec)=0.5;Std Dev All Reduce Time (msec)=0\n"
        "infer,NV_T4,s,Int8,Sparse Matrix Multiplication,,M=5;N=6;K=7\n"
        "infer,NV_T4,s,Int8,Dense Matrix Multiplication,,M=5;N=6;Time (msec)=1\n");
    ft_import_result result = import("k.csv");
    assert_int_equal(result.records, 8);
    was_reported("line 7: products of sparse matrices");
    was_reported("line 8: a size of the operator is missing");
    ft_dataset *data = open_set();
    const ft_record *r = ft_dataset_records(data);
    assert_true(metric(data, 0, "time_us") == 250);
    assert_int_equal(macs(data, 0), 5 * 6 * 7);
    assert_int_equal(r[1].dtype, FT_FLOAT16);
    assert_int_equal(macs(data, 1), 4 * 2 * 8 * 5 * 3 * 3);
    assert_string_equal(r[2].name, "conv-weight-gradient");
    assert_true(metric(data, 2, "time_us") == 3000);
    assert_string_equal(r[4].name, "conv-input-gradient");
    assert_int_equal(macs(data, 4), macs(data, 3));
    assert_int_equal(macs(data, 5), macs(data, 3));
    assert_int_equal(macs(data, 6), 5 * 3 * 4 * 8 * 8 * 2);
    assert_string_equal(r[7].name, "all_reduce");
    ft_dataset_free(data);
}

static void serving(void **state) {
    (void)state;
    char text[4096];
    mkdir("in", 0777);
    snprintf(
        text, sizeof text,
        "device,model,time_stats.mlp_up_proj.median,time_stats.mlp_up_proj.std,time_stats.emb.median,"
        "time_stats.attn_rope.median,time_stats.input_layernorm.median,time_stats.mlp_act.median,n_head,n_kv_head,n_"
        "embd,"
        "n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n"
        "t4,a/"
        "b,0.5,1e-17,0.1,0.1,0.1,0.1,4,2,64,128,1000,True,10,2\nt4,c,0.5,0.01,,,0.1,0.1,4,2,64,128,1000,False,10,1\n"
        "t4,c,0.5,0.01,,,,,4,2,64,128,1000,False,0,1\n");
    write_text("in/a.csv", text);
    write_text("in/b.csv", "cluster,collective,median_ms,std_ms,rank,num_workers,size_bytes,devices_per_node\n"
                           "t4_pair,all_reduce,0.5,0.1,0,2,2048,2\nt4_pair,gossip,0.5,0.1,0,2,2048,2\n");
    write_text("in/c.csv", "device,collective,num_workers,size_bytes,devices_per_node,median_ms,mean_ms\n"
                           "T4,send_recv,2,4096,2,0.25,0.3\n");
    write_text("in/d.csv", "split,M,N,K,avg_duration_us,hardware\ntest,16,32,64,12.5,NVIDIA L4\n");
    write_text("in/e.csv",
               "source,workload,seq,kernel,profile,memory_footprint,sm_needed,duration_ns\na,b,1,k,0,0,1,99\n");
    ft_import_result result = import("in");
    assert_int_equal(result.records, 11);
    was_reported("a size of the layer is missing");
    was_reported("an unknown collective");
    was_reported("a kernel without shapes");
    ft_dataset *data = open_set();
    const ft_record *r = ft_dataset_records(data);
    assert_string_equal(r[0].name, "a/b.emb");
    assert_string_equal(r[3].name, "a/b.mlp_up_proj");
    assert_true(isnan(metric(data, 3, "time_std_us")));
    assert_int_equal(macs(data, 3), 10 * 64 * 128); /* gate and value, halved by two ranks */
    assert_int_equal(macs(data, 6), 10 * 64 * 128);
    assert_true(metric(data, 8, "time_us") == 500);
    assert_string_equal(r[8].setting, "cluster=t4_pair;per_node=2");
    assert_string_equal(r[9].family, "pipeweave");
    assert_true(metric(data, 10, "time_us") == 12.5);
    assert_string_equal(r[10].part, "test");
    assert_int_equal(macs(data, 10), 16 * 32 * 64);
    ft_dataset_free(data);
}

/* The published files, where they are: every row is a record or skipped. */
static void expect_rows(const char *set, uint64_t rows, uint64_t records) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/../shared/data/gpu-ops/%s", root, set);
    if (access(path, R_OK) != 0) skip();
    ft_import_result result = import(path);
    assert_int_equal(result.records + result.skipped, rows);
    assert_true(result.records >= records);
}

static void shared_neusight(void **state) {
    (void)state;
    expect_rows("neusight", 167229, 65000);
}

static void shared_aiconfigurator(void **state) {
    (void)state;
    expect_rows("aiconfigurator", 1112793, 340000);
}

static void shared_pipeweave(void **state) {
    (void)state;
    expect_rows("pipeweave", 25228 + 43088, 19000);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(table_of_a_user),  IN_FOLDER(example), IN_FOLDER(neusight),        IN_FOLDER(aiconfigurator),
        IN_FOLDER(deepbench),        IN_FOLDER(serving), IN_FOLDER(shared_neusight), IN_FOLDER(shared_aiconfigurator),
        IN_FOLDER(shared_pipeweave),
    };
    if (getcwd(root, sizeof root) == NULL) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
