// Random programs: table instructions with every legal encoding, templates, EXEC changes, forward
// branches.
#include "test/runtime/fuzz/Generator.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <fmt/format.h>

#include <set>

namespace mono::fuzz {

// ---- table instructions --------------------------------------------------------------------

namespace {

bool isFloatType(char t) { return t == 'f' || t == 'h' || t == 'd'; }

/// One instruction of the vector table being written.
class VectorWriter {
public:
  VectorWriter(const VectorOp &op, Random &random) : op(op), random(random), operands(random) {}

  std::string write() {
    chooseForm();
    std::string text = op.name;
    if (form != kBare)
      text += form == kE32 ? "_e32" : form == kE64 ? "_e64" : form == kDpp ? "_dpp" : "_sdwa";
    text += ' ';
    writeDestination(text);
    writeSources(text);
    writeModifiers(text);
    return text;
  }

private:
  const VectorOp &op;
  Random &random;
  OperandWriter operands;
  uint32_t form = 0;

  bool isCompare() const { return op.types[0] == 'c'; }
  bool isVop3() const { return form == kE64 || form == kBare; }

  void chooseForm() {
    do
      form = 1u << random.below(5);
    while (!(op.forms & form));
    if (op.forms & kImplicitVcc)
      operands.takeConstantBus();
  }

  void writeDestination(std::string &text) {
    const char type = op.types[0];
    if (isCompare())
      text += form == kE32 ? "vcc" : operands.fill(random.oneIn(3) ? "vcc" : "{t2}");
    else
      text += operands.vgpr(type == 'd' || type == 'l' ? 2 : 1);
    if (op.forms & kCarryOut)
      text += isVop3() && random.oneIn(2) ? ", " + operands.sgpr(2) : ", vcc";
  }

  unsigned sourceCount() const {
    unsigned count = unsigned(std::string_view(op.types).size()) - 2;
    return count - ((op.forms & kAccumulates) != 0);
  }

  void writeSources(std::string &text) {
    // A mask operand takes the constant bus before the other sources can.
    const unsigned count = sourceCount();
    const bool hasMask = count && op.types[1 + count] == 'c' && !(op.forms & kImplicitVcc);
    const std::string mask = !hasMask ? "" : isVop3() ? operands.mask() : "vcc";
    if (hasMask)
      operands.takeConstantBus();
    if (std::string_view(op.name).starts_with("v_div_scale"))
      return writeDivisionScale(text);
    for (unsigned n = 0; n < count; ++n) {
      if (op.types[2 + n] == 'c') {
        if (hasMask)
          text += ", " + mask;
      } else {
        text += (n || text.back() != ' ' ? ", " : "") + source(n);
      }
    }
  }

  /// The value to scale must be the denominator or the numerator.
  void writeDivisionScale(std::string &text) {
    const std::string denominator = plainSource(1, op.types[3]);
    const std::string numerator = plainSource(2, op.types[4]);
    text +=
        ", " + (random.oneIn(2) ? denominator : numerator) + ", " + denominator + ", " + numerator;
  }

  std::string source(unsigned n) {
    const char type = op.types[2 + n];
    if ((op.forms & kLiteral) && isLiteralPlace(n))
      return fmt::format("0x{:x}", 0x3f000100 + random.below(0x1000000));
    return signedText(plainSource(n, type), type);
  }
  /// v_fmamk has its literal in the middle, v_fmaak at the end.
  bool isLiteralPlace(unsigned n) const {
    return std::string_view(op.name).find("mk_") != std::string_view::npos ? n == 1 : n == 2;
  }

  std::string plainSource(unsigned n, char type) {
    const unsigned count = type == 'd' || type == 'l' ? 2 : 1;
    if (op.forms & kLiteral)
      return operands.vgpr(count);
    switch (form) {
    case kE32:
      if (n == 0)
        return operands.anySource(type, type != 'l');
      return operands.vgpr(count);
    case kDpp:
      return operands.vgpr(count);
    case kSdwa:
      return operands.vgpr(count);
    default:
      return operands.anySource(type, false);
    }
  }

