#include "image_planes.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "buffer.hpp"

namespace cotm {

namespace {

constexpr size_t kBorder = kKernelWidth / 2;

// Pixels whose responses are added up in registers. Partial sums wrap around and come back.
constexpr size_t kLanes = 8, kRun = 4 * kLanes;
using Lanes = EightU16;

// Patterns are copied in pieces of this size, which compilers turn into one instruction.
constexpr size_t kPiece = 16;

// Buckets for values of each sign. Those that share a bucket with a quantile are put into order.
constexpr int kHalf = 256;

}  // namespace

PlaneMaker::Codes::Codes(std::vector<int32_t> positive, std::vector<int32_t> negative)
    : above(std::move(positive)), below(std::move(negative)) {
  require_quantiles(above);
  require_quantiles(below);
  // Room for a piece more, because the last one may be read beyond the pattern.
  stride = width() + kPiece;
  patterns.resize((width() + 1) * stride);
  for (size_t code = 1; code <= width(); ++code) {
    const bool is_above = code <= above.size();
    uint8_t* row = patterns.data() + code * stride + (is_above ? 0 : above.size());
    std::fill_n(row, is_above ? code : code - above.size(), uint8_t{1});
  }
}

PlaneMaker::PlaneMaker(const int8_t* kernels, size_t count, std::vector<int32_t> levels,
                       std::vector<int32_t> positive, std::vector<int32_t> negative)
    : filters_(count),
      levels_(std::move(levels), {}),
      responses_(std::move(positive), std::move(negative)) {
  for (size_t k = 0; k < count; ++k) {
    for (size_t i = 0; i < kKernelWidth * kKernelWidth; ++i) {
      const int weight = kernels[k * kKernelWidth * kKernelWidth + i];
      if (weight) {
        filters_[k].push_back({i / kKernelWidth, i % kKernelWidth, static_cast<int16_t>(weight)});
      }
    }
    int sides[2] = {0, 0};
    for (const Tap& tap : filters_[k]) sides[tap.weight > 0] += std::abs(tap.weight);
    // The sum itself must fit into 16 bits.
    require(std::max(sides[0], sides[1]) * 255 <= INT16_MAX, "a kernel is too large");
  }
}

size_t PlaneMaker::planes() const { return levels_.width() + filters_.size() * responses_.width(); }

// One thread's memory, for one channel of one image at a time.
class PlaneMaker::Worker {
 public:
  Worker(const PlaneMaker& maker, const ImageShape& shape)
      : maker_(maker),
        shape_(shape),
        row_(shape.width + 2 * kBorder),
        planes_(shape.channels * maker.planes()),
        padded_(row_ * (shape.height + 2 * kBorder) + kRun + kKernelWidth),
        sums_(row_ * shape.height + kRun),
        values_(shape.pixels()),
        codes_(shape.pixels()),
        kept_(shape.pixels()),
        arranged_(shape.pixels()),
        ends_(2 * kHalf + 1) {}

  void run(const uint8_t* image, uint8_t* bits) {
    size_t plane = 0;
    for (size_t channel = 0; channel < shape_.channels; ++channel) {
      for (size_t y = 0; y < shape_.height; ++y) {
        for (size_t x = 0; x < shape_.width; ++x) {
          const size_t p = y * shape_.width + x;
          values_[p] = image[p * shape_.channels + channel];
          padded_[(y + kBorder) * row_ + kBorder + x] = values_[p];
        }
      }
      plane = write(maker_.levels_, bits, plane);
      for (const std::vector<Tap>& filter : maker_.filters_) {
        respond(filter);
        plane = write(maker_.responses_, bits, plane);
      }
    }
  }

 private:
  // A run of pixels at a time, on from row to row, and with the borders, which are left out then.
  void respond(const std::vector<Tap>& filter) {
    for (size_t p = 0; p < shape_.height * row_; p += kRun) {
      Lanes sums[kRun / kLanes] = {};
      for (const Tap& tap : filter) {
        const int16_t* from = padded_.data() + p + tap.row * row_ + tap.column;
        for (Lanes& sum : sums) {
          Lanes pixels;
          std::memcpy(&pixels, from, sizeof pixels);
          sum += pixels * static_cast<uint16_t>(tap.weight);
          from += kLanes;
        }
      }
      std::memcpy(sums_.data() + p, sums, sizeof sums);
    }
    for (size_t y = 0; y < shape_.height; ++y) {
      std::copy_n(sums_.data() + y * row_, shape_.width, values_.data() + y * shape_.width);
    }
  }

