/* The C interface of monoc for a host application: compile a schedule, look at its operands, make a
 * group of ranks, bind device memory and launch. One header, one library (libmono.so).
 *
 * Every function that can fail returns a mono_error: NULL means success; anything else is the
 * caller's and goes to mono_error_destroy(). Results are written through pointers, and only on
 * success. No function throws, prints, or ends the process.
 *
 * Strings and structures that functions return belong to the handle they came from. A handle may be
 * destroyed in any order, NULL included: a group keeps the node and the kernel it was made from.
 *
 * Threads: compiling and looking at kernels is safe from any number of threads at once. Calls that
 * name the same node, or groups of the same node, wait for each other.
 */
#ifndef MONO_MONO_H
#define MONO_MONO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define MONO_API
#else
#define MONO_API __attribute__((visibility("default")))
#endif

/* Behind the name of an enumeration: in C++, values that a header does not know are allowed. */
#ifdef __cplusplus
#define MONO_OPEN : int32_t
#else
#define MONO_OPEN
#endif

/* Grows when a program built against an older header could misread something. Structures grow at
 * their end; those that the caller fills in begin with their size. Frozen are those that
 * lie in arrays or inside of others: mono_parameter, mono_workspace_size and mono_workspace. */
#define MONO_ABI_VERSION 1

/* MONO_ABI_VERSION of the library: compare it with the header's before anything else. */
MONO_API uint32_t mono_abi_version(void);
/* For people, e.g. "monoc 0.1.0 (LLVM 22.1.8, gfx950)". */
MONO_API const char *mono_version(void);

/* ---- Errors ------------------------------------------------------------------------------ */

typedef enum mono_status MONO_OPEN {
  MONO_OK = 0,
  MONO_INVALID_ARGUMENT = 1,  /* a null handle, an unknown name, a wrong size or rank */
  MONO_FILE_ERROR = 2,        /* a file can't be read */
  MONO_COMPILE_ERROR = 3,     /* the schedule is wrong; the text has the compiler's diagnostics */
  MONO_CODE_OBJECT_ERROR = 4, /* not a code object of monoc, or a damaged one */
  MONO_NO_DEVICE = 5,         /* no HIP, or no such device */
  MONO_DEVICE_ERROR = 6,      /* a device can't run the kernel, has no memory, or a launch failed */
  MONO_OUT_OF_MEMORY = 7,     /* the host has no memory left */
  MONO_INTERNAL_ERROR = 8     /* a defect of this library */
} mono_status;

typedef struct mono_error mono_error;

/* MONO_OK for NULL. */
MONO_API mono_status mono_error_status(const mono_error *error);
/* What went wrong, with names and numbers; "" for NULL. */
MONO_API const char *mono_error_text(const mono_error *error);
MONO_API void mono_error_destroy(mono_error *error);

/* ---- Kernels: compiled schedules --------------------------------------------------------- */

typedef struct mono_kernel mono_kernel;

typedef struct mono_parameter {
  const char *name;
  int64_t value;
} mono_parameter;

typedef struct mono_compile_options {
  size_t size;                      /* sizeof(mono_compile_options) */
  const mono_parameter *parameters; /* values for the parameters of the schedule */
  size_t parameter_count;
  const char *linker;       /* "lld" or "comgr"; NULL: "lld" */
  int64_t watchdog_cycles;  /* cycles a wait may take before the launch fails; 0: for ever */
  const char *cache_dir;    /* NULL: see below; "": no cache */
  uint64_t cache_max_bytes; /* 0: see below */
} mono_compile_options;

/* Compiles the schedule in a file; imports are relative to its folder. `options` may be NULL.
 *
 * Results are kept in a directory: MONO_CACHE_DIR, else $XDG_CACHE_HOME/monoc, else
 * $HOME/.cache/monoc, of at most MONO_CACHE_SIZE bytes (K, M and G are powers of 1024; 1G if
 * unset). It may be shared by processes and is safe to delete at any time. */
MONO_API mono_error *mono_compile_file(const char *path, const mono_compile_options *options,
                                       mono_kernel **kernel);
/* Compiles `bytes` bytes of text. `name` is what messages and the manifest call it (NULL:
 * "schedule.mlir"); imports are relative to `directory` (NULL: the current one). */
MONO_API mono_error *mono_compile_text(const char *text, size_t bytes, const char *name,
                                       const char *directory, const mono_compile_options *options,
                                       mono_kernel **kernel);
