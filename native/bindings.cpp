// With table_bindings.cpp the only file that knows Python. Examples and targets are checked where
// they come from users, in Python; what could crash the process if it were wrong is checked again
// here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "gradient_cells.hpp"
#include "image_planes.hpp"
#include "resampling.hpp"
#include "shapley.hpp"
#include "table_bindings.hpp"
#include "training.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, size_t Dimensions>
using In = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, size_t Dimensions>
using Out = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
// Bits of images, each of which lies in one piece; other bits may lie between two images.
using OutImages = nb::ndarray<uint8_t, nb::ndim<4>, nb::device::cpu>;

using cotm::require;

template <class Record>
std::vector<std::string> field_names() {
  std::vector<std::string> names;
  Record::for_each_field([&](const char* name, auto) { names.emplace_back(name); });
  return names;
}

// Reads the fields of a Python dataclass. What one side has and the other does not know is an
// error: it would be left out of training in silence. Names are compared in place, because
// nanobind's conversion to std::string ends the process where there is no memory.
template <class Record>
Record read_record(nb::handle object) {
  const nb::object title = object.type().attr("__name__");
  for (const nb::handle field : object.attr("__dataclass_fields__")) {
    const char* name = nb::borrow<nb::str>(field).c_str();
    bool known = false;
    Record::for_each_field(
        [&](const char* ours, auto) { known = known || !std::strcmp(ours, name); });
    if (!known) {
      PyErr_Format(PyExc_TypeError, "the native backend does not know %U.%s", title.ptr(), name);
      throw nb::python_error();
    }
  }
  Record record;
  Record::for_each_field([&](const char* name, auto field) {
    using Value = std::remove_reference_t<decltype(record.*field)>;
    const nb::object value = object.attr(name);
    if constexpr (std::is_class_v<Value>) {
      record.*field = read_record<Value>(value);
    } else if (!nb::try_cast<Value>(value, record.*field)) {
      PyErr_Format(PyExc_ValueError, "%U.%s=%R is not a number that the native backend can hold",
                   title.ptr(), name, value.ptr());
      throw nb::python_error();
    }
  });
  return record;
}

cotm::Examples dense_examples(const In<uint8_t, 3>& bits) {
  require(bits.shape(1) <= UINT32_MAX && bits.shape(2) <= UINT32_MAX, "an image is too large");
  const nb::gil_scoped_release release;
  return cotm::Examples::dense(bits.data(), bits.shape(0), static_cast<uint32_t>(bits.shape(1)),
                               static_cast<uint32_t>(bits.shape(2)));
}

cotm::Examples sparse_examples(const In<int64_t, 1>& starts, const In<int32_t, 1>& features,
                               size_t n_features) {
  require(n_features <= cotm::kMostFeatures, "there are more features than can be matched");
  require(starts.shape(0) >= 1 && starts.data()[0] == 0, "row starts must begin at 0");
  const size_t count = starts.shape(0) - 1;
  for (size_t i = 0; i < count; ++i) {
    require(starts.data()[i] <= starts.data()[i + 1], "row starts must not decrease");
  }
  require(starts.data()[count] == static_cast<int64_t>(features.shape(0)),
          "row starts must end at the number of stored features");
  for (size_t i = 0; i < features.shape(0); ++i) {
    require(features.data()[i] >= 0 && static_cast<size_t>(features.data()[i]) < n_features,
            "a feature index is out of range");
  }
  const nb::gil_scoped_release release;
  return cotm::Examples::sparse(starts.data(), features.data(), count, n_features);
}

void require_fit(const cotm::Machine& machine, const cotm::Examples& examples) {
  const cotm::Grid& grid = machine.spec().grid;
  require(examples.height() == grid.depth * grid.height &&
              examples.row_bits() == grid.width * grid.channels,
          "the examples do not have this machine's shape");
  require(grid.is_flat() || !examples.is_sparse(), "sparse examples must be flat");
}

