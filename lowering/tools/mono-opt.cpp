// The pass driver: one pass or pipeline on one file, for tests and for looking inside.
#include "lowering/Pipeline.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

/// Takes what LLVM's libraries have registered for themselves off --help. The options of the pass
/// driver come later.
static void hideLibraryOptions() {
  for (auto &entry : cl::getRegisteredOptions()) {
    cl::Option &option = *entry.second;
    auto isGeneric = [](const cl::OptionCategory *category) {
      return category->getName() == "Generic Options"; // --help and the like
    };
    if (none_of(option.Categories, isGeneric))
      option.setHiddenFlag(cl::ReallyHidden);
  }
}

int main(int argc, char **argv) {
  hideLibraryOptions();
  mlir::DialectRegistry registry;
  mono::registerDialects(registry);
  mono::registerPipelines();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "mono schedule pass driver\n", registry));
}
