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
#include "kernels.hpp"

namespace cotm {

// What one clause owes, and its included literals that this could exclude.
struct Debt {
  uint32_t owed = 0;     // feedbacks put off so far,
  uint32_t limit = 0;    // of this many
  uint32_t watched = 0;  // literals
  Key* keys;             // of the feedbacks
  uint32_t* watch;       // see Watched
};

class Debts {
 public:
  Debts() = default;
  Debts(size_t clauses, size_t words);

  bool empty() const { return debts_.empty(); }
  Debt& operator[](size_t clause) { return debts_[clause]; }
  const Debt& operator[](size_t clause) const { return debts_[clause]; }

  // Starts anew from a row without debts.
  void start(size_t clause, const int8_t* row, const uint64_t* low);

  // Makes what stands behind the watched literals, up to a whole vector, never fall.
  static void fill_up(Debt& debt);

 private:
  size_t words_ = 0;
  uint32_t room_ = 0;  // literals a clause can watch
  std::vector<Debt> debts_;
  Buffer<Key> keys_;
  Buffer<uint32_t> watch_;
};

}  // namespace cotm
