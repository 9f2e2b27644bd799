// LLVM IR text to code objects.
#include "bench/Kernels.h"
#include "lowering/codeobject/CodeObject.h"
#include "runtime/Error.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace mono::bench {

/// Values a loop carries: type, start value and the instruction that makes the next one, in which
/// {in} is the value of this round and {k} its number.
struct Carried {
  const char *type, *start, *step;
};

/// A kernel that carries `values` through n rounds and stores `result` of the last one.
static std::string loopKernel(ArrayRef<Carried> values, StringRef setup, StringRef result) {
  std::string phis, steps;
  for (size_t k = 0; k < values.size(); ++k) {
    std::string in = fmt::format("%a{}", k);
    phis += fmt::format("  {} = phi {} [ {}, %entry ], [ %b{}, %loop ]\n", in, values[k].type,
                        values[k].start, k);
    steps += fmt::format("  %b{} = {}\n", k,
                         fmt::format(fmt::runtime(values[k].step), fmt::arg("in", in)));
  }
  return fmt::format(R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.minnum.f32(float, float)
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.bf16(<8 x bfloat>, <8 x bfloat>, <4 x float>,
                                                        i32, i32, i32)
declare <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4.v4i32.v4i32(
    <4 x i32>, <4 x i32>, <4 x float>, i32, i32, i32, i32, i32, i32)
define amdgpu_kernel void @rate(ptr addrspace(1) %out, i32 %n) #0 {{
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %x = uitofp i32 %id to float
{setup}
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
{phis}
{steps}
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
{result}
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = mul i32 %group, 256
  %index = add i32 %first, %id
  %at = getelementptr float, ptr addrspace(1) %out, i32 %index
  store float %value, ptr addrspace(1) %at
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="256,256" "target-cpu"="gfx950"
                   "uniform-work-group-size"="true" }}
)",
                     fmt::arg("setup", setup), fmt::arg("phis", phis), fmt::arg("steps", steps),
                     fmt::arg("result", result));
}

static Expected<std::vector<uint8_t>> build(const std::string &text) {
  LLVMContext context;
  SMDiagnostic diagnostic;
  auto target = createTargetMachine();
  if (!target)
    return target.takeError();
  std::unique_ptr<Module> module = parseAssemblyString(text, diagnostic, context);
  if (!module)
    return makeError("benchmark kernel, line {}: {}", diagnostic.getLineNo(),
                     diagnostic.getMessage());
  module->setDataLayout((*target)->createDataLayout());
  auto object = emitMachineCode(*module, **target, CodeGenFileType::ObjectFile);
  if (!object)
    return object.takeError();
  return linkWithLld(*object);
}

Expected<std::vector<uint8_t>> valuKernel() {
  constexpr Carried mix[] = {
      {"float", "%x", "call float @llvm.fma.f32(float {in}, float %x, float 1.0)"},
      {"i32", "%id", "add i32 {in}, %id"},
      {"i32", "%id", "xor i32 {in}, %id"},
      {"float", "%x", "call float @llvm.minnum.f32(float {in}, float %x)"},
  };
  std::vector<Carried> values;
  std::string result = "  %v0 = bitcast float %b0 to i32\n";
  for (size_t k = 0; k < 32; ++k) {
    values.push_back(mix[k % 4]);
    if (k == 0)
      continue;
    bool isFloat = k % 4 == 0 || k % 4 == 3;
    result += isFloat ? fmt::format("  %w{0} = bitcast float %b{0} to i32\n", k)
                      : fmt::format("  %w{0} = add i32 %b{0}, 0\n", k);
    result += fmt::format("  %v{} = xor i32 %v{}, %w{}\n", k, k - 1, k);
  }
  result += "  %value = bitcast i32 %v31 to float";
  return build(loopKernel(values, "", result));
}

