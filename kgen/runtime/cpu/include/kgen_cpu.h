// Makes a generated CUDA text compile as C++17 for the CPU.  The build puts this line before the text; the text itself
// knows nothing of it.  KGEN_FIBERS says whether the text uses barriers or warp operations.
#pragma once
// libstdc++'s <math.h> would pull in <cmath>, which costs 100 ms a kernel; the C header is enough.
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS 1
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS

#include "kgen/abi.h"
// After the system headers, which use some of these names themselves.
#include "kgen/qualifiers.h"
#include "kgen/vector_types.h"
#include "kgen/indices.h"
#if KGEN_FIBERS
#include "kgen/barriers.h"
#include "kgen/warp.h"
#endif
#include "kgen/bits.h"
#include "kgen/memory.h"
#include "kgen/atomics.h"
#include "kgen/rounding.h"
#include "kgen/conversions.h"
#include "kgen/arithmetic.h"
#include "kgen/math.h"
#include "kgen/overrides.h"
#include "kgen/special_functions.h"
#include "kgen/entry.h"
// Last.
#include "kgen/undefine.h"
