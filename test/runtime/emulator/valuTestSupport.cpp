// Decoding and running for the vector ALU tests.
#include "test/runtime/emulator/valuTestSupport.h"

#include "runtime/emulator/decode/Decoder.h"
#include "runtime/emulator/exec/Handlers.h"
#include "test/runtime/emulator/AsmKernel.h"

namespace mono::emu::test {
ValuTest::ValuTest() : storage(new uint32_t[kRegisters * 64 + 16]) {
  // 64-byte alignment, as the emulator gives its register files.
  registers = storage.get() + (64 - (reinterpret_cast<uintptr_t>(storage.get()) & 63)) / 4;
  wave.vgprs = registers;
  wave.numVgprs = kRegisters;
  wave.accumOffset = kAccumOffset;
  wave.setExec(kAll);
  wave.modeRegister =
      3u << mode::denormF32 | 3u << mode::denormF64F16 | 1u << mode::dx10Clamp | 1u << mode::ieee;
  fillBits(0, kRegisters);
}

void ValuTest::run(const std::string &text) {
  static const std::unique_ptr<Decoder> decoder = llvm::cantFail(Decoder::create());
  const std::vector<uint8_t> code = assembleBytes(text + "\n");
  llvm::ArrayRef<uint8_t> rest(code);
  while (!rest.empty()) {
    Instruction inst;
    std::string name;
    ASSERT_TRUE(decoder->decode(rest, inst, name)) << text;
    const Handler handler = defaultHandlers().find(name);
    ASSERT_NE(handler, nullptr) << "no handler for " << name;
    handler(wave, inst);
    ASSERT_EQ(wave.faultMessage(), "") << text;
    rest = rest.drop_front(inst.size);
  }
}

uint32_t ValuTest::anyFloat() {
  const uint32_t bits = uint32_t(random());
  constexpr uint32_t kSpecials[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                    0x7fc00000, 0x7f800001, 0x00000001, 0x807fffff,
                                    0x3f800000, 0xbf800000, 0x7f7fffff, 0x00800000};
  switch (random() % 4) {
  case 0:
    return kSpecials[bits % std::size(kSpecials)];
  case 1:
    return bits;
  default: // exponents near each other, so that sums are not trivial
    return (bits & 0x807fffff) | (120 + bits / 8388608 % 16) << 23;
  }
}

uint16_t ValuTest::anyHalf() {
  const uint16_t bits = uint16_t(random());
  constexpr uint16_t kSpecials[] = {0,      0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7c01,
                                    0x0001, 0x83ff, 0x3c00, 0x7bff, 0x0400};
  return random() % 4 ? bits : kSpecials[bits % std::size(kSpecials)];
}

uint64_t ValuTest::anyDouble() {
  const uint64_t bits = uint64_t(random()) << 32 | random();
  constexpr uint64_t kSpecials[] = {
      0, 1ull << 63,      0x7ffull << 52, 0xfffull << 52, 0x7ff8ull << 48,
      1, 0x7fefull << 48, 1ull << 52};
  switch (random() % 4) {
  case 0:
    return kSpecials[bits % std::size(kSpecials)];
  case 1:
    return bits;
  default:
    return (bits & 0x800fffffffffffffull) | (1015 + random() % 16) << 52;
  }
}

uint32_t ValuTest::ordinaryFloat() {
  const uint32_t bits = uint32_t(random());
  return (bits & 0x807fffff) | (117 + random() % 20) << 23;
}

} // namespace mono::emu::test
