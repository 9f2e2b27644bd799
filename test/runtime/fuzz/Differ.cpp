// Side by side execution, comparison, shrinking and reporting.
#include "test/runtime/fuzz/Differ.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace mono::fuzz {

// ---- comparing two states ------------------------------------------------------------------

namespace {

uint32_t *cellOf(State &s, const LooseResult &loose) {
  switch (loose.place) {
  case LooseResult::Vgpr:
    return &s.vgprs[loose.index][loose.lane];
  case LooseResult::Agpr:
    return &s.agprs[loose.index][loose.lane];
  default:
    return nullptr;
  }
}

uint64_t readCell(State &s, const LooseResult &loose) {
  if (uint32_t *cell = cellOf(s, loose)) {
    if (loose.format.bits() == 64)
      return cell[0] | uint64_t(cell[kLanes]) << 32;
    return loose.highHalf ? cell[0] >> 16 : cell[0];
  }
  std::vector<uint8_t> &bytes = loose.place == LooseResult::Lds ? s.lds : s.memory;
  uint64_t value = 0;
  std::memcpy(&value, &bytes[loose.index], loose.format.bits() / 8);
  return value;
}

void copyCell(State &to, State &from, const LooseResult &loose) {
  if (uint32_t *cell = cellOf(to, loose)) {
    const uint32_t *source = cellOf(from, loose);
    if (loose.format.bits() == 64)
      cell[kLanes] = source[kLanes];
    const uint32_t mask = loose.format.bits() > 16 ? ~0u : loose.highHalf ? 0xffff0000 : 0xffff;
    cell[0] = (cell[0] & ~mask) | (source[0] & mask);
    return;
  }
  const bool isLds = loose.place == LooseResult::Lds;
  std::memcpy(&(isLds ? to.lds : to.memory)[loose.index],
              &(isLds ? from.lds : from.memory)[loose.index], loose.format.bits() / 8);
}

/// Where the manual leaves a result open and the emulator's is one of the allowed ones, takes it.
void settleLoose(State &literal, State &fast, llvm::ArrayRef<LooseResult> results) {
  for (const LooseResult &loose : results) {
    const uint64_t code = readCell(fast, loose);
    const double value = toDouble(loose.format, code);
    const bool isAllowed = loose.format.isNan(code)
                               ? loose.isNan
                               : !loose.isNan && value >= loose.low && value <= loose.high;
    if (loose.isAny || isAllowed)
      copyCell(literal, fast, loose);
  }
}

void describeRows(std::string &text, char file, llvm::ArrayRef<State::Register> literal,
                  llvm::ArrayRef<State::Register> fast) {
  for (size_t r = 0; r < literal.size(); ++r) {
    if (literal[r] == fast[r])
      continue;
    unsigned shown = 0;
    for (unsigned lane = 0; lane < kLanes && shown < 4; ++lane)
      if (literal[r][lane] != fast[r][lane] && ++shown)
        text += fmt::format("  {}{} lane {}: expected 0x{:08x}, but got 0x{:08x}\n", file, r, lane,
                            literal[r][lane], fast[r][lane]);
  }
}

void describeBytes(std::string &text, const char *name, llvm::ArrayRef<uint8_t> literal,
                   llvm::ArrayRef<uint8_t> fast) {
  unsigned shown = 0;
  for (size_t at = 0; at < literal.size() && shown < 8; ++at)
    if (literal[at] != fast[at] && ++shown)
      text += fmt::format("  {} byte {}: expected 0x{:02x}, but got 0x{:02x}\n", name, at,
                          literal[at], fast[at]);
}

/// Every difference of two states as text, empty if there is none.
std::string describe(const State &literal, const State &fast) {
  std::string text;
  describeRows(text, 'v', literal.vgprs, fast.vgprs);
  describeRows(text, 'a', literal.agprs, fast.agprs);
  for (unsigned n = 0; n < kSgprFile; ++n)
    if (literal.sgprs[n] != fast.sgprs[n])
      text +=
          fmt::format("  s{} (106 vcc, 124 m0, 126 exec): expected 0x{:08x}, but got 0x{:08x}\n", n,
                      literal.sgprs[n], fast.sgprs[n]);
  if (literal.scc != fast.scc)
    text += fmt::format("  scc: expected {}, but got {}\n", literal.scc, fast.scc);
  if (literal.mode != fast.mode)
    text += fmt::format("  mode: expected 0x{:x}, but got 0x{:x}\n", literal.mode, fast.mode);
  describeBytes(text, "lds", literal.lds, fast.lds);
  describeBytes(text, "memory", literal.memory, fast.memory);
  describeBytes(text, "scratch", literal.scratch, fast.scratch);
  return text;
}

bool equal(const State &a, const State &b) {
  return a.vgprs == b.vgprs && a.agprs == b.agprs && a.sgprs == b.sgprs && a.scc == b.scc &&
         a.mode == b.mode && a.lds == b.lds && a.memory == b.memory && a.scratch == b.scratch;
}

/// The line after label `name`.
size_t lineOfLabel(const FuzzProgram &program, const std::string &name) {
  for (size_t n = 0; n < program.lines.size(); ++n)
    if (program.lines[n] == name + ":")
      return n;
  return program.lines.size();
}

} // namespace

// ---- running -------------------------------------------------------------------------------

