// The only file that knows Python. Examples and targets are checked where they come from users, in
// Python; what could crash the process if it were wrong is checked again here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>

#include "trainer.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, size_t Dimensions>
using In = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, size_t Dimensions>
using Out = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
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
  const cotm::Grid& grid = machine.config().grid;
  require(examples.height() == grid.height && examples.row_bits() == grid.width * grid.channels,
          "the examples do not have this machine's shape");
  require(grid.flat() || !examples.is_sparse(), "sparse examples must be flat");
}

// A pass, with what it reads.
class Training {
 public:
  Training(cotm::Machine& machine, const cotm::Examples& examples, In<uint8_t, 2> targets,
           In<uint64_t, 2> scales, In<int64_t, 1> order, uint64_t step)
      : owners_{nb::find(machine), nb::find(examples)},
        targets_(std::move(targets)),
        scales_(std::move(scales)),
        order_(std::move(order)),
        examples_(examples.size()),
        block_(machine.layout().examples()),
        training_(machine, {examples, targets_.data(), scales_.data(), scales_.shape(0) == 1,
                            order_.data(), order_.shape(0), step}) {
    require_fit(machine, examples);
    require(targets_.shape(0) == examples_ && targets_.shape(1) == machine.config().m,
            "targets must have one row per example and one column per output");
    require(scales_.shape(1) == 2 && (scales_.shape(0) == examples_ || scales_.shape(0) == 1),
            "scales must have one row per example, or one for all, and two columns");
    require_order(0, order_.shape(0));
  }

  std::tuple<uint64_t, uint64_t, bool> run(size_t first, size_t last, unsigned threads) {
    const size_t count = order_.shape(0);
    require(first <= last && last <= count, "a slice must lie within the order");
    // Again, with what is read ahead: the array may have been written to between two slices.
    require_order(first, std::min(count - last, block_) + last);
    const nb::gil_scoped_release release;
    const auto [counts, anew] = training_.run(first, last, threads);
    return {counts.hits, counts.correct, anew};
  }

 private:
  void require_order(size_t first, size_t last) const {
    for (size_t t = first; t < last; ++t) {
      require(order_.data()[t] >= 0 && static_cast<size_t>(order_.data()[t]) < examples_,
              "the order names an example that does not exist");
    }
  }

