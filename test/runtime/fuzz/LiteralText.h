// Assembly text of one instruction, taken apart. The literal wave executes this text; it never sees
// machine code, so a wrong encoding or decoding shows as a difference too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mono::fuzz {

/// Hardware numbers of the named scalar registers.
inline constexpr unsigned kVcc = 106, kM0 = 124, kExec = 126, kSgprFile = 128;

/// One operand as written.
struct TextOperand {
  enum Kind : uint8_t {
    Vgpr,
    Agpr,
    Sgpr,    ///< also vcc, exec, m0 by their numbers
    Integer, ///< decimal or hexadecimal
    Real,    ///< with a decimal point: an inline float constant
    Word     ///< anything else: label, off, hwreg(...), src_scc
  } kind = Word;
  unsigned index = 0, count = 1;
  bool neg = false, abs = false, sext = false;
  int64_t integer = 0;
  double real = 0;
  std::string word;

  bool isRegister() const { return kind <= Sgpr; }
};

/// "v_add_f32_e64 v1, -v2, |s3| clamp" and so on.
struct TextLine {
  std::string mnemonic; ///< without the encoding suffix
  std::string encoding; ///< "e32", "e64", "dpp", "sdwa" or empty
  std::vector<TextOperand> operands;
  std::vector<std::pair<std::string, std::string>> modifiers; ///< "offset:4" is {"offset", "4"}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The number after "name:", or `otherwise`.
  int64_t number(std::string_view name, int64_t otherwise = 0) const;
  /// Item `n` of "name:[a,b,c]", or `otherwise` if the list is absent or shorter.
  int64_t item(std::string_view name, size_t n, int64_t otherwise) const;
  /// The text after "name:", or an empty string.
  std::string word(std::string_view name) const;

private:
  const std::string *find(std::string_view name) const;
};

/// Takes one instruction apart. The text is assumed to be what the generator writes.
TextLine parseLine(const std::string &text);

} // namespace mono::fuzz
