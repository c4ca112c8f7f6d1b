#include "occupied.h"

#include <algorithm>
#include <iterator>

namespace thixo {

bool Occupied::take(const Tensor& t) {
  if (!t.storage || t.numel == 0) return true;
  intptr_t low, high;
  extent(t, low, high);
  const void* space = t.storage->data ? nullptr : t.storage.get();
  auto& ends = spaces[space];
  auto next = ends.upper_bound(low);
  bool free = next == ends.end() || next->first >= high;
  if (next != ends.begin() && std::prev(next)->second > low) free = false;
  if (free) ends.emplace_hint(next, low, high);
  return free;
}

void Occupied::hold(const Tensor& t) {
  if (!t.storage || t.numel == 0) return;
  intptr_t low, high;
  extent(t, low, high);
  auto& ends = spaces[t.storage->data ? nullptr : t.storage.get()];
  auto at = ends.upper_bound(low);
  if (at != ends.begin() && std::prev(at)->second > low) --at;
  while (at != ends.end() && at->first < high) {
    low = std::min(low, at->first);
    high = std::max(high, at->second);
    at = ends.erase(at);
  }
  ends.emplace(low, high);
}

}  // namespace thixo
