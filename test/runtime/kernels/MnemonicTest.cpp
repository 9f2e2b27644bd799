// Every mnemonic that hand-scheduled production kernels use is assembled and executed.
#include "runtime/emulator/decode/Decoder.h"
#include "test/runtime/emulator/AsmKernel.h"
#include "test/runtime/kernels/MnemonicCases.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

/// The names of a list, one a line; lines that begin with # are comments.
std::vector<std::string> listedMnemonics() {
  std::ifstream file(MONO_MNEMONICS);
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      names.push_back(line);
  return names;
}

/// Case bodies by mnemonic.
std::map<std::string, std::string> casesByMnemonic() {
  std::map<std::string, std::string> cases;
  for (const MnemonicCase &c : mnemonicCases())
    EXPECT_TRUE(cases.emplace(c.mnemonic, c.body).second) << c.mnemonic << " has two cases";
  return cases;
}

/// Mnemonics of the machine code of `body`, as the disassembler spells them, each with whether the
/// emulator has a handler for its opcode.
std::map<std::string, bool> mnemonicsIn(Decoder &decoder, const std::string &body) {
  std::vector<uint8_t> bytes = assembleBytes(body + "\n");
  std::map<std::string, bool> found;
  Instruction inst;
  std::string name;
  for (llvm::ArrayRef<uint8_t> rest = bytes; !rest.empty() && decoder.decode(rest, inst, name);
       rest = rest.drop_front(inst.size)) {
    std::string text = decoder.print(rest);
    text = text.substr(text.find_first_not_of(" \t"));
    found[text.substr(0, text.find_first_of(" \t\n"))] = defaultHandlers().find(name) != nullptr;
  }
  return found;
}

TEST(Mnemonics, ListAndCasesAgree) {
  std::vector<std::string> names = listedMnemonics();
  EXPECT_GT(names.size(), 200u) << MONO_MNEMONICS;
  std::map<std::string, std::string> cases = casesByMnemonic();
  std::set<std::string> listed(names.begin(), names.end());
  for (const std::string &name : names)
    EXPECT_TRUE(cases.count(name)) << name << " has no case";
  for (const auto &[name, body] : cases)
    EXPECT_TRUE(listed.count(name)) << name << " is not in the list";
}

TEST(Mnemonics, EveryOneIsImplemented) {
  std::unique_ptr<Decoder> decoder = llvm::cantFail(Decoder::create());
  std::map<std::string, std::string> cases = casesByMnemonic();
  for (const std::string &name : listedMnemonics()) {
    std::map<std::string, bool> found = mnemonicsIn(*decoder, cases[name]);
    auto it = found.find(name);
    if (it == found.end())
      ADD_FAILURE() << "the case of " << name << " does not hold it: " << cases[name];
    else
      EXPECT_TRUE(it->second) << name << " has no handler";
  }
}

TEST(Mnemonics, EveryOneExecutes) {
  std::map<std::string, std::string> cases = casesByMnemonic();
  std::vector<uint32_t> memory(8192);
  for (size_t n = 0; n < memory.size(); ++n)
    memory[n] = uint32_t(n * 2654435761u);
  for (const std::string &name : listedMnemonics()) {
    TestMachine m(AsmKernel{.body = mnemonicPrologue() + cases[name] +
                                    "\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
                                    "  v_mov_b32_e32 v40, 42\n"
                                    "  global_store_dword v1, v40, s[8:9]\n",
                            .vgprs = 64,
                            .agprs = 16,
                            .ldsBytes = 8192});
    DevicePtr out = m.buffer(std::vector<uint32_t>(64)), in = m.buffer(memory);
    EXPECT_EQ(m.run({out, in}), "") << name;
    // The program went on behind the instruction, in every lane.
    const uint32_t mark = name == "s_endpgm" ? 0 : 42;
    EXPECT_EQ(m.read(out, 64), std::vector<uint32_t>(64, mark)) << name;
  }
}

} // namespace
