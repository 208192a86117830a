#include "shapley.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>
#include <vector>

#include "spec.hpp"
#include "threads.hpp"

namespace cotm {

void ClausePool::require_valid() const {
  require(starts[0] == 0, "clauses must begin with the first literal");
  for (size_t j = 0; j < clauses; ++j) {
    require(starts[j] <= starts[j + 1], "the starts of clauses must not decrease");
  }
  for (int64_t k = 0; k < starts[clauses]; ++k) {
    require(feature_of[k] >= 0 && static_cast<size_t>(feature_of[k]) < features,
            "a literal's feature is out of range");
    require(player_of[k] >= 0 && static_cast<size_t>(player_of[k]) < players,
            "a literal's player is out of range");
  }
}

namespace {

// Players whose gap is the same; see the definition.
struct Kind {
  int gap, count;
};

// What players of each kind contribute to a clause that says max(0, left - misses).
class Shares {
 public:
  // `deepest` is the largest `left` there is.
  Shares(const Quadrature& quadrature, int deepest)
      : quadrature_(quadrature), deepest_(deepest), near_(kNear * kNear) {}

  // Of `better` players of gap 1 and `worse` of gap -1: what one of each contributes.
  struct Pair {
    double better, worse;
  };
  Pair of(int left, int better, int worse) {
    const bool is_near = better < kNear && worse < kNear;
    std::vector<Pair>& sums =
        is_near ? near_[better * kNear + worse] : far_[static_cast<uint64_t>(better) << 32 | worse];
    if (sums.empty()) sums = added_up(better, worse);
    return sums[std::min<size_t>(left, sums.size()) - 1];
  }

  // Of any kinds, in their order.
  const std::vector<double>& of(int left, const std::vector<Kind>& kinds) {
    std::vector<int> key{left};
    for (const Kind& kind : kinds) key.insert(key.end(), {kind.gap, kind.count});
    auto [entry, is_new] = known_.try_emplace(std::move(key));
    if (is_new) entry->second = computed(left, kinds);
    return entry->second;
  }

 private:
  static constexpr int kNear = 64;

  // For each `left` from 1 on, until it changes no more.
  std::vector<Pair> added_up(int better, int worse) {
    const int count = std::min(deepest_, better + worse);
    std::vector<Pair> sums;
    for (Pair sum{0, 0}; static_cast<int>(sums.size()) < count; sums.push_back(sum)) {
      const int missing = static_cast<int>(sums.size());
      sum.better += chance(missing, better, worse);
      sum.worse -= chance(missing, worse, better);
    }
    return sums;
  }

  // One of `mine` joins, in a random order: how likely is it that just then `missing` are: of the
  // others of its kind that come after it, and of the other kind that came before?
  double chance(int missing, int mine, int others) {
    if (!mine) return 0;
    const int n = mine + others;
    while (static_cast<int>(log_factorials_.size()) <= n) {
      log_factorials_.push_back(log_factorials_.back() + std::log(1.0L * log_factorials_.size()));
    }
    const auto log_choices = [&](int of, int some) {
      return log_factorials_[of] - log_factorials_[some] - log_factorials_[of - some];
    };
    long double sum = 0;
    for (int b = std::max(0, missing - (mine - 1)); b <= std::min(missing, others); ++b) {
      const int before = mine - 1 - missing + 2 * b;
      sum += std::exp(log_choices(mine - 1, missing - b) + log_choices(others, b) -
                      log_choices(n - 1, before) - std::log(1.0L * n));
    }
    return static_cast<double>(sum);
  }

  // The integral over t from 0 to 1 of what a player adds where every other is in the coalition
  // with probability t.
  std::vector<double> computed(int left, const std::vector<Kind>& kinds) {
    std::vector<double> values(kinds.size());
    chances_.resize(left);
    for (size_t k = 0; k < quadrature_.count; ++k) {
      for (size_t i = 0; i < kinds.size(); ++i) {
        std::fill(chances_.begin(), chances_.end(), 0.0);
        chances_[0] = 1;
        for (size_t l = 0; l < kinds.size(); ++l) {
          multiply(kinds[l].gap, kinds[l].count - (l == i), quadrature_.times[k]);
        }
        values[i] += quadrature_.weights[k] * gained(left, kinds[i].gap);
      }
    }
    return values;
  }

