// 2D and 3D copies, fills of all element sizes, and copies between devices.
#include "Check.h"

#include <vector>

using Bytes = std::vector<unsigned char>;

static Bytes download(const void *device, size_t bytes) {
  Bytes host(bytes);
  HIP(hipMemcpy(host.data(), device, bytes, hipMemcpyDeviceToHost));
  return host;
}

/// A 40 x 7 rectangle into pitched memory and back out to another pitch.
static void rectangle() {
  constexpr size_t width = 40, height = 7, hostPitch = 50, backPitch = 64;
  void *device;
  size_t pitch = 0;
  HIP(hipMallocPitch(&device, &pitch, width, height));
  EXPECT_TRUE(pitch >= width);
  HIP(hipMemset(device, 0xEE, pitch * height));
  Bytes host(hostPitch * height), back(backPitch * height, 0x11);
  for (size_t n = 0; n < host.size(); ++n)
    host[n] = static_cast<unsigned char>(n * 13);
  HIP(hipMemcpy2D(device, pitch, host.data(), hostPitch, width, height, hipMemcpyHostToDevice));
  Bytes raw = download(device, pitch * height);
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < pitch; ++x)
      EXPECT_EQ(int(raw[y * pitch + x]), x < width ? int(host[y * hostPitch + x]) : 0xEE);
  HIP(hipMemcpy2DAsync(back.data(), backPitch, device, pitch, width, height, hipMemcpyDeviceToHost,
                       nullptr));
  HIP(hipDeviceSynchronize());
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < backPitch; ++x)
      EXPECT_EQ(int(back[y * backPitch + x]), x < width ? int(host[y * hostPitch + x]) : 0x11);
  EXPECT_STATUS(
      hipMemcpy2D(device, 16, host.data(), hostPitch, width, height, hipMemcpyHostToDevice),
      hipErrorInvalidPitchValue);
  // 2 * 2^63 is 0 in 64 bits.
  EXPECT_STATUS(hipMemcpy2D(device, size_t(1) << 63, host.data(), hostPitch, width, 3,
                            hipMemcpyHostToDevice),
                hipErrorInvalidValue);
  HIP(hipFree(device));
}

/// A 3 x 2 x 2 box at (1, 1, 1) of a 6 x 4 x 4 volume.
static void box() {
  constexpr size_t w = 6, h = 4, d = 4;
  Bytes host(w * h * d);
  for (size_t n = 0; n < host.size(); ++n)
    host[n] = static_cast<unsigned char>(n);
  hipPitchedPtr device;
  HIP(hipMalloc3D(&device, make_hipExtent(w, h, d)));
  HIP(hipMemset3D(device, 0x77, make_hipExtent(w, h, d)));
  hipMemcpy3DParms params = {};
  params.srcPtr = make_hipPitchedPtr(host.data(), w, w, h);
  params.dstPtr = device;
  params.srcPos = params.dstPos = make_hipPos(1, 1, 1);
  params.extent = make_hipExtent(3, 2, 2);
  params.kind = hipMemcpyHostToDevice;
  HIP(hipMemcpy3D(&params));
  Bytes raw = download(device.ptr, device.pitch * (h * d - 1) + w);
  for (size_t z = 0; z < d; ++z)
    for (size_t y = 0; y < h; ++y)
      for (size_t x = 0; x < w; ++x) {
        bool inside = x >= 1 && x < 4 && y >= 1 && y < 3 && z >= 1 && z < 3;
        EXPECT_EQ(int(raw[(z * h + y) * device.pitch + x]),
                  inside ? int(host[(z * h + y) * w + x]) : 0x77);
      }
}

static void fills() {
  char *device;
  HIP(hipMalloc(&device, 256));
  HIP(hipMemset(device, 0, 256));
  HIP(hipMemsetD8(device, 0x1A2 & 0xFF, 3));
  HIP(hipMemsetD16(device + 4, 0xBEEF, 3));
  HIP(hipMemsetD32(device + 12, 0x12345678, 2));
  HIP(hipMemset2D(device + 64, 16, 5, 4, 3));
  // Nothing to write is nothing to do, however many rows of it there are.
  HIP(hipMemset2D(device, 16, 5, 0, size_t(1) << 60));
  HIP(hipMemcpy2D(device, 16, device + 64, 16, 0, size_t(1) << 60, hipMemcpyDeviceToDevice));
  Bytes raw = download(device, 256), want(256);
  unsigned char head[20] = {0xA2, 0xA2, 0xA2, 0,    0xEF, 0xBE, 0xEF, 0xBE, 0xEF, 0xBE,
                            0,    0,    0x78, 0x56, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12};
  std::copy(head, head + 20, want.begin());
  for (int row = 0; row < 3; ++row)
    std::fill_n(want.begin() + 64 + 16 * row, 4, 5);
  for (int n = 0; n < 256; ++n)
    EXPECT_EQ(int(raw[n]), int(want[n]));
  EXPECT_STATUS(hipMemsetD32(device + 2, 1, 1), hipErrorInvalidValue);
}