template <class Memory, class Weights>
void require_fit(const cotm::Spec& spec, const Memory& memory, const Weights& weights) {
  require(memory.shape(0) == spec.n && memory.shape(1) == spec.grid.n_literals() &&
              weights.shape(0) == spec.n && weights.shape(1) == spec.m,
          "memory and weights must fit n, m and the grid");
}

template <class T>
void clause_outputs(const cotm::Machine& machine, const cotm::Examples& examples, unsigned threads,
                    const Out<T, 2>& out) {
  require_fit(machine, examples);
  require(out.shape(0) == examples.size() && out.shape(1) == machine.spec().n,
          "outputs must have one row per example and one column per clause");
  require(machine.spec().is_graded() != std::is_same_v<T, bool>,
          "outputs must be flags of strict clauses, and 32-bit integers of graded ones");
  const nb::gil_scoped_release release;
  machine.clause_outputs(examples, threads, out.data());
}

// Targets of one type; none, where they are of another kind.
template <class T>
In<T, 2> rows_of(nb::handle targets, bool wanted) {
  return wanted ? nb::cast<In<T, 2>>(targets, false) : In<T, 2>();
}

template <class T>
std::vector<T> as_list(const In<T, 1>& array) {
  return std::vector<T>(array.data(), array.data() + array.shape(0));
}

template <class T>
std::vector<T> list_of(nb::handle array) {
  return as_list(nb::cast<In<T, 1>>(array, false));
}

// A pass, with what it reads.
class Training {
 public:
  // targets: uint8 for classes, int32 for quantities. asked: None, or where the outputs that each
  // example asks begin, and these outputs; then there is one target in each row.
  Training(cotm::Machine& machine, const cotm::Examples& examples, nb::handle targets,
           In<uint64_t, 2> scales, In<int64_t, 1> order, uint64_t step, nb::handle asked)
      : owners_{nb::find(machine), nb::find(examples)},
        targets_(rows_of<uint8_t>(targets, !machine.spec().regression)),
        aims_(rows_of<int32_t>(targets, machine.spec().regression)),
        scales_(std::move(scales)),
        order_(std::move(order)),
        examples_(examples.size()),
        starts_(asked.is_none() ? std::vector<int64_t>() : list_of<int64_t>(asked[nb::int_(0)])),
        outputs_(asked.is_none() ? std::vector<int32_t>() : list_of<int32_t>(asked[nb::int_(1)])),
        block_(machine.layout().examples()),
        training_(machine, {.examples = examples,
                            .targets = targets_.data(),
                            .aims = aims_.data(),
                            .starts = asked.is_none() ? nullptr : starts_.data(),
                            .outputs = outputs_.data(),
                            .scales = scales_.data(),
                            .one_scale = scales_.shape(0) == 1,
                            .order = order_.data(),
                            .count = order_.shape(0),
                            .step = step}) {
    require_fit(machine, examples);
    const auto fits = [&](const auto& rows) {
      if (asked.is_none()) return rows.shape(0) == examples_ && rows.shape(1) == machine.spec().m;
      return rows.shape(0) == outputs_.size() && rows.shape(1) == 1;
    };
    if (!asked.is_none()) require_asked(machine.spec().m);
    require(machine.spec().regression ? fits(aims_) : fits(targets_),
            "targets must have one row per example and one column per output");
    require(scales_.shape(1) == 2 && (scales_.shape(0) == examples_ || scales_.shape(0) == 1),
            "scales must have one row per example, or one for all, and two columns");
    require_order(0, order_.shape(0));
  }

  std::tuple<uint64_t, uint64_t, uint64_t, bool> run(size_t first, size_t last, unsigned threads) {
    const size_t count = order_.shape(0);
    require(first <= last && last <= count, "a slice must lie within the order");
    // Again, with what is read ahead: the array may have been written to between two slices.
    require_order(first, std::min(count - last, block_) + last);
    const nb::gil_scoped_release release;
    const auto [counts, anew] = training_.run(first, last, threads);
    return {counts.hits, counts.correct, counts.missed, anew};
  }

