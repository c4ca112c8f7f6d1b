"""Kernels as LLVM IR: written as text, compiled by llvmlite, for this machine or another."""
