// Pictures of the LDS over the stages of a schedule.
#pragma once

#include "lowering/Place/Arena.h"

namespace mono {

/// For terminals: a column a stage, high addresses on top, a letter for each region, one sign for
/// all scratch areas, and what the letters mean.
std::string arenaText(const ArenaPlan &plan);

/// The same as one self-contained SVG: stages to the right, bytes upwards, a box for each region
/// and scratch area with its name and bytes.
std::string arenaSvg(const ArenaPlan &plan);

} // namespace mono
