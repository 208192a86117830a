#include "resampling.hpp"

#include <algorithm>

namespace cotm {

namespace {

constexpr int64_t kUnit = 1 << 16;
constexpr int kStepBits = 8;              // of a step from pixel to pixel
constexpr int kDropped = 17 - kStepBits;  // in half pixels it is twice the distance
constexpr uint32_t kSteps = 1 << kStepBits;

// Within these limits no place takes more than 64 bits.
constexpr int64_t kMostValue = int64_t{1} << 40, kMostSide = 1 << 20;

class Resampler {
 public:
  Resampler(const ImageShape& shape, bool repeat_edge)
      : height_(static_cast<int64_t>(shape.height)),
        width_(static_cast<int64_t>(shape.width)),
        channels_(shape.channels),
        repeat_edge_(repeat_edge) {}

  void run(const uint8_t* image, const int64_t* map, uint8_t* out) const {
    constexpr int64_t half_a_step = int64_t{1} << (kDropped - 1);
    for (int64_t y = 0; y < height_; ++y) {
      const int64_t from_y = 2 * y - (height_ - 1), from_x = -(width_ - 1);
      int64_t row = map[0] * from_y + map[1] * from_x + map[4];
      int64_t column = map[2] * from_y + map[3] * from_x + map[5];
      row += (height_ - 1) * kUnit + half_a_step;
      column += (width_ - 1) * kUnit + half_a_step;
      for (int64_t x = 0; x < width_; ++x, out += channels_) {
        pixel(image, row >> kDropped, column >> kDropped, out);
        row += 2 * map[1];
        column += 2 * map[3];
      }
    }
  }

 private:
  // The pixel at a place in steps: between the four around it.
  void pixel(const uint8_t* image, int64_t row, int64_t column, uint8_t* out) const {
    const int64_t y = row >> kStepBits, x = column >> kStepBits;
    const uint32_t below = row & (kSteps - 1), right = column & (kSteps - 1);
    if (y >= 0 && x >= 0 && y + 1 < height_ && x + 1 < width_) {
      const uint8_t* first = at(image, y, x);
      const uint8_t* second = first + static_cast<size_t>(width_) * channels_;
      for (size_t c = 0; c < channels_; ++c) {
        out[c] =
            blended(below, right, first[c], first[c + channels_], second[c], second[c + channels_]);
      }
      return;
    }
    const uint8_t* corners[] = {beyond(image, y, x), beyond(image, y, x + 1),
                                beyond(image, y + 1, x), beyond(image, y + 1, x + 1)};
    for (size_t c = 0; c < channels_; ++c) {
      uint8_t values[4];
      for (int k = 0; k < 4; ++k) values[k] = corners[k] ? corners[k][c] : uint8_t{0};
      out[c] = blended(below, right, values[0], values[1], values[2], values[3]);
    }
  }

  static uint8_t blended(uint32_t below, uint32_t right, uint32_t a, uint32_t b, uint32_t c,
                         uint32_t d) {
    const uint32_t above = a * (kSteps - right) + b * right;
    const uint32_t under = c * (kSteps - right) + d * right;
    const uint32_t total = above * (kSteps - below) + under * below;
    return static_cast<uint8_t>((total + kSteps * kSteps / 2) >> (2 * kStepBits));
  }

  const uint8_t* at(const uint8_t* image, int64_t y, int64_t x) const {
    return image + static_cast<size_t>(y * width_ + x) * channels_;
  }

  // A pixel that may be outside; null stands for zeros.
  const uint8_t* beyond(const uint8_t* image, int64_t y, int64_t x) const {
    const int64_t inside_y = std::clamp<int64_t>(y, 0, height_ - 1);
    const int64_t inside_x = std::clamp<int64_t>(x, 0, width_ - 1);
    const bool is_inside = inside_y == y && inside_x == x;
    return is_inside || repeat_edge_ ? at(image, inside_y, inside_x) : nullptr;
  }

  const int64_t height_, width_;
  const size_t channels_;
  const bool repeat_edge_;
};

}  // namespace

void resample(const uint8_t* images, size_t count, const ImageShape& shape, const int64_t* maps,
              bool repeat_edge, unsigned threads, uint8_t* out) {
  require(std::max(shape.height, shape.width) <= kMostSide, "an image is too large");
  require(std::all_of(maps, maps + count * kMapValues,
                      [](int64_t value) { return -kMostValue <= value && value <= kMostValue; }),
          "a map leads too far away");
  for_each_image(
      count, threads, [&] { return Resampler(shape, repeat_edge); },
      [&](const Resampler& resampler, size_t n) {
        resampler.run(images + n * shape.values(), maps + n * kMapValues, out + n * shape.values());
      });
}

}  // namespace cotm
