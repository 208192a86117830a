#include "deferred_forgetting.hpp"

#include "bits.hpp"

namespace cotm {

namespace {

constexpr size_t kLongRow = 8;  // words of literals from which putting off pays

}  // namespace

DeferredForgetting::DeferredForgetting(Clauses& clauses, ClauseRange range, Matcher& matcher)
    : clauses_(clauses), range_(range), matcher_(matcher) {
  const size_t words = clauses.words;
  if (!clauses.layout.is_flat() || words < kLongRow || clauses.spec.is_sampled()) return;
  if (clauses.row_entries() > Watched::kLiterals) return;
  // The misses of a clause of so many literals are found from its row, which must not be behind.
  if (matcher.counts_misses() && clauses.row_entries() > 0xFFFF) return;
  room_ = static_cast<uint32_t>((2 * words + kWatchLanes - 1) / kWatchLanes * kWatchLanes);
  debts_.resize(range.count);
  left_.reserve(room_);
  keys_ = Buffer<Key>(size_t{range.count} * kMostOwed);
  watch_ = Buffer<uint32_t>(size_t{range.count} * room_ + kWatchLanes);
  for (size_t j = 0; j < range.count; ++j) {
    debts_[j].keys = keys_.data() + j * kMostOwed;
    debts_[j].watch = watch_.data() + j * room_;
  }
}

void DeferredForgetting::start(uint32_t local, const uint64_t* near_edge) {
  const int8_t* row = clauses_.row(range_.first + local);
  Debt& debt = debts_[local];
  debt.owed = debt.limit = debt.watched = 0;
  uint32_t watched = 0;
  for (size_t w = 0; w < clauses_.words; ++w) {
    for (const uint32_t k : SetBits{near_edge[w] & clauses_.awake[w]}) {
      const size_t l = 64 * w + k;
      if (watched == room_) return;  // too many near the edge: nothing is put off
      debt.watch[watched++] = Watched::make(static_cast<uint32_t>(l), row[l]);
    }
  }
  debt.limit = kMostOwed;
  debt.watched = watched;
  pad(debt);
}

void DeferredForgetting::exclude(uint32_t local) {
  Debt& debt = debts_[local];
  uint32_t kept = 0;
  left_.clear();
  for (uint32_t i = 0; i < debt.watched; ++i) {
    const uint32_t word = debt.watch[i];
    if (Watched::crossed_edge(word)) {
      left_.push_back(Watched::literal(word));
    } else {
      debt.watch[kept++] = word;
    }
  }
  debt.watched = kept;
  pad(debt);
  if (matcher_.counts_misses()) return matcher_.move(local, {}, left_);
  for (const uint32_t literal : left_) clauses_.lists.remove(range_.first + local, literal);
  matcher_.list_changed(local, {.added = false, .removed = true});
}

void DeferredForgetting::pad(Debt& debt) {
  for (uint32_t i = debt.watched; i % kWatchLanes; ++i) {
    debt.watch[i] = Watched::make(0, 2 * kMostOwed);
  }
}

}  // namespace cotm
