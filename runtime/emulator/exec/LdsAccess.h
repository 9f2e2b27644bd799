// Checked access of lanes to LDS, shared by the DS files.
#pragma once

#include "runtime/emulator/exec/LdsBanks.h"
#include "runtime/emulator/exec/Workgroup.h"

namespace mono::emu {

/// Byte address of a lane: its register plus the instruction's offset, modulo 2^32. The sum wraps
/// from gfx7 on (LLVM, GCNSubtarget::hasUsableDSOffset), and compilers fold offsets onto negative
/// bases.
inline uint32_t dsAddress(uint32_t base, uint32_t offset) { return base + offset; }

/// The LDS of a wave's workgroup as one instruction sees it. Failed checks fault the wave and yield
/// null. Addresses are bytes from the start of the workgroup's allocation.
class LdsAccess {
public:
  LdsAccess(Wave &wave, const Instruction &inst);
  ~LdsAccess();
  LdsAccess(const LdsAccess &) = delete;
  LdsAccess &operator=(const LdsAccess &) = delete;

  const uint8_t *forRead(unsigned lane, uint64_t address, unsigned bytes) {
    if (!lds.contains(address, bytes))
      return outOfRange(lane, address, bytes);
    uint32_t at = uint32_t(address);
    if (checkWritten && !lds.isWritten(at, bytes))
      return reportUnwritten(lane, at, bytes);
    if (dmaPending && !checkDma(lane, at, bytes))
      return nullptr;
    if (race && !race->note(wave, raceRead, lane, at, bytes))
      return nullptr;
    read += bytes;
    if (banks) [[unlikely]]
      banks->note(lane, at, bytes, isAtomic);
    return lds.data() + at;
  }
  uint8_t *forWrite(unsigned lane, uint64_t address, unsigned bytes,
                    LdsAccessKind kind = LdsAccessKind::Write) {
    if (!lds.contains(address, bytes))
      return outOfRange(lane, address, bytes);
    uint32_t at = uint32_t(address);
    if (dmaPending && !checkDma(lane, at, bytes))
      return nullptr;
    raceWrite.kind = kind;
    if (race && !race->note(wave, raceWrite, lane, at, bytes))
      return nullptr;
    lds.markWritten(at, bytes);
    written += bytes;
    if (banks && !isAtomic) [[unlikely]]
      banks->note(lane, at, bytes, false);
    return lds.data() + at;
  }
  /// A naturally aligned range for a read-modify-write.
  uint8_t *forAtomic(unsigned lane, uint64_t address, unsigned bytes);

private:
  uint8_t *outOfRange(unsigned lane, uint64_t address, unsigned bytes);
  const uint8_t *reportUnwritten(unsigned lane, uint32_t address, unsigned bytes);
  bool checkDma(unsigned lane, uint32_t address, unsigned bytes);

  Wave &wave;
  Lds &lds;
  RaceLds *race;
  LdsBanks *banks; ///< null unless conflicts are counted
  RaceLds::Access raceRead, raceWrite;
  bool checkWritten, dmaPending;
  bool isAtomic = false; ///< both halves of a read-modify-write are one access
  uint64_t read = 0, written = 0;
};

/// Byte addresses of all lanes, src[0] + the 16-bit instruction offset, taken before the
/// destination, which may be the same register, is written.
struct LdsAddresses {
  std::array<uint32_t, Wave::lanes> base;
  explicit LdsAddresses(Wave &w, const Instruction &i) {
    std::memcpy(base.data(), w.vgpr(i.src[0]), sizeof(base));
  }
};

/// Notes a finished DS instruction that wrote `registers` registers from dst[0] on.
inline void issueDs(Wave &w, const Instruction &i, unsigned registers) {
  w.waitcnt.issue(ReturnPath::Ds, i, false, registers ? w.physicalIndex(i.dst[0]) : 0, registers);
}

} // namespace mono::emu
