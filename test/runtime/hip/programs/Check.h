// How the test programs say what is wrong: file, line and both values, then exit status 1.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

template <typename A, typename B>
void expectEqual(const A &got, const B &want, const char *what, int line) {
  if (got == want)
    return;
  std::ostringstream text;
  text << "line " << line << ": " << what << ": expected " << want << ", but got " << got;
  std::fprintf(stderr, "%s\n", text.str().c_str());
  std::exit(1);
}

inline void expectStatus(hipError_t got, hipError_t want, const char *what, int line) {
  expectEqual(std::string(hipGetErrorName(got)), std::string(hipGetErrorName(want)), what, line);
}

#define EXPECT_EQ(got, want) expectEqual(got, want, #got, __LINE__)
#define EXPECT_TRUE(condition) expectEqual(bool(condition), true, #condition, __LINE__)
/// The call must return this status.
#define EXPECT_STATUS(call, status) expectStatus(call, status, #call, __LINE__)
/// The call must succeed.
#define HIP(call) EXPECT_STATUS(call, hipSuccess)