std::optional<Difference> Differ::compareSteps(const FuzzProgram &program, const CodeBatch &batch,
                                               size_t n, State &literal) {
  State fastState = literal;
  LiteralWave wave(literal);
  fast.start(batch, n, literal);
  // Offset of each line's instruction; labels have that of what follows.
  std::vector<uint64_t> offsets;
  size_t instruction = 0;
  for (const std::string &line : program.lines)
    offsets.push_back(batch.offsets(n)[isLabel(line) ? instruction : instruction++]);
  offsets.push_back(batch.offsets(n)[instruction]);

  for (size_t line = 0; line < program.lines.size();) {
    if (isLabel(program.lines[line])) {
      ++line;
      continue;
    }
    const TextLine text = parseLine(program.lines[line]);
    const State before = fastState;
    const LiteralWave::Outcome outcome = wave.execute(text, offsets[line + 1]);
    const std::string fault = fast.step();
    auto differs = [&](std::string what) { return Difference{line, std::move(what), before}; };
    if (!outcome.error.empty())
      return differs("  the literal wave: " + outcome.error + "\n");
    if (!fault.empty())
      return differs("  the emulator faults: " + fault + "\n");
    fast.read(fastState);
    settleLoose(literal, fastState, outcome.loose);
    if (!equal(literal, fastState))
      return differs(describe(literal, fastState));
    ++instructions;
    ++executed[text.mnemonic];
    size_t next = outcome.target.empty() ? line + 1 : lineOfLabel(program, outcome.target);
    if (outcome.targetPc)
      next = size_t(std::find(offsets.begin(), offsets.end(), *outcome.targetPc) - offsets.begin());
    if (next == offsets.size())
      return differs(fmt::format("  pc: no instruction at 0x{:x}\n", *outcome.targetPc));
    if (fast.offset() != offsets[next])
      return differs(
          fmt::format("  pc: expected offset {}, but got {}\n", offsets[next], fast.offset()));
    line = next;
  }
  return std::nullopt;
}

std::optional<Difference> Differ::compare(const FuzzProgram &program, const CodeBatch &batch,
                                          size_t n) {
  if (batch.offsets(n).empty())
    return Difference{program.lines.size(), "  the batch does not assemble line by line\n", {}};
  State stepped = program.initial;
  if (std::optional<Difference> difference = compareSteps(program, batch, n, stepped))
    return difference;
  // In one go: what the emulator does between instructions must not matter.
  fast.start(batch, n, program.initial);
  State whole = program.initial;
  const std::string fault = fast.run();
  fast.read(whole);
  if (!fault.empty())
    return Difference{program.lines.size(), "  the emulator faults: " + fault + "\n", whole};
  if (!equal(stepped, whole))
    return Difference{program.lines.size(), describe(stepped, whole), whole};
  return std::nullopt;
}

std::optional<Difference> Differ::compare(const FuzzProgram &program) {
  return compare(program, CodeBatch(program), 0);
}

// ---- shrinking -----------------------------------------------------------------------------

/// Whether a line means something only together with others.
static bool changesFlow(const std::string &line) {
  return llvm::StringRef(line).contains("branch") || llvm::StringRef(line).contains("pc_b64") ||
         llvm::StringRef(line).starts_with("s_call");
}

FuzzProgram Differ::shrink(const FuzzProgram &program, const Difference &difference) {
  // One instruction on the state before it nearly always suffices, as states are compared at each.
  if (difference.line < program.lines.size()) {
    FuzzProgram one = program;
    one.lines = {program.lines[difference.line]};
    one.initial = difference.before;
    if (!changesFlow(one.lines[0]) && compare(one))
      return one;
  }
  FuzzProgram best = program;
  for (size_t chunk = best.lines.size() / 2; chunk; chunk /= 2)
    for (size_t at = 0; at + chunk <= best.lines.size();) {
      FuzzProgram candidate = best;
      candidate.lines.erase(candidate.lines.begin() + ptrdiff_t(at),
                            candidate.lines.begin() + ptrdiff_t(at + chunk));
      if (llvm::none_of(candidate.lines, changesFlow) && compare(candidate))
        best = std::move(candidate);
      else
        at += chunk;
    }
  return best;
}

/// Values of the registers an operand names, in the first lanes that differ.
static std::string describeOperands(const TextLine &line, const State &state, unsigned lane) {
  std::string text;
  for (const TextOperand &o : line.operands)
    for (unsigned n = 0; o.isRegister() && n < o.count && n < 4; ++n) {
      const bool isVector = o.kind != TextOperand::Sgpr;
      const uint32_t value = o.kind == TextOperand::Vgpr   ? state.vgprs[o.index + n][lane]
                             : o.kind == TextOperand::Agpr ? state.agprs[o.index + n][lane]
                                                           : state.sgprs[o.index + n];
      text += fmt::format(" {}{}=0x{:08x}", isVector ? "va"[o.kind] : 's', o.index + n, value);
    }
  return text;
}

std::string Differ::report(const FuzzProgram &program, const Difference &difference) {
  std::string text = fmt::format("seed {}: after line {} of\n", program.seed, difference.line);
  for (const std::string &line : program.lines)
    text += "    " + line + "\n";
  text += fmt::format("  mode 0x{:x}, exec 0x{:016x}, scc {}\n", difference.before.mode,
                      difference.before.exec(), difference.before.scc);
  if (difference.line < program.lines.size()) {
    unsigned lane = 0;
    if (const size_t at = difference.text.find("lane "); at != std::string::npos)
      lane = unsigned(std::atoi(difference.text.c_str() + at + 5));
    text += fmt::format("  before, lane {}:", lane) +
            describeOperands(parseLine(program.lines[difference.line]), difference.before, lane) +
            "\n";
  }
  return text + difference.text;
}

} // namespace mono::fuzz
