// Images moved, turned and zoomed by integer maps; augmentation/resampling.py is the definition.
#pragma once

#include <cstddef>
#include <cstdint>

#include "images.hpp"

namespace cotm {

// Values of a map: factors to rows, factors to columns, and what is added to both.
inline constexpr size_t kMapValues = 6;

// Images of shape (count, height, width, channels), each by its map.
void resample(const uint8_t* images, size_t count, const ImageShape& shape, const int64_t* maps,
              bool repeat_edge, unsigned threads, uint8_t* out);

}  // namespace cotm
