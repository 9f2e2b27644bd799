// Turns a function of one lane's values into a handler for all 64: valu<[](float a, float b)
// {...}>. The parameter types say how the sources are fetched, the result type how it is written
// back.
#pragma once

#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/ValuOperands.h"
#include "runtime/emulator/numeric/FloatFormat.h"

#include <bit>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace mono::emu::valu {

// ---- types a lane function may take or give besides uint32_t, int32_t, uint64_t, int64_t,
// ---- uint16_t, int16_t, float and double ---------------------------------------------------

/// An f16 as its exact f32 value; as a result it is rounded to f16 by MODE.
struct F16 {
  float value;
};
/// An f16 as its code, sNaN preserved; as a result it is written as it is.
struct F16Code {
  uint16_t bits;
};
/// A dword on which neg and abs act though nothing is computed with it (v_cndmask_b32).
struct SignedBits {
  uint32_t bits;
};
/// The lane's bit of a 64-bit mask operand (VCC or an SGPR pair).
struct MaskBit {
  bool value;
};
/// Not operands: the lane number and MODE.
struct LaneId {
  uint32_t value;
};
/// A dword result and a bit of the mask in dst[1] (carry out).
struct WithCarry {
  uint32_t value;
  bool carry;
};

namespace detail {

template <typename T> inline constexpr bool isOperand = true;
template <> inline constexpr bool isOperand<LaneId> = false;
template <> inline constexpr bool isOperand<FloatMode> = false;

template <typename T>
inline constexpr bool isHalf = std::is_same_v<T, F16> || std::is_same_v<T, F16Code>;
template <typename T>
inline constexpr bool isShort = std::is_same_v<T, uint16_t> || std::is_same_v<T, int16_t>;
template <typename T> inline constexpr bool isWide = sizeof(T) == 8 && std::is_arithmetic_v<T>;

template <typename T> constexpr ValueKind kindOf() {
  if constexpr (std::is_same_v<T, float>)
    return ValueKind::Float32;
  else if constexpr (isHalf<T>)
    return ValueKind::Float16;
  else if constexpr (isShort<T>)
    return ValueKind::Bits16;
  else if constexpr (std::is_same_v<T, SignedBits>)
    return ValueKind::Sign32;
  else
    return ValueKind::Bits32;
}

/// How f32 denormals are treated: by MODE, outside the lane loop, or flushed on the way in and out,
/// inside it. The latter is what kernels that flush at all ask for.
enum class Denormals : uint8_t { ByMode, Flushed };

/// Source operand of one-dword type T.
template <typename T, Denormals Handling = Denormals::ByMode> class Source {
public:
  Source(Wave &wave, const Instruction &inst, unsigned index)
      : row(fetchRow(wave, inst, inst.src[index], 0, kind, buffer)) {}
  Source(const Source &) = delete;

  T operator[](unsigned lane) const {
    if constexpr (std::is_same_v<T, F16>)
      return {numeric::halfToFloat(uint16_t(row[lane]))};
    else if constexpr (std::is_same_v<T, F16Code>)
      return {uint16_t(row[lane])};
    else if constexpr (std::is_same_v<T, SignedBits>)
      return {row[lane]};
    else if constexpr (isShort<T>)
      return T(row[lane]);
    else if constexpr (flushes)
      return numeric::flushDenormal(std::bit_cast<float>(row[lane]));
    else
      return std::bit_cast<T>(row[lane]);
  }
  /// Whether any lane holds a NaN.
  bool anyNan() const {
    uint32_t found = 0;
    for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
      if constexpr (std::is_same_v<T, float>)
        found |= (row[lane] & 0x7fffffff) > 0x7f800000;
      else if constexpr (isHalf<T>)
        found |= (row[lane] & 0x7fff) > 0x7c00;
    }
    return found;
  }

private:
  static constexpr bool flushes = std::is_same_v<T, float> && Handling == Denormals::Flushed;
  static constexpr ValueKind kind = flushes ? ValueKind::Sign32 : kindOf<T>();
  LaneBuffer buffer;
  const uint32_t *row;
};

/// Source operand of a 64-bit type: two rows.
template <typename T, Denormals Handling>
  requires isWide<T>
class Source<T, Handling> {
public:
  Source(Wave &wave, const Instruction &inst, unsigned index)
      : low(fetchRow(wave, inst, inst.src[index], 0, ValueKind::Bits32, lowBuffer)),
        high(fetchRow(wave, inst, inst.src[index], 1,
                      isDouble ? ValueKind::Float64Hi : ValueKind::Bits32, highBuffer)) {
    if (isDouble && !(wave.modeRegister >> mode::denormF64F16 & 1)) [[unlikely]]
      flushDoubles(low, high, lowBuffer, highBuffer);
  }
  Source(const Source &) = delete;

