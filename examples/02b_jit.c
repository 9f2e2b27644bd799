/* The same way in C: compiles a schedule file, launches it three times on an emulated GPU and
 * prints what came out. Host memory stands in for device memory, which only emulated devices allow.
 */
#include "mono/mono.h"

#include <stdio.h>

enum { ELEMENTS = 4 * 64 };

/* What has to be destroyed at the end, however far the program got. */
struct state {
  mono_kernel *kernel;
  mono_node *node;
  mono_group *group;
};

static mono_error *set_up(struct state *state, const char *path) {
  mono_error *error = mono_compile_file(path, NULL, &state->kernel);
  if (!error)
    error = mono_node_create_emulator(1, &state->node);
  if (!error)
    error = mono_group_create(state->kernel, state->node, NULL, &state->group);
  return error;
}

static mono_error *bind_host(struct state *state, const char *operand, void *memory,
                             uint64_t bytes) {
  mono_error *error = mono_map_host(state->node, memory, bytes);
  if (!error)
    error = mono_group_bind(state->group, 0, operand, memory, bytes);
  return error;
}

static mono_error *run(struct state *state, const char *path) {
  static _Alignas(16) float x[ELEMENTS], y[ELEMENTS];
  mono_error *error = set_up(state, path);
  if (!error)
    error = bind_host(state, "x", x, sizeof x);
  if (!error)
    error = bind_host(state, "y", y, sizeof y);
  for (int launch = 0; !error && launch < 3; ++launch) {
    for (int i = 0; i < ELEMENTS; ++i)
      x[i] = (float)(i + launch);
    error = mono_group_launch(state->group, NULL);
    if (!error)
      error = mono_group_synchronize(state->group);
    if (!error)
      printf("launch %d: y[0] = %g, y[255] = %g\n", launch, y[0], y[255]);
  }
  return error;
}

int main(int argc, char **argv) {
  struct state state = {NULL, NULL, NULL};
  mono_error *error;
  int status = 0;
  if (argc != 2 || argv[1][0] == '-' || mono_abi_version() != MONO_ABI_VERSION) {
    fprintf(stderr, "usage: 02b_jit 01_scale.mlir, with libmono of ABI version %d\n",
            MONO_ABI_VERSION);
    return 2;
  }
  error = run(&state, argv[1]);
  if (error) {
    fprintf(stderr, "%s\n", mono_error_text(error));
    mono_error_destroy(error);
    status = 1;
  }
  mono_group_destroy(state.group);
  mono_node_destroy(state.node);
  mono_kernel_destroy(state.kernel);
  return status;
}
