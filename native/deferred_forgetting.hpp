// Forgetting that is put off.
//
// Most feedback is one output's Type I to a clause that did not fire: it takes 1 from every
// literal with probability 1/s, and so can do no more than exclude a literal that stands just
// above the edge. Those few are watched and follow at once; the rest of the row is paid when
// the next feedback of another kind reads it, all debts in one pass. The draws are keyed, so
// the result is the same to the bit.
#pragma once

#include <vector>

#include "buffer.hpp"
#include "matcher.hpp"

namespace cotm {

// What one thread's clauses owe.
class DeferredForgetting {
 public:
  // Nothing is ever put off where rows are short: they cost less than keeping account of debts.
  DeferredForgetting(Clauses& clauses, ClauseRange range, Matcher& matcher);

  bool is_used() const { return !debts_.empty(); }

  // Whether a clause can owe so many feedbacks more.
  bool can_put_off(uint32_t local, uint32_t more) const {
    return is_used() && debts_[local].owed + more <= debts_[local].limit;
  }
  void put_off(uint32_t local, Key key) {
    Debt& debt = debts_[local];
    debt.keys[debt.owed++] = key;
    if (clauses_.kernels.forget_watched(key, clauses_.spec.q, debt.watched, debt.watch)) {
      exclude(local);
    }
  }

  // Adds to a clause's feedback what the clause owes.
  void add_owed(uint32_t local, Feedback& feedback) const {
    if (!is_used()) return;
    feedback.owed_keys = debts_[local].keys;
    feedback.owed = debts_[local].owed;
  }

  // After the row has been paid: either debts start anew, from the included literals near the edge,
  // or nothing is put off until they do.
  void start(uint32_t local, const uint64_t* near_edge);
  void stop(uint32_t local) { debts_[local].owed = debts_[local].limit = 0; }

  void prefetch(uint32_t local) const {
    const Debt& debt = debts_[local];
    prefetch_to_write(debt.keys, 1);
    prefetch_to_write(debt.watch, (debt.watched + 15) / 16);
  }

 private:
  // What one clause owes, and its included literals that this could exclude.
  struct Debt {
    uint32_t owed = 0;     // feedbacks put off so far,
    uint32_t limit = 0;    // of this many
    uint32_t watched = 0;  // literals
    Key* keys;             // of the feedbacks
    uint32_t* watch;       // see Watched
  };

  // Takes watched literals that crossed the edge out of the clause.
  void exclude(uint32_t local);

  // Pads the watch list to a whole vector with literals that never cross the edge.
  static void pad(Debt& debt);

  Clauses& clauses_;
  ClauseRange range_;
  Matcher& matcher_;
  uint32_t room_ = 0;           // literals a clause can watch
  std::vector<Debt> debts_;     // empty if nothing is put off
  std::vector<uint32_t> left_;  // literals that crossed the edge
  Buffer<Key> keys_;
  Buffer<uint32_t> watch_;
};

}  // namespace cotm
