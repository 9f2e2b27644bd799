// The few functions of ROCm's device library that HIP headers call for threadIdx and its kin, from
// compiler builtins, so that the programs compile where no device library is installed. Included
// before everything else with -include.
#pragma once

#if defined(__HIP_DEVICE_COMPILE__)
extern "C" {
__attribute__((device, const, weak)) unsigned long __ockl_get_local_id(unsigned dimension) {
  return dimension == 0   ? __builtin_amdgcn_workitem_id_x()
         : dimension == 1 ? __builtin_amdgcn_workitem_id_y()
                          : __builtin_amdgcn_workitem_id_z();
}
__attribute__((device, const, weak)) unsigned long __ockl_get_group_id(unsigned dimension) {
  return dimension == 0   ? __builtin_amdgcn_workgroup_id_x()
         : dimension == 1 ? __builtin_amdgcn_workgroup_id_y()
                          : __builtin_amdgcn_workgroup_id_z();
}
__attribute__((device, const, weak)) unsigned long __ockl_get_local_size(unsigned dimension) {
  return dimension == 0   ? __builtin_amdgcn_workgroup_size_x()
         : dimension == 1 ? __builtin_amdgcn_workgroup_size_y()
                          : __builtin_amdgcn_workgroup_size_z();
}
__attribute__((device, const, weak)) unsigned long __ockl_get_num_groups(unsigned dimension) {
  // Block counts are the first hidden kernel arguments (AMDGPUUsage, code object v5).
  const auto *counts = (const unsigned *)__builtin_amdgcn_implicitarg_ptr();
  return counts[dimension];
}
/// Barrier over a resident grid: the hidden argument at byte 88 leads to the state that a
/// cooperative launch provides, with a counter at byte 32 and the number of workgroups at byte 40.
/// The top bit of the counter is the phase, the rest counts arrivals.
__attribute__((device, weak)) void __ockl_grid_sync() {
  constexpr unsigned phase = 1u << 31;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __builtin_amdgcn_s_barrier();
  if (__builtin_amdgcn_workitem_id_x() == 0 && __builtin_amdgcn_workitem_id_y() == 0 &&
      __builtin_amdgcn_workitem_id_z() == 0) {
    const char *hidden = (const char *)__builtin_amdgcn_implicitarg_ptr();
    char *state = *(char *const *)(hidden + 88);
    unsigned *counter = (unsigned *)(state + 32), groups = *(unsigned *)(state + 40);
    unsigned old = __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if ((old & ~phase) == groups - 1)
      __hip_atomic_fetch_add(counter, phase - groups, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    else
      while (((__hip_atomic_load(counter, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) ^ old) &
              phase) == 0)
        __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __builtin_amdgcn_s_barrier();
}
__attribute__((device, weak)) void __atomic_work_item_fence(unsigned, unsigned order,
                                                            unsigned scope) {
  (void)order;
  if (scope <= 2)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  else
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}
}
#endif