 private:
  void require_asked(uint32_t m) const {
    require(starts_.size() == examples_ + 1 && starts_.front() == 0 &&
                starts_.back() == static_cast<int64_t>(outputs_.size()) &&
                std::is_sorted(starts_.begin(), starts_.end()),
            "the outputs that are asked must begin at 0, row after row, and end with the last");
    for (size_t i = 0; i < examples_; ++i) {
      int64_t before = -1;
      for (int64_t k = starts_[i]; k < starts_[i + 1]; ++k) {
        require(outputs_[k] > before && outputs_[k] < int64_t{m},
                "outputs that are asked must exist, each once and in ascending order");
        before = outputs_[k];
      }
    }
  }

  void require_order(size_t first, size_t last) const {
    for (size_t t = first; t < last; ++t) {
      require(order_.data()[t] >= 0 && static_cast<size_t>(order_.data()[t]) < examples_,
              "the order names an example that does not exist");
    }
  }

  nb::object owners_[2];
  In<uint8_t, 2> targets_;  // one of the two is empty
  In<int32_t, 2> aims_;
  In<uint64_t, 2> scales_;
  In<int64_t, 1> order_;
  size_t examples_;
  std::vector<int64_t> starts_;  // empty where all outputs are asked
  std::vector<int32_t> outputs_;
  size_t block_;
  cotm::Training training_;
};

void bind_machine(nb::module_& module) {
  nb::class_<cotm::Machine>(module, "Machine")
      .def(
          "__init__",
          [](cotm::Machine* self, nb::handle definition, const In<int8_t, 2>& memory,
             const In<int32_t, 2>& weights, const std::string& isa) {
            const cotm::Spec spec = read_record<cotm::Spec>(definition);
            spec.require_valid();
            cotm::BlockLayout::require_fit(spec.grid);
            require_fit(spec, memory, weights);
            new (self) cotm::Machine(spec, cotm::choose_kernels(isa.c_str()), memory.data(),
                                     weights.data());
          },
          "spec"_a, "memory"_a, "weights"_a, "isa"_a)
      // Results are never converted: they would be written into the copy.
      .def(
          "votes",
          [](const cotm::Machine& machine, const cotm::Examples& examples, unsigned threads,
             const Out<int64_t, 2>& out) {
            require_fit(machine, examples);
            require(out.shape(0) == examples.size() && out.shape(1) == machine.spec().m,
                    "votes must have one row per example and one column per output");
            const nb::gil_scoped_release release;
            machine.votes(examples, threads, out.data());
          },
          "examples"_a, "threads"_a, "out"_a.noconvert())
      .def("clause_outputs", &clause_outputs<bool>, "examples"_a, "threads"_a, "out"_a.noconvert())
      .def("clause_outputs", &clause_outputs<int32_t>, "examples"_a, "threads"_a,
           "out"_a.noconvert())
      .def(
          "state",
          [](const cotm::Machine& machine, const Out<int8_t, 2>& memory,
             const Out<int32_t, 2>& weights) {
            require_fit(machine.spec(), memory, weights);
            const nb::gil_scoped_release release;
            machine.state(memory.data(), weights.data());
          },
          "memory"_a.noconvert(), "weights"_a.noconvert())
      .def("mark", &cotm::Machine::mark, nb::call_guard<nb::gil_scoped_release>())
      .def("undo", &cotm::Machine::undo, nb::call_guard<nb::gil_scoped_release>())
      .def("renew_locks", &cotm::Machine::renew_locks)
      .def_prop_ro("isa", [](const cotm::Machine& machine) { return machine.kernels().name; });
}

void bind_training(nb::module_& module) {
  nb::class_<Training>(module, "Training")
      .def(nb::init<cotm::Machine&, const cotm::Examples&, nb::handle, In<uint64_t, 2>,
                    In<int64_t, 1>, uint64_t, nb::handle>(),
           "machine"_a, "examples"_a, "targets"_a, "scales"_a, "order"_a, "step"_a,
           "asked"_a = nb::none())
      .def("run", &Training::run, "first"_a, "last"_a, "threads"_a,
           "The next slice: hits, correct, missed, and whether it paid the start of a pass.");
}

