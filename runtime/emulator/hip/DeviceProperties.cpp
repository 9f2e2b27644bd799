// What a device says of itself: one MI355X each (CDNA4 ISA, AMD's gpu-specs).
#include "runtime/emulator/hip/DeviceFacts.h"
#include "runtime/emulator/hip/Launch.h"

#include <cstring>

using namespace mono::hipemu;

static constexpr const char *archName = "gfx950:sramecc+:xnack-";

static constexpr int clockKhz = 2400000, memoryClockKhz = 2000000, memoryBusBits = 8192,
                     wallClockKhz = 100000,
                     registersPerUnit =
                         gfx950::simdsPerComputeUnit * gfx950::vgprsPerSimd * waveSize;
static constexpr size_t maxPitch = 0x7fffffff;
static constexpr int maxGrid[3] = {0x7fffffff, 0xffff, 0xffff};

/// Atomics, doubles, votes, shuffles, fences and 3D grids; neither surfaces nor dynamic
/// parallelism. Bit n is field n of hipDeviceArch_t.
static constexpr hipDeviceArch_t archFeatures = 0b1'0111'0111'1111'1111 & ~(1u << 16);

// ---- properties --------------------------------------------------------------------------------

/// The fields that both layouts of hipDeviceProp_t have.
template <typename Prop> static void fillCommon(Prop &p, int device) {
  std::strcpy(p.name, deviceName);
  std::strcpy(p.gcnArchName, archName);
  p.totalGlobalMem = deviceMemoryBytes;
  p.sharedMemPerBlock = gfx950::ldsBytes;
  p.regsPerBlock = registersPerUnit;
  p.warpSize = waveSize;
  p.maxThreadsPerBlock = maxWorkgroupSize;
  for (int d = 0; d < 3; ++d) {
    p.maxThreadsDim[d] = maxWorkgroupSize;
    p.maxGridSize[d] = maxGrid[d];
  }
  p.clockRate = clockKhz;
  p.memoryClockRate = memoryClockKhz;
  p.memoryBusWidth = memoryBusBits;
  p.totalConstMem = maxPitch;
  p.major = 9;
  p.minor = 5;
  p.multiProcessorCount = computeUnits;
  p.l2CacheSize = gfx950::l2Bytes;
  p.maxThreadsPerMultiProcessor = gfx950::wavesPerComputeUnit * waveSize;
  p.clockInstructionRate = wallClockKhz;
  p.arch = archFeatures;
  p.concurrentKernels = 1;
  p.pciBusID = device + 1;
  p.maxSharedMemoryPerMultiProcessor = gfx950::ldsBytes;
  p.canMapHostMemory = 1;
  p.cooperativeLaunch = 1;
  p.memPitch = maxPitch;
  p.textureAlignment = 256;
  p.texturePitchAlignment = 256;
  p.eccEnabled = 1;
  p.isLargeBar = 1;
  p.managedMemory = 1;
  p.directManagedMemAccessFromHost = 1;
  p.concurrentManagedAccess = 1;
}

static void fillNew(hipDeviceProp_tR0600 &p, int device) {
  p.uuid = uuidOf(device);
  p.unifiedAddressing = 1;
  p.asyncEngineCount = 1;
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = gfx950::ldsBytes;
  p.regsPerMultiprocessor = registersPerUnit;
  p.canUseHostPointerForRegisteredMem = 1;
  p.hostNativeAtomicSupported = 1;
  p.maxBlocksPerMultiProcessor = 32;
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
}

