; ModuleID = 'TVMMod'
source_filename = "TVMMod"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

define internal fastcc void @fused_matmul_cast_add_compute_(ptr noalias %T_add, ptr noalias %x, ptr noalias %lv, ptr noalias %b) #0 {
entry:
  %matmul = alloca [1024 x float], align 64
  br label %for_body

for_body:                                         ; preds = %for_body, %entry
  %k = phi i64 [ 0, %entry ], [ %next, %for_body ]
  %a = getelementptr half, ptr %x, i64 %k
  %0 = load half, ptr %a, align 2, !tbaa !12
  %1 = fpext half %0 to float
  %2 = load half, ptr %lv, align 2, !tbaa !15
  %3 = fpext half %2 to float
  %4 = fmul float %1, %3
  %5 = load float, ptr %matmul, align 64
  %6 = fadd float %5, %4
  store float %6, ptr %matmul, align 64
  %next = add nuw nsw i64 %k, 1
  %done = icmp eq i64 %next, 768
  br i1 %done, label %epilogue, label %for_body

epilogue:
  %7 = fptrunc float %6 to half
  %8 = load half, ptr %b, align 2
  %9 = fadd half %7, %8
  store half %9, ptr %T_add, align 2
  ret void
}

attributes #0 = { noinline "target-cpu"="x86-64-v3" }