  // So many players more: chances of every number of misses below `left`.
  void multiply(int gap, int count, double t) {
    const double missing = gap > 0 ? 1 - t : t;
    const int size = gap > 0 ? gap : -gap, left = static_cast<int>(chances_.size());
    terms_.clear();
    double term = 1;
    for (int i = 0; i < count; ++i) term *= 1 - missing;
    for (int j = 0; j <= count && j * size < left; ++j) {
      terms_.push_back(term);
      term *= (count - j) * missing / ((j + 1) * (1 - missing));
    }
    for (int q = left; q-- > 0;) {
      double sum = 0;
      for (int j = 0; j < static_cast<int>(terms_.size()) && j * size <= q; ++j) {
        sum += terms_[j] * chances_[q - j * size];
      }
      chances_[q] = sum;
    }
  }

  // What a player's misses take away, on average.
  double gained(int left, int gap) const {
    const int size = gap > 0 ? gap : -gap;
    double sum = 0;
    for (int q = 0; q < left; ++q) sum += chances_[q] * std::min(size, left - q);
    return gap > 0 ? sum : -sum;
  }

  const Quadrature quadrature_;
  const int deepest_;
  std::vector<std::vector<Pair>> near_;
  std::unordered_map<uint64_t, std::vector<Pair>> far_;
  std::vector<long double> log_factorials_{0};
  std::map<std::vector<int>, std::vector<double>> known_;
  std::vector<double> chances_, terms_;
};

// One thread's work: all clauses, for some of the rows.
class Explainer {
 public:
  Explainer(const ClausePool& pool, const BitRows& rows, const BitRows& background,
            const Quadrature& quadrature)
      : pool_(pool), rows_(rows), background_(background), shares_(quadrature, most_of(pool)) {}

  void run(size_t first, size_t last, double* out) {
    for (size_t j = 0; j < pool_.clauses; ++j) {
      if (pool_.starts[j] == pool_.starts[j + 1]) continue;
      place_players(j);
      const bool units = pool_.most[j] == 1 || players_.size() == places_.size();
      count_misses(background_, 0, background_.count, theirs_);
      count_misses(rows_, first, last, mine_);
      if (units) pack_misses();
      for (size_t i = first; i < last; ++i) {
        gained_.assign(players_.size(), 0.0);
        if (units) {
          play_units(i - first);
        } else {
          play(i - first);
        }
        give(i, out);
      }
    }
  }

 private:
  static int most_of(const ClausePool& pool) {
    return pool.clauses ? *std::max_element(pool.most, pool.most + pool.clauses) : 0;
  }

  using Misses = std::vector<int>;  // of each row and player, at most `most_`

  void place_players(size_t j) {
    clause_ = j;
    most_ = pool_.most[j];
    places_.clear();
    players_.clear();
    for (int64_t k = pool_.starts[j]; k < pool_.starts[j + 1]; ++k) {
      if (players_.empty() || players_.back() != pool_.player_of[k]) {
        players_.push_back(pool_.player_of[k]);
      }
      places_.push_back(players_.size() - 1);
    }
    words_ = (players_.size() + 63) / 64;
  }

  void count_misses(const BitRows& rows, size_t first, size_t last, Misses& misses) const {
    const size_t begin = pool_.starts[clause_], width = players_.size();
    misses.assign((last - first) * width, 0);
    for (size_t i = first; i < last; ++i) {
      const uint8_t* bits = rows.bits + i * pool_.features;
      int* counts = misses.data() + (i - first) * width;
      for (size_t k = 0; k < places_.size(); ++k) {
        counts[places_[k]] += bits[pool_.feature_of[begin + k]] == pool_.negated[begin + k];
      }
      for (size_t p = 0; p < width; ++p) counts[p] = std::min(counts[p], most_);
    }
  }

  // Where no player misses more than one, a word has the misses of 64 players.
  void pack_misses() {
    pack(mine_, my_words_, my_counts_);
    pack(theirs_, their_words_, their_counts_);
  }

