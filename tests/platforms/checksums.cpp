// Prints a checksum of what every kernel of every instruction set makes of random numbers, and of
// what machines learn: the same lines on every processor, system and compiler. tests/backends
// compares the kernels of one build with NumPy; this needs no Python.
//
// Usage: checksums [MACHINES]    Lines are NAME ISA CHECKSUM; machines are many little trainings.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "gradient_cells.hpp"
#include "image_planes.hpp"
#include "resampling.hpp"
#include "training.hpp"

using namespace cotm;

namespace {

class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  uint64_t word() { return mix64(state_ += 0x9E3779B97F4A7C15u); }
  uint32_t below(uint64_t end) { return static_cast<uint32_t>((word() >> 32) * end >> 32); }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  bool coin() { return below(2); }
  Key key() { return {static_cast<uint32_t>(word()), static_cast<uint32_t>(word()) | 1}; }

  // Words of which about 2^-ands of the bits are clear.
  std::vector<uint64_t> words(size_t count, unsigned ands) {
    std::vector<uint64_t> words(count);
    for (uint64_t& w : words) {
      uint64_t clear = ~uint64_t{0};
      for (unsigned k = 0; k < ands; ++k) clear &= word();
      w = ~clear;
    }
    return words;
  }
  template <class T>
  std::vector<T> numbers(size_t count, int64_t low, int64_t high) {
    std::vector<T> numbers(count);
    for (T& n : numbers) n = static_cast<T>(low + below(static_cast<uint64_t>(high - low) + 1));
    return numbers;
  }

 private:
  uint64_t state_;
};

class Checksum {
 public:
  template <class T>
  void add(const T* values, size_t count) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values);
    for (size_t i = 0; i < count * sizeof(T); ++i) sum_ = (sum_ ^ bytes[i]) * 0x100000001B3u;
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.data(), values.size());
  }
  void add(uint64_t value) { add(&value, 1); }
  void print(const char* name, const char* isa) const {
    std::printf("%s %s %016llx\n", name, isa, static_cast<unsigned long long>(sum_));
  }

 private:
  uint64_t sum_ = 0xCBF29CE484222325u;
};

// A clause and a block of images, or of flat examples.
struct Place {
  explicit Place(Draws& draws, bool flat)
      : rows(1 + draws.below(6)),
        columns(1 + draws.below(21)),
        row_step(columns + draws.below(4)),
        words(flat ? draws.words(8 * 60, 1 + draws.below(5))
                   : draws.words(rows * row_step + 58, 1 + draws.below(4))),
        row_misses(draws.numbers<uint32_t>(rows, 0, 2)),
        column_misses(draws.numbers<uint32_t>(columns, 0, 2)),
        offsets(draws.numbers<uint32_t>(draws.below(30), 0, flat ? 59 : 49)) {
    if (flat) {
      for (uint32_t& offset : offsets) offset *= 8;
    }
    const uint32_t top = draws.below(rows), left = draws.below(columns);
    list = {
        .offsets = offsets.data(),
        .length = static_cast<uint32_t>(offsets.size()),
        .capacity = static_cast<uint32_t>(offsets.size()),
        .window = {top, top + draws.below(rows - top), left, left + draws.below(columns - left)},
        .row_misses = row_misses.data(),
        .column_misses = column_misses.data()};
  }
  Place(const Place&) = delete;

  uint32_t rows, columns;
  size_t row_step;
  std::vector<uint64_t> words;
  std::vector<uint32_t> row_misses, column_misses, offsets;
  IncludeList list;
};

