// Parsing, type inference and verification of the declaring ops.
#include "dialect/Exprs.h"
#include "dialect/Mono.h"
#include "dialect/SelectTypes.h"

#include "dialect/Describe.h"
#include "dialect/Formats.h"
#include "dialect/target/Gfx950.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mono;

//===----------------------------------------------------------------------===//
// Custom pieces of the textual form
//===----------------------------------------------------------------------===//

/// `256 x 512`; without spaces the lexer glues the x to the second number (`x512`).
static ParseResult parseGrid(OpAsmParser &parser, IntegerAttr &ctas, IntegerAttr &threads) {
  SmallVector<int64_t> sizes;
  Builder &builder = parser.getBuilder();
  int64_t first = 0, second = 0;
  if (parser.parseInteger(first))
    return failure();
  StringRef by;
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword(&by)) || by != "x")
    return parser.emitError(loc) << "expected workgroups x threads with a space on both sides of "
                                    "the x, as in grid(256 x 512)";
  if (parser.parseInteger(second))
    return failure();
  ctas = builder.getI64IntegerAttr(first);
  threads = builder.getI64IntegerAttr(second);
  return success();
}

static void printGrid(OpAsmPrinter &printer, Operation *, IntegerAttr ctas, IntegerAttr threads) {
  printer << ctas.getInt() << " x " << threads.getInt();
}

/// A number, or the name of a format; `formats` says which.
static ParseResult parseParamValue(OpAsmParser &parser, bool formats, int64_t &value) {
  if (!formats)
    return parser.parseInteger(value);
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<int64_t> number = formatNumber(name);
  if (!number)
    return parser.emitError(loc) << "expected a number or one of the formats bf16 and mxfp8, but "
                                    "got '"
                                 << name << "'";
  value = *number;
  return success();
}

static std::string paramText(int64_t value, bool formats) {
  return formats ? formatName(value) : std::to_string(value);
}

/// `[1 to 8]`, `[1, 2, 4, 8]` or `[bf16, mxfp8]`, and the default.
static ParseResult parseLegalSet(OpAsmParser &parser, DenseI64ArrayAttr &values, UnitAttr &range,
                                 UnitAttr &formats, IntegerAttr &defaultValue) {
  Builder &builder = parser.getBuilder();
  SmallVector<int64_t> list(1);
  if (parser.parseLSquare())
    return failure();
  OptionalParseResult number = parser.parseOptionalInteger(list[0]);
  if (!number.has_value())
    formats = builder.getUnitAttr();
  if (number.has_value() ? failed(*number)
                         : failed(parseParamValue(parser, /*formats=*/true, list[0])))
    return failure();
  if (!formats && succeeded(parser.parseOptionalKeyword("to"))) {
    range = builder.getUnitAttr();
    if (parser.parseInteger(list.emplace_back()))
      return failure();
  }
  while (!range && succeeded(parser.parseOptionalComma()))
    if (parseParamValue(parser, bool(formats), list.emplace_back()))
      return failure();
  values = builder.getDenseI64ArrayAttr(list);
  if (parser.parseRSquare())
    return failure();
  int64_t value = 0;
  if (failed(parser.parseOptionalKeyword("default")))
    return success();
  if (parseParamValue(parser, bool(formats), value))
    return failure();
  defaultValue = builder.getI64IntegerAttr(value);
  return success();
}

static void printLegalSet(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr values,
                          UnitAttr range, UnitAttr formats, IntegerAttr defaultValue) {
  auto print = [&](int64_t value) { printer << paramText(value, bool(formats)); };
  printer << '[';
  llvm::interleave(values.asArrayRef(), print, [&] { printer << (range ? " to " : ", "); });
  printer << ']';
  if (!defaultValue)
    return;
  printer << " default ";
  print(defaultValue.getInt());
}

