0000000000000000 <r_256_256_4_4_192_4>:
       0: 55                           	push	rbp
       1: 41 57                        	push	r15
       3: 41 56                        	push	r14
       5: 48 81 ec 88 00 00 00         	sub	rsp, 0x88
       c: c4 e2 79 13 06               	vcvtph2ps	xmm0, qword ptr [rsi]
      11: c4 e2 79 13 0a               	vcvtph2ps	xmm1, qword ptr [rdx]
      16: c4 e2 71 b8 c2               	vfmadd231ps	xmm0, xmm1, xmm2
      1b: 48 83 c6 08                  	add	rsi, 0x8
      1f: 48 ff c9                     	dec	rcx
      22: 75 e8                        	jne	0xc <r_256_256_4_4_192_4+0xc>
      24: c4 e3 79 1d c0 04            	vcvtps2ph	xmm0, xmm0, 0x4
      2a: c4 e2 79 13 c0               	vcvtph2ps	xmm0, xmm0
      2f: c5 fa 58 c3                  	vaddss	xmm0, xmm0, xmm3
      33: c4 e3 79 1d c0 04            	vcvtps2ph	xmm0, xmm0, 0x4
      39: 5d                           	pop	rbp
      3a: c3                           	ret