  T operator[](unsigned lane) const {
    return std::bit_cast<T>(low[lane] | uint64_t(high[lane]) << 32);
  }
  /// Whether any lane may hold a NaN: an infinity counts too.
  bool anyNan() const {
    uint32_t found = 0;
    for (unsigned lane = 0; lane < Wave::lanes; ++lane)
      found |= (high[lane] & 0x7ff00000) == 0x7ff00000;
    return isDouble && found;
  }

private:
  static constexpr bool isDouble = std::is_same_v<T, double>;
  LaneBuffer lowBuffer, highBuffer;
  const uint32_t *low, *high;
};

template <Denormals Handling> class Source<MaskBit, Handling> {
public:
  Source(Wave &wave, const Instruction &inst, unsigned index) {
    expandMask(wave.readScalar64(inst.src[index]), lanes.dword);
  }
  MaskBit operator[](unsigned lane) const { return {lanes.dword[lane] != 0}; }

private:
  LaneBuffer lanes;
};

template <Denormals Handling> class Source<LaneId, Handling> {
public:
  Source(Wave &, const Instruction &, unsigned) {}
  LaneId operator[](unsigned lane) const { return {lane}; }
};

template <Denormals Handling> class Source<FloatMode, Handling> {
public:
  Source(Wave &wave, const Instruction &, unsigned) : mode(wave) {}
  FloatMode operator[](unsigned) const { return mode; }
  bool anyNan() const { return false; }

private:
  FloatMode mode;
};

/// Result of one-dword type R.
template <typename R, Denormals Handling = Denormals::ByMode> class Sink {
public:
  Sink(Wave &wave, const Instruction &inst)
      : mask(writeMask(wave, inst)), direct(mask == Wave::allLanes && !inst.isSdwa),
        lanes(direct ? wave.vgpr(inst.dst[0]) : buffer.dword) {}
  Sink(const Sink &) = delete;

  uint32_t *rows() { return lanes; }
  static void put(uint32_t *lanes, unsigned lane, R value) {
    if constexpr (std::is_same_v<R, float> && Handling == Denormals::Flushed)
      value = numeric::flushDenormal(value);
    lanes[lane] = std::bit_cast<uint32_t>(value);
  }
  void finish(Wave &wave, const Instruction &inst) {
    if constexpr (std::is_same_v<R, float> && Handling == Denormals::Flushed) {
      if (inst.clamp) [[unlikely]]
        finishFloats(wave, inst, reinterpret_cast<float *>(lanes));
    } else if constexpr (std::is_same_v<R, float>) {
      if (needsFinish(wave, inst, mode::denormF32)) [[unlikely]]
        finishFloats(wave, inst, reinterpret_cast<float *>(lanes));
    }
    if (!direct)
      storeDwords(wave, inst, buffer.dword, mask);
  }

private:
  LaneBuffer buffer;
  uint64_t mask;
  bool direct;
  uint32_t *lanes;
};

/// Result of 16 bits: always merged into the old register.
template <typename R, HighHalf High> class HalfSink {
public:
  HalfSink(Wave &wave, const Instruction &inst) : mask(writeMask(wave, inst)) {}
  HalfSink(const HalfSink &) = delete;

  uint32_t *rows() { return buffer.dword; }
  static void put(uint32_t *lanes, unsigned lane, R value) {
    if constexpr (std::is_same_v<R, F16>)
      lanes[lane] = std::bit_cast<uint32_t>(value.value);
    else if constexpr (std::is_same_v<R, F16Code>)
      lanes[lane] = value.bits;
    else
      lanes[lane] = uint16_t(value);
  }
  void finish(Wave &wave, const Instruction &inst) {
    if constexpr (std::is_same_v<R, F16> && High != HighHalf::Write)
      if (!(inst.isSdwa | inst.dstOpSel | inst.omod) && !needsHalfFinish(wave, inst)) [[likely]] {
        constexpr uint32_t keep = High == HighHalf::Keep ? 0xffff0000 : 0;
        storePlainHalves(wave.vgpr(inst.dst[0]), reinterpret_cast<const float *>(buffer.dword),
                         keep, mask);
        return;
      }
    if constexpr (std::is_same_v<R, F16>)
      finishHalves(wave, inst, reinterpret_cast<const float *>(buffer.dword), codes.dword);
    else if constexpr (std::is_same_v<R, F16Code>)
      finishHalfCodes(wave, inst, buffer.dword);
    const LaneBuffer &result = std::is_same_v<R, F16> ? codes : buffer;
    storeHalves(wave, inst, result.dword, mask, High);
  }

private:
  LaneBuffer buffer, codes;
  uint64_t mask;
};

