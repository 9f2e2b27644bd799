// Moves, selects, access to single lanes, and swaps between lanes.
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuLanes.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace mono::emu::valu {
namespace {

void nop(Wave &, const Instruction &) {}

/// V_READFIRSTLANE_B32: the lowest active lane, lane 0 if there is none.
void readFirstLane(Wave &wave, const Instruction &inst) {
  const Operand &source = inst.src[0];
  if (!source.isVector()) {
    wave.writeScalar32(inst.dst[0], wave.readScalar32(source));
    return;
  }
  const uint64_t exec = wave.exec();
  wave.writeScalar32(inst.dst[0], wave.vgpr(source)[exec ? std::countr_zero(exec) : 0]);
}

/// V_READLANE_B32: ignores EXEC; the lane number wraps at 64.
void readLane(Wave &wave, const Instruction &inst) {
  const uint32_t lane = wave.readScalar32(inst.src[1]) & 63;
  const Operand &source = inst.src[0];
  wave.writeScalar32(inst.dst[0],
                     source.isVector() ? wave.vgpr(source)[lane] : wave.readScalar32(source));
}

/// V_WRITELANE_B32: ignores EXEC; the lane number wraps at 64.
void writeLane(Wave &wave, const Instruction &inst) {
  const uint32_t lane = wave.readScalar32(inst.src[1]) & 63;
  wave.vgpr(inst.dst[0])[lane] = wave.readScalar32(inst.src[0]);
}

void swapRows(Wave &wave, const Instruction &inst) {
  uint32_t *a = wave.vgpr(inst.dst[0]), *b = wave.vgpr(inst.dst[1]);
  const uint64_t mask = wave.exec();
  LaneBuffer old;
  std::copy_n(a, Wave::lanes, old.dword);
  blendRow(a, b, mask);
  blendRow(b, old.dword, mask);
}

/// Exchanges dst[0] lane `upper` with dst[1] lane `lower`. A lane whose partner is inactive keeps
/// its value, or becomes zero with bound_ctrl, unless fi makes inactive lanes readable.
void swapLanes(Wave &wave, const Instruction &inst, unsigned upper, unsigned lower) {
  uint32_t &first = wave.vgpr(inst.dst[0])[upper];
  uint32_t &second = wave.vgpr(inst.dst[1])[lower];
  const uint64_t exec = wave.exec();
  const bool upperActive = exec >> upper & 1, lowerActive = exec >> lower & 1;
  const uint32_t oldFirst = first, oldSecond = second;
  const auto exchanged = [&](bool partnerActive, uint32_t partner, uint32_t own) {
    if (partnerActive || inst.dpp.fetchInactive)
      return partner;
    return inst.dpp.boundCtrl ? 0 : own;
  };
  if (upperActive)
    first = exchanged(lowerActive, oldSecond, oldFirst);
  if (lowerActive)
    second = exchanged(upperActive, oldFirst, oldSecond);
}

/// With all lanes active the swaps exchange every odd run of `Size` lanes of vdst with the even run
/// of src before it. vdst and src may be one register.
template <unsigned Size> void swapRanges(Wave &wave, const Instruction &inst) {
  uint32_t *first = wave.vgpr(inst.dst[0]), *second = wave.vgpr(inst.dst[1]);
  for (unsigned lane = 0; lane < Wave::lanes; lane += 2 * Size)
    std::swap_ranges(first + lane + Size, first + lane + 2 * Size, second + lane);
}

/// V_PERMLANE16_SWAP_B32: odd 16-lane rows of vdst with the even rows of src.
void permlane16Swap(Wave &wave, const Instruction &inst) {
  if (wave.exec() == Wave::allLanes) [[likely]] {
    swapRanges<16>(wave, inst);
    return;
  }
  for (unsigned pair = 0; pair < 2; ++pair)
    for (unsigned lane = 0; lane < 16; ++lane)
      swapLanes(wave, inst, 32 * pair + 16 + lane, 32 * pair + lane);
}

/// V_PERMLANE32_SWAP_B32: the upper half of vdst with the lower half of src.
void permlane32Swap(Wave &wave, const Instruction &inst) {
  if (wave.exec() == Wave::allLanes) [[likely]] {
    swapRanges<32>(wave, inst);
    return;
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    swapLanes(wave, inst, 32 + lane, lane);
}

constexpr auto kMove = [](uint32_t a) { return a; };

const Entry kEntries[] = {
    {"V_NOP", nop},
    {"V_CLREXCP", nop},
    {"V_MOV_B32", valu<kMove>},
    {"V_MOV_B64", valu<[](uint64_t a) { return a; }>},
    {"V_ACCVGPR_READ_B32", valu<kMove>},
    {"V_ACCVGPR_WRITE_B32", valu<kMove>},
    {"V_ACCVGPR_MOV_B32", valu<kMove>},
    {"V_CNDMASK_B32", valu<[](SignedBits a, SignedBits b, MaskBit select) {
       return select.value ? b.bits : a.bits;
     }>},
    {"V_READFIRSTLANE_B32", readFirstLane},
    {"V_READLANE_B32", readLane},
    {"V_WRITELANE_B32", writeLane},
    {"V_SWAP_B32", swapRows},
    {"V_PERMLANE16_SWAP_B32", permlane16Swap},
    {"V_PERMLANE32_SWAP_B32", permlane32Swap},
};

} // namespace

void registerMove(HandlerTable &table) { addAll(table, kEntries); }

} // namespace mono::emu::valu
