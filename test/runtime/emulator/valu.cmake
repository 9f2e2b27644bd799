# Tests of the numeric library and of the vector ALU and matrix instructions.
mono_test(numeric_test SOURCES numericFormatTest.cpp numericFunctionTest.cpp LIBS mono_numeric)
target_compile_options(numeric_test PRIVATE -march=x86-64-v3 -ffp-contract=off)

mono_test(valu_test
  SOURCES
    valuTestSupport.cpp
    valuCompareTest.cpp
    valuConvertTest.cpp
    valuCoverageTest.cpp
    valuDivideTest.cpp
    valuFloatTest.cpp
    valuHalfTest.cpp
    valuIntegerTest.cpp
    valuLaneTest.cpp
    valuMfmaTest.cpp
    valuPackedTest.cpp
  LIBS mono_emulator_test_support)
# References round where they say so.
target_compile_options(valu_test PRIVATE -ffp-contract=off)

# By hand, after a change of the special functions: all f32 inputs, which takes minutes.
add_executable(numeric-sweep EXCLUDE_FROM_ALL numericSweep.cpp)
target_compile_options(numeric-sweep PRIVATE -march=x86-64-v3 -ffp-contract=off)
target_link_libraries(numeric-sweep PRIVATE mono_numeric)
