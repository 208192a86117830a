#include "table_bits.hpp"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace cotm {

namespace {

// From here on, numbers that categories tell apart are the same as doubles.
constexpr double kFirstGap = 9007199254740992.0;

// How many increasing numbers are below a value.
size_t count_below(const std::vector<double>& numbers, double value) {
  const double* from = numbers.data();
  for (size_t rest = numbers.size(); rest > 0;) {
    const size_t half = (rest + 1) / 2;  // without a branch that depends on the value
    from += from[half - 1] < value ? half : 0;
    rest -= half;
  }
  return static_cast<size_t>(from - numbers.data());
}

}  // namespace

ColumnBits::ColumnBits(Measure measure, bool missing, bool tells_booleans,
                       std::vector<double> thresholds)
    : measure_(measure),
      missing_(missing),
      tells_booleans_(tells_booleans),
      thresholds_(std::move(thresholds)) {}

void ColumnBits::add_category(double number) {
  numbers_.emplace(number, n_categories_++);
  knows_numbers_ = true;
}

void ColumnBits::add_category(bool flag) {
  if (!tells_booleans_) return add_category(flag ? 1.0 : 0.0);
  flags_[flag] = n_categories_++;
  knows_numbers_ = true;
}

void ColumnBits::add_category(std::string_view text) { texts_.emplace(text, n_categories_++); }

bool ColumnBits::put(Measure measure, double value, uint8_t* bits) const {
  if (std::isinf(value)) return false;
  if (measure_ != Measure::kCategory) {
    if (measure != measure_) return false;
    std::memset(bits, 1, count_below(thresholds_, value));
    return true;
  }
  if (measure != Measure::kNumber || !knows_numbers_ || std::abs(value) >= kFirstGap) return false;
  const auto found = numbers_.find(value);
  return put_category(found == numbers_.end() ? -1 : found->second, bits);
}

bool ColumnBits::put(bool flag, uint8_t* bits) const {
  if (measure_ == Measure::kCategory && tells_booleans_) return put_category(flags_[flag], bits);
  return put(Measure::kNumber, flag ? 1.0 : 0.0, bits);
}

bool ColumnBits::put(std::string_view text, uint8_t* bits) const {
  if (texts_.empty()) return false;
  const auto found = texts_.find(text);
  return put_category(found == texts_.end() ? -1 : found->second, bits);
}

template <class T>
bool TableBits::read(const T* values, size_t rows, ptrdiff_t row_step, ptrdiff_t column_step,
                     uint8_t* bits) const {
  for (size_t row = 0; row < rows; ++row, values += row_step, bits += size_) {
    const T* cell = values;
    for (size_t c = 0; c < columns_.size(); ++c, cell += column_step) {
      uint8_t* to = bits + begins_[c];
      bool good;
      if constexpr (std::is_same_v<T, bool>) {
        good = columns_[c].put(*cell, to);
      } else {
        const double value = static_cast<double>(*cell);
        good = std::isnan(value) ? columns_[c].put_missing(to)
                                 : columns_[c].put(Measure::kNumber, value, to);
      }
      if (!good) return false;
    }
  }
  return true;
}

#define COTM_READ(T) \
  template bool TableBits::read(const T*, size_t, ptrdiff_t, ptrdiff_t, uint8_t*) const;
COTM_READ(bool)
COTM_READ(int8_t)
COTM_READ(int16_t)
COTM_READ(int32_t)
COTM_READ(int64_t)
COTM_READ(uint8_t)
COTM_READ(uint16_t)
COTM_READ(uint32_t)
COTM_READ(uint64_t)
COTM_READ(float)
COTM_READ(double)
#undef COTM_READ

}  // namespace cotm