  std::string signedText(std::string text, char type) {
    const bool isConstant = text.find_first_of("va") == std::string::npos && text[0] != 's' &&
                            text[0] != 'm' && text[0] != 'e';
    if (form == kE32 || isConstant || (op.forms & kLiteral))
      return text;
    if (form == kSdwa && (type == 'i' || type == 's') && random.oneIn(3))
      return "sext(" + text + ")";
    const bool signs = (isFloatType(type) || type == 'm') && !(op.forms & kNoSign);
    if (!signs)
      return text;
    if (random.oneIn(4))
      text = "|" + text + "|";
    return random.oneIn(4) ? "-" + text : text;
  }

  void writeModifiers(std::string &text) {
    if (form == kE32 || (op.forms & kLiteral))
      return;
    if (form == kDpp)
      return writeDpp(text);
    const char type = op.types[0];
    if (std::string_view(op.name).starts_with("v_bitop3"))
      text += fmt::format(" bitop3:0x{:x}", random.below(256));
    if (isVop3() && (op.forms & kOpSel) && random.oneIn(2))
      writeOpSel(text);
    const bool floatResult = isFloatType(type) && !(op.forms & kNoOmod);
    if ((floatResult || (op.forms & kClamp)) && random.oneIn(4))
      text += " clamp";
    // Whether an f16 is multiplied before or after it is rounded is not documented.
    if (floatResult && type != 'h' && random.oneIn(6))
      text += random.pick<const char *>({" mul:2", " mul:4", " div:2"});
    if (form == kSdwa)
      writeSdwa(text);
  }

  void writeOpSel(std::string &text) {
    text += " op_sel:[";
    for (unsigned n = 0; n <= sourceCount(); ++n)
      text += fmt::format("{}{}", n ? "," : "", random.below(2));
    text += "]";
  }

  void writeSdwa(std::string &text) {
    auto select = [&] {
      return random.pick<const char *>(
          {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"});
    };
    if (!isCompare())
      text +=
          fmt::format(" dst_sel:{} dst_unused:{}", select(),
                      random.pick<const char *>({"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"}));
    text += fmt::format(" src0_sel:{}", select());
    const bool hasSecond = sourceCount() > 1 && op.types[3] != 'c';
    if (hasSecond)
      text += fmt::format(" src1_sel:{}", select());
  }

  void writeDpp(std::string &text) {
    text += operands.fill(random.pick<const char *>(
        {" quad_perm:[{n:0:3},{n:0:3},{n:0:3},{n:0:3}]", " row_shl:{n:1:15}", " row_shr:{n:1:15}",
         " row_ror:{n:1:15}", " wave_shl:1", " wave_shr:1", " wave_rol:1", " wave_ror:1",
         " row_mirror", " row_half_mirror", " row_bcast:15", " row_bcast:31",
         " row_newbcast:{n:0:15}"}));
    if (random.oneIn(2))
      text += fmt::format(" row_mask:0x{:x} bank_mask:0x{:x}", random.below(16), random.below(16));
    else
      text += " row_mask:0xf bank_mask:0xf";
    if (random.oneIn(2))
      text += " bound_ctrl:0";
  }
};

std::string scalarOperand(Random &random, char type, bool allowLiteral) {
  OperandWriter operands(random);
  const unsigned count = type == 'l' ? 2 : 1;
  const unsigned roll = random.below(16);
  if (roll == 0 && allowLiteral)
    return fmt::format("0x{:x}", 0x100 + random.below(0x7fffff00));
  if (roll < 5)
    return std::to_string(random.between(-16, 64));
  if (roll == 5)
    return count == 2 ? random.pick<const char *>({"vcc", "exec"})
                      : random.pick<const char *>({"vcc_lo", "vcc_hi", "exec_lo", "m0", "src_scc"});
  return operands.sgpr(count);
}

std::string scalarDestination(Random &random, bool wide) {
  OperandWriter operands(random);
  if (random.oneIn(8))
    return wide ? "vcc" : random.pick<const char *>({"vcc_lo", "vcc_hi"});
  return operands.sgpr(wide ? 2 : 1);
}

} // namespace

std::string writeVectorOp(const VectorOp &op, Random &random) {
  return VectorWriter(op, random).write();
}

std::string writeScalarOp(const ScalarOp &op, Random &random) {
  std::string text = op.name;
  const char *separator = " ";
  if (op.types[0] != '-') {
    text += separator + scalarDestination(random, op.types[0] == 'l');
    separator = ", ";
  }
  bool literalFree = true;
  for (const char *type = op.types + 2; *type; ++type) {
    if (*type == 'k') {
      const bool isUnsigned = std::string_view(op.name).ends_with("u32");
      text += separator +
              std::to_string(isUnsigned ? random.between(0, 65535) : random.between(-32768, 32767));
    } else if (*type == 'i' && std::string_view(op.name).starts_with("s_cmpk")) {
      text += separator + OperandWriter(random).sgpr(1);
    } else {
      const std::string operand = scalarOperand(random, *type, literalFree);
      literalFree = literalFree && !operand.starts_with("0x");
      text += separator + operand;
    }
    separator = ", ";
  }
  return text;
}

// ---- programs ------------------------------------------------------------------------------

namespace {

/// A program under construction.
class ProgramWriter {
public:
  ProgramWriter(FuzzProgram &program, Random &random) : program(program), random(random) {}

