"""What runs compiled code: the kernels that are kept, on disk and loaded."""
