// The pass driver: one pass or pipeline on one file, for tests and for looking inside.
#include "lowering/Pipeline.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mono::registerDialects(registry);
  mono::registerPipelines();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "mono schedule pass driver\n", registry));
}
