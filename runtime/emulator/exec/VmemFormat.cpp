// Typed buffer loads and stores: MTBUF, whose format stands in the instruction, and
// BUFFER_*_FORMAT_*, whose format stands in the resource (CDNA4 ISA 9.1.7).
#include "runtime/emulator/exec/BufferFormat.h"
#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/VectorAddress.h"
#include "runtime/emulator/numeric/FloatFormat.h"

#include <fmt/format.h>

namespace mono::emu {
namespace {

/// The format of an instruction and what the resource makes of its components.
struct TypedAccess {
  BufferFormat format;
  uint32_t select; ///< DST_SEL_X to _W: 3 bits each, 0 zero, 1 one, 4 to 7 a component

  static TypedAccess of(const Wave &w, const Instruction &i) {
    constexpr uint32_t straight = 4 | 5 << 3 | 6 << 6 | 7 << 9;
    const uint32_t word3 = w.sgprs[i.src[2].index + 3];
    if (i.format == Format::Mtbuf)
      return {{i.imm & 0xF, i.imm >> 4}, straight};
    return {{word3 >> 15 & 0xF, word3 >> 12 & 7}, word3 & 0xFFF};
  }

  uint32_t selected(const BufferFormat::Components &values, unsigned n) const {
    const unsigned code = select >> 3 * n & 7;
    if (code >= 4)
      return values[code - 4];
    return code == 0 ? 0 : format.isInteger() ? 1 : std::bit_cast<uint32_t>(1.0f);
  }
};

bool isSupported(Wave &w, const TypedAccess &access) {
  if (access.format.isValid())
    return true;
  w.fault(
      "typed buffer access: expected a data format of 1 to 14 and a number format that goes with "
      "it, but the format is a reserved one or has 10- and 11-bit floats");
  return false;
}

bool loadElement(LaneResolver &resolver, unsigned lane, uint64_t address, unsigned bytes,
                 uint32_t *to) {
  switch (bytes) {
  case 1:
    return resolver.load<1>(lane, address, to);
  case 2:
    return resolver.load<2>(lane, address, to);
  case 4:
    return resolver.load<4>(lane, address, to);
  case 8:
    return resolver.load<8>(lane, address, to);
  case 12:
    return resolver.load<12>(lane, address, to);
  default:
    return resolver.load<16>(lane, address, to);
  }
}

bool storeElement(LaneResolver &resolver, unsigned lane, uint64_t address, unsigned bytes,
                  const uint32_t *from) {
  switch (bytes) {
  case 1:
    return resolver.store<1>(lane, address, from);
  case 2:
    return resolver.store<2>(lane, address, from);
  case 4:
    return resolver.store<4>(lane, address, from);
  case 8:
    return resolver.store<8>(lane, address, from);
  case 12:
    return resolver.store<12>(lane, address, from);
  default:
    return resolver.store<16>(lane, address, from);
  }
}

/// D16 registers hold two components each: f16, or the low 16 bits of an integer.
uint32_t toHalf(const BufferFormat &format, uint32_t value) {
  return format.isInteger() ? value & 0xFFFF : numeric::floatToHalf(std::bit_cast<float>(value));
}
uint32_t fromHalf(const BufferFormat &format, uint32_t half) {
  if (format.isInteger())
    return format.isUnsigned() ? half & 0xFFFF : uint32_t(int32_t(int16_t(half)));
  return std::bit_cast<uint32_t>(numeric::halfToFloat(uint16_t(half)));
}

constexpr unsigned registersOf(unsigned components, bool d16) {
  return d16 ? (components + 1) / 2 : components;
}

/// Elements outside the buffer are 0 in all components.
template <unsigned components, bool d16, bool hi> void loadFormat(Wave &w, const Instruction &i) {
  const TypedAccess access = TypedAccess::of(w, i);
  if (!isSupported(w, access))
    return;
  const unsigned bytes = access.format.bytes();
  const LaneAddresses at = laneAddresses(w, i, bytes);
  {
    LaneResolver resolver(w, i);
    for (uint64_t rest = at.mask | at.clipped; rest; rest &= rest - 1) {
      const unsigned lane = unsigned(std::countr_zero(rest));
      uint32_t element[4] = {};
      const bool isInside = at.mask >> lane & 1;
      if (isInside && !loadElement(resolver, lane, at.address[lane], bytes, element))
        return;
      const BufferFormat::Components values = access.format.unpack(element);
      for (unsigned n = 0; n < components; ++n) {
        const uint32_t value = isInside ? access.selected(values, n) : 0;
        uint32_t &row = w.vgpr(i.dst[0], d16 ? n / 2 : n)[lane];
        if constexpr (!d16)
          row = value;
        else if (hi || n % 2)
          row = (row & 0xFFFF) | toHalf(access.format, value) << 16;
        else
          row = (row & 0xFFFF0000) | toHalf(access.format, value);
      }
    }
  }
  if (RaceGlobal *race = w.workgroup->launch().race)
    race->access(w, i, at, bytes, RaceGlobal::Kind::Load);
  noteCaches(w, i, at, bytes, CacheModel::Kind::Load);
  w.waitcnt.issue(ReturnPath::Vmem, i, false, w.physicalIndex(i.dst[0]),
                  registersOf(components, d16));
}

template <unsigned components, bool d16, bool hi> void storeFormat(Wave &w, const Instruction &i) {
  const TypedAccess access = TypedAccess::of(w, i);
  if (!isSupported(w, access))
    return;
  if (access.format.components() > components)
    return w.fault(
        fmt::format("typed buffer store of {} components: expected the {} of the format, as "
                    "the others would have no value",
                    components, access.format.components()));
  const unsigned bytes = access.format.bytes();
  const LaneAddresses at = laneAddresses(w, i, bytes);
  std::unique_lock<std::mutex> guard;
  if (RaceGlobal *race = w.workgroup->launch().race) {
    guard = race->guard(i, RaceGlobal::Kind::Store);
    race->access(w, i, at, bytes, RaceGlobal::Kind::Store);
  }
  noteCaches(w, i, at, bytes, CacheModel::Kind::Store);
  LaneResolver resolver(w, i);
  for (uint64_t rest = at.mask; rest; rest &= rest - 1) {
    const unsigned lane = unsigned(std::countr_zero(rest));
    BufferFormat::Components values{};
    for (unsigned n = 0; n < components; ++n) {
      const uint32_t row = w.vgpr(i.src[1], d16 ? n / 2 : n)[lane];
      values[n] = d16 ? fromHalf(access.format, row >> (hi || n % 2 ? 16 : 0)) : row;
    }
    uint32_t element[4];
    access.format.pack(values, element);
    if (!storeElement(resolver, lane, at.address[lane], bytes, element))
      return;
  }
  w.waitcnt.issue(ReturnPath::Vmem, i, false, 0, 0);
}

template <unsigned components> void addForms(HandlerTable &t, const std::string &suffix) {
  for (const char *prefix : {"BUFFER_", "TBUFFER_"}) {
    t.add(prefix + ("LOAD_FORMAT_" + suffix), loadFormat<components, false, false>);
    t.add(prefix + ("STORE_FORMAT_" + suffix), storeFormat<components, false, false>);
    t.add(prefix + ("LOAD_FORMAT_D16_" + suffix), loadFormat<components, true, false>);
    t.add(prefix + ("STORE_FORMAT_D16_" + suffix), storeFormat<components, true, false>);
  }
}

} // namespace

void registerVmemFormat(HandlerTable &t) {
  addForms<1>(t, "X");
  addForms<2>(t, "XY");
  addForms<3>(t, "XYZ");
  addForms<4>(t, "XYZW");
  t.add("BUFFER_LOAD_FORMAT_D16_HI_X", loadFormat<1, true, true>);
  t.add("BUFFER_STORE_FORMAT_D16_HI_X", storeFormat<1, true, true>);
}

} // namespace mono::emu
