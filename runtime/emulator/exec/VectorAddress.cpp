// Lane addresses of the vector memory formats.
#include "runtime/emulator/exec/VectorAddress.h"

#include "runtime/emulator/exec/Apertures.h"

#include <fmt/format.h>

namespace mono::emu {

static void globalAddresses(Wave &w, const Instruction &i, LaneAddresses &at) {
  uint64_t offset = uint64_t(int64_t(i.offset));
  const uint32_t *low = w.vgpr(i.src[0]);
  if (!i.src[2].isNone()) {
    uint64_t base = w.readScalar64(i.src[2]) + offset;
    for (unsigned lane = 0; lane < Wave::lanes; ++lane)
      at.address[lane] = base + low[lane];
    return;
  }
  const uint32_t *high = low + Wave::lanes;
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    at.address[lane] = (low[lane] | uint64_t(high[lane]) << 32) + offset;
}

static void scratchAddresses(Wave &w, const Instruction &i, LaneAddresses &at) {
  uint32_t uniform = uint32_t(i.offset);
  if (!i.src[2].isNone())
    uniform += w.readScalar32(i.src[2]);
  const uint32_t *vector = i.src[0].isNone() ? nullptr : w.vgpr(i.src[0]);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    at.address[lane] = aperture::privateBase + uint32_t(uniform + (vector ? vector[lane] : 0));
}

namespace {
/// A buffer resource, V# (CDNA4 ISA 9.1.8).
struct BufferResource {
  uint64_t base;
  uint32_t stride, numRecords;
  uint32_t indexStride; ///< records side by side in a swizzled buffer: 8, 16, 32 or 64
  bool swizzled, addThreadId;

  BufferResource(const Wave &w, const Operand &srsrc) {
    const uint32_t *word = &w.sgprs[srsrc.index];
    base = word[0] | uint64_t(word[1] & 0xFFFF) << 32;
    stride = word[1] >> 16 & 0x3FFF;
    swizzled = word[1] >> 31;
    numRecords = word[2];
    addThreadId = word[3] >> 23 & 1;
    indexStride = 8u << (word[3] >> 21 & 3);
    // With ADD_TID_ENABLE the data format holds more bits of the stride.
    if (addThreadId)
      stride |= (word[3] >> 15 & 0xF) << 14;
  }

  /// Byte of the buffer. In a swizzled one the dwords of `indexStride` records stand side by side:
  /// dword 0 of each, dword 1 of each (CDNA4 ISA 9.1.5, the element size of GFX9 is 4).
  uint64_t place(uint64_t record, uint64_t offset) const {
    if (!swizzled)
      return record * stride + offset;
    constexpr uint64_t element = 4;
    const uint64_t block = record / indexStride * stride + offset / element * element;
    return block * indexStride + record % indexStride * element + offset % element;
  }
};
} // namespace

static void bufferAddresses(Wave &w, const Instruction &i, unsigned bytes, LaneAddresses &at) {
  BufferResource buffer(w, i.src[2]);
  if (buffer.swizzled && bytes > 4) {
    at.mask = 0;
    return w.fault(
        fmt::format("swizzled buffer access of {} bytes: expected at most the 4 bytes of "
                    "an element, as longer ones do not lie together",
                    bytes));
  }
  uint64_t base = buffer.base + w.readScalar32(i.src[3]);
  const uint32_t *index = i.idxen ? w.vgpr(i.src[0]) : nullptr;
  const uint32_t *offset = i.offen ? w.vgpr(i.src[0], i.idxen ? 1 : 0) : nullptr;
  // Structured: NUM_RECORDS counts records and limits the index; raw: it counts bytes.
  bool structured = buffer.stride != 0 && (i.idxen || buffer.addThreadId || buffer.swizzled);
  forEachLane(w.exec(), [&](unsigned lane) {
    uint64_t record = uint64_t(index ? index[lane] : 0) + (buffer.addThreadId ? lane : 0);
    uint64_t inRecord = uint64_t(offset ? offset[lane] : 0) + uint32_t(i.offset);
    at.address[lane] = base + buffer.place(record, inRecord);
    uint64_t valid = bytes;
    if (structured)
      valid =
          record < buffer.numRecords && (!buffer.swizzled || inRecord < buffer.stride) ? bytes : 0;
    else if (inRecord + bytes > buffer.numRecords)
      valid = inRecord < buffer.numRecords ? buffer.numRecords - inRecord : 0;
    if (valid == bytes)
      return;
    at.mask &= ~(uint64_t(1) << lane);
    at.clipped |= uint64_t(1) << lane;
    at.validBytes[lane] = uint8_t(valid);
  });
}

LaneAddresses laneAddresses(Wave &w, const Instruction &i, unsigned bytes) {
  LaneAddresses at;
  at.mask = w.exec();
  switch (i.format) {
  case Format::Scratch:
    scratchAddresses(w, i, at);
    break;
  case Format::Mubuf:
  case Format::Mtbuf:
    bufferAddresses(w, i, bytes, at);
    break;
  default:
    globalAddresses(w, i, at);
  }
  return at;
}

} // namespace mono::emu