cotm::ImageShape shape_of(const In<uint8_t, 4>& images) {
  return {images.shape(1), images.shape(2), images.shape(3)};
}

// How far the first bits of two images are apart.
size_t distance_of(const OutImages& out) {
  if (!out.size()) return 0;  // then strides are anything
  int64_t size = 1;
  for (size_t axis = 3; axis > 0; --axis) {
    require(out.shape(axis) == 1 || out.stride(axis) == size,
            "the bits of an image must lie side by side");
    size *= static_cast<int64_t>(out.shape(axis));
  }
  require(out.shape(0) < 2 || out.stride(0) >= size, "the bits of images must not overlap");
  return static_cast<size_t>(out.shape(0) < 2 ? size : out.stride(0));
}

void image_planes(const In<uint8_t, 4>& images, const In<int8_t, 3>& kernels,
                  const In<int32_t, 1>& levels, const In<int32_t, 1>& positive,
                  const In<int32_t, 1>& negative, unsigned threads, const OutImages& out) {
  require(kernels.shape(1) == cotm::kKernelWidth && kernels.shape(2) == cotm::kKernelWidth,
          "kernels must be as wide as the widest");
  const cotm::PlaneMaker maker(kernels.data(), kernels.shape(0), as_list(levels), as_list(positive),
                               as_list(negative));
  const cotm::ImageShape shape = shape_of(images);
  require(out.shape(0) == images.shape(0) && out.shape(1) == shape.height &&
              out.shape(2) == shape.width && out.shape(3) == shape.channels * maker.planes(),
          "the bits must have one place per image, pixel and plane");
  const size_t distance = distance_of(out);
  const nb::gil_scoped_release release;
  maker.run(images.data(), images.shape(0), shape, threads, out.data(), distance);
}

void gradient_planes(const In<uint8_t, 4>& images, const In<uint8_t, 2>& directions, size_t count,
                     std::tuple<size_t, size_t> cell, std::tuple<size_t, size_t> step,
                     const In<int32_t, 1>& quantiles, bool each_channel, unsigned threads,
                     const OutImages& out) {
  require(directions.shape(0) == cotm::kTableWidth && directions.shape(1) == cotm::kTableWidth,
          "the table of directions must have a place for every gradient");
  const cotm::CellGrid cells{std::get<0>(cell), std::get<1>(cell), std::get<0>(step),
                             std::get<1>(step)};
  const cotm::GradientCells maker(directions.data(), count, cells, as_list(quantiles),
                                  each_channel);
  const cotm::ImageShape shape = shape_of(images);
  require(cells.height <= shape.height && cells.width <= shape.width,
          "a cell is larger than the images");
  require(out.shape(0) == images.shape(0) && out.shape(1) == cells.rows(shape) &&
              out.shape(2) == cells.columns(shape) && out.shape(3) == maker.planes(shape),
          "the bits must have one place per image, cell and plane");
  const size_t distance = distance_of(out);
  const nb::gil_scoped_release release;
  maker.run(images.data(), images.shape(0), shape, threads, out.data(), distance);
}

void resample(const In<uint8_t, 4>& images, const In<int64_t, 2>& maps, bool repeat_edge,
              unsigned threads, const Out<uint8_t, 4>& out) {
  const cotm::ImageShape shape = shape_of(images);
  require(maps.shape(0) == images.shape(0) && maps.shape(1) == cotm::kMapValues,
          "there must be a map for each image");
  require(out.shape(0) == images.shape(0) && out.shape(1) == shape.height &&
              out.shape(2) == shape.width && out.shape(3) == shape.channels,
          "the changed images must have the shape of the images");
  const nb::gil_scoped_release release;
  cotm::resample(images.data(), images.shape(0), shape, maps.data(), repeat_edge, threads,
                 out.data());
}

