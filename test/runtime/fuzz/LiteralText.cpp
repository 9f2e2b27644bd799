// Assembly text of one instruction, taken apart.
#include "test/runtime/fuzz/LiteralText.h"

#include <cctype>
#include <cstdlib>

namespace mono::fuzz {

const std::string *TextLine::find(std::string_view name) const {
  for (const auto &[key, value] : modifiers)
    if (key == name)
      return &value;
  return nullptr;
}

int64_t TextLine::number(std::string_view name, int64_t otherwise) const {
  const std::string *value = find(name);
  return value ? std::strtoll(value->c_str(), nullptr, 0) : otherwise;
}

int64_t TextLine::item(std::string_view name, size_t n, int64_t otherwise) const {
  const std::string *value = find(name);
  if (!value)
    return otherwise;
  const char *at = value->c_str() + 1;
  for (; n; --n, ++at)
    while (*at != ',')
      if (!*at++)
        return otherwise;
  return std::strtoll(at, nullptr, 0);
}

std::string TextLine::word(std::string_view name) const {
  const std::string *value = find(name);
  return value ? *value : std::string();
}

namespace {

struct NamedRegister {
  const char *name;
  unsigned index, count;
};
constexpr NamedRegister kNamed[] = {
    {"vcc", kVcc, 2},      {"vcc_lo", kVcc, 1},       {"vcc_hi", kVcc + 1, 1}, {"exec", kExec, 2},
    {"exec_lo", kExec, 1}, {"exec_hi", kExec + 1, 1}, {"m0", kM0, 1}};

bool parseRegister(const std::string &text, TextOperand &operand) {
  for (const NamedRegister &named : kNamed)
    if (text == named.name) {
      operand.kind = TextOperand::Sgpr;
      operand.index = named.index;
      operand.count = named.count;
      return true;
    }
  const char *digits = text.c_str() + 1;
  const bool isRange = *digits == '[';
  if (!isRange && !std::isdigit(*digits))
    return false;
  switch (text[0]) {
  case 'v':
    operand.kind = TextOperand::Vgpr;
    break;
  case 'a':
    operand.kind = TextOperand::Agpr;
    break;
  case 's':
    operand.kind = TextOperand::Sgpr;
    break;
  default:
    return false;
  }
  char *end = nullptr;
  operand.index = unsigned(std::strtoul(digits + isRange, &end, 10));
  if (isRange && *end == ':')
    operand.count = unsigned(std::strtoul(end + 1, nullptr, 10)) - operand.index + 1;
  return true;
}

void parseConstant(const std::string &text, TextOperand &operand) {
  const bool isNumber = std::isdigit(text[0]) || (text[0] == '-' && std::isdigit(text[1]));
  if (!isNumber) {
    operand.kind = TextOperand::Word;
    operand.word = text;
  } else if (text.find('.') != std::string::npos) {
    operand.kind = TextOperand::Real;
    operand.real = std::strtod(text.c_str(), nullptr);
  } else {
    operand.kind = TextOperand::Integer;
    operand.integer = std::strtoll(text.c_str(), nullptr, 0);
  }
}

TextOperand parseOperand(std::string text) {
  TextOperand operand;
  if (text.starts_with("-") && !std::isdigit(text[1])) {
    operand.neg = true;
    text.erase(0, 1);
  }
  if (text.starts_with("|")) {
    operand.abs = true;
    text = text.substr(1, text.size() - 2);
  }
  if (text.starts_with("sext(")) {
    operand.sext = true;
    text = text.substr(5, text.size() - 6);
  }
  if (!parseRegister(text, operand))
    parseConstant(text, operand);
  return operand;
}

/// Pieces of `text` between separators outside brackets.
std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> pieces(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (c == separator && depth == 0)
      pieces.emplace_back();
    else if (c != ' ' || separator == ' ')
      pieces.back() += c;
    else if (!pieces.back().empty())
      pieces.back() += c;
  }
  std::erase(pieces, "");
  return pieces;
}

} // namespace

TextLine parseLine(const std::string &text) {
  TextLine line;
  const size_t space = text.find(' ');
  line.mnemonic = text.substr(0, space);
  for (const char *suffix : {"e32", "e64", "dpp", "sdwa"})
    if (line.mnemonic.ends_with(std::string("_") + suffix)) {
      line.encoding = suffix;
      line.mnemonic.resize(line.mnemonic.size() - line.encoding.size() - 1);
      break;
    }
  if (space == std::string::npos)
    return line;
  std::vector<std::string> operands = split(text.substr(space + 1), ',');
  for (std::string &operand : operands) {
    // What follows the last operand are modifiers.
    std::vector<std::string> words = split(operand, ' ');
    line.operands.push_back(parseOperand(words.front()));
    for (size_t w = 1; w < words.size(); ++w) {
      const size_t colon = words[w].find(':');
      line.modifiers.emplace_back(words[w].substr(0, colon), colon == std::string::npos
                                                                 ? std::string()
                                                                 : words[w].substr(colon + 1));
    }
  }
  return line;
}

} // namespace mono::fuzz
