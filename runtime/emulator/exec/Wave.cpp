// The parts of a wavefront that are not hot.
#include "runtime/emulator/exec/Wave.h"

#include "runtime/emulator/exec/Apertures.h"
#include "runtime/emulator/exec/Workgroup.h"

namespace mono::emu {

void Wave::fault(std::string message) {
  if (status == WaveStatus::Faulted)
    return; // the first error is the cause
  status = WaveStatus::Faulted;
  faultText = std::move(message);
}

/// lds_direct: the LDS dword at M0[15:0] (CDNA4 ISA "LDS direct"); out of range reads 0.
static uint32_t readLdsDirect(const Wave &wave) {
  Lds &lds = wave.workgroup->lds();
  uint32_t address = wave.m0() & 0xFFFF, value = 0;
  if (lds.contains(address, 4))
    std::memcpy(&value, lds.data() + address, 4);
  return value;
}

uint64_t Wave::readSpecial(const Operand &operand) const {
  switch (SpecialRegister(operand.index)) {
  case SpecialRegister::SharedBase:
    return aperture::sharedBase;
  case SpecialRegister::SharedLimit:
    return aperture::sharedBase + aperture::size - 1;
  case SpecialRegister::PrivateBase:
    return aperture::privateBase;
  case SpecialRegister::PrivateLimit:
    return aperture::privateBase + aperture::size - 1;
  case SpecialRegister::PopsWaveId:
    return 0;
  case SpecialRegister::Vccz:
    return vcc() == 0;
  case SpecialRegister::Execz:
    return exec() == 0;
  case SpecialRegister::Scc:
    return scc;
  case SpecialRegister::LdsDirect:
    return readLdsDirect(*this);
  }
  return 0;
}

} // namespace mono::emu
