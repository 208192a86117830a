#include "deferred_picks.hpp"

#include <algorithm>

#include "bits.hpp"

namespace cotm {

namespace {

constexpr size_t kLongRow = 64;        // words of literals from which putting off pays
constexpr uint32_t kMostKeys = 16;     // that a clause owes
constexpr uint32_t kMostPicks = 8192;  // of a key
constexpr uint32_t kBatch = 256;       // picks that are made at once
constexpr uint32_t kRenewFilter = 8;   // payments until literals that left are no longer in it

}  // namespace

DeferredPicks::DeferredPicks(Clauses& clauses, ClauseRange range)
    : clauses_(clauses), range_(range) {
  const Spec& spec = clauses.spec;
  if (!spec.is_sampled() || !clauses.layout.is_flat() || clauses.words < kLongRow) return;
  if (spec.picks / 65536 >= kMostPicks) return;
  most_taken_ = 2 * static_cast<uint32_t>(spec.picks / 65536 + 1);
  debts_.resize(range.count);
  keys_ = Buffer<Key>(size_t{range.count} * kMostKeys);
  taken_ = Buffer<uint32_t>(size_t{range.count} * most_taken_);
  filters_ = Buffer<uint8_t>(range.count * clauses.words);
  include_ = Buffer<uint64_t>(clauses.words);
  for (uint32_t j = 0; j < range.count; ++j) set_filter(j);
}

void DeferredPicks::set_filter(uint32_t local) {
  clauses_.kernels.include_bits(clauses_.row(range_.first + local), clauses_.words,
                                include_.data());
  uint8_t* const filter = this->filter(local);
  for (size_t w = 0; w < clauses_.words; ++w) {
    uint64_t x = include_[w];
    x |= x >> 4;
    x |= x >> 2;
    x |= x >> 1;
    // The product moves the lowest bit of byte k to bit 56 + k.
    filter[w] = static_cast<uint8_t>((x & 0x0101010101010101u) * 0x0102040810204080u >> 56);
  }
}

void DeferredPicks::joined(uint32_t local, const std::vector<uint32_t>& literals) {
  if (!is_used()) return;
  uint8_t* const filter = this->filter(local);
  for (const uint32_t l : literals) {
    filter[l / 64] = static_cast<uint8_t>(filter[l / 64] | 1u << (l / 8 % 8));
  }
}

void DeferredPicks::put_off(uint32_t local, Key key, std::vector<uint32_t>& excluded) {
  const uint32_t count = pick_count(clauses_.spec, key);
  if (debts_[local].keys == kMostKeys || debts_[local].taken + count > most_taken_) pay(local);
  Debt& debt = debts_[local];
  keys_[local * kMostKeys + debt.keys++] = key;
  int8_t* const entries = clauses_.row(range_.first + local);
  uint32_t* const taken = taken_.data() + size_t{local} * most_taken_;
  const uint8_t* const filter = this->filter(local);
  uint32_t literals[kBatch], found[kBatch];
  for (uint32_t first = 0; first < count; first += kBatch) {
    const uint32_t here = std::min(count - first, kBatch);
    clauses_.kernels.pick(key, first, here, clauses_.spec.grid.n_features(), literals);
    uint32_t hits = 0;
    for (uint32_t k = 0; k < here; ++k) {  // without branches: which of them hit is random
      const uint32_t l = literals[k];
      found[hits] = l;
      hits += filter[l / 64] >> (l / 8 % 8) & 1;
    }
    for (uint32_t k = 0; k < hits; ++k) prefetch_to_write(entries + found[k]);
    for (uint32_t k = 0; k < hits; ++k) {
      int8_t& entry = entries[found[k]];
      if (entry < 0 || !has_bit(clauses_.awake.data(), found[k])) continue;
      taken[debt.taken++] = found[k];
      if (entry-- == 0) excluded.push_back(found[k]);
    }
  }
}

void DeferredPicks::pay(uint32_t local) {
  if (!is_used() || !debts_[local].keys) return;
  Debt& debt = debts_[local];
  int8_t* const entries = clauses_.row(range_.first + local);
  prefetch_to_write(entries, clauses_.words);
  // What was taken at once is given back, and taken with the rest.
  const uint32_t* const taken = taken_.data() + size_t{local} * most_taken_;
  for (uint32_t k = 0; k < debt.taken; ++k) ++entries[taken[k]];
  const int8_t floor = static_cast<int8_t>(-clauses_.spec.N);
  uint32_t literals[kBatch];
  for (uint32_t i = 0; i < debt.keys; ++i) {
    const Key key = keys_[local * kMostKeys + i];
    const uint32_t count = pick_count(clauses_.spec, key);
    for (uint32_t first = 0; first < count; first += kBatch) {
      const uint32_t here = std::min(count - first, kBatch);
      clauses_.kernels.pick(key, first, here, clauses_.spec.grid.n_features(), literals);
      for (uint32_t k = 0; k < here; ++k) {
        int8_t& entry = entries[literals[k]];
        const bool awake = has_bit(clauses_.awake.data(), literals[k]);
        entry = static_cast<int8_t>(entry - (awake & (entry != floor)));
      }
    }
  }
  debt.keys = debt.taken = 0;
  if (++debt.paid % kRenewFilter == 0) set_filter(local);
}

}  // namespace cotm