  void write() {
    const unsigned length = random.oneIn(10) ? 100 + random.below(101) : 10 + random.below(50);
    for (unsigned n = 0; n < length; ++n) {
      writeOne();
      if (!pendingLabel.empty() && random.oneIn(4))
        placeLabel();
    }
    if (!pendingLabel.empty())
      placeLabel();
  }

private:
  FuzzProgram &program;
  Random &random;
  std::string pendingLabel;
  unsigned labels = 0;
  bool isInLoop = false;

  void emit(std::string line) { program.lines.push_back(std::move(line)); }

  void placeLabel() {
    emit(pendingLabel + ":");
    pendingLabel.clear();
  }

  template <typename T> const T &pickFrom(llvm::ArrayRef<T> list) {
    return list[random.below(unsigned(list.size()))];
  }
  void emitTemplate(llvm::ArrayRef<InstructionTemplate> list) {
    if (list.empty())
      return;
    llvm::SmallVector<llvm::StringRef, 4> texts;
    llvm::StringRef(pickFrom(list).text).split(texts, '\n');
    for (llvm::StringRef text : texts)
      emit(OperandWriter(random).fill(text));
  }

  void writeOne() {
    const unsigned roll = random.below(100);
    if (roll < 12)
      emit(writeScalarOp(pickFrom(scalarOps()), random));
    else if (roll < 24)
      emit(writeVectorOp(pickFrom(integerOps()), random));
    else if (roll < 30)
      emit(writeVectorOp(pickFrom(halfIntegerOps()), random));
    else if (roll < 44)
      emit(writeVectorOp(pickFrom(floatOps()), random));
    else if (roll < 48)
      emit(writeVectorOp(pickFrom(specialFloatOps()), random));
    else if (roll < 54)
      emit(writeVectorOp(pickFrom(conversionOps()), random));
    else if (roll < 60)
      emit(writeVectorOp(pickFrom(compareOps()), random));
    else if (roll < 68)
      emitTemplate(packedTemplates());
    else if (roll < 74)
      emitTemplate(laneTemplates());
    else if (roll < 80)
      emitTemplate(conversionTemplates());
    else if (roll < 92)
      writeMemory();
    else if (roll < 94)
      emitTemplate(matrixTemplates());
    else
      writeControl();
  }

  void writeMemory() {
    emitTemplate(memoryTemplates());
    emit("s_waitcnt vmcnt(0) lgkmcnt(0)");
  }

  /// EXEC, MODE, a branch over what follows, jumps and loops.
  void writeControl() {
    switch (random.below(8)) {
    case 0:
    case 1:
      return writeBranch();
    case 2:
      return writeMode();
    case 3:
      return writeJump();
    case 4:
      return isInLoop ? writeExec() : writeLoop();
    default:
      return writeExec();
    }
  }

  void writeExec() {
    emit(random.pick<const char *>(
        {"s_mov_b64 exec, -1", "s_mov_b64 exec, -1", "s_mov_b64 exec, -1", "s_mov_b64 exec, vcc",
         "s_mov_b64 exec, s[2:3]", "s_mov_b32 exec_lo, 0x0f0f1234", "s_mov_b64 exec, 0",
         "s_not_b64 exec, exec", "s_or_b64 exec, exec, vcc", "s_and_b64 exec, exec, s[4:5]"}));
  }