/* Takes a code object that monoc wrote; copies it. */
MONO_API mono_error *mono_kernel_load(const void *code_object, size_t bytes, mono_kernel **kernel);
MONO_API void mono_kernel_destroy(mono_kernel *kernel);

/* The code object, e.g. for a file that mono_kernel_load() takes. `bytes` may be NULL. */
MONO_API const void *mono_kernel_code_object(const mono_kernel *kernel, size_t *bytes);

/* Memory a rank needs besides its operands: `local_bytes` of device memory and `peer_bytes` of
 * uncached fine-grained memory that every rank writes. The other fields say what is inside. */
typedef struct mono_workspace_size {
  uint64_t local_bytes;
  uint64_t peer_bytes;
  uint64_t alignment;            /* of both */
  uint64_t device_mailbox_bytes; /* in local: exchange between workgroups of one rank */
  uint64_t epoch_bytes;          /* in local: launch counters */
  uint64_t peer_table_bytes;     /* in local: addresses of the mailboxes of all ranks */
  uint64_t peer_mailbox_bytes;   /* in peer: exchange between ranks */
} mono_workspace_size;

typedef struct mono_kernel_info {
  const char *name;
  const char *target;  /* chip: "gfx950" */
  uint32_t ranks;      /* devices of a group */
  uint32_t workgroups; /* of one rank, all resident at once */
  uint32_t threads;    /* of a workgroup */
  uint32_t operand_count;
  uint32_t parameter_count;
  int32_t from_cache; /* 1: taken from the cache */
  uint64_t lds_bytes; /* of a workgroup */
  mono_workspace_size workspace;
  const char *cache_note; /* why the cache was not used or not written; "" if it was */
} mono_kernel_info;

MONO_API const mono_kernel_info *mono_kernel_get_info(const mono_kernel *kernel);
/* NULL if there is no parameter of that index. */
MONO_API const mono_parameter *mono_kernel_get_parameter(const mono_kernel *kernel, size_t index);

typedef enum mono_access MONO_OPEN { MONO_READ = 0, MONO_WRITE = 1, MONO_UPDATE = 2 } mono_access;
typedef enum mono_element MONO_OPEN {
  MONO_BF16 = 0,
  MONO_F32 = 1,
  MONO_I32 = 2,
  MONO_FP4_E2M1 = 3, /* two a byte, the even element in the low nibble */
  MONO_E8M0 = 4,     /* scale of 32 FP4 or FP8 elements */
  MONO_FP8_E4M3 = 5
} mono_element;

/* One kernel argument of the caller. */
typedef struct mono_operand {
  const char *name;
  mono_access access;
  mono_element element;
  int32_t is_weight; /* constant over launches */
  uint32_t rank;     /* number of dimensions */
  const int64_t *shape;
  const char *layout; /* "row_major" or "mfma_rows<16>"; see mono_pack() */
  uint64_t bytes;
} mono_operand;

/* NULL if there is no operand of that index. Indices are in the order of the schedule. */
MONO_API const mono_operand *mono_kernel_get_operand(const mono_kernel *kernel, size_t index);

/* Rearranges host memory from row-major order into the layout of an operand, or back. Both buffers
 * have the operand's bytes and do not overlap. */
MONO_API mono_error *mono_pack(const mono_kernel *kernel, const char *operand,
                               const void *row_major, void *packed, uint64_t bytes);
MONO_API mono_error *mono_unpack(const mono_kernel *kernel, const char *operand, const void *packed,
                                 void *row_major, uint64_t bytes);

/* ---- Nodes: the devices of a group, one per rank ------------------------------------------ */

typedef struct mono_node mono_node;

/* Emulated MI355X, 1 to 8. */
MONO_API mono_error *mono_node_create_emulator(uint32_t devices, mono_node **node);
/* `count` GPUs of this machine: those of chip gfx950 with 256 compute units in HIP's order, after
 * passing over `first` of them. Lets each reach the memory of the others. */
MONO_API mono_error *mono_node_create_hip(uint32_t first, uint32_t count, mono_node **node);
MONO_API void mono_node_destroy(mono_node *node);
MONO_API uint32_t mono_node_device_count(const mono_node *node);

typedef enum mono_memory MONO_OPEN {
  MONO_LOCAL = 0,       /* device memory */
  MONO_PEER_VISIBLE = 1 /* uncached, fine-grained: every device of the node may write it */
} mono_memory;

