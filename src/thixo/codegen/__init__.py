"""From operators to machine code: kernel IR, its interpreter, and the LLVM backend."""
