// Finds the notes the linker left in the loaded binaries.
#include "mono/BuildId.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SHA256.h"

#include <cstring>
#include <link.h>

using namespace llvm;

namespace mono::facade {

namespace {

/// The binary to look for, by an address inside it, and what was found.
struct Search {
  uintptr_t address;
  ArrayRef<uint8_t> buildId;
};

} // namespace

/// The description of the NT_GNU_BUILD_ID note in a loaded note segment; empty if there is none.
static ArrayRef<uint8_t> buildIdIn(ArrayRef<uint8_t> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof(header));
    uint64_t nameEnd = sizeof(header) + alignTo(uint64_t(header.n_namesz), 4);
    uint64_t end = nameEnd + alignTo(uint64_t(header.n_descsz), 4);
    if (end > notes.size())
      break;
    bool isGnu = header.n_namesz == 4 && std::memcmp(&notes[sizeof(header)], "GNU", 4) == 0;
    if (isGnu && header.n_type == NT_GNU_BUILD_ID)
      return notes.slice(nameEnd, header.n_descsz);
    notes = notes.drop_front(end);
  }
  return {};
}

/// Callback for each loaded binary: non-zero ends the walk.
static int visit(dl_phdr_info *binary, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  ArrayRef<ElfW(Phdr)> segments(binary->dlpi_phdr, binary->dlpi_phnum);
  bool holds = any_of(segments, [&](const ElfW(Phdr) & segment) {
    return segment.p_type == PT_LOAD &&
           search.address - (binary->dlpi_addr + segment.p_vaddr) < segment.p_memsz;
  });
  if (!holds)
    return 0;
  for (const ElfW(Phdr) &segment : segments)
    if (segment.p_type == PT_NOTE && search.buildId.empty())
      search.buildId =
          buildIdIn({reinterpret_cast<const uint8_t *>(binary->dlpi_addr + segment.p_vaddr),
                     segment.p_memsz});
  return 1;
}

std::string buildIdAt(const void *address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(visit, &search);
  return toHex(search.buildId, /*LowerCase=*/true);
}

const std::string &compilerBuildId() {
  static const std::string id = [] {
    std::string compiler = buildIdAt(reinterpret_cast<const void *>(&compilerBuildId));
    std::string llvm = buildIdAt(reinterpret_cast<const void *>(&SHA256::hash));
    if (compiler.empty() || llvm.empty())
      return std::string();
    return "monoc " MONO_VERSION " " + compiler + " LLVM " LLVM_VERSION_STRING " " + llvm;
  }();
  return id;
}

} // namespace mono::facade
