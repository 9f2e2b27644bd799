// Instructions that move data between lanes, registers and files: readlane, writelane, permlane
// swaps, v_swap, AGPR copies, v_pk_mov (CDNA4 ISA 12.8, 12.11 and 3.6).
#include "test/runtime/fuzz/Generator.h"
#include "test/runtime/fuzz/LiteralExecution.h"

namespace mono::fuzz {

namespace {

unsigned firstActive(const State &s) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (s.active(lane))
      return lane;
  return 0;
}

/// Lane operand: only its low six bits count.
unsigned laneNumber(Execution &e, const TextOperand &o) { return unsigned(e.scalar(o, 'i')) & 63; }

void readFirstLane(Execution &e) {
  e.writeScalar(e.operand(0), e.dword(e.operand(1), firstActive(e.state)), false);
}
void readLane(Execution &e) {
  e.writeScalar(e.operand(0), e.dword(e.operand(1), laneNumber(e, e.operand(2))), false);
}
void writeLane(Execution &e) {
  e.vector(e.operand(0), laneNumber(e, e.operand(2))) = uint32_t(e.scalar(e.operand(1), 'i'));
}

void swap(Execution &e) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (e.state.active(lane))
      std::swap(e.vector(e.operand(0), lane), e.vector(e.operand(1), lane));
}

/// Exchanges lane `distance` + l of the first register with lane l of the second, in every group of
/// twice that many lanes.
void permlaneSwap(Execution &e, unsigned distance) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (!(lane & distance))
      std::swap(e.vector(e.operand(0), lane + distance), e.vector(e.operand(1), lane));
}

void copyRegister(Execution &e) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (e.state.active(lane))
      e.vector(e.operand(0), lane) = e.dword(e.operand(1), lane);
}

/// V_MQSAD_U32_U8: four masked sums of byte differences over a sliding window.
void quadSad(Execution &e) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!e.state.active(lane))
      continue;
    const uint64_t data = e.bits(e.operand(1), lane, 'l');
    const uint32_t reference = e.dword(e.operand(2), lane);
    uint32_t result[4];
    for (unsigned n = 0; n < 4; ++n) {
      result[n] = e.dword(e.operand(3), lane, n);
      for (unsigned b = 0; b < 4; ++b) {
        const int x = int(data >> 8 * (n + b) & 0xff), y = int(reference >> 8 * b & 0xff);
        result[n] += y ? uint32_t(std::abs(x - y)) : 0;
      }
    }
    for (unsigned n = 0; n < 4; ++n)
      e.vector(e.operand(0), lane, n) = result[n];
  }
}

struct LaneOperation {
  const char *name;
  void (*execute)(Execution &);
};
constexpr LaneOperation kOperations[] = {
    {"v_readfirstlane_b32", readFirstLane},
    {"v_readlane_b32", readLane},
    {"v_writelane_b32", writeLane},
    {"v_swap_b32", swap},
    {"v_permlane16_swap_b32", [](Execution &e) { permlaneSwap(e, 16); }},
    {"v_permlane32_swap_b32", [](Execution &e) { permlaneSwap(e, 32); }},
    {"v_accvgpr_read_b32", copyRegister},
    {"v_accvgpr_write_b32", copyRegister},
    {"v_accvgpr_mov_b32", copyRegister},
    {"v_mqsad_u32_u8", quadSad},
};

constexpr InstructionTemplate kTemplates[] = {
    {"v_readfirstlane_b32 {t}, {v}"},
    {"v_readlane_b32 {t}, {v}, {n:0:63}"},
    {"v_readlane_b32 {t}, {v}, {s}"},
    {"v_writelane_b32 {d}, {s}, {n:0:63}"},
    {"v_writelane_b32 {d}, {n:-16:64}, {s}"},
    {"v_swap_b32 {d}, {d}"},
    {"s_mov_b64 exec, -1\nv_permlane16_swap_b32 {d}, {d}"},
    {"s_mov_b64 exec, -1\nv_permlane32_swap_b32 {d}, {d}"},
    {"s_movk_i32 m0, {n:0:10}\ns_movrel{p:s|d}_b32 s{n:0:20}, s{n:0:20}"},
    {"s_movk_i32 m0, {n:0:10:2}\ns_movrel{p:s|d}_b64 s[{p:0:1|6:7|20:21}], s[{p:2:3|8:9|18:19}]"},
    {"s_set_gpr_idx_on {n:0:7}, gpr_idx({p:SRC0|SRC1|DST|SRC0,DST|SRC1,DST})\n"
     "v_add_u32_e32 v{n:0:40}, v{n:0:40}, v{n:0:40}\ns_set_gpr_idx_idx {n:0:7}\n"
     "v_mov_b32_e32 v{n:0:40}, v{n:0:40}\ns_set_gpr_idx_off"},
    {"v_accvgpr_read_b32 {d}, {a}"},
    {"v_accvgpr_write_b32 {b}, {v}"},
    {"v_accvgpr_write_b32 {b}, {n:-16:64}"},
    {"v_accvgpr_mov_b32 {b}, {a}"},
    {"v_mqsad_u32_u8 {d4}, {v2}, {v}, {v4}"},
};

} // namespace

bool executeLane(Execution &e) {
  for (const LaneOperation &operation : kOperations)
    if (e.line.mnemonic == operation.name) {
      operation.execute(e);
      return true;
    }
  return false;
}

llvm::ArrayRef<InstructionTemplate> laneTemplates() { return kTemplates; }

} // namespace mono::fuzz
