/* Sluice's C interface: opens a compiled model (.om) and runs it.
 *
 *   sluice_model* model = NULL;
 *   sluice_run* run = NULL;
 *   if (sluice_model_open("model.om", 0, &model) != 0) die(sluice_last_error());
 *   if (sluice_run_create(model, 0, &run) != 0) die(sluice_last_error());
 *   sluice_run_bind_input(run, 0, x, sizeof x);
 *   sluice_run_bind_output(run, 0, y, sizeof y);
 *   if (sluice_run_execute(run) != 0) die(sluice_last_error());
 *   sluice_run_destroy(run);
 *   sluice_model_close(model);
 *
 * Functions that can fail answer 0 when done, else the number of an error of docs/errors.md (7001
 * is SL7001); sluice_last_error() then says in the same thread what happened. Nothing is thrown and
 * nothing is printed. A compiled model holds machine code: open only files you would load as a
 * shared library.
 *
 * Threads: a model may be used from any number of threads. A run is used by one thread at a time;
 * several runs of one model go on at once, each with its own memory. All runs share their threads:
 * each is worked on by no more than it was created with, and no more than the run with the most was
 * created with are busy in the process. After fork() the child may go on with models and runs that
 * no other thread was using at that moment: threads are started anew there. */
#ifndef SLUICE_RUNTIME_API_SLUICE_H_
#define SLUICE_RUNTIME_API_SLUICE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif

typedef struct sluice_model sluice_model;
typedef struct sluice_run sluice_run;

/* An input or output. Pointers live as long as the model. */
typedef struct sluice_binding {
  const char* name;       /* ONNX name */
  int32_t dtype;          /* ONNX's TensorProto.DataType */
  const char* dtype_name; /* "f32", "i64", ... */
  size_t rank;
  const int64_t* dims; /* -1: known only when the model runs */
  uint64_t bytes; /* dense, row-major; 0 when a dim is -1, for strings, and for what is no tensor */
  int32_t kind; /* SLUICE_KIND_...; of a sequence or optional, dtype, rank and dims are those of its
                   elements; of maps, their values' */
  const char* type; /* in words: "f32 batchx3xhxw", "sequence of i64 ?" */
  int32_t
      is_state; /* 1: an input that a run keeps from one execution to the next (sluice_reset_state)
                   and that need not be bound, or the output it is kept of */
  int32_t key_dtype; /* of a map, and of a sequence of maps: ONNX's TensorProto.DataType of the
                        keys; else 0 */
} sluice_binding;

/* A map is two tensors of one dim, its keys and its values: value i belongs to key i. A sequence of
 * m maps is 2 m tensors: keys and values of the first map, then of the second, and so on. */
enum {
  SLUICE_KIND_TENSOR = 0,
  SLUICE_KIND_SEQUENCE = 1,
  SLUICE_KIND_OPTIONAL = 2,
  SLUICE_KIND_MAP = 3
};

/* A tensor in memory: dense, row-major; 2- and 4-bit elements packed as ONNX packs them; n strings
 * as n + 1 uint64 offsets into the text that follows them. */
typedef struct sluice_tensor {
  int32_t dtype; /* ONNX's TensorProto.DataType */
  size_t rank;
  const int64_t* dims;
  const void* data;
  uint64_t bytes;
} sluice_tensor;

enum {
  SLUICE_OPEN_VERIFY_WEIGHTS = 1
}; /* also check the digests of the weights: reads all of them */

enum {
  SLUICE_COUNT_INPUTS = 0,
  SLUICE_COUNT_OUTPUTS = 1,
  SLUICE_COUNT_TASKS = 2,    /* of fixed parts */
  SLUICE_COUNT_LAUNCHES = 3, /* of generated kernels */
  SLUICE_COUNT_HOST_TASKS =
      4, /* nodes run by host_cpu, those that are walked one by one included */
  SLUICE_COUNT_STREAMS = 5,
  SLUICE_COUNT_EVENTS = 6,
  SLUICE_COUNT_KERNELS = 7,
  SLUICE_COUNT_ARENA_BYTES =
      8, /* of each run; parts share them, and those whose sizes a run sets are not counted */
  SLUICE_COUNT_WEIGHT_BYTES = 9,
  SLUICE_COUNT_SCRATCH_BYTES = 10, /* of each thread */
  /* Of parts of open sizes, which all runs share; 11 to 13 count from the opening of the model on.
   */
  SLUICE_COUNT_PARTS_FOUND_BOUND = 11, /* runs of a part whose sizes were known */
  SLUICE_COUNT_PARTS_BOUND = 12,       /* and those that had to bind it to sizes */
  SLUICE_COUNT_PARTS_GIVEN_UP = 13,    /* bound parts that made room for others */
  SLUICE_COUNT_PARTS_KEPT = 14,        /* bound parts that are kept now */
  SLUICE_COUNT_PARTS_KEPT_BYTES = 15,  /* what these hold */
  SLUICE_COUNT_PARTS_LIMIT_BYTES = 16  /* sluice_model_limit_bound_parts */
};

enum {
  SLUICE_TEXT_VERSION = 0, /* release, schema and LLVM of the compiler */
  SLUICE_TEXT_PROFILE = 1, /* the device profile it was compiled for */
  SLUICE_TEXT_ISA = 2
};