  nb::object owners_[2];
  In<uint8_t, 2> targets_;
  In<uint64_t, 2> scales_;
  In<int64_t, 1> order_;
  size_t examples_, block_;
  cotm::Training training_;
};

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "The native backend of cotm; see cotm.backends.native.";
  // A model that lives until the interpreter ends is no leak worth a message.
  nb::set_leak_warnings(false);

  nb::class_<cotm::Examples>(module, "Examples")
      .def_static("dense", &dense_examples, "bits"_a)
      .def_static("sparse", &sparse_examples, "starts"_a, "features"_a, "n_features"_a)
      .def("__len__", &cotm::Examples::size);

  nb::class_<cotm::Machine>(module, "Machine")
      .def(
          "__init__",
          [](cotm::Machine* self, uint32_t n, uint32_t m, const In<uint32_t, 1>& grid, int64_t T,
             uint32_t q, int32_t depth, bool boost_true_positive, bool e_scales_type2,
             uint32_t max_literals, int32_t max_weight, bool sharing, bool learn_weights,
             uint64_t seed, const In<int8_t, 2>& memory, const In<int32_t, 2>& weights,
             const std::string& isa) {
            require(grid.shape(0) == 7, "the grid needs 7 numbers");
            const uint32_t* g = grid.data();
            for (int i = 0; i < 7; ++i) require(g[i] >= 1, "the grid's numbers must be positive");
            require(g[3] <= g[0] && g[4] <= g[1], "a patch must fit into the image");
            const cotm::Grid patches{g[0], g[1], g[2], g[3], g[4], g[5], g[6]};
            cotm::BlockLayout::require_fit(patches);
            const cotm::Config config{n,
                                      m,
                                      patches,
                                      T,
                                      q,
                                      depth,
                                      boost_true_positive,
                                      e_scales_type2,
                                      max_literals,
                                      max_weight,
                                      sharing,
                                      learn_weights,
                                      seed};
            require(n >= 1 && m >= 1 && T >= 1 && T <= (int64_t{1} << 30) && q <= 65536 &&
                        depth >= 1 && depth <= 128 && max_weight >= 1,
                    "a parameter is out of range");
            require(memory.shape(0) == n && memory.shape(1) == 2 * size_t{config.grid.features()} &&
                        weights.shape(0) == n && weights.shape(1) == m,
                    "memory and weights must fit n, m and the grid");
            new (self) cotm::Machine(config, cotm::choose_kernels(isa.c_str()), memory.data(),
                                     weights.data());
          },
          "n"_a, "m"_a, "grid"_a, "T"_a, "q"_a, "depth"_a, "boost_true_positive"_a,
          "e_scales_type2"_a, "max_literals"_a, "max_weight"_a, "sharing"_a, "learn_weights"_a,
          "seed"_a, "memory"_a, "weights"_a, "isa"_a)
      // Results are never converted: they would be written into the copy.
      .def(
          "votes",
          [](const cotm::Machine& machine, const cotm::Examples& examples, unsigned threads,
             const Out<int64_t, 2>& out) {
            require_fit(machine, examples);
            require(out.shape(0) == examples.size() && out.shape(1) == machine.config().m,
                    "votes must have one row per example and one column per output");
            const nb::gil_scoped_release release;
            machine.votes(examples, threads, out.data());
          },
          "examples"_a, "threads"_a, "out"_a.noconvert())
      .def(
          "clause_outputs",
          [](const cotm::Machine& machine, const cotm::Examples& examples, unsigned threads,
             const Out<bool, 2>& out) {
            require_fit(machine, examples);
            require(out.shape(0) == examples.size() && out.shape(1) == machine.config().n,
                    "outputs must have one row per example and one column per clause");
            const nb::gil_scoped_release release;
            machine.clause_outputs(examples, threads, out.data());
          },
          "examples"_a, "threads"_a, "out"_a.noconvert())
      .def(
          "state",
          [](const cotm::Machine& machine, const Out<int8_t, 2>& memory,
             const Out<int32_t, 2>& weights) {
            const cotm::Config& config = machine.config();
            require(memory.shape(0) == config.n &&
                        memory.shape(1) == 2 * size_t{config.grid.features()} &&
                        weights.shape(0) == config.n && weights.shape(1) == config.m,
                    "memory and weights must fit n, m and the grid");
            const nb::gil_scoped_release release;
            machine.state(memory.data(), weights.data());
          },
          "memory"_a.noconvert(), "weights"_a.noconvert())
      .def("mark", &cotm::Machine::mark, nb::call_guard<nb::gil_scoped_release>())
      .def("undo", &cotm::Machine::undo, nb::call_guard<nb::gil_scoped_release>())
      .def("renew_locks", &cotm::Machine::renew_locks)
      .def_prop_ro("isa", [](const cotm::Machine& machine) { return machine.kernels().name; });

  nb::class_<Training>(module, "Training")
      .def(nb::init<cotm::Machine&, const cotm::Examples&, In<uint8_t, 2>, In<uint64_t, 2>,
                    In<int64_t, 1>, uint64_t>(),
           "machine"_a, "examples"_a, "targets"_a, "scales"_a, "order"_a, "step"_a)
      .def("run", &Training::run, "first"_a, "last"_a, "threads"_a,
           "The next slice: hits, correct, and whether it paid the start of a pass.");

  module.def("best_isa", &cotm::best_isa, "The widest instruction set this processor runs.");

  // For the tests that pin the random numbers.
  module.def("step_key", &cotm::step_key, "seed"_a, "step"_a);
  module.def(
      "hash32",
      [](uint64_t step_key, uint64_t purpose, uint64_t output, uint64_t clause, uint32_t index) {
        return cotm::hash32(
            cotm::make_key(step_key, static_cast<cotm::Purpose>(purpose), output, clause), index);
      },
      "step_key"_a, "purpose"_a, "output"_a, "clause"_a, "index"_a);
}
