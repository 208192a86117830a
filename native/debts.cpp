#include "debts.hpp"

#include <bit>

namespace cotm {

Debts::Debts(size_t clauses, size_t words)
    : words_(words),
      room_(static_cast<uint32_t>((2 * words + kSome - 1) / kSome * kSome)),
      debts_(clauses),
      keys_(clauses * kLow),
      watch_(clauses * room_ + kSome) {
  for (size_t j = 0; j < clauses; ++j) {
    debts_[j].keys = keys_.data() + j * kLow;
    debts_[j].watch = watch_.data() + j * room_;
  }
}

void Debts::start(size_t clause, const int8_t* row, const uint64_t* low) {
  Debt& debt = debts_[clause];
  debt.owed = debt.limit = debt.watched = 0;
  uint32_t watched = 0;
  for (size_t w = 0; w < words_; ++w) {
    for (uint64_t bits = low[w]; bits; bits &= bits - 1) {
      const size_t l = 64 * w + static_cast<size_t>(std::countr_zero(bits));
      if (watched == room_) return;  // too many at the edge: nothing is put off
      debt.watch[watched++] = Watched::make(static_cast<uint32_t>(l), row[l]);
    }
  }
  debt.limit = kLow;
  debt.watched = watched;
  fill_up(debt);
}

void Debts::fill_up(Debt& debt) {
  for (uint32_t i = debt.watched; i % kSome; ++i) debt.watch[i] = Watched::make(0, 2 * kLow);
}

}  // namespace cotm
