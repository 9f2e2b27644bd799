// Root of the dialect: includes the rest.
include "dialect/MonoDialect.td"
include "dialect/MonoAttrs.td"
include "dialect/MonoTypes.td"
include "dialect/ScheduleOps.td"
include "dialect/StageOps.td"
include "dialect/RowOps.td"
include "dialect/ProductOp.td"
include "dialect/SelectOp.td"
