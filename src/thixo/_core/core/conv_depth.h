// Depthwise convolutions, a vector of channels at a time: each channel meets its own kernel alone.
#pragma once
#include "conv.h"
#include "conv_places.h"

namespace thixo {

// Whether an image of one vector of channels stays near while it is worked on.
bool depth_fits(const Convolution& c);
// `p` is laid out for one vector of channels; its groups are all channels.
bool depth_pays(const PlacesJob& p);
void run_depth(const PlacesJob& p);

}  // namespace thixo
