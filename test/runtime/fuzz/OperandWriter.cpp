// Random operands: registers, constants, and the holes of templates.
#include "test/runtime/fuzz/Generator.h"

#include <fmt/format.h>

#include <cstdlib>

namespace mono::fuzz {

static std::string range(char file, unsigned first, unsigned count) {
  return count == 1 ? fmt::format("{}{}", file, first)
                    : fmt::format("{}[{}:{}]", file, first, first + count - 1);
}

/// Ranges of more than one vector register begin at an even one (CDNA4 ISA 4.1).
static unsigned alignedFirst(Random &random, unsigned registers, unsigned count, unsigned align) {
  return random.below((registers - count) / align + 1) * align;
}

std::string OperandWriter::vgpr(unsigned count) {
  return range('v', alignedFirst(random, kFirstAddressVgpr, count, count > 1 ? 2 : 1), count);
}
std::string OperandWriter::agpr(unsigned count) {
  return range('a', alignedFirst(random, kAgprs, count, count > 1 ? 2 : 1), count);
}
std::string OperandWriter::sgpr(unsigned count) {
  return range('s',
               alignedFirst(random, kDataSgprs, count,
                            count == 1   ? 1
                            : count == 2 ? 2
                                         : 4),
               count);
}

std::string OperandWriter::scalarSource(unsigned count) {
  busIsFree = false;
  if (count == 2)
    return random.oneIn(6) ? "vcc" : sgpr(2);
  return random.oneIn(8) ? random.pick<std::string>({"vcc_lo", "vcc_hi", "m0", "exec_lo"})
                         : sgpr(1);
}

std::string OperandWriter::mask() {
  busIsFree = false;
  return random.oneIn(3) ? "vcc" : sgpr(2);
}

static std::string inlineConstant(Random &random, char type) {
  const bool mayBeReal = type != 's' && type != 'l';
  if (mayBeReal && random.oneIn(2))
    return random.pick<std::string>({"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"});
  return std::to_string(random.between(-16, 64));
}

static std::string literal(Random &random, char type) {
  if (type == 'h' || type == 's')
    return fmt::format("0x{:x}", 0x100 + random.below(0xfe00));
  return fmt::format("0x{:x}", 0x100u + random.below(random.oneIn(2) ? 0x7fffff00u : 0x40000000u));
}

std::string OperandWriter::anySource(char type, bool allowLiteral) {
  const unsigned count = type == 'd' || type == 'l' ? 2 : 1;
  const unsigned roll = random.below(16);
  if (roll < 3 && busIsFree)
    return scalarSource(count);
  if (roll == 3 && busIsFree && allowLiteral) {
    busIsFree = false;
    return literal(random, type);
  }
  if (roll < 6)
    return inlineConstant(random, type);
  return vgpr(count);
}

/// The text between the n-th and the next separator.
static std::string_view field(std::string_view text, unsigned n, char separator) {
  for (; n; --n) {
    const size_t at = text.find(separator);
    if (at == std::string_view::npos)
      return {};
    text.remove_prefix(at + 1);
  }
  return text.substr(0, text.find(separator));
}

static std::string pickAlternative(Random &random, std::string_view list) {
  unsigned count = 1;
  for (char c : list)
    count += c == '|';
  return std::string(field(list, random.below(count), '|'));
}

static std::string pickNumber(Random &random, std::string_view range) {
  const int64_t low = std::atoll(std::string(field(range, 0, ':')).c_str());
  const int64_t high = std::atoll(std::string(field(range, 1, ':')).c_str());
  const int64_t step = std::max(1ll, std::atoll(std::string(field(range, 2, ':')).c_str()));
  return std::to_string(low + step * random.between(0, (high - low) / step));
}

std::string OperandWriter::hole(std::string_view name) {
  const char kind = name[0];
  const unsigned count =
      name.size() > 1 ? unsigned(std::atoi(std::string(name.substr(1)).c_str())) : 1;
  switch (kind) {
  case 'v':
  case 'd':
    return vgpr(count);
  case 'a':
  case 'b':
    return agpr(count);
  case 'r':
  case 'w':
    return random.oneIn(3) ? agpr(count) : vgpr(count);
  case 's':
  case 't':
    return sgpr(count);
  case 'x':
    return anySource('i', false);
  case 'f':
    return anySource('f', false);
  case 'h':
    return anySource('h', false);
  case 'y':
    return anySource('s', false);
  case 'm':
    return mask();
  case 'n':
    return pickNumber(random, name.substr(2));
  default:
    return pickAlternative(random, name.substr(2));
  }
}

std::string OperandWriter::fill(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '{') {
      result += text[at++];
      continue;
    }
    const size_t end = text.find('}', at);
    result += hole(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return result;
}

} // namespace mono::fuzz
