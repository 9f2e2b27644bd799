// The part of comgr's C interface that linking needs, declared here because its headers are not a
// dependency. Numbers and signatures are those of amd_comgr.h 3.0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mono::comgr {

/// amd_comgr_status_t; 0 is success.
using Status = int;

/// Handles are one 64-bit word in a struct, passed by value.
struct Data {
  uint64_t handle;
};
struct DataSet {
  uint64_t handle;
};
struct ActionInfo {
  uint64_t handle;
};

/// amd_comgr_data_kind_t.
enum class DataKind : int { Log = 5, Relocatable = 7, Executable = 8 };

/// amd_comgr_action_kind_t. Version 2 had the same action as number 9.
enum class ActionKind : int { LinkRelocatableToExecutable = 7 };

/// X(member, symbol, result, parameters): the functions used, all required.
#define MONO_COMGR_FUNCTIONS(X)                                                                    \
  X(getVersion, amd_comgr_get_version, void, (size_t *major, size_t *minor))                       \
  X(statusString, amd_comgr_status_string, Status, (Status status, const char **text))             \
  X(createData, amd_comgr_create_data, Status, (DataKind kind, Data * data))                       \
  X(releaseData, amd_comgr_release_data, Status, (Data data))                                      \
  X(setData, amd_comgr_set_data, Status, (Data data, size_t size, const char *bytes))              \
  X(setDataName, amd_comgr_set_data_name, Status, (Data data, const char *name))                   \
  X(getData, amd_comgr_get_data, Status, (Data data, size_t *size, char *bytes))                   \
  X(createDataSet, amd_comgr_create_data_set, Status, (DataSet * set))                             \
  X(destroyDataSet, amd_comgr_destroy_data_set, Status, (DataSet set))                             \
  X(addToDataSet, amd_comgr_data_set_add, Status, (DataSet set, Data data))                        \
  X(countInDataSet, amd_comgr_action_data_count, Status,                                           \
    (DataSet set, DataKind kind, size_t *count))                                                   \
  X(getFromDataSet, amd_comgr_action_data_get_data, Status,                                        \
    (DataSet set, DataKind kind, size_t index, Data *data))                                        \
  X(createActionInfo, amd_comgr_create_action_info, Status, (ActionInfo * info))                   \
  X(destroyActionInfo, amd_comgr_destroy_action_info, Status, (ActionInfo info))                   \
  X(setIsaName, amd_comgr_action_info_set_isa_name, Status, (ActionInfo info, const char *name))   \
  X(setLogging, amd_comgr_action_info_set_logging, Status, (ActionInfo info, bool on))             \
  X(doAction, amd_comgr_do_action, Status,                                                         \
    (ActionKind kind, ActionInfo info, DataSet input, DataSet output))

/// The functions of an opened library.
struct Library {
#define MONO_COMGR_MEMBER(member, symbol, result, parameters) result(*member) parameters = nullptr;
  MONO_COMGR_FUNCTIONS(MONO_COMGR_MEMBER)
#undef MONO_COMGR_MEMBER
};

} // namespace mono::comgr