void run_matching(const Kernels& k, Draws& draws, Checksum& sum, bool graded) {
  Place flat(draws, true), image(draws, false);
  const std::vector<uint64_t> examples = draws.words(8, 3);
  std::vector<uint64_t> found(8 * kMostPlanes);
  std::vector<uint32_t> patches(image.rows * image.columns);
  const unsigned example = draws.below(64);
  if (!graded) {
    sum.add(k.match_flat(flat.list, flat.words.data(), examples.data(), found.data()));
    sum.add(found.data(), 8);
    uint32_t ended;  // when is up to the instruction set
    sum.add(k.match_window(image.list, image.words.data(), image.row_step, examples[0], ended));
    sum.add(patches.data(), k.find_patches(image.list, image.words.data(), image.row_step,
                                           image.columns, example, patches.data()));
    return;
  }
  image.list.window = {0, image.rows - 1, 0, image.columns - 1};
  const uint32_t planes = 1 + draws.below(6), most = 1 + draws.below((1u << planes) - 1);
  sum.add(k.grade_flat(flat.list, flat.words.data(), examples.data(), most, planes, found.data()));
  sum.add(found.data(), 8 * planes);
  k.grade_window(image.list, image.words.data(), image.row_step, examples[0], most, planes,
                 found.data());
  sum.add(found.data(), planes);
  for (uint32_t grade = 1; grade <= most; ++grade) {
    sum.add(patches.data(),
            k.find_graded(image.list, image.words.data(), image.row_step, image.columns, example,
                          most, planes, grade, patches.data()));
  }
}

void run_counts(const Kernels& k, Draws& draws, Checksum& sum) {
  const Place place(draws, true);
  std::vector<uint16_t> counts(512);
  k.count_misses(place.list, place.words.data(), counts.data());
  sum.add(counts);
  const size_t first = draws.below(512), end = first + draws.below(513 - first);
  const std::vector<uint64_t> examples = draws.words(8, 1);
  k.move_counts(examples.data(), first, end, draws.coin() ? 1 : -1, counts.data());
  sum.add(counts.data() + first, end - first);

  const uint32_t chosen = draws.below(12), limit = 1 + draws.below(40);
  const auto places = draws.numbers<uint32_t>(chosen, 0, 7);
  const std::vector<uint64_t> masks = draws.words(chosen, 1);
  // From the limit on the number is up to the kernel.
  sum.add(std::min(
      limit, k.count_row_misses(places.data(), masks.data(), chosen, examples.data(), limit)));

  const size_t clauses = 1 + draws.below(300), step = 1 + draws.below(4),
               words = (clauses + 63) / 64;
  const auto misses = draws.numbers<uint16_t>(clauses * step, 0, 20);
  auto most = draws.numbers<uint16_t>(64 * words, 1, 20);
  std::vector<uint16_t> grades(64 * words);
  std::vector<uint64_t> fires(words);
  k.grade_counts(misses.data(), step, most.data(), clauses, grades.data(), fires.data());
  sum.add(grades);
  sum.add(fires);
}

void run_votes(const Kernels& k, Draws& draws, Checksum& sum) {
  const size_t count = 1 + draws.below(300), m = 1 + draws.below(40), words = (count + 63) / 64;
  const int64_t largest = draws.one_of<int64_t>({1, 300, (1 << 24) - 1, 1 << 24, INT32_MAX});
  const auto weights = draws.numbers<int32_t>(count * m, -largest, largest);
  const auto grades = draws.numbers<uint16_t>(64 * words, 0, 9);
  std::vector<uint64_t> fires = draws.words(words, 1);
  if (count % 64) fires.back() &= (uint64_t{1} << count % 64) - 1;
  std::vector<int64_t> votes(m);
  k.add_votes(fires.data(), count, weights.data(), m, largest, votes.data());
  k.add_grades(fires.data(), grades.data(), count, weights.data(), m, 9 * largest, votes.data());
  sum.add(votes);

  const size_t groups = draws.coin() ? 8 : 1, examples = 1 + draws.below(64 * groups);
  const auto found = draws.words(count * groups, 1);
  const auto narrow = draws.numbers<int16_t>(count * m, -100, 100);
  std::vector<int16_t> sums(m * 64 * groups);
  k.sum_votes(found.data(), groups, examples, count, narrow.data(), m, sums.data());
  for (size_t i = 0; i < m; ++i) sum.add(sums.data() + i * 64 * groups, examples);

  const uint32_t planes = 1 + draws.below(8);
  const auto graded = draws.words(count * planes * groups, 1);
  std::vector<int32_t> wide(m * 64 * groups);
  k.sum_grades(graded.data(), groups, planes, examples, count, narrow.data(), m, wide.data());
  for (size_t i = 0; i < m; ++i) sum.add(wide.data() + i * 64 * groups, examples);
}

