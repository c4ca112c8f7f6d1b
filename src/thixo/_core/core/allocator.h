// Memory for tensors: 64-byte aligned, with freed blocks kept for reuse.
// Small blocks (to 32 KiB) come from lists that belong to the calling thread; large ones from one
// bounded store, since touching fresh pages costs more than most kernels. Safe over fork.
#pragma once
#include <cstddef>
#include <cstdint>

namespace thixo {

constexpr size_t kAlignment = 64;

// Never nullptr, also for 0 bytes. Fails with ErrorKind::Memory.
void* allocate(size_t bytes);
// `bytes` must be what was asked for. Any thread may release. nullptr is ignored.
void release(void* block, size_t bytes) noexcept;

struct AllocatorStats {
  int64_t in_use;  // bytes handed out and not released (in whole blocks)
  int64_t peak;    // highest in_use seen; small blocks enter it in steps of 64 KiB for each thread
  int64_t kept;    // bytes freed but kept for reuse
};
AllocatorStats allocator_stats();
void allocator_reset_peak();
// Give the kept blocks of the calling thread and of the common store back to the system.
void allocator_trim();
// Upper bound of the common store in bytes; an eighth of the machine's memory to begin with.
void set_kept_limit(int64_t bytes);

}  // namespace thixo