  void pack(const Misses& misses, std::vector<uint64_t>& words, std::vector<int>& counts) const {
    const size_t width = players_.size(), rows = misses.size() / width;
    words.assign(rows * words_, 0);
    counts.assign(rows, 0);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t p = 0; p < width; ++p) {
        const uint64_t miss = misses[i * width + p];
        words[i * words_ + p / 64] |= miss << (p % 64);
        counts[i] += static_cast<int>(miss);
      }
    }
  }

  void play_units(size_t i) {
    const uint64_t* mine = my_words_.data() + i * words_;
    for (size_t k = 0; k < background_.count; ++k) {
      const uint64_t* theirs = their_words_.data() + k * words_;
      int both = 0;
      for (size_t w = 0; w < words_ && both < most_; ++w) {
        const uint64_t common = mine[w] & theirs[w];
        if (common) both += std::popcount(common);
      }
      if (both >= most_) continue;
      const int better = their_counts_[k] - both, worse = my_counts_[i] - both;
      if (!better && !worse) continue;
      const Shares::Pair share = shares_.of(most_ - both, better, worse);
      for (size_t w = 0; w < words_; ++w) {
        add(theirs[w] & ~mine[w], w, share.better);
        add(mine[w] & ~theirs[w], w, share.worse);
      }
    }
  }

  void add(uint64_t players, size_t word, double share) {
    for (; players; players &= players - 1) {
      gained_[word * 64 + std::countr_zero(players)] += share;
    }
  }

  void play(size_t i) {
    const size_t width = players_.size();
    const int* mine = mine_.data() + i * width;
    for (size_t k = 0; k < background_.count; ++k) {
      const int* theirs = theirs_.data() + k * width;
      int left = most_;
      for (size_t p = 0; p < width; ++p) left -= std::min(mine[p], theirs[p]);
      if (left <= 0) continue;
      counts_.assign(2 * left + 1, 0);
      const auto gap = [&](size_t p) { return std::clamp(theirs[p] - mine[p], -left, left); };
      for (size_t p = 0; p < width; ++p) ++counts_[gap(p) + left];
      kinds_.clear();
      for (int value = -left; value <= left; ++value) {
        if (value && counts_[value + left]) kinds_.push_back({value, counts_[value + left]});
      }
      if (kinds_.empty()) continue;
      const std::vector<double>& values = shares_.of(left, kinds_);
      value_of_gap_.assign(2 * left + 1, 0.0);
      for (size_t n = 0; n < kinds_.size(); ++n) value_of_gap_[kinds_[n].gap + left] = values[n];
      for (size_t p = 0; p < width; ++p) gained_[p] += value_of_gap_[gap(p) + left];
    }
  }

  void give(size_t i, double* out) const {
    const double* weights = pool_.weights + clause_ * pool_.outputs;
    for (size_t p = 0; p < players_.size(); ++p) {
      if (gained_[p] == 0) continue;
      double* to = out + (i * pool_.players + players_[p]) * pool_.outputs;
      const double share = gained_[p] / static_cast<double>(background_.count);
      for (size_t output = 0; output < pool_.outputs; ++output) {
        to[output] += share * weights[output];
      }
    }
  }

  const ClausePool& pool_;
  const BitRows rows_, background_;
  Shares shares_;
  size_t clause_ = 0, words_ = 0;
  int most_ = 0;
  std::vector<size_t> places_;  // of each literal among the clause's players
  std::vector<int32_t> players_;
  Misses mine_, theirs_;
  std::vector<uint64_t> my_words_, their_words_;
  std::vector<int> my_counts_, their_counts_, counts_;
  std::vector<Kind> kinds_;
  std::vector<double> gained_, value_of_gap_;
};

}  // namespace

void shapley(const ClausePool& pool, const BitRows& rows, const BitRows& background,
             const Quadrature& quadrature, unsigned threads, double* out) {
  unsigned count = 1;
  run_threads(
      static_cast<unsigned>(std::clamp<size_t>(threads, 1, std::max<size_t>(1, rows.count))),
      [&](unsigned started) { count = started; },
      [&](unsigned t, Barrier&) {
        const size_t first = rows.count * t / count, last = rows.count * (t + 1) / count;
        if (first < last) Explainer(pool, rows, background, quadrature).run(first, last, out);
      });
}

}  // namespace cotm