static ParseResult parseAccessKeyword(OpAsmParser &parser, AccessAttr &access) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Access> value = symbolizeAccess(keyword);
  if (!value)
    return parser.emitError(loc) << "expected access 'read', 'write' or 'update', but got '"
                                 << keyword << "'";
  access = AccessAttr::get(parser.getContext(), *value);
  return success();
}

static void printAccessKeyword(OpAsmPrinter &printer, Operation *, AccessAttr access) {
  printer << stringifyAccess(access.getValue());
}

/// `scope(peers)`.
static ParseResult parseScopeKeyword(OpAsmParser &parser, ScopeAttr &scope) {
  StringRef keyword;
  if (parser.parseKeyword("scope") || parser.parseLParen())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Scope> value = symbolizeScope(keyword);
  if (!value)
    return parser.emitError(loc) << "expected scope 'device' or 'peers', but got '" << keyword
                                 << "'";
  scope = ScopeAttr::get(parser.getContext(), *value);
  return parser.parseRParen();
}

static void printScopeKeyword(OpAsmPrinter &printer, Operation *, ScopeAttr scope) {
  printer << "scope(" << stringifyScope(scope.getValue()) << ')';
}

//===----------------------------------------------------------------------===//
// ScheduleOp
//===----------------------------------------------------------------------===//

/// Names stand in command lines, files and reports.
static LogicalResult verifyName(Operation *op, StringRef name) {
  auto isPlain = [](char c) { return llvm::isAlnum(c) || StringRef("_.-").contains(c); };
  if (!name.empty() && llvm::all_of(name, isPlain))
    return success();
  std::string shown;
  llvm::raw_string_ostream stream(shown);
  llvm::printEscapedString(name, stream);
  return op->emitOpError() << "expected a name of letters, digits, '_', '.' and '-', but got \""
                           << shown << '"';
}