/* What happened to the last call of this thread that failed: "SL7001: ... [file]". Valid until the
 * next call in this thread. Never null. */
SLUICE_API const char* sluice_last_error(void);

/* Opens and verifies path ("-": standard input) and stores a model in *model; the file must not
 * change while it is open. flags: 0 or SLUICE_OPEN_VERIFY_WEIGHTS. Costs milliseconds, whatever the
 * size of the weights. */
SLUICE_API int sluice_model_open(const char* path, int flags, sluice_model** model);
/* Does the same for a model whose weights are in files (sluice compile --external-weight): weights
 * is the folder that has them, or the file of combined weights itself. Null or "": the folder
 * `weight` beside the model. */
SLUICE_API int sluice_model_open_weights(const char* path, const char* weights, int flags,
                                         sluice_model** model);
/* Closes the model. Its runs stay usable until they are destroyed. Null is allowed. */
SLUICE_API void sluice_model_close(sluice_model* model);

/* A SLUICE_COUNT_... of the model; 0 for what it does not know. */
SLUICE_API uint64_t sluice_model_count(const sluice_model* model, int what);
/* Parts of open sizes are kept, bound to the sizes they ran with last, as long as all together hold
 * at most so many bytes: 64 MiB unless this says otherwise, for all runs of the model, from now on.
 * Runs keep what they use themselves. Models without such parts ignore it. */
SLUICE_API int sluice_model_limit_bound_parts(sluice_model* model, uint64_t bytes);
/* A SLUICE_TEXT_... of the model; "" for what it does not know. Lives as long as the model. */
SLUICE_API const char* sluice_model_text(const sluice_model* model, int what);
/* Provenance: file digest (64 hex digits) of the index-th graph the model was made from, the newest
 * first; null past the last. */
SLUICE_API const char* sluice_model_made_from(const sluice_model* model, size_t index);
SLUICE_API int sluice_model_input(const sluice_model* model, size_t index, sluice_binding* binding);
SLUICE_API int sluice_model_output(const sluice_model* model, size_t index,
                                   sluice_binding* binding);
/* Index of the input or output of that name, or -1. */
SLUICE_API int64_t sluice_model_find_input(const sluice_model* model, const char* name);
SLUICE_API int64_t sluice_model_find_output(const sluice_model* model, const char* name);

/* Creates a run that works on `threads` threads, the calling one included; 0 means one for each
 * core that the process may use (its affinity and the quotas of its control groups). Its memory is
 * allocated when it is first executed. */
SLUICE_API int sluice_run_create(sluice_model* model, int threads, sluice_run** run);
/* Binds memory of exactly the binding's bytes, which is fixed. It is not copied when it is aligned
 * to 64 bytes, and must stay valid until bound anew or the run is destroyed. Outputs may overlap
 * neither inputs nor each other. */
SLUICE_API int sluice_run_bind_input(sluice_run* run, size_t index, const void* data,
                                     uint64_t bytes);
SLUICE_API int sluice_run_bind_output(sluice_run* run, size_t index, void* data, uint64_t bytes);
/* Binds an input of any type: a tensor (count 1), a sequence of `count` tensors, a map or maps
 * (SLUICE_KIND_MAP), an optional that holds one of these, or nothing (tensors null, count 0), which
 * of a state undoes its binding: it goes on from what was kept. The only way for inputs whose size
 * is not fixed. What they point to is not copied, as above; the structs are. */
SLUICE_API int sluice_run_bind_input_tensors(sluice_run* run, size_t index,
                                             const sluice_tensor* tensors, size_t count);
/* Inputs that are states (sluice compile --state) need not be bound: the run keeps the outputs
 * paired with them, without copying, from one execution to the next. This forgets them, and what
 * was bound to them: the next execution begins with zeros, empty along dims that no other input
 * has. */
SLUICE_API int sluice_reset_state(sluice_run* run);
/* Runs the model once: reads every input, writes every output. Every input must be bound, but for
 * states, and for optionals, which are empty then; an output that is not is kept by the run. */
SLUICE_API int sluice_run_execute(sluice_run* run);
/* The memory of an output after sluice_run_execute, the caller's or the run's own, and its size;
 * null and 0 before, for a wrong index, and for what holds no tensor (sluice_run_output_count).
 * `bytes` may be null. */
SLUICE_API const void* sluice_run_output(const sluice_run* run, size_t index, uint64_t* bytes);
/* How many tensors an output holds after sluice_run_execute: 1, a sequence's elements, 2 for each
 * map, or 0 for an empty optional. */
SLUICE_API size_t sluice_run_output_count(const sluice_run* run, size_t index);
/* 0 for an optional that holds nothing, and before sluice_run_execute; else 1. */
SLUICE_API int sluice_run_output_is_present(const sluice_run* run, size_t index);
/* One of them, with the dims it has in this run; valid until the next sluice_run_execute or the end
 * of the run. */
SLUICE_API int sluice_run_output_tensor(const sluice_run* run, size_t index, size_t element,
                                        sluice_tensor* tensor);
/* Null is allowed. */
SLUICE_API void sluice_run_destroy(sluice_run* run);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_RUNTIME_API_SLUICE_H_ */
