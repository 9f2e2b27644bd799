// Bytes of gfx950 code to Instruction records, through LLVM's disassembler.
#include "runtime/emulator/decode/Decoder.h"

#include "runtime/Error.h"
#include "runtime/emulator/decode/Encoding.h"
#include "runtime/emulator/decode/Operands.h"
#include "runtime/emulator/exec/MatrixKinds.h"

#include "llvm-c/Target.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

namespace mono::emu {

static uint32_t wordAt(llvm::ArrayRef<uint8_t> bytes, size_t n) {
  return bytes.size() < 4 * n + 4 ? 0 : llvm::support::endian::read32le(bytes.data() + 4 * n);
}

// Three kinds of bytes crash LLVM 22's disassembler and must not reach it: these two, and a literal
// that is cut off.

/// An f8f6f4 matrix instruction (VOP3P-MAI opcodes 0x2d and 0x2e, alone or behind its scales) whose
/// A or B is no vector register. No valid program has one.
static bool isInvalidF8f6f4(llvm::ArrayRef<uint8_t> bytes) {
  size_t first = wordAt(bytes, 0) >> 16 == 0xd3ac ? 2 : 0;
  uint32_t prefix = wordAt(bytes, first) >> 16, sources = wordAt(bytes, first + 1);
  bool isF8f6f4 = prefix == 0xd3ad || prefix == 0xd3ae;
  return isF8f6f4 && !((sources & 0x100) && (sources >> 9 & 0x100));
}

/// v_madmk_f16 and v_madak_f16 (VOP2 opcodes 0x24 and 0x25) with the literal 255, which it takes
/// for the code of a literal.
static bool isMadOfLiteral255(llvm::ArrayRef<uint8_t> bytes) {
  uint32_t opcode = wordAt(bytes, 0) >> 25;
  return (opcode == 0x24 || opcode == 0x25) && wordAt(bytes, 1) == 255;
}

struct Decoder::Impl {
  llvm::MCTargetOptions options;
  std::unique_ptr<const llvm::MCRegisterInfo> registers;
  std::unique_ptr<const llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<const llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<const llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<const llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  std::unique_ptr<OperandDecoder> operands;