void run_feedback(const Kernels& k, Draws& draws, Checksum& sum) {
  const size_t words = 1 + draws.below(5);
  const int32_t N = draws.one_of({1, 12, 127, 128});
  const int32_t top = draws.coin() ? N - 1 : draws.one_of({0, 5, 127});
  const bool fires = draws.coin();
  const Key keys[3] = {draws.key(), draws.key(), draws.key()};
  Key owed[kMostOwed];
  for (Key& key : owed) key = draws.key();
  std::vector<uint32_t> indices(32 * words);
  for (uint32_t i = 0; i < indices.size(); ++i) indices[i] = spread(i);
  auto valid = draws.words(words, 4), truth = draws.words(words, 1);
  for (size_t w = 0; w < words; ++w) truth[w] &= valid[w];
  auto row = draws.numbers<int8_t>(64 * words, -N, top);
  std::vector<uint64_t> include(words), flipped(words), near_edge(words);
  const RowBits bits{include.data(), flipped.data(), near_edge.data()};
  const Feedback feedback{.owed_keys = owed,
                          .owed = draws.below(kMostOwed + 1),
                          .truth = fires ? truth.data() : nullptr,
                          .keys = keys,
                          .type1 = draws.below(4),
                          .type2 = fires ? draws.below(4) : 0,
                          .q = draws.one_of<uint32_t>({0, 1, 655, 30000, 65535, 65536}),
                          .N = N,
                          .top = top,
                          .boost_true_positive = draws.coin(),
                          .grows = draws.coin(),
                          .graded = draws.coin()};
  sum.add(k.feedback(feedback, indices.data(), valid.data(), words, row.data(), bits));
  for (const auto* out : {&include, &flipped, &near_edge}) sum.add(*out);
  const PlainFeedback plain{.truth = truth.data(),
                            .to_true = draws.one_of<int8_t>({0, 1, 127}),
                            .to_open = draws.one_of<int8_t>({-127, -1, 0, 1, 127}),
                            .floor = static_cast<int8_t>(-N),
                            .top = static_cast<int8_t>(top)};
  std::vector<uint32_t> changed(words);
  sum.add(changed.data(),
          k.plain_feedback(plain, valid.data(), words, row.data(), bits, changed.data()));
  for (const auto* out : {&include, &flipped}) sum.add(*out);
  sum.add(row);
  k.include_bits(row.data(), words, include.data());
  sum.add(include);
}

void run_draws(const Kernels& k, Draws& draws, Checksum& sum) {
  const Key key = draws.key();  // not among the arguments, whose order is the compiler's choice
  const uint32_t count = 1 + draws.below(300), first = draws.below(1 << 20);
  const uint64_t threshold =
      draws.one_of<uint64_t>({0, 1, 1u << 31, draws.below(UINT32_MAX), uint64_t{1} << 32});
  std::vector<uint64_t> selected((count + 63) / 64);
  k.select(key, first, count, threshold, selected.data());
  sum.add(selected);
  std::vector<uint32_t> literals((count + kPickLanes - 1) / kPickLanes * kPickLanes);
  k.pick(key, first, count, 1 + draws.below(1 << 28), literals.data());
  sum.add(literals);
  std::vector<uint32_t> watch((count + kWatchLanes - 1) / kWatchLanes * kWatchLanes);
  for (uint32_t& word : watch) {
    const uint32_t literal = draws.below(Watched::kLiterals);
    word = Watched::make(literal, static_cast<int32_t>(draws.below(12)));
  }
  const uint32_t q = draws.one_of<uint32_t>({0, 655, 30000, 65536});
  sum.add(k.forget_watched(key, q, count, watch.data()));
  sum.add(watch.data(), count);
  std::vector<uint64_t> square = draws.words(64, 1);
  k.transpose64(square.data());
  sum.add(square);
  const size_t words = 1 + draws.below(40);
  const auto features = draws.words((words + 1) / 2, 1), valid = draws.words(words, 3);
  std::vector<uint64_t> truth(words);
  k.interleave(features.data(), valid.data(), words, truth.data());
  sum.add(truth);
}

