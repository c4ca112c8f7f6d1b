// Memory for the time of one operation: each thread has a stack of it, whose pages stay with the thread.
//
// Operations of many sizes follow each other in a program. Blocks of the allocator would be kept for each size; here the
// largest of them is all that a thread ever holds.
#pragma once
#include <cstddef>

namespace thixo {

// 64-byte aligned; given back by the same thread, in any order.
void* take_scratch(size_t bytes);
void give_scratch(void* block, size_t bytes) noexcept;

}  // namespace thixo
