// The ELF side of the manifest: its section, the chip, and the kernel descriptor it must agree
// with.
#include "runtime/CodeObject.h"
#include "runtime/Error.h"
#include "runtime/Manifest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using Elf = object::ELF64LEFile;

namespace mono {

static constexpr StringLiteral manifestSection = ".mono.manifest";

Error brokenCodeObject(Error error) {
  return makeError("broken code object: {}", toString(std::move(error)));
}

Expected<Elf> openCodeObject(ArrayRef<uint8_t> codeObject) {
  StringRef bytes = toStringRef(codeObject);
  if (bytes.size() < sizeof(Elf::Elf_Ehdr) || !bytes.starts_with(ELF::ElfMagic))
    return makeError("not a code object: expected an ELF file, but got {} other bytes",
                     bytes.size());
  if (bytes[ELF::EI_CLASS] != ELF::ELFCLASS64 || bytes[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return makeError("not a code object: expected a little-endian 64-bit ELF file");
  Expected<Elf> elf = Elf::create(bytes);
  if (!elf)
    return brokenCodeObject(elf.takeError());
  if (elf->getHeader().e_machine != ELF::EM_AMDGPU)
    return makeError("not a code object: expected ELF machine {} (AMDGPU), but got {}",
                     unsigned(ELF::EM_AMDGPU), unsigned(elf->getHeader().e_machine));
  return elf;
}

Error checkSegments(ArrayRef<uint8_t> codeObject) {
  Expected<Elf> elf = openCodeObject(codeObject);
  if (!elf)
    return elf.takeError();
  auto segments = elf->program_headers();
  if (!segments)
    return brokenCodeObject(segments.takeError());
  for (const Elf::Elf_Phdr &segment : *segments)
    if (segment.p_offset > codeObject.size() ||
        segment.p_filesz > codeObject.size() - segment.p_offset)
      return makeError("broken code object: a segment of {} bytes at {} does not fit its {} bytes",
                       uint64_t(segment.p_filesz), uint64_t(segment.p_offset), codeObject.size());
  auto sections = elf->sections();
  return sections ? Error::success() : brokenCodeObject(sections.takeError());
}

static Expected<StringRef> manifestText(const Elf &elf) {
  auto sections = elf.sections();
  if (!sections)
    return brokenCodeObject(sections.takeError());
  for (const Elf::Elf_Shdr &section : *sections) {
    Expected<StringRef> name = elf.getSectionName(section);
    if (!name)
      return brokenCodeObject(name.takeError());
    if (*name != manifestSection)
      continue;
    Expected<ArrayRef<uint8_t>> contents = elf.getSectionContents(section);
    if (!contents)
      return brokenCodeObject(contents.takeError());
    return toStringRef(*contents).rtrim('\0');
  }
  return makeError("the code object has no manifest (no section {}); was it made by monoc?",
                   manifestSection);
}

/// The chip of e_flags as LLVM spells it. Only MI300 and MI350 have names here: others need no more
/// than to be told apart.
static std::string chipName(const Elf &elf) {
  unsigned machine = elf.getHeader().e_flags & ELF::EF_AMDGPU_MACH;
  switch (machine) {
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX90A:
    return "gfx90a";
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX942:
    return "gfx942";
  case ELF::EF_AMDGPU_MACH_AMDGCN_GFX950:
    return "gfx950";
  }
  return fmt::format("an AMDGPU of machine number {:#x}", machine);
}

/// The `size` bytes a symbol points to, or an error when its section does not hold them.
static Expected<StringRef> symbolBytes(const Elf &elf, const Elf::Elf_Sym &symbol, uint64_t size) {
  Expected<const Elf::Elf_Shdr *> section = elf.getSection(symbol.st_shndx);
  if (!section)
    return section.takeError();
  Expected<ArrayRef<uint8_t>> contents = elf.getSectionContents(**section);
  if (!contents)
    return contents.takeError();
  uint64_t offset = symbol.st_value - (*section)->sh_addr;
  if (offset > contents->size() || contents->size() - offset < size)
    return makeError("a symbol of {} bytes is not inside its section", size);
  return toStringRef(*contents).substr(offset, size);
}

/// The kernel descriptor, which is the symbol `KERNEL.kd`.
static Expected<StringRef> descriptorBytes(const Elf &elf, StringRef kernel) {
  auto sections = elf.sections();
  if (!sections)
    return sections.takeError();
  std::string wanted = (kernel + ".kd").str();
  for (const Elf::Elf_Shdr &table : *sections) {
    if (table.sh_type != ELF::SHT_DYNSYM)
      continue;
    auto symbols = elf.symbols(&table);
    if (!symbols)
      return symbols.takeError();
    Expected<StringRef> names = elf.getStringTableForSymtab(table);
    if (!names)
      return names.takeError();
    for (const Elf::Elf_Sym &symbol : *symbols) {
      Expected<StringRef> name = symbol.getName(*names);
      if (!name)
        return name.takeError();
      if (*name == wanted)
        return symbolBytes(elf, symbol, sizeof(amdhsa::kernel_descriptor_t));
    }
  }
  return makeError("there is no kernel '{}' (no symbol '{}')", kernel, wanted);
}

static Error checkDescriptor(const Elf &elf, Manifest &manifest) {
  Expected<StringRef> bytes = descriptorBytes(elf, manifest.kernel);
  if (!bytes)
    return brokenCodeObject(bytes.takeError());
  auto field = [&](unsigned offset) { return support::endian::read32le(bytes->data() + offset); };
  uint32_t kernargs = field(amdhsa::KERNARG_SIZE_OFFSET);
  if (kernargs != manifest.kernargBytes())
    return makeError("kernel '{}': expected {} bytes of kernel arguments ({} operands), but the "
                     "code object says {}",
                     manifest.kernel, manifest.kernargBytes(), manifest.operands.size(), kernargs);
  uint32_t lds = field(amdhsa::GROUP_SEGMENT_FIXED_SIZE_OFFSET);
  if (lds > manifest.ldsBytes)
    return makeError("kernel '{}': expected at most {} bytes of LDS, but the code object says {}",
                     manifest.kernel, manifest.ldsBytes, lds);
  manifest.dynamicLdsBytes = manifest.ldsBytes - lds;
  return Error::success();
}

Expected<Manifest> readManifest(ArrayRef<uint8_t> codeObject) {
  Expected<Elf> elf = openCodeObject(codeObject);
  if (!elf)
    return elf.takeError();
  Expected<StringRef> text = manifestText(*elf);
  if (!text)
    return text.takeError();
  Expected<Manifest> manifest = parseManifest(*text);
  if (!manifest)
    return manifest;
  if (std::string chip = chipName(*elf); chip != manifest->target)
    return makeError("the manifest is for chip {}, but the code object is for {}", manifest->target,
                     chip);
  if (Error error = checkDescriptor(*elf, *manifest))
    return error;
  return manifest;
}

} // namespace mono
