// Which clauses get which feedback, from which outputs.
#pragma once

#include <cstdint>
#include <vector>

#include "bits.hpp"
#include "train_task.hpp"
#include "weights.hpp"

namespace cotm {

// What the outputs that are asked want on the current example: more votes or fewer, and how far
// they are from enough, in votes. 2T are as far as can be. All by place, as the votes are.
class Wishes {
 public:
  Wishes(const Spec& spec, uint32_t width) : spec_(spec), wanted_(width), distance_(width) {}

  void make(const Asked& asked, const int64_t* votes);

  const uint8_t* wanted() const { return wanted_.data(); }  // 1: more votes
  uint64_t distance(uint32_t place) const { return distance_[place]; }

 private:
  const Spec& spec_;
  std::vector<uint8_t> wanted_;
  std::vector<uint64_t> distance_;
};

// The pairs of an output and one thread's clause that were selected on the current example.
class Selection {
 public:
  // asleep: a bit per local clause, those that get no feedback in this pass.
  // width: the most outputs that are asked.
  Selection(const Spec& spec, const Kernels& kernels, ClauseRange range, const uint64_t* asleep,
            uint32_t width);

  // votes: of all clauses, by place. fires: a bit per local clause.
  void select(const Asked& asked, const int64_t* votes, const Wishes& wishes, const uint64_t* scale,
              const uint64_t* fires, const ClauseWeights& weights, uint64_t step_key);

  // The local clauses that get feedback, in order.
  const std::vector<uint32_t>& chosen() const { return chosen_; }

  // Of such a clause: whether more than one output chose it, which is rare, and the first of them,
  // by its place.
  bool by_several(uint32_t local) const { return has_bit(chosen_again_.data(), local); }
  uint32_t first_place(uint32_t local) const { return active_[chooser_[local]]; }

  // Calls visit(place, gives Type I, gives Type II) for the outputs that chose a clause, and
  // perhaps for some that did not.
  template <class Visit>
  void for_each_place(uint32_t local, Visit visit) const {
    const size_t first = chooser_[local], end = by_several(local) ? active_.size() : first + 1;
    const uint64_t bit = bit_of(local);
    const uint64_t* type1 = type1_.data() + first * words_ + local / 64;
    const uint64_t* type2 = type2_.data() + first * words_ + local / 64;
    for (size_t a = first; a < end; ++a, type1 += words_, type2 += words_) {
      visit(active_[a], *type1 & bit, *type2 & bit);
    }
  }

 private:
  // The output with target 0 that may give feedback, where one is drawn, by its place; `count` if
  // there is none.
  uint32_t draw_negative(uint32_t count, const int64_t* votes, const uint8_t* target,
                         uint64_t step_key) const;

  // Takes back the selection of clauses that the output does not own.
  void keep_owned(uint32_t output, uint64_t* type1, uint64_t* type2) const;

  const Spec& spec_;
  const Kernels& kernels_;
  ClauseRange range_;
  const uint64_t* asleep_;
  size_t words_;                                      // of a bit per local clause
  std::vector<uint32_t> active_;                      // places of outputs with a threshold above 0
  std::vector<uint64_t> type1_, type2_;               // [active][words]
  std::vector<uint64_t> chosen_once_, chosen_again_;  // by an output, and by a second one
  std::vector<uint32_t> chooser_;  // per local clause: the first active output that chose it
  std::vector<uint32_t> chosen_;
};

}  // namespace cotm