// All kernels stand in one of the functions above: who adds one adds it there, and to this number.
static_assert(sizeof(Kernels) == 23 * sizeof(void*));

template <class Run>
void run_kernels(const char* name, const Kernels& kernels, Run run) {
  Checksum sum;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws(mix64(seed));
    run(kernels, draws, sum);
  }
  sum.print(name, kernels.name);
}

Spec random_spec(Draws& draws) {
  Spec spec;
  const uint32_t height = 2 + draws.below(20), width = 2 + draws.below(20);
  spec.grid = draws.coin() ? Grid{1, 1, 1 + draws.below(900), 1, 1, 1, 1}
                           : Grid{height,
                                  width,
                                  1 + draws.below(3),
                                  1 + draws.below(std::min(height, 8u)),
                                  1 + draws.below(std::min(width, 8u)),
                                  1 + draws.below(2),
                                  1 + draws.below(3)};
  spec.n = 1 + draws.below(120);
  spec.m = draws.below(10) ? 1 + draws.below(20) : 130;
  spec.T = draws.one_of<int64_t>({1, spec.n, 20 * spec.n});
  spec.q = draws.one_of<uint32_t>({0, 655, 6554, 32768, 65536});
  spec.N = draws.one_of({1, 8, 100, 127, 128});
  spec.boost_true_positive = draws.coin();
  spec.e_scales_type2 = draws.coin();
  spec.max_literals = draws.below(3) ? 0 : 1 + draws.below(12);
  spec.max_weight = draws.below(3) ? INT32_MAX : 3;
  spec.sharing = draws.coin();
  spec.learn_weights = spec.sharing || draws.coin();
  spec.seed = draws.word();
  spec.tolerance = draws.coin() ? 1 : 1 + draws.below(12);
  spec.picks = draws.coin() ? -1 : static_cast<int64_t>(draws.below(1u << 22));
  spec.growth_limit = draws.below(3) ? 0 : 1 + draws.below(20);
  spec.include_depth = draws.below(3) ? 0 : static_cast<int32_t>(1 + draws.below(40));
  spec.negatives = draws.below(3);
  spec.drop_clauses = draws.below(3) ? 0 : draws.below(1u << 30);
  spec.drop_literals = draws.below(3) ? 0 : draws.below(1u << 30);
  spec.regression = !spec.negatives && draws.coin();
  spec.negations = true;
  return spec;
}