LogicalResult ScheduleOp::verify() {
  if (getTarget() != gfx950::kName)
    return emitOpError() << "expected target \"" << gfx950::kName << "\", but got \"" << getTarget()
                         << "\"";
  int64_t ctas = getCtas(), threads = getThreads();
  if (ctas < 1 || ctas > gfx950::kComputeUnits)
    return emitOpError() << "expected a grid of 1 to " << gfx950::kComputeUnits
                         << " workgroups, all resident, one on each compute unit of "
                         << gfx950::kName << ", but got " << ctas;
  if (threads < gfx950::kWaveSize || threads > gfx950::kMaxThreads ||
      threads % gfx950::kWaveSize != 0)
    return emitOpError() << "expected 64 to " << gfx950::kMaxThreads
                         << " threads per workgroup, a multiple of the wavefront (64), but got "
                         << threads;
  if (failed(verifyName(*this, getSymName())))
    return failure();
  llvm::StringMap<Operation *> names;
  for (Operation &op : getBody().front()) {
    auto name = op.getAttrOfType<StringAttr>("name");
    if (!name)
      continue;
    if (failed(verifyName(&op, name.getValue())))
      return failure();
    auto [previous, isNew] = names.try_emplace(name.getValue(), &op);
    if (isNew)
      continue;
    InFlightDiagnostic diag = op.emitOpError()
                              << "expected a name of its own, but '" << name.getValue()
                              << "' stands for something else already";
    diag.attachNote(previous->second->getLoc()) << "first declared here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

bool ParamOp::admits(int64_t value) {
  ArrayRef<int64_t> values = getValues();
  return getRange() ? value >= values[0] && value <= values[1] : llvm::is_contained(values, value);
}

std::string ParamOp::describeSet() {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (getRange() ? "" : "{");
  llvm::interleave(
      getValues(), [&](int64_t value) { os << describe(value); },
      [&] { os << (getRange() ? " to " : ", "); });
  os << (getRange() ? "" : "}");
  return text;
}

std::string ParamOp::describe(int64_t value) { return paramText(value, getFormats()); }

LogicalResult ParamOp::verify() {
  ArrayRef<int64_t> values = getValues();
  if (getRange() && (values.size() != 2 || values[0] > values[1]))
    return emitOpError() << "expected a range from the smaller to the larger bound, but got "
                         << describeSet();
  if (std::optional<int64_t> value = getDefaultValue(); value && !admits(*value))
    return emitOpError() << "expected a default in " << describeSet() << ", but got "
                         << describe(*value);
  return success();
}

LogicalResult SizeOp::verify() {
  std::optional<Declared> declared = declaredBy(getMemory());
  if (!declared || getAxis() < declared->shape.size())
    return success();
  return emitOpError() << "expected one of the " << declared->shape.size() << " axes of "
                       << describe(getMemory()) << ", from 0, but got axis " << getAxis();
}

LogicalResult RanksOp::verify() {
  if (getCount().getNumResults() != 1)
    return emitOpError() << "expected one count, but got " << getCount().getNumResults();
  int64_t count = staticValues(getCount()).front();
  if (!ShapedType::isDynamic(count) && (count < 1 || count > 8))
    return emitOpError() << "expected 1 to 8 ranks (the devices of one node), but got " << count;
  return success();
}

/// Element types that operands, mailboxes and regions can have; codes are for the latter two.
static LogicalResult verifyElement(Operation *op, Type element, bool codes = false) {
  if (element.isBF16() || element.isF32() || element.isInteger(32) ||
      (codes && isa<Float8E4M3FNType>(element)))
    return success();
  return op->emitOpError() << "expected element type bf16, f32"
                           << (codes ? ", i32 or f8E4M3FN" : " or i32") << ", but got " << element;
}

static LogicalResult verifyShape(Operation *op, AffineMap shape) {
  if (shape.getNumResults() == 0)
    return op->emitOpError() << "expected at least one axis";
  for (auto [axis, size] : llvm::enumerate(staticValues(shape)))
    if (!ShapedType::isDynamic(size) && size < 1)
      return op->emitOpError() << "expected a positive size on axis " << axis << ", but got "
                               << size
                               << (size ? ""
                                        : " (0 elements is what parameters may decide, not "
                                          "what a file says)");
  return success();
}

LogicalResult OperandOp::verify() {
  if (getAlternative())
    return verifyShape(*this, getShape()); // binding decides the type and verifies again
  Type element = getElement();
  bool packed = isa<Float4E2M1FNType, Float8E4M3FNType, Float8E8M0FNUType>(element);
  if ((!packed && failed(verifyElement(*this, element))) || failed(verifyShape(*this, getShape())))
    return failure();
  if (!getLayout() || isa<RowMajorAttr>(*getLayout())) {
    if (!packed)
      return success();
    return emitOpError() << "expected layout #mono.mfma_rows<16> for element type " << element;
  }
  auto rows = dyn_cast<MfmaRowsAttr>(*getLayout());
  if (!rows)
    return emitOpError() << "expected layout #mono.row_major or #mono.mfma_rows<16>, but got "
                         << *getLayout();
  std::optional<int64_t> depth = mfmaTileDepth(element);
  SmallVector<int64_t> shape = staticValues(getShape());
  if (shape.size() < 2 || !depth)
    return emitOpError() << "expected matrices of bf16, f4E2M1FN, f8E4M3FN or f8E8M0FNU for layout "
                            "#mono.mfma_rows<16>, but got "
                         << shape.size() << " axes of " << element;
  int64_t n = shape[shape.size() - 2], k = shape.back();
  if (!ShapedType::isDynamic(n) && n % rows.getRows() != 0)
    return emitOpError() << "expected a multiple of " << rows.getRows()
                         << " rows for layout #mono.mfma_rows<16>, but got " << n;
  if (!ShapedType::isDynamic(k) && k % *depth != 0)
    return emitOpError() << "expected a multiple of " << *depth
                         << " columns for layout #mono.mfma_rows<16>, but got " << k;
  return success();
}

/// Ranks are a launch or a few apart; more slots would only take memory.
static constexpr int64_t kMaxSlots = 64;

LogicalResult MailboxOp::verify() {
  if (int64_t slots = getSlots(); slots < 1 || slots > kMaxSlots)
    return emitOpError() << "expected 1 to " << kMaxSlots << " slots, but got " << slots;
  if (failed(verifyElement(*this, getElement(), /*codes=*/true)) ||
      failed(verifyShape(*this, getShape())))
    return failure();
  int64_t last = staticValues(getShape()).back(), share = elementsOfWord(getElement());
  if (!ShapedType::isDynamic(last) && last % share != 0)
    return emitOpError() << "expected a last axis that is a multiple of " << share << " in a "
                         << getElement() << " mailbox (" << share
                         << " values share a tagged word), but got " << last;
  return success();
}

LogicalResult RegionOp::verify() {
  if (int64_t pad = getPad(); pad < 0)
    return emitOpError() << "expected a pad of at least 0 elements, but got " << pad;
  if (failed(verifyElement(*this, getElement(), /*codes=*/true)) ||
      failed(verifyShape(*this, getShape())))
    return failure();
  if (ShapedType::isDynamic(staticValues(getShape()).back()))
    return success();
  // Matrices for MFMA, and rows that padding could shift out of line; elsewhere no access is wider
  // than what the row's length is a multiple of.
  bool wide = getPad() > 0 ||
              (getElement().getIntOrFloatBitWidth() <= 16 && getShape().getNumResults() > 1);
  int64_t rowBytes = getRowStride() * getElement().getIntOrFloatBitWidth() / 8;
  if (wide && rowBytes % 16 != 0)
    return emitOpError() << "expected rows of a multiple of 16 bytes (ds_read_b128), but got "
                         << rowBytes << " bytes with the padding";
  return success();
}

int64_t RegionOp::getRowStride() { return staticValues(getShape()).back() + getPad(); }

int64_t RegionOp::getBytes() {
  SmallVector<int64_t> shape = staticValues(getShape());
  int64_t rows = 1;
  for (int64_t size : ArrayRef(shape).drop_back())
    rows *= size;
  return rows * getRowStride() * getElement().getIntOrFloatBitWidth() / 8;
}

//===----------------------------------------------------------------------===//
// StageOp
//===----------------------------------------------------------------------===//

ParseResult StageOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  OpAsmParser::Argument task;
  SmallVector<OpAsmParser::UnresolvedOperand> taskArgs, baseArgs;
  AffineMapAttr tasks, base;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseAttribute(name, "name", result.attributes) || parser.parseLParen() ||
      parser.parseArgument(task) || parser.parseRParen() || parser.parseKeyword("tasks") ||
      parseExprs(parser, taskArgs, tasks) || parser.parseKeyword("base") ||
      parseExprs(parser, baseArgs, base))
    return failure();
  task.type = index;
  result.addAttribute("tasks", tasks);
  result.addAttribute("base", base);
  result.addAttribute("operandSegmentSizes",
                      parser.getBuilder().getDenseI32ArrayAttr(
                          {int32_t(taskArgs.size()), int32_t(baseArgs.size())}));
  if (parser.resolveOperands(taskArgs, index, result.operands) ||
      parser.resolveOperands(baseArgs, index, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, task))
    return failure();
  if (body->empty())
    body->emplaceBlock().addArgument(index, parser.getEncodedSourceLoc(parser.getNameLoc()));
  return success();
}

void StageOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getNameAttr() << " (";
  printer.printRegionArgument(getBody().getArgument(0), {}, /*omitType=*/true);
  printer << ") tasks ";
  printExprs(printer, *this, getTaskArgs(), getTasksAttr());
  printer << " base ";
  printExprs(printer, *this, getBaseArgs(), getBaseAttr());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"name", "tasks", "base", "operandSegmentSizes"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult StageOp::verify() {
  if (getBody().getNumArguments() != 1 || !getBody().getArgument(0).getType().isIndex())
    return emitOpError() << "expected one index argument, the task";
  if (getTasks().getNumResults() != 1)
    return emitOpError() << "expected one task count, but got " << getTasks().getNumResults();
  if (getBase().getNumResults() != 1)
    return emitOpError() << "expected one base, but got " << getBase().getNumResults();
  int64_t tasks = staticValues(getTasks()).front(), base = staticValues(getBase()).front();
  if (!ShapedType::isDynamic(tasks) && (tasks < 1 || tasks > 65536))
    return emitOpError() << "expected 1 to 65536 tasks, but got " << tasks;
  auto schedule = (*this)->getParentOfType<ScheduleOp>();
  if (schedule && !ShapedType::isDynamic(base) &&
      (base < 0 || base >= static_cast<int64_t>(schedule.getCtas())))
    return emitOpError() << "expected a base of 0 to " << schedule.getCtas() - 1
                         << ", the workgroups of the grid, but got " << base;
  return success();
}

