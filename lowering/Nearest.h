// Hints for misspelt names, for tools that may include the compiler but not its dialect.
#pragma once

#include "dialect/Nearest.h"