// Trains a machine on labels that its first bits say, and predicts.
void train(const Kernels& kernels, uint64_t seed, Checksum& sum) {
  Draws draws(mix64(~seed));
  const Spec spec = random_spec(draws);
  spec.require_valid();
  const size_t count = 150, row = size_t{spec.grid.width} * spec.grid.channels;
  const size_t values = spec.grid.height * row, literals = spec.grid.n_literals();
  const auto bits = draws.numbers<uint8_t>(count * values, 0, 1);
  std::vector<int64_t> starts{0};
  std::vector<int32_t> features;
  for (size_t e = 0; e < count; ++e) {
    for (size_t x = 0; x < values; ++x) {
      if (bits[e * values + x]) features.push_back(static_cast<int32_t>(x));
    }
    starts.push_back(static_cast<int64_t>(features.size()));
  }
  const Examples examples =
      spec.grid.is_flat() && draws.coin()
          ? Examples::sparse(starts.data(), features.data(), count, values)
          : Examples::dense(bits.data(), count, spec.grid.height, static_cast<uint32_t>(row));
  std::vector<uint8_t> targets(count * spec.m);
  for (size_t t = 0; t < targets.size(); ++t) targets[t] = bits[t / spec.m * values + t % values];
  std::vector<int32_t> aims(targets.size());
  for (size_t t = 0; t < aims.size(); ++t) aims[t] = targets[t] ? static_cast<int32_t>(spec.T) : -3;
  const uint64_t scales[2] = {uint64_t{1} << 32, uint64_t{1} << 31};
  const auto order = draws.numbers<int64_t>(600, 0, count - 1);
  auto memory = draws.numbers<int8_t>(spec.n * literals, std::max(-spec.N, -20), -1);
  std::vector<int32_t> weights(spec.n * spec.m);
  for (int32_t& weight : weights) weight = draws.coin() ? 1 : -1;

  Machine machine(spec, kernels, memory.data(), weights.data());
  Training training(machine, {.examples = examples,
                              .targets = spec.regression ? nullptr : targets.data(),
                              .aims = spec.regression ? aims.data() : nullptr,
                              .starts = nullptr,
                              .outputs = nullptr,
                              .scales = scales,
                              .one_scale = true,
                              .order = order.data(),
                              .count = order.size(),
                              .step = 7});
  const unsigned threads = 1 + draws.below(2);
  const Training::Slice slice = training.run(0, order.size(), threads);
  sum.add(slice.counts.hits);
  sum.add(slice.counts.correct);
  sum.add(slice.counts.missed);
  std::vector<int64_t> votes(count * spec.m);
  machine.votes(examples, threads, votes.data());
  machine.state(memory.data(), weights.data());
  sum.add(votes);
  sum.add(memory);
  sum.add(weights);
}

// What images are made into; the same code for every instruction set.
void run_images() {
  Checksum sum;
  Draws draws(5);
  const ImageShape shape{13, 17, 3};
  const size_t count = 5;
  const auto images = draws.numbers<uint8_t>(count * shape.values(), 0, 255);
  const auto filters = draws.numbers<int8_t>(2 * kKernelWidth * kKernelWidth, -3, 3);
  const PlaneMaker planes(filters.data(), 2, {0, 5000}, {0, 3000, 9000}, {4000});
  std::vector<uint8_t> bits(count * shape.values() * planes.planes());
  planes.run(images.data(), count, shape, 2, bits.data(), bits.size() / count);
  sum.add(bits);
  const auto directions = draws.numbers<uint8_t>(kTableWidth * kTableWidth, 0, 7);
  const CellGrid cells{5, 4, 2, 3};
  for (const bool each_channel : {false, true}) {
    const GradientCells gradients(directions.data(), 8, cells, {0, 5000}, each_channel);
    bits.resize(count * cells.rows(shape) * cells.columns(shape) * gradients.planes(shape));
    gradients.run(images.data(), count, shape, 2, bits.data(), bits.size() / count);
    sum.add(bits);
  }
  const auto maps = draws.numbers<int64_t>(count * kMapValues, -(1 << 17), 1 << 17);
  bits.resize(images.size());
  for (const bool repeat_edge : {false, true}) {
    resample(images.data(), count, shape, maps.data(), repeat_edge, 2, bits.data());
    sum.add(bits);
  }
  sum.print("images", "all");
}

}  // namespace

int main(int count, char** arguments) {
  const uint64_t machines = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 60;
  std::printf("best is %s\n", best_isa());
  run_images();
  for (const char* isa : {"baseline", "avx2", "avx512", "neon"}) {
    const Kernels* kernels;
    try {
      kernels = &choose_kernels(isa);
    } catch (const std::invalid_argument&) {
      continue;
    }
    run_kernels("matching", *kernels, [](const Kernels& k, Draws& draws, Checksum& sum) {
      run_matching(k, draws, sum, false);
    });
    run_kernels("grading", *kernels, [](const Kernels& k, Draws& draws, Checksum& sum) {
      run_matching(k, draws, sum, true);
    });
    run_kernels("counts", *kernels, run_counts);
    run_kernels("votes", *kernels, run_votes);
    run_kernels("feedback", *kernels, run_feedback);
    run_kernels("draws", *kernels, run_draws);
    Checksum sum;
    for (uint64_t seed = 0; seed < machines; ++seed) train(*kernels, seed, sum);
    sum.print("machines", isa);
  }
}
