// Kernels that were generated and compiled when Thixo was built (codegen/ship.py): shared libraries for each
// kind of processor, kernels-<target>.so and operators-<target>.so, in the folder lib beside the file that this code is in.
#pragma once
#include <string>

namespace thixo {

// The function or constant of this name in this processor's library; nullptr if there is none, or no library.
void* shipped(const char* symbol);
// The best target that this processor runs, whether or not there is a library for it.
const char* host_target();
// "x86-64-v4", "x86-64-v3", "aarch64"; "portable" where no library serves.
const char* shipped_target();
// Use another target's kernels from now on; "" chooses by the processor, as at first (the environment variable
// THIXO_TARGET overrides that choice). Fails if this processor cannot run them. Not while kernels run.
void set_shipped_target(const std::string& name);
// A number that changes with the target: who keeps addresses asks for them again then.
int shipped_generation();

}  // namespace thixo
