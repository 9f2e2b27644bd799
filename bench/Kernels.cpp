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
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.minnum.f32(float, float)
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.bf16(<8 x bfloat>, <8 x bfloat>, <4 x float>,
                                                        i32, i32, i32)
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
  %at = getelementptr float, ptr addrspace(1) %out, i32 %id
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

Expected<std::vector<uint8_t>> mfmaKernel() {
  constexpr Carried accumulate = {
      "<4 x float>", "zeroinitializer",
      "call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.bf16(<8 x bfloat> %m, <8 x bfloat> %m, "
      "<4 x float> {in}, i32 0, i32 0, i32 0)"};
  std::vector<Carried> values(4, accumulate);
  std::string setup = R"(
  %h = fptrunc float %x to bfloat
  %m0 = insertelement <8 x bfloat> poison, bfloat %h, i32 0
  %m = shufflevector <8 x bfloat> %m0, <8 x bfloat> poison, <8 x i32> zeroinitializer)";
  std::string result = R"(
  %s0 = fadd <4 x float> %b0, %b1
  %s1 = fadd <4 x float> %b2, %b3
  %s = fadd <4 x float> %s0, %s1
  %value = extractelement <4 x float> %s, i32 0)";
  return build(loopKernel(values, setup, result));
}

} // namespace mono::bench
