#include "clauses.hpp"

#include <algorithm>

#include "bits.hpp"
#include "patch_literals.hpp"

namespace cotm {

namespace {

constexpr size_t kFewLeft = 4;  // literals that are looked for in a list one by one

}  // namespace

Clauses::Clauses(const Spec& spec, const Kernels& kernels, const int8_t* outer_memory,
                 const int32_t* outer_weights)
    : spec(spec),
      kernels(kernels),
      layout(spec.grid),
      words(literal_words(spec.grid)),
      memory(spec.n * row_entries()),
      weights(size_t{spec.n} * spec.m),
      lists(spec.n, layout, spec.most()),
      spread(words * 32),
      valid(first_bits(spec.grid.n_literals(), words)),
      awake(words),
      touched(spec.n),
      scratch(words) {
  const size_t features = spec.grid.n_features();
  std::copy_n(outer_weights, weights.size(), weights.data());
  for (size_t k = 0; k < spread.size(); ++k) spread[k] = cotm::spread(static_cast<uint32_t>(k));
  wake_allowed();
  std::fill_n(memory.data(), memory.size(), static_cast<int8_t>(-spec.N));
  for (size_t j = 0; j < spec.n; ++j) {
    const int8_t* from = outer_memory + j * 2 * features;
    int8_t* to = row(j);
    for (size_t k = 0; k < features; ++k) {
      to[inner_literal(k, false)] = from[outer_literal(k, false, features)];
      to[inner_literal(k, true)] = from[outer_literal(k, true, features)];
    }
    list_literals(j, scratch.data());
  }
}

void Clauses::copy_to(int8_t* outer_memory, int32_t* outer_weights) const {
  const size_t features = spec.grid.n_features();
  std::copy_n(weights.data(), weights.size(), outer_weights);
  for (size_t j = 0; j < spec.n; ++j) {
    const int8_t* from = row(j);
    int8_t* to = outer_memory + j * 2 * features;
    for (size_t k = 0; k < features; ++k) {
      to[outer_literal(k, false, features)] = from[inner_literal(k, false)];
      to[outer_literal(k, true, features)] = from[inner_literal(k, true)];
    }
  }
}

void Clauses::sleep(uint64_t step) {
  if (!spec.drop_literals) return;
  const size_t features = spec.grid.n_features();
  const Key key = make_key(step_key(spec.seed, step), Purpose::literals, 0, 0);
  for (size_t l = 0; l < 2 * features; ++l) {
    const size_t outer = outer_literal(l / 2, l % 2 != 0, features);
    if (hash32(key, static_cast<uint32_t>(outer)) < spec.drop_literals) awake[l / 64] &= ~bit_of(l);
  }
  // All lists change; whoever goes back to the machine's mark makes them anew.
  std::fill_n(touched.data(), touched.size(), uint8_t{1});
  for (size_t j = 0; j < spec.n; ++j) list_literals(j, scratch.data());
}

void Clauses::wake_allowed() {
  constexpr uint64_t kPlain = 0x5555555555555555u;  // a feature's literal, then its negation
  static_assert(inner_literal(0, false) == 0 && inner_literal(0, true) == 1);
  for (size_t w = 0; w < words; ++w) awake[w] = spec.negations ? valid[w] : valid[w] & kPlain;
}

void Clauses::wake() {
  if (!spec.drop_literals) return;
  wake_allowed();
  for (size_t j = 0; j < spec.n; ++j) list_literals(j, scratch.data());
}

void Clauses::list_literals(size_t clause, uint64_t* include) {
  kernels.include_bits(row(clause), words, include);
  keep_awake(include);
  lists.rebuild(clause, include, words);
}

void Clauses::move_literals(size_t clause, const std::vector<uint32_t>& joined,
                            const std::vector<uint32_t>& left, uint64_t* include) {
  const auto is_position = [&](uint32_t l) { return l < layout.position_literals(); };
  if (std::any_of(joined.begin(), joined.end(), is_position) ||
      std::any_of(left.begin(), left.end(), is_position)) {
    return list_literals(clause, include);
  }
  if (left.size() > kFewLeft) {
    if (!layout.is_flat()) return list_literals(clause, include);
    lists.remove_excluded(clause, row(clause));
  } else {
    for (const uint32_t l : left) lists.remove(clause, l);
  }
  for (const uint32_t l : joined) lists.add(clause, l);
}

}  // namespace cotm
