// Small programs of the usual kinds: linear algebra, stencils, simulation, text, transforms.
#include "test/runtime/kernels/device/Device.h"

/// Transpose through LDS tiles of 32 x 32, one column of padding against bank conflicts; block 32
/// x 8.
KERNEL void transpose(const f32 *in, f32 *out, u32 rows, u32 columns) {
  SHARED(tile, f32[32][33]);
  u32 x = threadX(), y = threadY();
  u32 row = blockY() * 32, column = blockX() * 32;
  for (u32 n = y; n < 32; n += 8)
    if (row + n < rows && column + x < columns)
      tile[n][x] = in[(row + n) * columns + column + x];
  syncThreads();
  for (u32 n = y; n < 32; n += 8)
    if (column + n < columns && row + x < rows)
      out[(column + n) * rows + row + x] = tile[x][n];
}

/// Five-point stencil with a halo in LDS; block 16 x 16.
KERNEL void stencil(const f32 *in, f32 *out, u32 width, u32 height) {
  SHARED(tile, f32[18][18]);
  u32 x0 = blockX() * 16, y0 = blockY() * 16;
  for (u32 n = threadY() * 16 + threadX(); n < 18 * 18; n += 256) {
    i32 x = i32(x0 + n % 18) - 1, y = i32(y0 + n / 18) - 1;
    bool inside = x >= 0 && y >= 0 && x < i32(width) && y < i32(height);
    tile[n / 18][n % 18] = inside ? in[u32(y) * width + u32(x)] : 0.0f;
  }
  syncThreads();
  u32 x = threadX() + 1, y = threadY() + 1;
  if (x0 + x > width || y0 + y > height)
    return;
  f32 sum = tile[y][x - 1] + tile[y][x + 1] + tile[y - 1][x] + tile[y + 1][x];
  out[(y0 + y - 1) * width + x0 + x - 1] = tile[y][x] * 0.5f + sum * 0.125f;
}

KERNEL void mandelbrot(u32 *iterations, u32 width, u32 height, u32 limit) {
  u32 i = globalIndex();
  if (i >= width * height)
    return;
  f32 cx = f32(i % width) / f32(width) * 3.0f - 2.25f;
  f32 cy = f32(i / width) / f32(height) * 2.5f - 1.25f;
  f32 x = 0, y = 0;
  u32 n = 0;
  for (; n < limit && x * x + y * y < 4.0f; ++n) {
    f32 next = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = next;
  }
  iterations[i] = n;
}

struct Body {
  f32 x, y, z, mass;
};

