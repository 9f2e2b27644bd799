// What the library says of itself and its devices; the number of devices is the argument.
#include "Check.h"

#include <cstdlib>
#include <cstring>

int main(int, char **argv) {
  int count = 0, version = 0;
  HIP(hipInit(0));
  HIP(hipGetDeviceCount(&count));
  EXPECT_EQ(count, std::atoi(argv[1]));
  HIP(hipRuntimeGetVersion(&version));
  EXPECT_EQ(version / 10000000, 6);

  hipDeviceProp_t properties;
  std::memset(&properties, 0xFF, sizeof(properties));
  HIP(hipGetDeviceProperties(&properties, count - 1));
  EXPECT_EQ(std::string(properties.gcnArchName), "gfx950:sramecc+:xnack-");
  EXPECT_EQ(properties.multiProcessorCount, 256);
  EXPECT_EQ(properties.warpSize, 64);
  EXPECT_EQ(properties.maxThreadsPerBlock, 1024);
  EXPECT_EQ(properties.sharedMemPerBlock, size_t(163840));
  EXPECT_EQ(properties.totalGlobalMem, size_t(288) << 30);
  EXPECT_EQ(properties.clockRate, 2400000);
  EXPECT_EQ(properties.cooperativeLaunch, 1);
  EXPECT_EQ(properties.maxTexture2D[1], 0);
  EXPECT_EQ(properties.managedMemory, 1);
  EXPECT_STATUS(hipGetDeviceProperties(&properties, count), hipErrorInvalidDevice);

  struct {
    hipDeviceAttribute_t attribute;
    int want;
  } attributes[] = {
      {hipDeviceAttributeMultiprocessorCount, 256},
      {hipDeviceAttributeWarpSize, 64},
      {hipDeviceAttributeMaxThreadsPerBlock, 1024},
      {hipDeviceAttributeMaxBlockDimZ, 1024},
      {hipDeviceAttributeMaxGridDimX, 0x7fffffff},
      {hipDeviceAttributeMaxSharedMemoryPerBlock, 163840},
      {hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, 163840},
      {hipDeviceAttributeMaxThreadsPerMultiProcessor, 2048},
      {hipDeviceAttributeClockRate, 2400000},
      {hipDeviceAttributeComputeCapabilityMajor, 9},
      {hipDeviceAttributeComputeCapabilityMinor, 5},
      {hipDeviceAttributeManagedMemory, 1},
      {hipDeviceAttributeCooperativeLaunch, 1},
      {hipDeviceAttributeMemoryBusWidth, 8192},
      {hipDeviceAttributePciBusId, count},
      {hipDeviceAttributeMaxTexture1DWidth, 0},
      {hipDeviceAttributeCanUseStreamWaitValue, 0},
      {hipDeviceAttributeIsLargeBar, 1},
      {hipDeviceAttributePhysicalMultiProcessorCount, 256},
      {hipDeviceAttributeFineGrainSupport, 1},
  };
  for (auto &entry : attributes) {
    int value = -1;
    HIP(hipDeviceGetAttribute(&value, entry.attribute, count - 1));
    expectEqual(value, entry.want, "attribute", int(entry.attribute));
  }
  int value = 0;
  EXPECT_STATUS(hipDeviceGetAttribute(&value, hipDeviceAttribute_t(5000), 0), hipErrorInvalidValue);
  char bus[32];
  int device = -1;
  HIP(hipDeviceGetPCIBusId(bus, sizeof(bus), count - 1));
  HIP(hipDeviceGetByPCIBusId(&device, bus));
  EXPECT_EQ(device, count - 1);
}
