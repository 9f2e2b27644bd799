// The kernel descriptor and the metadata note of a code object.
#include "runtime/emulator/decode/KernelDescriptor.h"

#include "runtime/Error.h"
#include "runtime/Gfx950.h"
#include "runtime/emulator/decode/MessagePack.h"

#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Support/AMDHSAKernelDescriptor.h"
#include "llvm/Support/Endian.h"

namespace mono::emu {

using namespace llvm::amdhsa;

// ---- descriptor --------------------------------------------------------------------------------

namespace {
/// Fields of the descriptor by their byte offsets.
struct DescriptorReader {
  const uint8_t *bytes;
  uint32_t u32(unsigned offset) const { return llvm::support::endian::read32le(bytes + offset); }
  uint16_t u16(unsigned offset) const { return llvm::support::endian::read16le(bytes + offset); }
  uint64_t u64(unsigned offset) const { return llvm::support::endian::read64le(bytes + offset); }
};
} // namespace

static uint32_t field(uint32_t word, unsigned high, unsigned low) {
  return word >> low & ((1u << (high - low + 1)) - 1);
}

/// rsrc1 holds the float and clamp modes where the MODE register wants them.
static uint32_t modeFromRsrc1(uint32_t rsrc1) {
  return field(rsrc1, 19, 12) | field(rsrc1, 21, 21) << mode::dx10Clamp |
         field(rsrc1, 23, 23) << mode::ieee | field(rsrc1, 26, 26) << mode::fp16Ovfl;
}

static void readResources(const DescriptorReader &d, KernelSetup &setup) {
  uint32_t rsrc1 = d.u32(COMPUTE_PGM_RSRC1_OFFSET), rsrc2 = d.u32(COMPUTE_PGM_RSRC2_OFFSET);
  setup.vgprs = (field(rsrc1, 5, 0) + 1) * 8;
  setup.accumOffset = (field(d.u32(COMPUTE_PGM_RSRC3_OFFSET), 5, 0) + 1) * 4;
  setup.modeRegister = modeFromRsrc1(rsrc1);
  setup.userSgprs = field(rsrc2, 5, 1);
  setup.workgroupIdX = field(rsrc2, 7, 7);
  setup.workgroupIdY = field(rsrc2, 8, 8);
  setup.workgroupIdZ = field(rsrc2, 9, 9);
  setup.workgroupInfo = field(rsrc2, 10, 10);
  setup.workitemIdDims = std::min(field(rsrc2, 12, 11), 2u);
}

static void readProperties(const DescriptorReader &d, KernelSetup &setup) {
  uint32_t properties = d.u16(KERNEL_CODE_PROPERTIES_OFFSET);
  setup.privateSegmentBuffer = field(properties, 0, 0);
  setup.dispatchPtr = field(properties, 1, 1);
  setup.queuePtr = field(properties, 2, 2);
  setup.kernargPtr = field(properties, 3, 3);
  setup.dispatchId = field(properties, 4, 4);
  setup.flatScratchInit = field(properties, 5, 5);
  setup.privateSize = field(properties, 6, 6);
  uint32_t preload = d.u16(KERNARG_PRELOAD_OFFSET);
  setup.preloadDwords = field(preload, 6, 0);
  setup.preloadOffsetDwords = field(preload, 15, 7);
}

/// SGPRs the enabled user registers take, which must agree with the count in rsrc2.
static unsigned enabledUserSgprs(const KernelSetup &s) {
  unsigned pairs =
      unsigned(s.dispatchPtr) + s.queuePtr + s.kernargPtr + s.dispatchId + s.flatScratchInit;
  return (s.privateSegmentBuffer ? 4 : 0) + 2 * pairs + s.privateSize + s.preloadDwords;
}

static constexpr uint32_t maxScratchBytes = 1 << 20; ///< per work-item; a sanity bound
/// Scratch a work-item gets beyond the fixed part when the compiler could not bound its stack
/// (recursion, alloca): what LLVM itself assumes for a callee it does not see.
static constexpr uint32_t dynamicStackBytes = 16384;
static constexpr uint32_t preloadPrologueBytes = 256;

static llvm::Error validateSetup(llvm::StringRef name, const KernelSetup &setup) {
  if (setup.ldsBytes > gfx950::ldsBytes)
    return makeError("kernel '{}': expected at most {} bytes of LDS, but got {}", name,
                     gfx950::ldsBytes, setup.ldsBytes);
  if (setup.scratchBytes > maxScratchBytes)
    return makeError("kernel '{}': expected at most {} bytes of scratch a work-item, but got {}",
                     name, maxScratchBytes, setup.scratchBytes);
  if (enabledUserSgprs(setup) > setup.userSgprs)
    return makeError("kernel '{}': the enabled user SGPRs take {}, but rsrc2 reserves {}", name,
                     enabledUserSgprs(setup), setup.userSgprs);
  return llvm::Error::success();
}

llvm::Expected<KernelDescription> parseKernelDescriptor(llvm::StringRef name,
                                                        llvm::ArrayRef<uint8_t> image,
                                                        uint64_t descriptorOffset) {
  DescriptorReader d{image.data() + descriptorOffset};
  KernelDescription kernel;
  KernelSetup &setup = kernel.setup;
  setup.ldsBytes = d.u32(GROUP_SEGMENT_FIXED_SIZE_OFFSET);
  setup.scratchBytes = d.u32(PRIVATE_SEGMENT_FIXED_SIZE_OFFSET);
  setup.kernargBytes = d.u32(KERNARG_SIZE_OFFSET);
  readResources(d, setup);
  readProperties(d, setup);
  // The entry is relative to the descriptor; kernarg preload starts after a compatibility prologue.
  setup.entryOffset = descriptorOffset + d.u64(KERNEL_CODE_ENTRY_BYTE_OFFSET_OFFSET) +
                      (setup.preloadDwords ? preloadPrologueBytes : 0);
  if (setup.entryOffset >= image.size() || setup.entryOffset % 4 != 0)
    return makeError(
        "kernel '{}': entry point 0x{:x} is outside the code object of {} bytes or not "
        "a multiple of 4",
        name, setup.entryOffset, image.size());
  if (llvm::Error error = validateSetup(name, setup))
    return std::move(error);

  KernelInfo &info = kernel.info;
  info.name = name.str();
  info.vgprs = setup.vgprs;
  info.accumOffset = setup.accumOffset;
  info.ldsBytes = setup.ldsBytes;
  info.scratchBytes = setup.scratchBytes;
  info.kernargBytes = setup.kernargBytes;
  if (field(d.u16(KERNEL_CODE_PROPERTIES_OFFSET), 11, 11)) // USES_DYNAMIC_STACK
    setup.scratchBytes += dynamicStackBytes;
  return kernel;
}

// ---- metadata ----------------------------------------------------------------------------------

namespace {
using Map = llvm::msgpack::MapDocNode;

uint64_t numberIn(Map &map, llvm::StringRef key, uint64_t fallback = 0) {
  auto it = map.find(key);
  if (it == map.end())
    return fallback;
  if (it->second.getKind() == llvm::msgpack::Type::UInt)
    return it->second.getUInt();
  if (it->second.getKind() == llvm::msgpack::Type::Int)
    return uint64_t(it->second.getInt());
  return fallback;
}

std::string textIn(Map &map, llvm::StringRef key) {
  auto it = map.find(key);
  if (it == map.end() || it->second.getKind() != llvm::msgpack::Type::String)
    return "";
  return it->second.getString().str();
}

void readArguments(Map &kernel, std::vector<KernelArg> &args) {
  auto it = kernel.find(".args");
  if (it == kernel.end() || !it->second.isArray())
    return;
  for (llvm::msgpack::DocNode &node : it->second.getArray()) {
    if (!node.isMap())
      continue;
    Map &arg = node.getMap();
    args.push_back({numberIn(arg, ".offset"), numberIn(arg, ".size"), textIn(arg, ".value_kind")});
  }
}

llvm::Error expectEqual(llvm::StringRef kernel, llvm::StringRef what, uint64_t metadata,
                        uint64_t descriptor) {
  if (metadata == descriptor)
    return llvm::Error::success();
  return makeError("kernel '{}': the metadata say {} of {} bytes, but the descriptor says {}",
                   kernel, what, metadata, descriptor);
}

llvm::Error applyKernel(Map &map, CodeObject &object) {
  std::string symbol = textIn(map, ".symbol");
  std::string name = llvm::StringRef(symbol).ends_with(".kd") ? symbol.substr(0, symbol.size() - 3)
                                                              : textIn(map, ".name");
  auto it = object.kernels.find(name);
  if (it == object.kernels.end())
    return makeError("kernel '{}' has metadata, but no descriptor symbol '{}.kd'", name, name);
  KernelDescription &kernel = it->second;
  uint64_t wave = numberIn(map, ".wavefront_size", 64);
  if (wave != 64)
    return makeError("kernel '{}': expected wavefront size 64, but got {}", name, wave);
  if (auto error = expectEqual(name, "group segment",
                               numberIn(map, ".group_segment_fixed_size", kernel.info.ldsBytes),
                               kernel.info.ldsBytes))
    return error;
  if (auto error = expectEqual(name, "kernarg segment",
                               numberIn(map, ".kernarg_segment_size", kernel.info.kernargBytes),
                               kernel.info.kernargBytes))
    return error;
  KernelInfo &info = kernel.info;
  info.archVgprs = unsigned(numberIn(map, ".vgpr_count"));
  info.agprs = unsigned(numberIn(map, ".agpr_count"));
  info.sgprs = unsigned(numberIn(map, ".sgpr_count"));
  info.vgprSpills = unsigned(numberIn(map, ".vgpr_spill_count"));
  info.sgprSpills = unsigned(numberIn(map, ".sgpr_spill_count"));
  info.maxWorkgroupSize = unsigned(numberIn(map, ".max_flat_workgroup_size"));
  readArguments(map, kernel.args);
  for (const KernelArg &arg : kernel.args)
    if (arg.offset > info.kernargBytes || arg.size > info.kernargBytes - arg.offset)
      return makeError(
          "kernel '{}': argument at {} of {} bytes is outside the kernarg segment of {} "
          "bytes",
          name, arg.offset, arg.size, info.kernargBytes);
  return llvm::Error::success();
}
} // namespace

llvm::Error applyMetadata(llvm::StringRef blob, CodeObject &object) {
  llvm::msgpack::Document document;
  if (!readMessagePack(blob, document) || !document.getRoot().isMap())
    return makeError("metadata note of {} bytes: not a msgpack map", blob.size());
  Map &root = document.getRoot().getMap();
  auto kernels = root.find("amdhsa.kernels");
  if (kernels == root.end())
    return llvm::Error::success();
  if (!kernels->second.isArray())
    return makeError("metadata note: amdhsa.kernels is not an array");
  for (llvm::msgpack::DocNode &node : kernels->second.getArray()) {
    if (!node.isMap())
      return makeError("metadata note: an entry of amdhsa.kernels is not a map");
    if (llvm::Error error = applyKernel(node.getMap(), object))
      return error;
  }
  return llvm::Error::success();
}

} // namespace mono::emu
