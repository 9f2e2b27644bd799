// A library with comgr's interface and none of its insides, to provoke what a real one does rarely:
// the environment variable FAKE_COMGR says which version it is ("2.4", "3.0"). Links by returning
// the file that FAKE_COMGR_IMAGE names; without it, by failing with a log.
#include "lowering/codeobject/ComgrLibrary.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

using namespace mono::comgr;

/// What the link leaves: the log with its zero, as comgr does, or the image.
static std::string output() {
  const char *image = std::getenv("FAKE_COMGR_IMAGE");
  if (!image)
    return std::string("lld: error: undefined symbol: made_up\n") + '\0';
  std::ifstream file(image, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static bool links() { return std::getenv("FAKE_COMGR_IMAGE") != nullptr; }

/// Whether the link leaves data of this kind.
static bool leaves(DataKind kind) {
  return kind == (links() ? DataKind::Executable : DataKind::Log);
}

extern "C" {

void amd_comgr_get_version(size_t *major, size_t *minor) {
  const char *version = std::getenv("FAKE_COMGR");
  if (!version || std::sscanf(version, "%zu.%zu", major, minor) != 2)
    *major = *minor = 0;
}

Status amd_comgr_status_string(Status, const char **text) {
  *text = "ERROR";
  return 0;
}

Status amd_comgr_create_data(DataKind kind, Data *data) {
  data->handle = 1;
  return kind != DataKind::Relocatable;
}
Status amd_comgr_release_data(Data) { return 0; }
Status amd_comgr_set_data(Data, size_t size, const char *bytes) {
  return size < 4 || std::memcmp(bytes,
                                 "\x7f"
                                 "ELF",
                                 4) != 0;
}
Status amd_comgr_set_data_name(Data, const char *) { return 0; }

Status amd_comgr_get_data(Data, size_t *size, char *bytes) {
  std::string content = output();
  if (bytes)
    std::memcpy(bytes, content.data(), *size);
  *size = content.size();
  return 0;
}

Status amd_comgr_create_data_set(DataSet *set) {
  set->handle = 2;
  return 0;
}
Status amd_comgr_destroy_data_set(DataSet) { return 0; }
Status amd_comgr_data_set_add(DataSet, Data) { return 0; }

Status amd_comgr_action_data_count(DataSet, DataKind kind, size_t *count) {
  *count = leaves(kind);
  return 0;
}
Status amd_comgr_action_data_get_data(DataSet, DataKind kind, size_t, Data *data) {
  data->handle = 3;
  return !leaves(kind);
}

Status amd_comgr_create_action_info(ActionInfo *info) {
  info->handle = 4;
  return 0;
}
Status amd_comgr_destroy_action_info(ActionInfo) { return 0; }
Status amd_comgr_action_info_set_isa_name(ActionInfo, const char *name) {
  return std::strcmp(name, "amdgcn-amd-amdhsa--gfx950") != 0;
}
Status amd_comgr_action_info_set_logging(ActionInfo, bool) { return 0; }
Status amd_comgr_do_action(ActionKind, ActionInfo, DataSet, DataSet) { return !links(); }

} // extern "C"
