// How many processors this process may keep busy.
#pragma once
#include <string>

namespace thixo {

// Those that it may run on, or fewer where its control group has a quota of their time: threads beyond that would
// spend part of every period stopped, each time in the middle of a loop that the others then wait for.
int usable_processors();

// That quota in whole processors, rounded up; 0 where there is none. The system's files are looked for under `root`.
int quota_processors(const std::string& root = "");

}  // namespace thixo