/// Result of 64 bits: two rows, written straight where all lanes are active.
template <typename R> class WideSink {
public:
  struct Rows {
    uint32_t *low, *high;
  };
  WideSink(Wave &wave, const Instruction &inst) : mask(writeMask(wave, inst)) {
    // omod, clamp and flushing want doubles side by side, which finish() makes of the buffers.
    direct = mask == Wave::allLanes && !(isDouble && needsFinish(wave, inst, mode::denormF64F16));
    target = direct ? Rows{wave.vgpr(inst.dst[0], 0), wave.vgpr(inst.dst[0], 1)}
                    : Rows{low.dword, high.dword};
  }
  WideSink(const WideSink &) = delete;

  Rows rows() const { return target; }
  static void put(Rows rows, unsigned lane, R value) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    rows.low[lane] = uint32_t(bits);
    rows.high[lane] = uint32_t(bits >> 32);
  }
  void finish(Wave &wave, const Instruction &inst) {
    if (direct)
      return;
    if constexpr (isDouble)
      if (needsFinish(wave, inst, mode::denormF64F16)) [[unlikely]]
        finishRows(wave, inst);
    blendRow(wave.vgpr(inst.dst[0], 0), low.dword, mask);
    blendRow(wave.vgpr(inst.dst[0], 1), high.dword, mask);
  }

private:
  static constexpr bool isDouble = std::is_same_v<R, double>;

  void finishRows(Wave &wave, const Instruction &inst) {
    double values[Wave::lanes];
    for (unsigned lane = 0; lane < Wave::lanes; ++lane)
      values[lane] = std::bit_cast<double>(low.dword[lane] | uint64_t(high.dword[lane]) << 32);
    finishDoubles(wave, inst, values);
    for (unsigned lane = 0; lane < Wave::lanes; ++lane)
      put(target, lane, values[lane]);
  }

  LaneBuffer low, high;
  Rows target;
  uint64_t mask;
  bool direct;
};

/// A dword and a carry; carry bits of inactive lanes are written as zero.
class CarrySink {
public:
  struct Rows {
    uint32_t *value, *carry;
  };
  CarrySink(Wave &wave, const Instruction &inst) : mask(writeMask(wave, inst)) {}
  CarrySink(const CarrySink &) = delete;

  Rows rows() { return {value.dword, carry.dword}; }
  static void put(Rows rows, unsigned lane, WithCarry result) {
    rows.value[lane] = result.value;
    rows.carry[lane] = -uint32_t(result.carry);
  }
  void finish(Wave &wave, const Instruction &inst) {
    storeDwords(wave, inst, value.dword, mask);
    wave.writeScalar64(inst.dst[1], packSigns(carry.dword) & mask);
  }

private:
  LaneBuffer value, carry;
  uint64_t mask;
};

template <typename R, HighHalf High, Denormals Handling> struct SinkFor {
  using Type = Sink<R, Handling>;
};
template <typename R, HighHalf High, Denormals Handling>
  requires(isHalf<R> || isShort<R>)
struct SinkFor<R, High, Handling> {
  using Type = HalfSink<R, High>;
};
template <typename R, HighHalf High, Denormals Handling>
  requires isWide<R>
struct SinkFor<R, High, Handling> {
  using Type = WideSink<R>;
};
template <HighHalf High, Denormals Handling> struct SinkFor<WithCarry, High, Handling> {
  using Type = CarrySink;
};

/// Signature of a lane function.
template <typename> struct Signature;
template <typename F, typename R, typename... Ts> struct Signature<R (F::*)(Ts...) const> {
  using Result = R;
  template <Denormals Handling> using Sources = std::tuple<Source<Ts, Handling>...>;
  /// Whether MODE's f32 denormal control concerns the function at all.
  static constexpr bool usesFloats = std::is_same_v<R, float> || (std::is_same_v<Ts, float> || ...);
  static constexpr std::size_t count = sizeof...(Ts);
  static constexpr bool operand[] = {isOperand<Ts>..., false};
  /// Number of the source operand that parameter `parameter` takes.
  static constexpr unsigned sourceIndex(std::size_t parameter) {
    unsigned index = 0;
    for (std::size_t i = 0; i < parameter; ++i)
      index += operand[i];
    return index;
  }
};
template <auto Fn> using SignatureOf = Signature<decltype(&decltype(Fn)::operator())>;

/// MODE round field that governs a result type, or -1 for integers.
template <typename R> constexpr int roundShift() {
  if constexpr (std::is_same_v<R, float>)
    return mode::roundF32;
  else if constexpr (std::is_same_v<R, double> || std::is_same_v<R, F16>)
    return mode::roundF64F16;
  else
    return -1;
}