  void writeMode() {
    OperandWriter operands(random);
    emit(operands.fill(
        random.pick<const char *>({"s_setreg_imm32_b32 hwreg(HW_REG_MODE,0,4), {n:0:15}",
                                   "s_setreg_imm32_b32 hwreg(HW_REG_MODE,4,4), {n:0:15}",
                                   "s_setreg_imm32_b32 hwreg(HW_REG_MODE,0,10), 0x3f0",
                                   "s_setreg_imm32_b32 hwreg(HW_REG_MODE,8,2), {n:0:3}",
                                   "s_setreg_imm32_b32 hwreg(HW_REG_MODE,23,1), {n:0:1}",
                                   "s_setreg_b32 hwreg(HW_REG_MODE,2,6), {s}",
                                   "s_getreg_b32 {t}, hwreg(HW_REG_MODE,0,10)"})));
  }

  std::string newLabel() { return fmt::format("L{:x}_{}", program.seed, labels++); }

  /// Over the s_nop, or just up to it.
  void writeJump() {
    emit("s_getpc_b64 s[46:47]");
    emit(fmt::format("s_add_u32 s46, s46, {}", random.pick<unsigned>({8, 12})));
    emit(random.oneIn(2) ? "s_setpc_b64 s[46:47]"
                         : OperandWriter(random).fill("s_swappc_b64 {t2}, s[46:47]"));
    emit("s_nop 0");
  }

  /// One to three rounds; no branch leads into the loop or out of it.
  void writeLoop() {
    if (!pendingLabel.empty())
      placeLabel();
    const std::string start = newLabel();
    emit(fmt::format("s_movk_i32 s48, {}", random.below(3) + 1));
    emit(start + ":");
    isInLoop = true;
    for (unsigned length = random.below(6) + 1; length; --length)
      writeOne();
    isInLoop = false;
    if (!pendingLabel.empty())
      placeLabel();
    emit("s_sub_u32 s48, s48, 1");
    emit("s_cmp_lg_u32 s48, 0");
    emit("s_cbranch_scc1 " + start);
  }

  void writeBranch() {
    if (!pendingLabel.empty())
      return;
    pendingLabel = newLabel();
    if (random.oneIn(8))
      return emit(OperandWriter(random).fill("s_call_b64 {t2}, ") + pendingLabel);
    emit(std::string(random.pick<const char *>(
             {"s_cbranch_scc0 ", "s_cbranch_scc1 ", "s_cbranch_vccz ", "s_cbranch_vccnz ",
              "s_cbranch_execz ", "s_cbranch_execnz ", "s_branch "})) +
         pendingLabel);
  }
};

} // namespace

FuzzProgram generateProgram(uint64_t seed, uint64_t memoryBase) {
  Random random(seed * 0xd1342543de82ef95 + 1);
  FuzzProgram program;
  program.seed = seed;
  program.initial = randomState(random, memoryBase);
  ProgramWriter(program, random).write();
  return program;
}

/// Mnemonics of a template, with every combination of the alternatives in them.
static void collectMnemonics(llvm::StringRef text, std::set<std::string> &names) {
  text = text.rsplit('\n').second.empty() ? text : text.rsplit('\n').second;
  std::vector<std::string> found = {""};
  while (!text.empty() && text[0] != ' ') {
    const bool isHole = text[0] == '{';
    const size_t length = isHole ? text.find('}') + 1 : 1;
    llvm::SmallVector<llvm::StringRef, 8> pieces;
    if (isHole)
      text.substr(3, length - 4).split(pieces, '|');
    else
      pieces.push_back(text.take_front(1));
    std::vector<std::string> longer;
    for (const std::string &start : found)
      for (llvm::StringRef piece : pieces)
        longer.push_back(start + piece.str());
    found = std::move(longer);
    text = text.drop_front(length);
  }
  for (const std::string &name : found)
    names.insert(parseLine(name).mnemonic);
}

std::vector<std::string> generatedMnemonics() {
  std::set<std::string> names;
  for (const ScalarOp &op : scalarOps())
    names.insert(op.name);
  for (llvm::ArrayRef<VectorOp> ops : {integerOps(), halfIntegerOps(), floatOps(),
                                       specialFloatOps(), conversionOps(), compareOps()})
    for (const VectorOp &op : ops)
      names.insert(op.name);
  for (llvm::ArrayRef<InstructionTemplate> list :
       {laneTemplates(), packedTemplates(), conversionTemplates(), memoryTemplates(),
        matrixTemplates()})
    for (const InstructionTemplate &t : list)
      collectMnemonics(t.text, names);
  return {names.begin(), names.end()};
}

} // namespace mono::fuzz