/* Device memory, for programs that have no allocator of their own. Fresh memory has no contents:
 * the emulator reports it when it is read before it is written. Copies are complete on return, and
 * ordered with launches on the node's own streams only: they come behind what was launched there,
 * and are not made when that fails. Freeing and unmapping wait for it, too. */
MONO_API mono_error *mono_allocate(mono_node *node, uint32_t device, uint64_t bytes,
                                   mono_memory kind, void **memory);
MONO_API mono_error *mono_free(mono_node *node, uint32_t device, void *memory);
MONO_API mono_error *mono_copy_to_device(mono_node *node, uint32_t device, void *to,
                                         const void *from, uint64_t bytes);
MONO_API mono_error *mono_copy_from_device(mono_node *node, uint32_t device, void *to,
                                           const void *from, uint64_t bytes);

/* Lets emulated devices use host memory at its own address until it is unmapped, so that operands
 * can be bound to it. The same range may be mapped several times and is then unmapped as often. An
 * error on GPUs, where the host application knows the ways to do this. */
MONO_API mono_error *mono_map_host(mono_node *node, void *memory, uint64_t bytes);
MONO_API mono_error *mono_unmap_host(mono_node *node, void *memory);

/* ---- Groups: a kernel on all its ranks --------------------------------------------------- */

typedef struct mono_group mono_group;

/* Memory of the caller for the workspace of one rank. It must outlive the group, and those that
 * share it (mono_group_create_sharing), and serve no other. */
typedef struct mono_workspace {
  void *local; /* mono_workspace_size.local_bytes */
  void *peer;  /* mono_workspace_size.peer_bytes; coarse-grained memory is refused */
} mono_workspace;

/* Loads the kernel on the devices of `node`, which has one per rank, and clears the workspace:
 * `workspaces` has one per rank; if it is NULL, the library allocates. Any number of groups may
 * share a node. */
MONO_API mono_error *mono_group_create(const mono_kernel *kernel, mono_node *node,
                                       const mono_workspace *workspaces, mono_group **group);
/* The same on the node of the group `with`, whose workspace the new group uses instead of having
 * one: kernels for 4 and for 8 rows, or of all layers, may take turns on one set of mailboxes. Of
 * the kernels that share, the one that needs the largest workspace makes the first group. Launches
 * of all these groups must be ordered, alike on all ranks; when one fails, all groups are broken.
 * Workspaces of the caller must outlive them all; `with` itself may be destroyed. Kernels whose
 * exchange does not allow it are refused (MONO_DEVICE_ERROR). Libraries that have this function
 * have the symbol version MONO_1.1. */
MONO_API mono_error *mono_group_create_sharing(const mono_kernel *kernel, mono_group *with,
                                               mono_group **group);
/* Waits for launches on the node's own streams; those on streams of the caller must have ended. */
MONO_API void mono_group_destroy(mono_group *group);

/* Lets an operand of a rank be `bytes` bytes of the caller's device memory, 16-byte aligned, which
 * must outlive the launches that use it. Takes effect at the next launch. */
MONO_API mono_error *mono_group_bind(mono_group *group, uint32_t rank, const char *operand,
                                     void *memory, uint64_t bytes);
/* Starts the kernel on all ranks and returns: rank r on streams[r], a hipStream_t; NULL: on the
 * node's own streams, the only ones the emulator has. Every operand of every rank must be bound.
 * Allocates no device memory, needs no reset between launches, and may be captured in a graph once
 * a launch was made after the last mono_group_bind(). Two launches of a group must not overlap on a
 * device: give them one stream, or streams that events order. An error that left nothing started
 * does not break the group. */
MONO_API mono_error *mono_group_launch(mono_group *group, void *const *streams);
/* Waits for the launches on the node's own streams, other groups' included, and reports what went
 * wrong in those of this group, or of one that shares its workspace, whoever waited for them first.
 * On the emulator launches run in this call, or in one that copies, frees, unmaps, or makes or
 * destroys a group. A group whose launch failed is broken, since its ranks may disagree about what
 * was exchanged: make a new one. So is one whose launch was stopped because another one failed, on
 * the emulator behind it, on a GPU on the same stream. */
MONO_API mono_error *mono_group_synchronize(mono_group *group);
/* For launches on streams of the caller, when these have ended: what the watchdogs of a kernel that
 * was compiled with watchdog_cycles have recorded, as mono_group_synchronize() reports it, or why
 * the group is broken already. */
MONO_API mono_error *mono_group_check(mono_group *group);

#ifdef __cplusplus
}
#endif

#endif
