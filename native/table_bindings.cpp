// Python's cells of tables as bits. What is not read here, types of its own or values that are
// wrong, is left to the NumPy definition: a function then returns false.
#include "table_bindings.hpp"

#include <nanobind/ndarray.h>

#include <cstring>
#include <stdexcept>

#include "table_bits.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using cotm::ColumnBits;
using cotm::Measure;
using Values = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Bits = nb::ndarray<uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::string_view text_of(nb::handle object) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (!data) throw nb::python_error();
  return {data, static_cast<size_t>(size)};
}

long integer(nb::handle object, const char* name) { return nb::cast<long>(object.attr(name)); }

class Table {
 public:
  // Of each column its measure, whether it has a bit for missing values, whether it tells booleans
  // from numbers, its thresholds and its categories.
  explicit Table(const nb::list& columns) {
    const nb::module_ datetime = nb::module_::import_("datetime");
    datetime_ = datetime.attr("datetime");
    date_ = datetime.attr("date");
    timedelta_ = datetime.attr("timedelta");
    time_ = datetime.attr("time");
    const nb::module_ numpy = nb::module_::import_("numpy");
    integer_ = numpy.attr("integer");
    bool_ = numpy.attr("bool_");
    for (const nb::handle column : columns) add(nb::cast<nb::tuple>(column));
  }

  bool read_numbers(const Values& values, const Bits& out) const {
    if (!fits(values.shape(0), values.shape(1), out)) return false;
    const auto read = [&]<class T>(const T* from) {
      const nb::gil_scoped_release release;
      return table_.read(from, values.shape(0), values.stride(0), values.stride(1), out.data());
    };
    const auto dispatch = [&]<class... T>() {
      bool done = false, known = false;
      ((known || values.dtype() != nb::dtype<T>()
            ? void()
            : void((known = true, done = read(static_cast<const T*>(values.data()))))),
       ...);
      return done;
    };
    return dispatch.operator()<double, float, int64_t, bool, int32_t, uint8_t, int8_t, int16_t,
                               uint16_t, uint32_t, uint64_t>();
  }

  // A list of lists or tuples, whose cells are Python's.
  bool read_rows(const nb::list& rows, const Bits& out) const {
    if (!fits(rows.size(), table_.columns(), out)) return false;
    uint8_t* bits = out.data();
    for (const nb::handle row : rows) {
      if (!nb::isinstance<nb::list>(row) && !nb::isinstance<nb::tuple>(row)) return false;
      if (nb::len(row) != table_.columns()) return false;
      size_t c = 0;
      for (const nb::handle cell : row) {
        if (!read(cell, table_.column(c), bits + table_.begin(c))) return false;
        ++c;
      }
      bits += table_.size();
    }
    return true;
  }

 private:
  bool fits(size_t rows, size_t columns, const Bits& out) const {
    return columns == table_.columns() && out.shape(0) == rows && out.shape(1) == table_.size();
  }

  void add(const nb::tuple& column) {
    const auto measure = static_cast<Measure>(nb::cast<int>(column[0]));
    const auto thresholds =
        nb::cast<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(column[3]);
    ColumnBits code(measure, nb::cast<bool>(column[1]), nb::cast<bool>(column[2]),
                    {thresholds.data(), thresholds.data() + thresholds.size()});
    for (const nb::handle category : nb::cast<nb::tuple>(column[4])) {
      if (PyBool_Check(category.ptr())) {
        code.add_category(category.is(Py_True));
      } else if (PyUnicode_Check(category.ptr())) {
        code.add_category(text_of(category));
      } else {
        code.add_category(nb::cast<double>(category));
      }
    }
    table_.add(std::move(code));
  }

  bool read(nb::handle cell, const ColumnBits& code, uint8_t* bits) const {
    PyObject* const object = cell.ptr();
    if (PyFloat_Check(object)) {
      const double value = PyFloat_AsDouble(object);
      return value == value ? code.put(Measure::kNumber, value, bits) : code.put_missing(bits);
    }
    if (cell.is_none()) return code.put_missing(bits);
    if (PyBool_Check(object)) return code.put(cell.is(Py_True), bits);
    if (PyLong_Check(object)) return read_integer(object, code, bits);
    if (PyUnicode_Check(object)) {
      Py_ssize_t size = 0;
      const char* text = PyUnicode_AsUTF8AndSize(object, &size);
      if (text) return code.put(std::string_view(text, static_cast<size_t>(size)), bits);
      PyErr_Clear();
      return false;
    }
    return read_other(cell, code, bits);
  }

  bool read_integer(PyObject* object, const ColumnBits& code, uint8_t* bits) const {
    const double value = PyLong_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    return code.put(Measure::kNumber, value, bits);
  }

  bool read_other(nb::handle cell, const ColumnBits& code, uint8_t* bits) const {
    const nb::object name = cell.type().attr("__name__");
    const char* type = nb::borrow<nb::str>(name).c_str();
    for (const char* missing : {"NAType", "NaTType", "MaskedConstant"}) {
      if (!std::strcmp(type, missing)) return code.put_missing(bits);
    }
    if (nb::isinstance(cell, bool_)) return code.put(PyObject_IsTrue(cell.ptr()) == 1, bits);
    if (nb::isinstance(cell, integer_)) {
      const nb::object plain = nb::steal(PyNumber_Index(cell.ptr()));
      if (plain.is_valid()) return read_integer(plain.ptr(), code, bits);
      PyErr_Clear();  // NumPy counts durations among integers
      return false;
    }
    constexpr int64_t kMillion = 1000000, kDay = 86400, kYear1970 = 719163;
    if (nb::isinstance(cell, date_)) {
      int64_t micro = (nb::cast<int64_t>(cell.attr("toordinal")()) - kYear1970) * kDay * kMillion;
      if (nb::isinstance(cell, datetime_)) {
        if (!cell.attr("tzinfo").is_none()) return false;
        micro += clock(cell) * kMillion + integer(cell, "microsecond");
      }
      return code.put(Measure::kDate, static_cast<double>(micro) / 1e6, bits);
    }
    if (nb::isinstance(cell, timedelta_)) {
      const int64_t seconds = integer(cell, "days") * kDay + integer(cell, "seconds");
      const int64_t micro = seconds * kMillion + integer(cell, "microseconds");
      return code.put(Measure::kDuration, static_cast<double>(micro) / 1e6, bits);
    }
    if (nb::isinstance(cell, time_)) {
      const double part = static_cast<double>(integer(cell, "microsecond")) / 1e6;
      return code.put(Measure::kTime, static_cast<double>(clock(cell)) + part, bits);
    }
    return false;
  }

  static int64_t clock(nb::handle time) {
    return integer(time, "hour") * 3600 + integer(time, "minute") * 60 + integer(time, "second");
  }

  cotm::TableBits table_;
  nb::object datetime_, date_, timedelta_, time_, integer_, bool_;
};

}  // namespace

void bind_tables(nb::module_& module) {
  nb::class_<Table>(module, "Table")
      .def(nb::init<const nb::list&>(), "columns"_a)
      .def("read_numbers", &Table::read_numbers, "values"_a, "out"_a.noconvert())
      .def("read_rows", &Table::read_rows, "rows"_a, "out"_a.noconvert());
}
