// Code objects out of what HIP programs hold.
#include "runtime/emulator/hip/Bundle.h"

#include "runtime/Error.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

namespace mono::hipemu {

using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::read64le;

static constexpr llvm::StringLiteral bundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
static constexpr llvm::StringLiteral compressedMagic = "CCOB";
static constexpr llvm::StringLiteral elfMagic = "\177ELF";

/// No real bundle has more entries; guards reads of a pointer that leads elsewhere.
static constexpr uint64_t maxEntries = 1024, maxIdBytes = 4096;

bool fitsDevice(llvm::StringRef target) {
  auto [offload, rest] = target.split("amdgcn-amd-amdhsa-");
  if (offload != "hip-" && offload != "hipv4-")
    return false;
  // The environment part of the triple is empty, so the processor follows one more dash.
  llvm::SmallVector<llvm::StringRef> parts;
  rest.ltrim('-').split(parts, ':');
  if (parts.front() != "gfx950")
    return false;
  for (llvm::StringRef feature : llvm::ArrayRef(parts).drop_front())
    if (feature != "sramecc+" && feature != "xnack-")
      return false;
  return true;
}

// ---- lengths -----------------------------------------------------------------------------------

/// End of an ELF file: behind its section headers, or behind its last segment.
static uint64_t elfLength(const uint8_t *file) {
  llvm::ELF::Elf64_Ehdr header;
  std::memcpy(&header, file, sizeof(header));
  uint64_t end = header.e_shoff + uint64_t(header.e_shentsize) * header.e_shnum;
  for (unsigned n = 0; n < header.e_phnum; ++n) {
    llvm::ELF::Elf64_Phdr segment;
    std::memcpy(&segment, file + header.e_phoff + uint64_t(n) * header.e_phentsize,
                sizeof(segment));
    end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

static llvm::Expected<uint64_t> bundleLength(const uint8_t *image) {
  uint64_t count = read64le(image + bundleMagic.size()), end = 0;
  if (count > maxEntries)
    return makeError("offload bundle: expected at most {} entries, but got {}", maxEntries, count);
  const uint8_t *entry = image + bundleMagic.size() + 8;
  for (uint64_t n = 0; n < count; ++n) {
    uint64_t idBytes = read64le(entry + 16);
    if (idBytes > maxIdBytes)
      return makeError("offload bundle: entry {} has a target name of {} bytes", n, idBytes);
    end = std::max(end, read64le(entry) + read64le(entry + 8));
    entry += 24 + idBytes;
  }
  return std::max(end, uint64_t(entry - image));
}

static llvm::Expected<uint64_t> compressedLength(const uint8_t *image) {
  // "CCOB", version (2 bytes), method (2), then the file size: absent, 4 or 8 bytes.
  switch (read16le(image + 4)) {
  case 2:
    return read32le(image + 8);
  case 3:
    return read64le(image + 8);
  default:
    return makeError("compressed offload bundle: its version {} does not tell its size",
                     read16le(image + 4));
  }
}

llvm::Expected<uint64_t> imageLength(const void *image) {
  const auto *bytes = static_cast<const uint8_t *>(image);
  auto startsWith = [&](llvm::StringRef magic) {
    return std::memcmp(bytes, magic.data(), magic.size()) == 0;
  };
  if (startsWith(elfMagic))
    return elfLength(bytes);
  if (startsWith(compressedMagic))
    return compressedLength(bytes);
  if (startsWith(bundleMagic))
    return bundleLength(bytes);
  return makeError("neither an ELF file nor an offload bundle");
}

// ---- extraction --------------------------------------------------------------------------------

static llvm::Expected<std::vector<uint8_t>> extractFromBundle(llvm::StringRef bundle) {
  std::string found;
  uint64_t at = bundleMagic.size();
  auto number = [&](uint64_t &value) {
    if (bundle.size() < at + 8)
      return false;
    value = read64le(bundle.data() + at);
    at += 8;
    return true;
  };
  auto cut = [&] {
    return makeError("offload bundle of {} bytes ends inside its table of entries", bundle.size());
  };
  uint64_t count = 0;
  if (!number(count))
    return cut();
  for (uint64_t n = 0; n < count; ++n) {
    uint64_t offset = 0, size = 0, idBytes = 0;
    if (!number(offset) || !number(size) || !number(idBytes) || idBytes > bundle.size() - at)
      return cut();
    llvm::StringRef target = bundle.substr(at, idBytes);
    at += idBytes;
    if (!fitsDevice(target)) {
      found += (found.empty() ? "" : ", ") + target.str();
      continue;
    }
    if (offset > bundle.size() || size > bundle.size() - offset)
      return makeError("offload bundle: entry '{}' of {} bytes at {} is outside the {} bytes",
                       target, size, offset, bundle.size());
    llvm::StringRef code = bundle.substr(offset, size);
    return std::vector<uint8_t>(code.bytes_begin(), code.bytes_end());
  }
  return makeError("no code for gfx950:sramecc+:xnack- in the offload bundle; there is: {}", found);
}

llvm::Expected<std::vector<uint8_t>> extractCodeObject(llvm::StringRef image) {
  if (image.starts_with(elfMagic))
    return std::vector<uint8_t>(image.bytes_begin(), image.bytes_end());
  if (image.starts_with(bundleMagic))
    return extractFromBundle(image);
  if (!image.starts_with(compressedMagic))
    return makeError("neither an ELF file nor an offload bundle");
  auto buffer = llvm::MemoryBuffer::getMemBuffer(image, "bundle", false);
  auto plain = llvm::object::CompressedOffloadBundle::decompress(*buffer);
  if (!plain)
    return plain.takeError();
  llvm::StringRef bundle = (*plain)->getBuffer();
  if (!bundle.starts_with(bundleMagic))
    return makeError("compressed offload bundle does not contain an offload bundle");
  return extractFromBundle(bundle);
}

} // namespace mono::hipemu
