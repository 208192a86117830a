// Feedback to the memory rows of one thread's clauses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "deferred_forgetting.hpp"
#include "deferred_picks.hpp"

namespace cotm {

class RowUpdater {
  // Some of a key's picks. They are made, and the entries fetched, while those before are taken.
  struct Picks {
    static constexpr uint32_t kMost = 256;
    uint32_t local = 0, count = 0;
    bool last = false;  // of the key
    uint32_t literals[kMost];
  };

 public:
  RowUpdater(Clauses& clauses, ClauseRange range, Matcher& matcher);

  // What is not feedback yet: the caller adds Types I and II.
  Feedback no_feedback(uint32_t clause) const {
    const Spec& spec = clauses_.spec;
    return {.q = spec.q,
            .N = spec.N,
            .top = spec.top(),
            .boost_true_positive = spec.boost_true_positive,
            .grows = !spec.growth_limit || clauses_.lists.literals(clause) <= spec.growth_limit,
            .graded = spec.is_graded()};
  }

  // One output's Type I to a clause that did not fire, where forgetting is sampled: takes 1 from
  // the literals that are picked, at the latest in `forget_rest`.
  void forget_some(uint32_t local, Key key);
  void forget_rest();

  // One output's Type I to a clause that did not fire, if it can be put off; else use `update`.
  bool can_put_off_one(uint32_t local) const { return deferred_.can_put_off(local, 1); }
  void put_off(uint32_t local, Key key) { deferred_.put_off(local, key); }

  // Gives feedback now, or puts it off. Keeps the limit on literals and the clause's list.
  void update(uint32_t local, Feedback& feedback, uint64_t step_key);

  // Gives all feedback that was put off.
  void pay_all();

  // Fetches into the cache what the feedback to a clause will read. Rows are visited at random, so
  // the processor does not foresee them; of a long one it fetches the rest by itself once it has
  // seen the beginning.
  void prefetch(uint32_t local, bool fires) const {
    constexpr size_t kLines = 32;
    if (!fires && clauses_.spec.is_sampled()) {
      if (picks_owed_.is_used()) picks_owed_.prefetch(local);
      return;  // it reads a few entries anywhere
    }
    if (deferred_.is_used()) {
      deferred_.prefetch(local);
      if (!fires) return;
    }
    prefetch_to_write(row(local), std::min(clauses_.words, kLines));
  }

 private:
  int8_t* row(uint32_t local) const { return clauses_.row(range_.first + local); }
  RowBits bits() { return {include_.data(), flipped_.data(), near_edge_.data()}; }
  bool give(const Feedback& feedback, int8_t* row);
  bool give_wide(const Feedback& feedback, int8_t* row);
  bool give_plain(const Feedback& feedback, int8_t* row);
  void update_plain(uint32_t local, const Feedback& feedback, uint64_t step_key);
  void forget(const Picks& picks);
  void move_flipped(uint32_t local);
  void literals_flipped(uint32_t local, const std::vector<uint32_t>& joined,
                        const std::vector<uint32_t>& left);
  void pay(uint32_t local);
  void limit_literals(uint32_t clause, int8_t* row, uint64_t step_key);
  void choose_admitted(uint32_t clause, size_t room, uint64_t step_key);

  Clauses& clauses_;
  ClauseRange range_;
  Matcher& matcher_;
  DeferredForgetting deferred_;
  DeferredPicks picks_owed_;
  std::vector<uint64_t> include_, flipped_, near_edge_;  // see RowBits
  std::vector<uint32_t> changed_;                        // words of flipped_ that are not zero
  std::vector<uint32_t> joined_, left_;                  // literals that flipped by feedback
  std::vector<uint32_t> excluded_;                       // by a key's picks
  Picks picks_[2];
  bool turn_ = false;                                      // which of the two is the next
  std::vector<uint64_t> admitted_;                         // new literals of a clause nearly full
  std::vector<std::pair<uint32_t, uint32_t>> candidates_;  // for these: hash and literal
};

}  // namespace cotm
