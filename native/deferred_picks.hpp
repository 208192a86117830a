// Sampled forgetting that is put off, where rows are long.
//
// A clause that does not fire forgets a few literals anywhere in its row. Where the rows of all
// clauses do not fit the caches, fetching the line of each literal costs more than passing over the
// whole row; so a clause only keeps the keys, until it fires or owes enough, and takes all their
// picks at once with the row in the cache. An included literal loses its 1 at once, because it may
// leave the clause: a filter, which is small, tells the few picks that may be such. The rest can
// only fall further below the edge, in any order.
#pragma once

#include <vector>

#include "clauses.hpp"

namespace cotm {

// How many picks a key makes.
inline uint32_t pick_count(const Spec& spec, Key key) {
  const uint64_t more = hash32(key, 0xFFFFFFFFu) >> 16;  // whether there is one pick more
  const uint64_t picks = static_cast<uint64_t>(spec.picks);
  return static_cast<uint32_t>(picks / 65536 + (more < picks % 65536));
}

// What one thread's clauses owe.
class DeferredPicks {
 public:
  // Nothing is put off where rows are short.
  DeferredPicks(Clauses& clauses, ClauseRange range);

  bool is_used() const { return !debts_.empty(); }

  // Owes the picks of a key. Appends the literals they exclude.
  void put_off(uint32_t local, Key key, std::vector<uint32_t>& excluded);
  // Takes all picks that a clause owes.
  void pay(uint32_t local);
  // Literals joined a clause that owes nothing.
  void joined(uint32_t local, const std::vector<uint32_t>& literals);

  void prefetch(uint32_t local) const {
    prefetch_to_write(filter(local), (clauses_.words + kCacheLine - 1) / kCacheLine);
  }

 private:
  struct Debt {
    uint32_t keys = 0;   // owed
    uint32_t taken = 0;  // of their picks, from included literals
    uint32_t paid = 0;   // times
  };

  // A bit per eight literals: one of them may be included.
  uint8_t* filter(uint32_t local) { return filters_.data() + local * clauses_.words; }
  const uint8_t* filter(uint32_t local) const { return filters_.data() + local * clauses_.words; }
  void set_filter(uint32_t local);

  Clauses& clauses_;
  ClauseRange range_;
  uint32_t most_taken_ = 0;
  std::vector<Debt> debts_;  // empty if nothing is put off
  Buffer<Key> keys_;         // [clause][kMostKeys]
  Buffer<uint32_t> taken_;   // [clause][most_taken_]: their literals
  Buffer<uint8_t> filters_;  // [clause][words]
  Buffer<uint64_t> include_;
};

}  // namespace cotm