  bool disassemble(llvm::ArrayRef<uint8_t> bytes, llvm::MCInst &inst, uint64_t &size) const {
    if (isInvalidF8f6f4(bytes) || isMadOfLiteral255(bytes))
      return false;
    // The longest instruction has 16 bytes, so that with these nothing is cut off.
    std::array<uint8_t, 16> padded{};
    llvm::ArrayRef<uint8_t> whole = bytes;
    if (bytes.size() < padded.size()) {
      std::copy(bytes.begin(), bytes.end(), padded.begin());
      whole = padded;
    }
    return disassembler->getInstruction(inst, size, whole, 0, llvm::nulls()) ==
               llvm::MCDisassembler::Success &&
           size <= bytes.size();
  }
};

Decoder::Decoder(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Decoder::~Decoder() = default;

static const llvm::Target *amdgpuTarget(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  return llvm::TargetRegistry::lookupTarget(llvm::Triple("amdgcn-amd-amdhsa"), error);
}

llvm::Expected<std::unique_ptr<Decoder>> Decoder::create() {
  std::string error;
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  const llvm::Target *target = amdgpuTarget(error);
  if (!target)
    return makeError("no AMDGPU disassembler: {}", error);
  auto impl = std::make_unique<Impl>();
  impl->registers.reset(target->createMCRegInfo(triple));
  impl->asmInfo.reset(target->createMCAsmInfo(*impl->registers, triple, impl->options));
  impl->subtarget.reset(target->createMCSubtargetInfo(triple, "gfx950", ""));
  impl->instructions.reset(target->createMCInstrInfo());
  impl->context = std::make_unique<llvm::MCContext>(triple, impl->asmInfo.get(),
                                                    impl->registers.get(), impl->subtarget.get());
  impl->disassembler.reset(target->createMCDisassembler(*impl->subtarget, *impl->context));
  impl->printer.reset(target->createMCInstPrinter(triple, impl->asmInfo->getAssemblerDialect(),
                                                  *impl->asmInfo, *impl->instructions,
                                                  *impl->registers));
  if (!impl->disassembler || !impl->printer)
    return makeError("no AMDGPU disassembler in this LLVM");
  impl->operands = std::make_unique<OperandDecoder>(*impl->instructions, *impl->registers);
  return std::unique_ptr<Decoder>(new Decoder(std::move(impl)));
}

// ---- names -------------------------------------------------------------------------------------

std::string baseNameOf(llvm::StringRef name) {
  // Everything from the first suffix that starts in lower case is encoding: _e32_vi, _gfx940_acd.
  for (size_t at = name.find('_'); at != llvm::StringRef::npos; at = name.find('_', at + 1))
    if (at + 1 < name.size() && name[at + 1] >= 'a' && name[at + 1] <= 'z') {
      name = name.take_front(at);
      break;
    }
  bool isSmem = name.starts_with("S_");
  bool isMemory = name.starts_with("GLOBAL_") || name.starts_with("SCRATCH_") ||
                  name.starts_with("FLAT_") || name.starts_with("BUFFER_") ||
                  name.starts_with("TBUFFER_");
  auto dropSuffix = [&](llvm::ArrayRef<llvm::StringRef> suffixes) {
    bool again = true;
    while (again) {
      again = false;
      for (llvm::StringRef suffix : suffixes)
        again |= name.consume_back(suffix);
    }
  };
  if (isSmem && (name.contains("_LOAD_") || name.contains("_STORE_") || name.contains("_ATOMIC_") ||
                 name.contains("_DCACHE_") || name.contains("_PROBE")))
    dropSuffix({"_IMM", "_SGPR", "_RTN"});
  if (isMemory)
    dropSuffix({"_SADDR", "_SVS", "_ST", "_VE", "_OFFEN", "_IDXEN", "_BOTHEN", "_OFFSET", "_RTN"});
  return name.str();
}

std::vector<std::string> Decoder::allBaseNames() const {
  std::vector<std::string> names;
  for (unsigned op = 0; op < impl->instructions->getNumOpcodes(); ++op) {
    llvm::StringRef name = impl->instructions->getName(op);
    if (name.contains("_vi") || name.contains("_gfx9"))
      names.push_back(baseNameOf(name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// ---- one instruction ---------------------------------------------------------------------------

static InstructionClass memoryClass(llvm::StringRef name) {
  if (name.contains("_ATOMIC_"))
    return InstructionClass::VmemAtomic;
  if (name.contains("_LOAD_"))
    return InstructionClass::VmemLoad;
  return name.contains("_STORE_") ? InstructionClass::VmemStore : InstructionClass::Other;
}

static InstructionClass classify(Format format, llvm::StringRef name) {
  switch (format) {
  case Format::Sopp:
    if (name.contains("BRANCH"))
      return InstructionClass::Branch;
    if (name == "S_BARRIER")
      return InstructionClass::Barrier;
    if (name == "S_WAITCNT")
      return InstructionClass::Waitcnt;
    return name == "S_SLEEP" ? InstructionClass::Sleep : InstructionClass::Other;
  case Format::Sop1:
  case Format::Sop2:
  case Format::Sopk:
  case Format::Sopc:
    return InstructionClass::Salu;
  case Format::Smem:
    return InstructionClass::Smem;
  case Format::Mai:
    return name.starts_with("V_ACCVGPR") ? InstructionClass::Valu : InstructionClass::Mfma;
  case Format::Ds:
    return InstructionClass::Lds;
  case Format::Mubuf:
  case Format::Mtbuf:
  case Format::Flat:
  case Format::Global:
  case Format::Scratch:
    return memoryClass(name);
  case Format::Unknown:
    return InstructionClass::Other;
  default:
    return InstructionClass::Valu;
  }
}

static bool isMatrix(llvm::StringRef name) {
  return name.starts_with("V_MFMA_") || name.starts_with("V_SMFMAC_") ||
         name == "V_ACCVGPR_READ_B32" || name == "V_ACCVGPR_WRITE_B32";
}

bool Decoder::decode(llvm::ArrayRef<uint8_t> bytes, Instruction &inst, std::string &name) {
  llvm::MCInst mc;
  uint64_t size = 0;
  if (!impl->disassemble(bytes, mc, size) || size > bytes.size() || size > 16)
    return false;
  EncodedWords words;
  std::memcpy(words.word, bytes.data(), size);
  name = baseNameOf(impl->instructions->getName(mc.getOpcode()));
  inst.size = uint32_t(size);
  inst.format = formatOf(words.word[0]);
  if (isMatrix(name))
    inst.format = Format::Mai;
  inst.cls = classify(inst.format, name);
  if (!impl->operands->decode(mc, name, inst))
    return false;
  decodeModifiers(words, inst);
  inst.counter = uint8_t(inst.cls);
  if (inst.cls == InstructionClass::Mfma)
    inst.counter = uint8_t(instructionClassCount + matrixKind(name, inst));
  return true;
}

std::string Decoder::print(llvm::ArrayRef<uint8_t> bytes) {
  llvm::MCInst mc;
  uint64_t size = 0;
  if (!impl->disassemble(bytes, mc, size))
    return "<undecodable>";
  std::string text;
  llvm::raw_string_ostream stream(text);
  impl->printer->printInst(&mc, 0, "", *impl->subtarget, stream);
  // One line, single blanks.
  std::string line;
  for (char c : llvm::StringRef(text).trim()) {
    char plain = c == '\t' || c == '\n' ? ' ' : c;
    if (plain != ' ' || (!line.empty() && line.back() != ' '))
      line.push_back(plain);
  }
  return line;
}

// ---- a whole image -----------------------------------------------------------------------------

namespace {
/// Assigns ids to base names and looks their handlers up once.
class NameTable {
public:
  explicit NameTable(const HandlerTable &handlers) : handlers(handlers) { names.push_back(""); }

  void resolve(const std::string &name, Instruction &inst) {
    auto [it, isNew] = ids.try_emplace(name, uint32_t(names.size()));
    if (isNew) {
      names.push_back(name);
      found.push_back(handlers.find(name));
    }
    inst.nameId = it->second;
    inst.handler = found[it->second - 1];
  }
  std::vector<std::string> take() { return std::move(names); }

private:
  const HandlerTable &handlers;
  llvm::StringMap<uint32_t> ids;
  std::vector<std::string> names;
  std::vector<Handler> found;
};
} // namespace

/// Decodes [begin, end) and ends the run with a sentinel of size 0.
static void decodeRun(Decoder &decoder, llvm::ArrayRef<uint8_t> image, uint64_t begin, uint64_t end,
                      NameTable &names, std::vector<Instruction> &code) {
  std::string name;
  for (uint64_t at = begin; at + 4 <= end;) {
    Instruction inst;
    bool known = decoder.decode(image.slice(at, end - at), inst, name);
    if (!known)
      inst = Instruction();
    else
      names.resolve(name, inst);
    inst.pc = at;
    code.push_back(inst);
    at += inst.size;
  }
  Instruction sentinel;
  sentinel.pc = end;
  sentinel.size = 0;
  code.push_back(sentinel);
}

llvm::Expected<std::shared_ptr<const Program>> decodeProgram(llvm::ArrayRef<uint8_t> image,
                                                             llvm::ArrayRef<CodeRange> ranges,
                                                             llvm::ArrayRef<uint64_t> entries,
                                                             const HandlerTable &handlers) {
  llvm::Expected<std::unique_ptr<Decoder>> decoder = Decoder::create();
  if (!decoder)
    return decoder.takeError();
  NameTable names(handlers);
  std::vector<Instruction> code;
  for (const CodeRange &range : ranges) {
    std::vector<uint64_t> starts = {range.begin};
    for (uint64_t entry : entries)
      if (entry > range.begin && entry < range.end && entry % 4 == 0)
        starts.push_back(entry);
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    for (size_t s = 0; s < starts.size(); ++s)
      decodeRun(**decoder, image, starts[s], s + 1 < starts.size() ? starts[s + 1] : range.end,
                names, code);
  }
  // The text of an instruction is wanted only in reports: keep the bytes and print on demand.
  auto bytes = std::make_shared<std::vector<uint8_t>>(image.begin(), image.end());
  auto printer = std::shared_ptr<Decoder>(std::move(*decoder));
  auto lock = std::make_shared<std::mutex>();
  auto print = [bytes, printer, lock](const Instruction &inst) {
    std::lock_guard<std::mutex> guard(*lock);
    if (inst.pc >= bytes->size())
      return std::string("<outside the code>");
    return printer->print(llvm::ArrayRef(*bytes).drop_front(inst.pc).take_front(16));
  };
  return std::make_shared<const Program>(std::move(code), names.take(), image.size(), print);
}

} // namespace mono::emu
