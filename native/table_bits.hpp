// The cells of tables as bits. The definition is in booleanize/encodings.py, which also says what
// is wrong with a cell that is not read here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cotm {

// What the numbers of a column count; of categories, none.
enum class Measure : uint8_t { kNumber, kDate, kDuration, kTime, kCategory };

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

// How one column becomes bits. Functions for cells write them into zeroed bits of the column, and
// return whether they could.
class ColumnBits {
 public:
  ColumnBits(Measure measure, bool missing, bool tells_booleans, std::vector<double> thresholds);

  // Categories, in order; the next one is a number, a boolean or a text.
  void add_category(double number);
  void add_category(bool flag);
  void add_category(std::string_view text);

  size_t size() const { return thresholds_.size() + n_categories_ + missing_; }

  bool put_missing(uint8_t* bits) const {
    if (missing_) bits[size() - 1] = 1;
    return true;
  }
  // A number, or seconds.
  bool put(Measure measure, double value, uint8_t* bits) const;
  bool put(bool flag, uint8_t* bits) const;
  bool put(std::string_view text, uint8_t* bits) const;

 private:
  bool put_category(int index, uint8_t* bits) const {
    if (index >= 0) bits[index] = 1;
    return true;
  }

  Measure measure_;
  bool missing_, tells_booleans_;
  std::vector<double> thresholds_;
  int n_categories_ = 0;
  bool knows_numbers_ = false;
  int flags_[2] = {-1, -1};  // the categories of false and true, where they are told apart
  std::unordered_map<double, int> numbers_;
  std::unordered_map<std::string, int, TextHash, std::equal_to<>> texts_;
};

// Rows of cells as rows of bits.
class TableBits {
 public:
  void add(ColumnBits column) {
    begins_.push_back(size_);
    size_ += column.size();
    columns_.push_back(std::move(column));
  }
  size_t columns() const { return columns_.size(); }
  size_t size() const { return size_; }  // bits of a row
  const ColumnBits& column(size_t index) const { return columns_[index]; }
  size_t begin(size_t index) const { return begins_[index]; }

  // Numbers or booleans, NaN where missing, steps apart in both directions; false where a cell
  // needs a closer look. `bits` are zeroed.
  template <class T>
  bool read(const T* values, size_t rows, ptrdiff_t row_step, ptrdiff_t column_step,
            uint8_t* bits) const;

 private:
  std::vector<ColumnBits> columns_;
  std::vector<size_t> begins_;
  size_t size_ = 0;
};

}  // namespace cotm