/// Products that do not fit 64 bits are too large, not small.
static void hugeSizes() {
  constexpr size_t one = 1;
  hipPitchedPtr pitched;
  EXPECT_STATUS(hipMalloc3D(&pitched, make_hipExtent(256, (one << 60) + 1, 16)),
                hipErrorOutOfMemory);
  EXPECT_STATUS(hipMalloc3D(&pitched, make_hipExtent(256, one << 63, 2)), hipErrorOutOfMemory);
  EXPECT_STATUS(hipMalloc3D(&pitched, make_hipExtent(~size_t(0), 1, 1)), hipErrorInvalidValue);
  char *device;
  HIP(hipMalloc(&device, 4096));
  EXPECT_STATUS(hipMemsetD16(device, 7, one << 63), hipErrorInvalidValue);
  EXPECT_STATUS(hipMemsetD32(device, 7, one << 62), hipErrorInvalidValue);
  EXPECT_STATUS(hipMemsetD32(device, 7, (one << 62) + 1), hipErrorInvalidValue);
  hipMemsetParams fill = {device, 4, 1, 0, 7, (one << 62) + 1};
  hipGraph_t graph;
  hipGraphNode_t node;
  HIP(hipGraphCreate(&graph, 0));
  EXPECT_STATUS(hipGraphAddMemsetNode(&node, graph, nullptr, 0, &fill), hipErrorInvalidValue);

  hipMemcpy3DParms box = {};
  box.srcPtr = box.dstPtr = make_hipPitchedPtr(device, 16, 16, 4);
  box.extent = make_hipExtent(1, 1, 1);
  box.kind = hipMemcpyDeviceToDevice;
  box.srcPos = make_hipPos(0, one << 60, 0); // 16 bytes a row
  EXPECT_STATUS(hipMemcpy3D(&box), hipErrorInvalidValue);
  box.srcPos = make_hipPos(0, 0, one << 58); // 64 bytes a slice
  EXPECT_STATUS(hipMemcpy3D(&box), hipErrorInvalidValue);
  // Slices of 0 bytes would let any number of them pass.
  box.srcPos = make_hipPos(0, 0, 0);
  box.srcPtr.ysize = box.dstPtr.ysize = 0;
  box.extent.depth = one << 60;
  EXPECT_STATUS(hipMemcpy3D(&box), hipErrorInvalidValue);
  EXPECT_STATUS(hipMemset3D(make_hipPitchedPtr(device, one << 60, 16, 16), 7,
                            make_hipExtent(1, 1, one << 60)),
                hipErrorInvalidValue);
  HIP(hipFree(device));
}

static void betweenDevices() {
  int *first, *second, host[8], back[8] = {};
  for (int n = 0; n < 8; ++n)
    host[n] = n * n;
  HIP(hipSetDevice(0));
  HIP(hipMalloc(&first, sizeof(host)));
  HIP(hipMemcpy(first, host, sizeof(host), hipMemcpyHostToDevice));
  HIP(hipSetDevice(1));
  HIP(hipMalloc(&second, sizeof(host)));
  HIP(hipMemcpyPeer(second, 1, first, 0, sizeof(host)));
  HIP(hipMemcpy(back, second, sizeof(host), hipMemcpyDefault));
  for (int n = 0; n < 8; ++n)
    EXPECT_EQ(back[n], n * n);
  EXPECT_STATUS(hipMemcpyPeer(second, 1, first, 99, 4), hipErrorInvalidDevice);
  // A whole buffer may be copied though only part of it was written.
  void *part;
  HIP(hipMalloc(&part, 64));
  HIP(hipMemset(part, 3, 8));
  Bytes raw = download(part, 64);
  EXPECT_EQ(int(raw[7]), 3);
}

/// Pageable memory belongs to the program again as soon as the call returns, however the call is
/// named; a capturing stream must not touch it at all.
static void pageable() {
  constexpr size_t bytes = 64, width = 8, pitch = 16;
  char *device;
  hipStream_t stream;
  HIP(hipMalloc(&device, bytes));
  HIP(hipStreamCreate(&stream));
  Bytes host(bytes, 'A'), back(bytes, 'x'), rows(bytes, 'y');
  HIP(hipMemcpyAsync(device, host.data(), bytes, hipMemcpyHostToDevice, stream));
  std::fill(host.begin(), host.end(), 'B');
  HIP(hipMemcpyAsync(back.data(), device, bytes, hipMemcpyDeviceToHost, stream));
  HIP(hipMemcpy2DAsync(rows.data(), pitch, device, width, width, bytes / pitch, hipMemcpyDefault,
                       stream));
  for (size_t n = 0; n < bytes; ++n) {
    EXPECT_EQ(char(back[n]), 'A');
    EXPECT_EQ(char(rows[n]), n % pitch < width ? 'A' : 'y');
  }
  hipGraph_t graph;
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  HIP(hipMemcpyAsync(device, host.data(), bytes, hipMemcpyHostToDevice, stream));
  HIP(hipStreamEndCapture(stream, &graph));
  EXPECT_EQ(char(download(device, bytes)[0]), 'A');
}

int main() {
  rectangle();
  pageable();
  box();
  fills();
  hugeSizes();
  betweenDevices();
}
