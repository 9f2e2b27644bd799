// An AMDGPU code object: validated, laid out in memory form, its kernels described.
#include "runtime/emulator/decode/CodeObject.h"

#include "runtime/Error.h"
#include "runtime/emulator/decode/KernelDescriptor.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cstring>

namespace mono::emu {

namespace {

using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
using ElfHeader = llvm::object::ELF64LE::Ehdr;
using ProgramHeader = llvm::object::ELF64LE::Phdr;
using SectionHeader = llvm::object::ELF64LE::Shdr;
using Symbol = llvm::object::ELF64LE::Sym;

/// Code reaches its data with 32-bit offsets, so that an image of 2 GiB is the largest there can
/// be.
constexpr uint64_t maxImageBytes = uint64_t(2) << 30;
/// What the file fills of it lies close together: this much may be left between segments. Keeps a
/// corrupt header from asking for all memory there is.
constexpr uint64_t maxGapBytes = uint64_t(16) << 20;
constexpr unsigned descriptorBytes = 64;

llvm::StringRef asText(llvm::ArrayRef<uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::string chipName(llvm::ArrayRef<uint8_t> file, unsigned mach) {
  auto buffer = llvm::MemoryBufferRef(asText(file), "code object");
  auto object = llvm::object::ELFObjectFile<llvm::object::ELF64LE>::create(buffer);
  if (!object) {
    llvm::consumeError(object.takeError());
  } else if (mach >= llvm::ELF::EF_AMDGPU_MACH_AMDGCN_FIRST &&
             mach <= llvm::ELF::EF_AMDGPU_MACH_AMDGCN_LAST) {
    if (auto name = object->tryGetCPUName())
      return name->str();
  }
  return fmt::format("an unknown chip (mach 0x{:x})", mach);
}

llvm::Error checkHeader(llvm::ArrayRef<uint8_t> file) {
  if (file.size() < sizeof(ElfHeader))
    return makeError("code object of {} bytes: shorter than an ELF header of {} bytes", file.size(),
                     sizeof(ElfHeader));
  ElfHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  if (!header.checkMagic())
    return makeError("code object: no ELF magic");
  if (header.getFileClass() != llvm::ELF::ELFCLASS64 ||
      header.getDataEncoding() != llvm::ELF::ELFDATA2LSB)
    return makeError(
        "code object: expected 64-bit little-endian ELF, but got class {}, encoding {}",
        header.getFileClass(), header.getDataEncoding());
  if (header.e_machine != llvm::ELF::EM_AMDGPU)
    return makeError("code object: expected machine AMDGPU ({}), but got {}",
                     unsigned(llvm::ELF::EM_AMDGPU), unsigned(header.e_machine));
  unsigned osabi = header.e_ident[llvm::ELF::EI_OSABI];
  if (osabi != llvm::ELF::ELFOSABI_AMDGPU_HSA)
    return makeError("code object: expected OS ABI HSA ({}), but got {}",
                     unsigned(llvm::ELF::ELFOSABI_AMDGPU_HSA), osabi);
  unsigned version = header.e_ident[llvm::ELF::EI_ABIVERSION];
  if (version < llvm::ELF::ELFABIVERSION_AMDGPU_HSA_V4 ||
      version > llvm::ELF::ELFABIVERSION_AMDGPU_HSA_V6)
    return makeError("code object: expected ABI version 2 to 4 (code object v4 to v6), but got {}",
                     version);
  if (header.e_type != llvm::ELF::ET_DYN)
    return makeError("code object: expected a linked shared object (type {}), but got type {}",
                     unsigned(llvm::ELF::ET_DYN), unsigned(header.e_type));
  unsigned mach = header.e_flags & llvm::ELF::EF_AMDGPU_MACH;
  if (mach != llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX950)
    return makeError("code object: expected gfx950, but got {}", chipName(file, mach));
  return llvm::Error::success();
}

/// Builds a CodeObject step by step; each step checks its own ranges.
class Loader {
public:
  Loader(llvm::ArrayRef<uint8_t> file, const ElfFile &elf) : file(file), elf(elf) {}

  llvm::Expected<CodeObject> run() {
    for (auto step : {&Loader::loadSegments, &Loader::loadSymbols, &Loader::loadRelocations,
                      &Loader::loadMetadata, &Loader::checkEntries})
      if (llvm::Error error = (this->*step)())
        return std::move(error);
    return std::move(object);
  }

private:
  llvm::Error loadSegments();
  llvm::Error loadSegment(const ProgramHeader &segment);
  llvm::Error loadSymbols();
  llvm::Error loadSymbol(const Symbol &symbol, llvm::StringRef name);
  llvm::Error loadRelocations();
  llvm::Error loadRelocation(const llvm::object::ELF64LE::Rela &rela, const SectionHeader &section);
  std::string symbolName(const Symbol &symbol, const SectionHeader &symtab);
  llvm::Error loadMetadata();
  llvm::Error checkEntries();
  bool inImage(uint64_t offset, uint64_t bytes) const {
    return offset <= object.imageBytes && bytes <= object.imageBytes - offset;
  }
  llvm::Expected<llvm::ArrayRef<SectionHeader>> sections();

  llvm::ArrayRef<uint8_t> file;
  const ElfFile &elf;
  CodeObject object;
};

llvm::Error Loader::loadSegments() {
  auto segments = elf.program_headers();
  if (!segments)
    return segments.takeError();
  uint64_t filledBytes = 0;
  for (const ProgramHeader &segment : *segments) {
    if (segment.p_type != llvm::ELF::PT_LOAD)
      continue;
    uint64_t end = segment.p_vaddr + segment.p_memsz;
    if (end < segment.p_vaddr || end > maxImageBytes)
      return makeError("code object: segment at 0x{:x} of {} bytes is beyond the limit of {} bytes",
                       uint64_t(segment.p_vaddr), uint64_t(segment.p_memsz), maxImageBytes);
    object.imageBytes = std::max(object.imageBytes, (end + 63) / 64 * 64);
    if (segment.p_filesz == 0)
      continue;
    uint64_t filled = segment.p_vaddr + std::min<uint64_t>(segment.p_filesz, segment.p_memsz);
    if (filled > file.size() + maxGapBytes)
      return makeError("code object: the file of {} bytes fills segment at 0x{:x} up to 0x{:x}: "
                       "expected gaps of at most {} bytes between segments",
                       file.size(), uint64_t(segment.p_vaddr), filled, maxGapBytes);
    filledBytes = std::max(filledBytes, filled);
  }
  if (object.imageBytes == 0)
    return makeError("code object: no loadable segment");
  object.image.resize((filledBytes + 63) / 64 * 64);
  for (const ProgramHeader &segment : *segments)
    if (segment.p_type == llvm::ELF::PT_LOAD)
      if (llvm::Error error = loadSegment(segment))
        return error;
  return llvm::Error::success();
}

llvm::Error Loader::loadSegment(const ProgramHeader &segment) {
  uint64_t offset = segment.p_offset, bytes = segment.p_filesz;
  if (bytes > segment.p_memsz)
    return makeError("code object: segment at 0x{:x} has {} file bytes for {} memory bytes",
                     uint64_t(segment.p_vaddr), bytes, uint64_t(segment.p_memsz));
  if (offset > file.size() || bytes > file.size() - offset)
    return makeError("code object: segment at file offset {} of {} bytes runs past the end of the "
                     "file of {} bytes",
                     offset, bytes, file.size());
  if (bytes == 0)
    return llvm::Error::success();
  std::copy_n(file.data() + offset, bytes, object.image.begin() + segment.p_vaddr);
  if (segment.p_flags & llvm::ELF::PF_X)
    object.code.push_back({(segment.p_vaddr + 3) / 4 * 4, segment.p_vaddr + bytes});
  return llvm::Error::success();
}

llvm::Expected<llvm::ArrayRef<SectionHeader>> Loader::sections() {
  auto result = elf.sections();
  if (!result)
    return result.takeError();
  return llvm::ArrayRef<SectionHeader>(result->begin(), result->end());
}

llvm::Error Loader::loadSymbols() {
  auto all = sections();
  if (!all)
    return all.takeError();
  for (const SectionHeader &section : *all) {
    if (section.sh_type != llvm::ELF::SHT_DYNSYM && section.sh_type != llvm::ELF::SHT_SYMTAB)
      continue;
    auto symbols = elf.symbols(&section);
    if (!symbols)
      return symbols.takeError();
    auto strings = elf.getStringTableForSymtab(section);
    if (!strings)
      return strings.takeError();
    for (const Symbol &symbol : *symbols) {
      auto name = symbol.getName(*strings);
      if (!name)
        return name.takeError();
      if (llvm::Error error = loadSymbol(symbol, *name))
        return error;
    }
  }
  return llvm::Error::success();
}

llvm::Error Loader::loadSymbol(const Symbol &symbol, llvm::StringRef name) {
  unsigned type = symbol.getType();
  bool isDefined =
      symbol.st_shndx != llvm::ELF::SHN_UNDEF && symbol.st_shndx < llvm::ELF::SHN_LORESERVE;
  if (!isDefined || (type != llvm::ELF::STT_OBJECT && type != llvm::ELF::STT_FUNC))
    return llvm::Error::success();
  uint64_t offset = symbol.st_value, bytes = symbol.st_size;
  if (!inImage(offset, bytes))
    return makeError(
        "code object: symbol '{}' at 0x{:x} of {} bytes is outside the image of {} bytes", name,
        offset, bytes, object.imageBytes);
  if (type == llvm::ELF::STT_FUNC) {
    object.functions.push_back(offset);
    return llvm::Error::success();
  }
  if (!name.consume_back(".kd")) {
    object.globals[name.str()] = {offset, bytes};
    return llvm::Error::success();
  }
  if (bytes != descriptorBytes || offset % descriptorBytes != 0)
    return makeError(
        "kernel '{}': expected a descriptor of 64 bytes at a multiple of 64, but got {} "
        "bytes at 0x{:x}",
        name, bytes, offset);
  if (offset + bytes > object.image.size())
    return makeError("kernel '{}': the file does not fill its descriptor at 0x{:x}", name, offset);
  auto kernel = parseKernelDescriptor(name, object.image, offset);
  if (!kernel)
    return kernel.takeError();
  object.functions.push_back(kernel->setup.entryOffset);
  object.kernels[name.str()] = std::move(*kernel);
  return llvm::Error::success();
}

llvm::Error Loader::loadRelocations() {
  auto all = sections();
  if (!all)
    return all.takeError();
  for (const SectionHeader &section : *all) {
    if (section.sh_type != llvm::ELF::SHT_RELA || !(section.sh_flags & llvm::ELF::SHF_ALLOC))
      continue;
    auto relas = elf.relas(section);
    if (!relas)
      return relas.takeError();
    for (const auto &rela : *relas)
      if (llvm::Error error = loadRelocation(rela, section))
        return error;
  }
  return llvm::Error::success();
}

/// The name of a symbol of `symtab`, or "?" if the file is too broken to say.
std::string Loader::symbolName(const Symbol &symbol, const SectionHeader &symtab) {
  auto strings = elf.getStringTableForSymtab(symtab);
  llvm::Expected<llvm::StringRef> name =
      strings ? symbol.getName(*strings) : llvm::Expected<llvm::StringRef>(strings.takeError());
  return llvm::expectedToOptional(std::move(name)).value_or("?").str();
}

llvm::Error Loader::loadRelocation(const llvm::object::ELF64LE::Rela &rela,
                                   const SectionHeader &section) {
  unsigned type = rela.getType(false);
  if (type == llvm::ELF::R_AMDGPU_NONE)
    return llvm::Error::success();
  uint64_t offset = rela.r_offset, addend = uint64_t(int64_t(rela.r_addend));
  if (!inImage(offset, 8))
    return makeError("code object: relocation at 0x{:x} is outside the image of {} bytes", offset,
                     object.imageBytes);
  if (type == llvm::ELF::R_AMDGPU_ABS64) {
    auto symtab = elf.getSection(section.sh_link);
    if (!symtab)
      return symtab.takeError();
    auto symbol = elf.getRelocationSymbol(rela, *symtab);
    if (!symbol)
      return symbol.takeError();
    if (!*symbol || (*symbol)->st_shndx == llvm::ELF::SHN_UNDEF)
      return makeError("code object: relocation at 0x{:x} needs the undefined symbol '{}'", offset,
                       *symbol ? symbolName(**symbol, **symtab) : "");
    addend += (*symbol)->st_value;
  } else if (type != llvm::ELF::R_AMDGPU_RELATIVE64) {
    return makeError("code object: relocation at 0x{:x} of type {} is not supported; expected "
                     "RELATIVE64 or ABS64",
                     offset, type);
  }
  object.relocations.push_back({offset, addend});
  return llvm::Error::success();
}

llvm::Error Loader::loadMetadata() {
  auto segments = elf.program_headers();
  if (!segments)
    return segments.takeError();
  for (const ProgramHeader &segment : *segments) {
    if (segment.p_type != llvm::ELF::PT_NOTE)
      continue;
    if (segment.p_align != 0 && segment.p_align != 4 && segment.p_align != 8)
      return makeError("code object: note segment with alignment {}", uint64_t(segment.p_align));
    llvm::Error error = llvm::Error::success();
    for (const auto &note : elf.notes(segment, error)) {
      if (note.getName() != "AMDGPU" || note.getType() != llvm::ELF::NT_AMDGPU_METADATA)
        continue;
      llvm::ArrayRef<uint8_t> bytes = note.getDesc(segment.p_align ? segment.p_align : 4);
      if (llvm::Error bad = applyMetadata(asText(bytes), object)) {
        llvm::consumeError(std::move(error));
        return bad;
      }
    }
    if (error)
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Loader::checkEntries() {
  if (object.kernels.empty())
    return makeError("code object: no kernel descriptor");
  for (const auto &[name, kernel] : object.kernels) {
    uint64_t entry = kernel.setup.entryOffset;
    if (llvm::none_of(object.code, [&](const CodeRange &range) {
          return entry >= range.begin && entry + 4 <= range.end;
        }))
      return makeError("kernel '{}': entry point 0x{:x} is not in an executable segment", name,
                       entry);
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<CodeObject> parseCodeObject(llvm::ArrayRef<uint8_t> file) {
  if (llvm::Error error = checkHeader(file))
    return std::move(error);
  // LLVM's readers want the file aligned.
  std::vector<uint64_t> aligned((file.size() + 7) / 8);
  std::memcpy(aligned.data(), file.data(), file.size());
  llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(aligned.data()), file.size());
  auto elf = ElfFile::create(asText(bytes));
  if (!elf)
    return elf.takeError();
  return Loader(bytes, *elf).run();
}

} // namespace mono::emu
