// The exchange kernel: mailbox [2 slots][2 ranks][256] of tagged i32, tag = launch number + 1.
#include "test/runtime/ExchangeKernel.h"
#include "test/runtime/Assembler.h"

#include <fmt/format.h>

namespace mono::test {

std::string exchangeManifest() {
  return R"({
  "monoc_manifest": 1, "tool": "by hand", "source": {"file": "exchange.s", "hash": "0"},
  "schedule": "exchange", "kernel": "exchange", "target": "gfx950", "params": {"S": 4, "TP": 2},
  "grid": {"ctas": 4, "threads": 64}, "ranks": 2, "lds_bytes": 0,
  "operands": [
    {"name": "in", "access": "read", "shape": [4, 64], "element": "i32", "layout": "row_major",
     "role": "activation", "bytes": 1024},
    {"name": "out", "access": "write", "shape": [4, 64], "element": "i32", "layout": "row_major",
     "role": "activation", "bytes": 1024}],
  "mailboxes": [
    {"name": "parts", "kind": "tagged", "scope": "peers", "slots": 2, "shape": [2, 256],
     "element": "i32", "offset": 0, "bytes": 8192}],
  "mailbox_memory": {"device": 0, "peers": 8192}, "epoch_bytes": 16,
  "stages": [{"name": "exchange", "tasks": 4, "base": 0}]
})";
}

/// s2 = workgroup, v0 = lane. Element e = workgroup * 64 + lane.
static std::string exchangeBody(int skipWorkgroup) {
  return fmt::format(R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0       // in, out
  s_load_dwordx4 s[8:11], s[0:1], 0x18     // peer table, epoch words
  s_load_dword s12, s[0:1], 0x28           // rank
  s_lshl_b32 s13, s2, 2
  s_waitcnt lgkmcnt(0)
  s_load_dwordx4 s[16:19], s[8:9], 0x0     // peer mailboxes of ranks 0 and 1
  s_load_dword s14, s[10:11], s13          // finished launches of this workgroup
  s_waitcnt lgkmcnt(0)
  s_add_u32 s14, s14, 1                    // the tag
  v_lshl_add_u32 v1, s2, 6, v0             // e
  v_lshlrev_b32_e32 v2, 2, v1
  global_load_dword v4, v2, s[4:5]
  v_mov_b32_e32 v5, s14
  s_and_b32 s15, s14, 1                    // slot
  s_lshl_b32 s15, s15, 12                  // slot * 2 ranks * 256 words * 8 bytes
  s_lshl_b32 s20, s12, 11
  s_add_u32 s20, s20, s15
  v_lshlrev_b32_e32 v3, 3, v1
  v_add_u32_e32 v6, s20, v3
  s_waitcnt vmcnt(0)
  global_store_dwordx2 v6, v[4:5], s[16:17] sc0 sc1
  global_store_dwordx2 v6, v[4:5], s[18:19] sc0 sc1
  s_cmp_eq_u32 s12, 0
  s_cselect_b32 s22, s16, s18              // the mailbox of this rank
  s_cselect_b32 s23, s17, s19
  v_add_u32_e32 v7, s15, v3
poll0:
  global_load_dwordx2 v[8:9], v7, s[22:23] sc0 sc1
  s_waitcnt vmcnt(0)
  v_cmp_ne_u32_e32 vcc, v9, v5
  s_cbranch_vccz got0
  s_sleep 1
  s_branch poll0
got0:
  global_load_dwordx2 v[10:11], v7, s[22:23] offset:2048 sc0 sc1
  s_waitcnt vmcnt(0)
  v_cmp_ne_u32_e32 vcc, v11, v5
  s_cbranch_vccz got1
  s_sleep 1
  s_branch got0
got1:
  v_add_u32_e32 v12, v8, v10
  s_cmp_eq_u32 s2, {skip}
  s_cbranch_scc1 skip
  global_store_dword v2, v12, s[6:7]
skip:
  v_mov_b32_e32 v13, s13
  v_cmp_eq_u32_e32 vcc, 0, v0
  s_and_saveexec_b64 s[24:25], vcc
  global_store_dword v13, v5, s[10:11]     // one more launch finished
  s_waitcnt vmcnt(0)
)",
                     fmt::arg("skip", skipWorkgroup < 0 ? 64 : skipWorkgroup));
}

std::vector<uint8_t> exchangeCodeObject(int skipWorkgroup) {
  KernelText kernel;
  kernel.body = exchangeBody(skipWorkgroup);
  kernel.kernargBytes = 44;
  kernel.manifest = exchangeManifest();
  return assemble(kernelAssembly(kernel));
}

std::vector<uint8_t> exchangeCodeObject(const std::string &manifest, unsigned kernargBytes,
                                        unsigned ldsBytes) {
  KernelText kernel;
  kernel.body = exchangeBody(-1);
  kernel.kernargBytes = kernargBytes;
  kernel.ldsBytes = ldsBytes;
  kernel.manifest = manifest;
  return assemble(kernelAssembly(kernel));
}

} // namespace mono::test