void shapley(const In<uint8_t, 2>& rows, const In<uint8_t, 2>& background,
             const In<int64_t, 1>& starts, const In<int32_t, 1>& features,
             const In<uint8_t, 1>& negated, const In<int32_t, 1>& players,
             const In<int32_t, 1>& most, const In<double, 2>& weights, const In<double, 1>& times,
             const In<double, 1>& time_weights, unsigned threads, const Out<double, 3>& out) {
  const size_t clauses = most.shape(0), literals = features.shape(0);
  require(starts.shape(0) == clauses + 1 && weights.shape(0) == clauses,
          "there must be weights and a start for each clause, and an end");
  require(starts.data()[clauses] == static_cast<int64_t>(literals) &&
              negated.shape(0) == literals && players.shape(0) == literals,
          "there must be a sign and a player for each literal");
  require(rows.shape(1) == background.shape(1) && background.shape(0) > 0,
          "the background must have rows, as wide as the others");
  require(times.shape(0) == time_weights.shape(0), "nodes of a quadrature need weights");
  require(out.shape(0) == rows.shape(0) && out.shape(2) == weights.shape(1),
          "there must be a value for each row, player and output");
  const cotm::ClausePool pool{.clauses = clauses,
                              .features = rows.shape(1),
                              .players = out.shape(1),
                              .outputs = out.shape(2),
                              .starts = starts.data(),
                              .feature_of = features.data(),
                              .negated = negated.data(),
                              .player_of = players.data(),
                              .most = most.data(),
                              .weights = weights.data()};
  pool.require_valid();
  const nb::gil_scoped_release release;
  cotm::shapley(pool, {rows.shape(0), rows.data()}, {background.shape(0), background.data()},
                {times.shape(0), times.data(), time_weights.data()}, threads, out.data());
}

// For the tests that pin the random numbers.
void bind_randomness(nb::module_& module) {
  module.def("step_key", &cotm::step_key, "seed"_a, "step"_a);
  module.def(
      "hash32",
      [](uint64_t step_key, uint64_t purpose, uint64_t output, uint64_t clause, uint32_t index) {
        return cotm::hash32(
            cotm::make_key(step_key, static_cast<cotm::Purpose>(purpose), output, clause), index);
      },
      "step_key"_a, "purpose"_a, "output"_a, "clause"_a, "index"_a);
}

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "The native backend of cotm; see cotm.backends.native.";
  // A model that lives until the interpreter ends is no leak worth a message.
  nb::set_leak_warnings(false);

  nb::class_<cotm::Examples>(module, "Examples")
      .def_static("dense", &dense_examples, "bits"_a)
      .def_static("sparse", &sparse_examples, "starts"_a, "features"_a, "n_features"_a)
      .def("__len__", &cotm::Examples::size);

  bind_machine(module);
  bind_training(module);
  bind_tables(module);
  bind_randomness(module);

  const auto names = [](const std::vector<std::string>& fields) {
    return nb::tuple(nb::cast(fields));
  };
  module.attr("SPEC_FIELDS") = names(field_names<cotm::Spec>());
  module.attr("GRID_FIELDS") = names(field_names<cotm::Grid>());

  module.def("image_planes", &image_planes, "images"_a, "kernels"_a, "levels"_a, "positive"_a,
             "negative"_a, "threads"_a, "out"_a.noconvert());
  module.def("gradient_planes", &gradient_planes, "images"_a, "directions"_a, "count"_a, "cell"_a,
             "step"_a, "quantiles"_a, "each_channel"_a, "threads"_a, "out"_a.noconvert());
  module.def("resample", &resample, "images"_a, "maps"_a, "repeat_edge"_a, "threads"_a,
             "out"_a.noconvert());
  module.def("shapley", &shapley, "rows"_a, "background"_a, "starts"_a, "features"_a, "negated"_a,
             "players"_a, "most"_a, "weights"_a, "times"_a, "time_weights"_a, "threads"_a,
             "out"_a.noconvert());
  module.def("best_isa", &cotm::best_isa, "The widest instruction set this processor runs.");
}
