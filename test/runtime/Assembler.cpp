// Runs llvm-mc and ld.lld on temporary files.
#include "test/runtime/Assembler.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace llvm;

namespace mono::test {

static bool run(StringRef tool, std::vector<StringRef> arguments) {
  std::string path = std::string(MONO_LLVM_TOOLS_DIR) + "/" + tool.str(), message;
  arguments.insert(arguments.begin(), path);
  int status = sys::ExecuteAndWait(path, arguments, std::nullopt, {}, 0, 0, &message);
  EXPECT_EQ(status, 0) << path << ": " << message;
  return status == 0;
}

static std::string temporary(StringRef suffix) {
  SmallString<128> path;
  EXPECT_FALSE(sys::fs::createTemporaryFile("mono-test", suffix, path));
  return path.str().str();
}

std::vector<uint8_t> assemble(StringRef text, StringRef chip) {
  std::string source = temporary("s"), object = temporary("o"), linked = temporary("hsaco");
  scope_exit cleanup([&] {
    for (const std::string &path : {source, object, linked})
      sys::fs::remove(path);
  });
  std::error_code code;
  {
    raw_fd_ostream out(source, code);
    out << text;
  }
  std::string cpu = ("-mcpu=" + chip).str();
  if (!run("llvm-mc", {"-triple=amdgcn-amd-amdhsa", cpu, "-filetype=obj", source, "-o", object}) ||
      !run("ld.lld", {"-shared", object, "-o", linked}))
    return {};
  auto buffer = MemoryBuffer::getFile(linked);
  EXPECT_TRUE(bool(buffer));
  StringRef bytes = (*buffer)->getBuffer();
  return {bytes.bytes_begin(), bytes.bytes_end()};
}

static std::string escaped(StringRef text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string kernelAssembly(const KernelText &kernel, StringRef chip) {
  std::string section = kernel.manifest.empty()
                            ? ""
                            : fmt::format(".section .mono.manifest,\"\",@progbits\n.ascii \"{}\"\n",
                                          escaped(kernel.manifest));
  return fmt::format(R"(
.amdgcn_target "amdgcn-amd-amdhsa--{chip}"
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
{body}
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size {kernargs}
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 48
  .amdhsa_accum_offset 32
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.target: amdgcn-amd-amdhsa--{chip}
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: {kernargs}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .vgpr_count: 32
    .agpr_count: 0
    .sgpr_count: 48
    .max_flat_workgroup_size: 1024
    .args: [ {{ .offset: 0, .size: {kernargs}, .value_kind: by_value }} ]
...
.end_amdgpu_metadata
{section})",
                     fmt::arg("chip", chip.str()), fmt::arg("name", kernel.name),
                     fmt::arg("body", kernel.body), fmt::arg("kernargs", kernel.kernargBytes),
                     fmt::arg("lds", kernel.ldsBytes), fmt::arg("section", section));
}

} // namespace mono::test