/// Calls `body(sources...)` with the sources of Fn.
template <auto Fn, Denormals Handling, typename Body, std::size_t... I>
inline void withSources(Wave &wave, const Instruction &inst, Body body, std::index_sequence<I...>) {
  using S = SignatureOf<Fn>;
  // A tuple cannot build immovable elements from several arguments, so each is made in place.
  [&]<typename... Sources>(std::type_identity<std::tuple<Sources...>>) {
    body(Sources(wave, inst, S::sourceIndex(I))...);
  }(std::type_identity<typename S::template Sources<Handling>>{});
}

// Some bodies (calls into the math library) cannot be vectorised; that is no defect.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"

/// The lane loop. Lanes are independent: all sources of a lane are read before its result is
/// written, so a destination that is also a source needs no copy.
template <auto Fn, HighHalf High, Denormals Handling, typename... Sources>
inline void loopLanes(Wave &wave, const Instruction &inst, const Sources &...sources) {
  typename SinkFor<typename SignatureOf<Fn>::Result, High, Handling>::Type sink(wave, inst);
  const auto rows = sink.rows();
#pragma clang loop vectorize(assume_safety) vectorize_width(8)
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    sink.put(rows, lane, Fn(sources[lane]...));
  sink.finish(wave, inst);
}

template <auto Fn, HighHalf High, Denormals Handling>
[[gnu::noinline]] void runLanes(Wave &wave, const Instruction &inst) {
  withSources<Fn, Handling>(
      wave, inst,
      [&](const auto &...sources) { loopLanes<Fn, High, Handling>(wave, inst, sources...); },
      std::make_index_sequence<SignatureOf<Fn>::count>{});
}

template <auto Fn, auto Ordered, HighHalf High>
[[gnu::noinline]] void runUnlessNan(Wave &wave, const Instruction &inst) {
  constexpr auto handling = Denormals::ByMode;
  withSources<Fn, handling>(
      wave, inst,
      [&](const auto &...sources) {
        if ((sources.anyNan() | ...)) [[unlikely]]
          loopLanes<Fn, High, handling>(wave, inst, sources...);
        else
          loopLanes<Ordered, High, handling>(wave, inst, sources...);
      },
      std::make_index_sequence<SignatureOf<Fn>::count>{});
}

#pragma clang diagnostic pop

} // namespace detail

/// The handler of an instruction whose lanes are independent.
template <auto Fn, HighHalf High = HighHalf::Zero> void valu(Wave &wave, const Instruction &inst) {
  using enum detail::Denormals;
  using S = detail::SignatureOf<Fn>;
  constexpr int shift = detail::roundShift<typename S::Result>();
  if constexpr (shift >= 0)
    if (const unsigned rounding = wave.modeField(shift, 2)) [[unlikely]] {
      const RoundingScope scope(rounding);
      detail::runLanes<Fn, High, ByMode>(wave, inst);
      return;
    }
  // omod comes before flushing (CDNA4 ISA "Output Modifiers"), which only ByMode keeps apart.
  if constexpr (S::usesFloats)
    if (wave.modeField(mode::denormF32, 2) == 0 && !inst.omod) {
      detail::runLanes<Fn, High, Flushed>(wave, inst);
      return;
    }
  detail::runLanes<Fn, High, ByMode>(wave, inst);
}

/// The handler of an instruction with NaN rules that cost more than the rest of it: `Ordered` is
/// `Fn` for operands none of which is a NaN.
template <auto Fn, auto Ordered, HighHalf High = HighHalf::Zero>
void valuUnlessNan(Wave &wave, const Instruction &inst) {
  detail::runUnlessNan<Fn, Ordered, High>(wave, inst);
}

/// The handler of an instruction for which `Nearest` needs MODE to round to nearest even.
template <auto Nearest, auto Directed, HighHalf High = HighHalf::Zero>
void valuByRounding(Wave &wave, const Instruction &inst) {
  if (wave.modeField(detail::roundShift<typename detail::SignatureOf<Nearest>::Result>(), 2))
    valu<Directed, High>(wave, inst);
  else
    valu<Nearest, High>(wave, inst);
}

/// The handler of an integer instruction that saturates when `clamp` is set.
template <auto Wrapping, auto Saturating, HighHalf High = HighHalf::Zero>
void valuSaturating(Wave &wave, const Instruction &inst) {
  if (inst.clamp)
    valu<Saturating, High>(wave, inst);
  else
    valu<Wrapping, High>(wave, inst);
}

/// A handler under its base name.
struct Entry {
  const char *name;
  Handler handler;
};

/// Registers a family's entries.
template <std::size_t N> void addAll(HandlerTable &table, const Entry (&entries)[N]) {
  for (const Entry &entry : entries)
    table.add(entry.name, entry.handler);
}

} // namespace mono::emu::valu