/// n rounds of four independent accumulations by `step`, an MFMA into <4 x float> of operands that
/// `setup` makes.
static Expected<std::vector<uint8_t>> matrixKernel(const char *step, const std::string &setup) {
  std::vector<Carried> values(4, {"<4 x float>", "zeroinitializer", step});
  return build(loopKernel(values, setup, R"(
  %s0 = fadd <4 x float> %b0, %b1
  %s1 = fadd <4 x float> %b2, %b3
  %s = fadd <4 x float> %s0, %s1
  %value = extractelement <4 x float> %s, i32 0)"));
}

Expected<std::vector<uint8_t>> bf16Kernel() {
  return matrixKernel("call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.bf16(<8 x bfloat> %m, "
                      "<8 x bfloat> %m, <4 x float> {in}, i32 0, i32 0, i32 0)",
                      R"(
  %h = fptrunc float %x to bfloat
  %m0 = insertelement <8 x bfloat> poison, bfloat %h, i32 0
  %m = shufflevector <8 x bfloat> %m0, <8 x bfloat> poison, <8 x i32> zeroinitializer)");
}

Expected<std::vector<uint8_t>> mxfp4Kernel() {
  // Format 4 is E2M1; the scales are 2^(id % 64 - 127 + 100).
  return matrixKernel(
      "call <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4.v4i32.v4i32("
      "<4 x i32> %m, <4 x i32> %m, <4 x float> {in}, i32 4, i32 4, i32 0, i32 %scale, i32 0, "
      "i32 %scale)",
      R"(
  %lane = and i32 %id, 63
  %scale = add i32 %lane, 100
  %m0 = insertelement <4 x i32> poison, i32 %id, i32 0
  %m = shufflevector <4 x i32> %m0, <4 x i32> poison, <4 x i32> zeroinitializer)");
}

/// Sets up the registers that the rows of Instructions.cpp read and the memory they load; nothing
/// reads what the loop writes, so no wait states are needed but those after the set-up.
static std::string setUpRegisters() {
  std::string text = "v_cvt_f32_u32 v1, v0\\0Av_add_f32 v1, 1.0, v1\\0A";
  for (unsigned reg = 2; reg < 32; ++reg)
    text += fmt::format("v_mul_f32 v{}, 0.5, v1\\0A", reg);
  return text + "s_mov_b64 vcc, 0\\0As_nop 7\\0A"
                "global_store_dwordx4 v[64:65], v[2:5], off\\0Ads_write_b128 v66, v[2:5]\\0A"
                "s_waitcnt vmcnt(0) lgkmcnt(0)\\0A";
}

Expected<std::vector<uint8_t>> instructionKernel(StringRef instruction, bool flushesDenormals) {
  std::string text = setUpRegisters() + "1:\\0A";
  for (unsigned n = 0; n < 32; ++n)
    text += instruction.str() + "\\0A";
  text += "s_waitcnt vmcnt(0) lgkmcnt(0)\\0As_sub_u32 s20, s20, 1\\0As_cmp_lg_u32 s20, "
          "0\\0As_cbranch_scc1 1b";
  std::string clobbers = "~{vcc},~{scc},~{memory}";
  for (unsigned reg = 1; reg < 64; ++reg)
    clobbers += fmt::format(",~{{v{}}}", reg);
  return build(fmt::format(R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
define amdgpu_kernel void @rate(ptr addrspace(1) %out, i32 %n) #0 {{
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %lds = mul i32 %id, 16
  %first = mul i32 %group, 4096
  %offset = add i32 %first, %lds
  %at = getelementptr i8, ptr addrspace(1) %out, i32 %offset
  call i32 asm sideeffect "{}", "={{s20}},{{s20}},{{v0}},{{v[64:65]}},{{v66}},{}"(
      i32 %n, i32 %id, ptr addrspace(1) %at, i32 %lds)
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="256,256" "target-cpu"="gfx950"
                   "denormal-fp-math-f32"="{}" }}
)",
                           text, clobbers,
                           flushesDenormals ? "preserve-sign,preserve-sign" : "ieee,ieee"));
}

} // namespace mono::bench