//===----------------------------------------------------------------------===//
// RoutineOp
//===----------------------------------------------------------------------===//

ParseResult RoutineOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Type> results;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parser.parseArgumentList(args, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseOptionalArrowTypeList(results))
    return failure();
  SmallVector<Type> inputs = llvm::map_to_vector(args, [](auto &arg) { return arg.type; });
  result.addAttribute("function_type",
                      TypeAttr::get(parser.getBuilder().getFunctionType(inputs, results)));
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, args))
    return failure();
  Location loc = parser.getEncodedSourceLoc(parser.getNameLoc());
  if (body->empty()) { // `{}`: no ops, no block
    Block &block = body->emplaceBlock();
    for (Type type : inputs)
      block.addArgument(type, loc);
  }
  if (!body->front().empty() && isa<YieldOp>(body->front().back()))
    return success();
  if (!results.empty())
    return parser.emitError(parser.getNameLoc()) << "expected a body that ends in mono.yield";
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&body->front());
  YieldOp::create(builder, loc, ValueRange{});
  return success();
}

void RoutineOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument arg) { printer.printRegionArgument(arg); });
  printer << ')';
  printer.printOptionalArrowTypeList(getFunctionType().getResults());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sym_name", "function_type"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getFunctionType().getResults().empty());
}

LogicalResult RoutineOp::verify() {
  auto yield = dyn_cast<YieldOp>(getBody().front().back());
  if (!yield)
    return emitOpError() << "expected a body that ends in mono.yield";
  if (yield.getNumOperands() != getFunctionType().getNumResults())
    return emitOpError() << "expected " << getFunctionType().getNumResults()
                         << " yielded values, one per result, but got " << yield.getNumOperands();
  for (auto [index, value, type] :
       llvm::enumerate(yield.getValues(), getFunctionType().getResults()))
    if (value.getType() != type)
      return emitOpError() << "expected result " << index << " of type " << type << ", but got "
                           << value.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Names in printed IR
//===----------------------------------------------------------------------===//

void ParamOp::getAsmResultNames(OpAsmSetValueNameFn set) { set(getResult(), getName()); }
void RanksOp::getAsmResultNames(OpAsmSetValueNameFn set) { set(getRank(), "rank"); }
void OperandOp::getAsmResultNames(OpAsmSetValueNameFn set) { set(getResult(), getName()); }
void MailboxOp::getAsmResultNames(OpAsmSetValueNameFn set) { set(getResult(), getName()); }
void RegionOp::getAsmResultNames(OpAsmSetValueNameFn set) { set(getResult(), getName()); }
void StageOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn set) {
  set(region.getArgument(0), "t");
}

#define GET_OP_CLASSES
#include "dialect/Mono.cpp.inc"
