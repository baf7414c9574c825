#include <stddef.h>
typedef __fp16 half;
typedef float float4 __attribute__((aligned(16), ext_vector_type(4)));

void r_256_256_4_4_192_4(half* restrict data0, half* restrict data1, half* restrict data2, half* restrict data3) {
  for (int ridx0 = 0; ridx0 < 256; ridx0++) {
    for (int ridx1 = 0; ridx1 < 256; ridx1++) {
      float acc0[16];
      for (int i = 0; i < 16; i++) { acc0[i] = 0.0f; }
      for (int ridx2 = 0; ridx2 < 192; ridx2++) {
        int alu0 = (ridx0 * 3072) + (ridx2 << 2);
        int alu1 = (ridx1 * 3072) + (ridx2 << 2);
        /* both operands are widened before the product, which keeps the product exact */
        for (int m = 0; m < 4; m++) for (int n = 0; n < 4; n++) for (int k = 0; k < 4; k++) {
          acc0[m * 4 + n] = acc0[m * 4 + n] + (((float)(data1[alu0 + m * 768 + k])) * ((float)(data2[alu1 + n * 768 + k])));
        }
      }
      for (int m = 0; m < 4; m++) for (int n = 0; n < 4; n++) {
        half projection = (half)(acc0[m * 4 + n]);
        data0[(ridx0 * 4096) + (m << 10) + (ridx1 << 2) + n] = projection + data3[(ridx1 << 2) + n];
      }
    }
  }
}