/// One step of all-pairs gravity, bodies staged in LDS by 64.
KERNEL void nBody(const Body *bodies, Body *accelerations, u32 n) {
  SHARED(staged, Body[64]);
  u32 i = globalIndex();
  Body self = bodies[i];
  f32 ax = 0, ay = 0, az = 0;
  for (u32 start = 0; start < n; start += 64) {
    staged[threadX()] = bodies[start + threadX()];
    syncThreads();
    for (u32 j = 0; j < 64; ++j) {
      f32 dx = staged[j].x - self.x, dy = staged[j].y - self.y, dz = staged[j].z - self.z;
      f32 squared = dx * dx + dy * dy + dz * dz + 0.01f;
      f32 pull = staged[j].mass / (squared * __builtin_elementwise_sqrt(squared));
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    syncThreads();
  }
  accelerations[i] = {ax, ay, az, self.mass};
}

/// Inverse of a 16 x 16 matrix of doubles by Gauss and Jordan with partial pivoting; 16 work-items,
/// one a column of each half.
KERNEL void invertMatrix(const f64 *in, f64 *out) {
  constexpr u32 size = 16;
  SHARED(work, f64[size][2 * size]);
  SHARED(pivotRow, u32[1]);
  u32 t = threadX(), base = blockX() * size * size;
  for (u32 row = 0; row < size; ++row) {
    work[row][t] = in[base + row * size + t];
    work[row][t + size] = row == t ? 1.0 : 0.0;
  }
  for (u32 column = 0; column < size; ++column) {
    syncThreads();
    if (t == 0) {
      u32 best = column;
      for (u32 row = column + 1; row < size; ++row)
        if (__builtin_elementwise_abs(work[row][column]) >
            __builtin_elementwise_abs(work[best][column]))
          best = row;
      pivotRow[0] = best;
    }
    syncThreads();
    u32 pivot = pivotRow[0];
    for (u32 half = 0; half < 2; ++half) {
      f64 kept = work[column][t + half * size];
      work[column][t + half * size] = work[pivot][t + half * size];
      work[pivot][t + half * size] = kept;
    }
    syncThreads();
    f64 scale = work[column][column];
    syncThreads();
    for (u32 half = 0; half < 2; ++half)
      work[column][t + half * size] /= scale;
    syncThreads();
    for (u32 row = 0; row < size; ++row) {
      f64 factor = row == column ? 0.0 : work[row][column];
      syncThreads();
      for (u32 half = 0; half < 2; ++half)
        work[row][t + half * size] -= factor * work[column][t + half * size];
      syncThreads();
    }
  }
  for (u32 row = 0; row < size; ++row)
    out[base + row * size + t] = work[row][t + size];
}

/// FFT of 256 complex numbers in LDS, radix 2, decimation in time; twiddles come from a table.
KERNEL void fft(const f32 *re, const f32 *im, const f32 *cosines, const f32 *sines, f32 *outRe,
                f32 *outIm) {
  SHARED(a, f32[256]);
  SHARED(b, f32[256]);
  u32 t = threadX();
  for (u32 n = t; n < 256; n += 128) {
    u32 from = reverseBits(n) >> 24;
    a[n] = re[from];
    b[n] = im[from];
  }
  for (u32 half = 1; half < 256; half *= 2) {
    syncThreads();
    u32 k = t & (half - 1), low = 2 * t - k, high = low + half;
    f32 c = cosines[k * (128 / half)], s = sines[k * (128 / half)];
    f32 x = a[high] * c + b[high] * s, y = b[high] * c - a[high] * s;
    a[high] = a[low] - x;
    b[high] = b[low] - y;
    a[low] += x;
    b[low] += y;
  }
  syncThreads();
  for (u32 n = t; n < 256; n += 128) {
    outRe[n] = a[n];
    outIm[n] = b[n];
  }
}

/// Marks every position at which the pattern begins, by bytes.
KERNEL void stringSearch(const u8 *text, u32 length, const u8 *pattern, u32 patternLength,
                         u8 *matches) {
  u32 i = globalIndex();
  if (i >= length)
    return;
  bool match = i + patternLength <= length;
  for (u32 n = 0; match && n < patternLength; ++n)
    match = text[i + n] == pattern[n];
  matches[i] = match;
}

/// C = A B with one work-item an element; any sizes.
KERNEL void gemmNaive(const f32 *a, const f32 *b, f32 *c, u32 m, u32 n, u32 k) {
  u32 i = globalIndex();
  if (i >= m * n)
    return;
  f32 sum = 0;
  for (u32 kk = 0; kk < k; ++kk)
    sum = fusedMultiplyAdd(a[i / n * k + kk], b[kk * n + i % n], sum);
  c[i] = sum;
}

/// C = A B by tiles of 16 x 16 in LDS; any sizes.
KERNEL void gemmTiled(const f32 *a, const f32 *b, f32 *c, u32 m, u32 n, u32 k) {
  SHARED(tileA, f32[16][17]);
  SHARED(tileB, f32[16][17]);
  u32 x = threadX(), y = threadY();
  u32 row = blockY() * 16 + y, column = blockX() * 16 + x;
  f32 sum = 0;
  for (u32 start = 0; start < k; start += 16) {
    tileA[y][x] = row < m && start + x < k ? a[row * k + start + x] : 0.0f;
    tileB[y][x] = column < n && start + y < k ? b[(start + y) * n + column] : 0.0f;
    syncThreads();
    for (u32 kk = 0; kk < 16; ++kk)
      sum = fusedMultiplyAdd(tileA[y][kk], tileB[kk][x], sum);
    syncThreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

/// Mean and inverse deviation of a row by one workgroup of 128, then scale and shift.
KERNEL void layerNorm(const f32 *in, const f32 *gain, const f32 *shift, f32 *out, u32 columns) {
  SHARED(sums, f32[128]);
  SHARED(squares, f32[128]);
  u32 t = threadX(), base = blockX() * columns;
  f32 sum = 0, square = 0;
  for (u32 n = t; n < columns; n += 128) {
    sum += in[base + n];
    square += in[base + n] * in[base + n];
  }
  sums[t] = sum;
  squares[t] = square;
  for (u32 width = 64; width > 0; width /= 2) {
    syncThreads();
    if (t < width) {
      sums[t] += sums[t + width];
      squares[t] += squares[t + width];
    }
  }
  syncThreads();
  f32 mean = sums[0] / f32(columns);
  f32 variance = squares[0] / f32(columns) - mean * mean;
  f32 scale = 1.0f / __builtin_elementwise_sqrt(variance + 1e-5f);
  for (u32 n = t; n < columns; n += 128)
    out[base + n] = (in[base + n] - mean) * scale * gain[n] + shift[n];
}

#if defined(__AMDGCN__)
DEVICE f32 waveMaximum(f32 v) {
  for (u32 step = 32; step > 0; step /= 2)
    v = __builtin_fmaxf(v, shuffle(v, laneId() ^ step));
  return v;
}
DEVICE f32 waveSum(f32 v) {
  for (u32 step = 32; step > 0; step /= 2)
    v += shuffle(v, laneId() ^ step);
  return v;
}

/// Softmax of a row by one wave, with the compiler's expf.
KERNEL void softmax(const f32 *in, f32 *out, u32 columns) {
  u32 base = blockX() * columns;
  f32 greatest = -__builtin_inff(), sum = 0;
  for (u32 n = laneId(); n < columns; n += 64)
    greatest = __builtin_fmaxf(greatest, in[base + n]);
  greatest = waveMaximum(greatest);
  for (u32 n = laneId(); n < columns; n += 64)
    sum += __builtin_expf(in[base + n] - greatest);
  sum = waveSum(sum);
  for (u32 n = laneId(); n < columns; n += 64)
    out[base + n] = __builtin_expf(in[base + n] - greatest) / sum;
}
#endif