  // Puts the values other than zero into the order of their upper bits: negative ones first.
  void arrange() {
    const size_t pixels = shape_.pixels();
    const int16_t* values = values_.data();
    int16_t* kept = kept_.data();
    size_t count = 0, negative = 0;
    int low = 0, high = 0;
    for (size_t p = 0; p < pixels; ++p) {
      const int value = values[p];
      low = std::min(low, value);
      high = std::max(high, value);
    }
    for (size_t p = 0; p < pixels; ++p) {
      kept[count] = values[p];
      count += values[p] != 0;
      negative += values[p] < 0;
    }
    count_ = count;
    negative_ = negative;
    for (shift_ = 0; std::max(high, -low - 1) >> shift_ >= kHalf;) ++shift_;
    // Of each bucket the start, then, as values are put there, its end.
    std::fill_n(ends_.data(), 2 * kHalf + 1, uint32_t{0});
    uint32_t* starts = ends_.data() + 1;
    for (size_t i = 0; i < count; ++i) ++starts[bucket(kept[i])];
    for (size_t i = 1; i < 2 * kHalf; ++i) starts[i] += starts[i - 1];
    uint32_t* ends = ends_.data();
    for (size_t i = 0; i < count; ++i) arranged_[ends[bucket(kept[i])]++] = kept[i];
  }

  size_t bucket(int value) const { return static_cast<size_t>((value >> shift_) + kHalf); }

  // The value with this number in ascending order, zeros left out.
  int16_t ranked(size_t place) {
    if (shift_ > 0) {
      const size_t home = bucket(arranged_[place]);
      int16_t* all = arranged_.data();
      std::nth_element(all + (home ? ends_[home - 1] : 0), all + place, all + ends_[home]);
    }
    return arranged_[place];
  }

  // The quantiles of positive values, or of negative ones without their sign; where there are
  // none, any will do.
  void find_thresholds(const std::vector<int32_t>& quantiles, bool of_negative,
                       std::vector<int16_t>& thresholds) {
    thresholds.assign(quantiles.size(), 0);
    const size_t count = of_negative ? negative_ : count_ - negative_;
    for (size_t i = 0; i < quantiles.size() && count; ++i) {
      if (!quantiles[i]) continue;
      const size_t rank =
          static_cast<size_t>(quantiles[i]) * (count - 1) / static_cast<size_t>(kQuantileParts);
      const int value = of_negative ? -ranked(negative_ - 1 - rank) : ranked(negative_ + rank);
      thresholds[i] = static_cast<int16_t>(value);
    }
  }

  // Thresholds do not decrease, so the number of those that a value exceeds says which. Writes
  // the bits of all values to the planes from `plane` on, and returns the plane after them.
  size_t write(const Codes& kind, uint8_t* bits, size_t plane) {
    if (!kind.width()) return plane;
    const size_t pixels = shape_.pixels();
    arrange();
    find_thresholds(kind.above, false, above_);
    find_thresholds(kind.below, true, below_);
    std::fill_n(codes_.data(), pixels, int16_t{0});
    int16_t* codes = codes_.data();
    const int16_t* values = values_.data();
    const auto more = static_cast<int16_t>(kind.above.size());
    for (size_t i = 0; i < below_.size(); ++i) {
      const auto threshold = static_cast<int16_t>(-below_[i]);
      const auto one = static_cast<int16_t>(i ? 1 : 1 + more);
      for (size_t p = 0; p < pixels; ++p) {
        codes[p] = static_cast<int16_t>(codes[p] + (values[p] < threshold ? one : 0));
      }
    }
    for (const int16_t threshold : above_) {
      for (size_t p = 0; p < pixels; ++p) {
        codes[p] = static_cast<int16_t>(codes[p] + (values[p] > threshold ? 1 : 0));
      }
    }
    copy_patterns(kind, bits + plane, plane);
    return plane + kind.width();
  }

  void copy_patterns(const Codes& kind, uint8_t* to, size_t plane) const {
    const size_t width = kind.width(), pixels = shape_.pixels();
    const uint8_t* patterns = kind.patterns.data();
    // A piece may reach into planes of the same pixel that are written later, not into the next
    // pixel, whose first planes are there already.
    if (width <= kPiece && plane + kPiece <= planes_) {
      for (size_t p = 0; p < pixels; ++p) {
        std::memcpy(to + p * planes_, patterns + codes_[p] * kind.stride, kPiece);
      }
    } else {
      for (size_t p = 0; p < pixels; ++p) {
        std::memcpy(to + p * planes_, patterns + codes_[p] * kind.stride, width);
      }
    }
  }

  const PlaneMaker& maker_;
  const ImageShape shape_;
  const size_t row_, planes_;
  Buffer<int16_t> padded_, sums_, values_, codes_, kept_, arranged_;
  Buffer<uint32_t> ends_;
  std::vector<int16_t> above_, below_;
  size_t count_ = 0, negative_ = 0;  // of values other than zero
  int shift_ = 0;
};

void PlaneMaker::run(const uint8_t* images, size_t count, const ImageShape& shape, unsigned threads,
                     uint8_t* bits, size_t distance) const {
  require(shape.pixels() <= UINT32_MAX, "an image is too large");
  for_each_image(
      count, threads, [&] { return Worker(*this, shape); },
      [&](Worker& worker, size_t n) {
        worker.run(images + n * shape.values(), bits + n * distance);
      });
}

}  // namespace cotm