HIP_EXPORT hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device) {
  return api([&](Runtime &) {
    if (!properties)
      return hipErrorInvalidValue;
    if (!isDevice(device))
      return hipErrorInvalidDevice;
    *properties = {};
    fillCommon(*properties, device);
    fillNew(*properties, device);
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000 *properties, int device) {
  return api([&](Runtime &) {
    if (!properties)
      return hipErrorInvalidValue;
    if (!isDevice(device))
      return hipErrorInvalidDevice;
    *properties = {};
    fillCommon(*properties, device);
    properties->gcnArch = 950;
    return hipSuccess;
  });
}

/// The symbol without a revision has the layout of HIP 5.
HIP_EXPORT hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000 *properties, int device) {
  return hipGetDevicePropertiesR0000(properties, device);
}

// ---- attributes --------------------------------------------------------------------------------

namespace {
/// hipDeviceAttribute_t, the ones that are not 0 here.
enum Attribute : int {
  EccEnabled = 0,
  AsyncEngineCount = 2,
  CanMapHostMemory = 3,
  CanUseHostPointerForRegisteredMem = 4,
  ClockRate = 5,
  ConcurrentKernels = 8,
  ConcurrentManagedAccess = 9,
  CooperativeLaunch = 10,
  DirectManagedMemAccessFromHost = 13,
  GlobalL1CacheSupported = 14,
  HostNativeAtomicSupported = 15,
  L2CacheSize = 19,
  LocalL1CacheSupported = 20,
  ComputeCapabilityMajor = 23,
  ManagedMemory = 24,
  MaxBlocksPerMultiProcessor = 25,
  MaxBlockDimX = 26,
  MaxBlockDimY = 27,
  MaxBlockDimZ = 28,
  MaxGridDimX = 29,
  MaxGridDimY = 30,
  MaxGridDimZ = 31,
  MaxThreadsDim = 55,
  MaxThreadsPerBlock = 56,
  MaxThreadsPerMultiProcessor = 57,
  MaxPitch = 58,
  MemoryBusWidth = 59,
  MemoryClockRate = 60,
  ComputeCapabilityMinor = 61,
  MultiprocessorCount = 63,
  PciBusId = 67,
  MaxRegistersPerBlock = 71,
  MaxRegistersPerMultiprocessor = 72,
  MaxSharedMemoryPerBlock = 74,
  SharedMemPerMultiprocessor = 76,
  StreamPrioritiesSupported = 78,
  TextureAlignment = 81,
  TexturePitchAlignment = 82,
  TotalConstantMemory = 83,
  TotalGlobalMem = 84,
  UnifiedAddressing = 85,
  WarpSize = 87,
  MemoryPoolsSupported = 88,
  HostRegisterSupported = 90,
  AmdSpecificBegin = 10000,
  ClockInstructionRate = 10000,
  MaxSharedMemoryPerMultiprocessor = 10002,
  IsLargeBar = 10011,
  PhysicalMultiProcessorCount = 10015,
  FineGrainSupport = 10016,
  WallClockRate = 10017,
  NumberOfXccs = 10018,
  MaxAvailableVgprsPerThread = 10019,
  AmdSpecificEnd = 10021,
  CudaCompatibleEnd = 92,
};
} // namespace

static int attributeValue(int attribute, int device) {
  switch (attribute) {
  case EccEnabled:
  case AsyncEngineCount:
  case CanMapHostMemory:
  case CanUseHostPointerForRegisteredMem:
  case ConcurrentKernels:
  case ConcurrentManagedAccess:
  case CooperativeLaunch:
  case DirectManagedMemAccessFromHost:
  case GlobalL1CacheSupported:
  case HostNativeAtomicSupported:
  case LocalL1CacheSupported:
  case ManagedMemory:
  case StreamPrioritiesSupported:
  case UnifiedAddressing:
  case MemoryPoolsSupported:
  case HostRegisterSupported:
  case IsLargeBar:
  case FineGrainSupport:
    return 1;
  case ClockRate:
    return clockKhz;
  case L2CacheSize:
    return gfx950::l2Bytes;
  case ComputeCapabilityMajor:
    return 9;
  case ComputeCapabilityMinor:
    return 5;
  case MaxBlocksPerMultiProcessor:
    return 32;
  case MaxBlockDimX:
  case MaxBlockDimY:
  case MaxBlockDimZ:
  case MaxThreadsDim:
  case MaxThreadsPerBlock:
    return maxWorkgroupSize;
  case MaxGridDimX:
  case MaxGridDimY:
  case MaxGridDimZ:
    return maxGrid[attribute - MaxGridDimX];
  case MaxThreadsPerMultiProcessor:
    return gfx950::wavesPerComputeUnit * waveSize;
  case MaxPitch:
  case TotalConstantMemory:
  case TotalGlobalMem: // more than an int holds
    return int(maxPitch);
  case MemoryBusWidth:
    return memoryBusBits;
  case MemoryClockRate:
    return memoryClockKhz;
  case MultiprocessorCount:
  case PhysicalMultiProcessorCount:
    return computeUnits;
  case PciBusId:
    return device + 1;
  case MaxRegistersPerBlock:
  case MaxRegistersPerMultiprocessor:
    return registersPerUnit;
  case MaxSharedMemoryPerBlock:
  case SharedMemPerMultiprocessor:
  case MaxSharedMemoryPerMultiprocessor:
    return gfx950::ldsBytes;
  case TextureAlignment:
  case TexturePitchAlignment:
    return 256;
  case WarpSize:
    return waveSize;
  case ClockInstructionRate:
  case WallClockRate:
    return wallClockKhz;
  case NumberOfXccs:
    return gfx950::xcds;
  case MaxAvailableVgprsPerThread:
    return gfx950::vgprsPerSimd;
  default:
    return 0;
  }
}

HIP_EXPORT hipError_t hipDeviceGetAttribute(int *value, int attribute, int device) {
  return api([&](Runtime &) {
    if (!value)
      return hipErrorInvalidValue;
    if (!isDevice(device))
      return hipErrorInvalidDevice;
    bool known = (attribute >= 0 && attribute < CudaCompatibleEnd) ||
                 (attribute >= AmdSpecificBegin && attribute < AmdSpecificEnd);
    if (!known)
      return hipErrorInvalidValue;
    *value = attributeValue(attribute, device);
    return hipSuccess;
  });
}
