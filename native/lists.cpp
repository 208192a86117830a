#include "lists.hpp"

#include <algorithm>
#include <bit>

namespace cotm {

ClauseLists::ClauseLists(size_t clauses, uint32_t filler)
    : filler_(filler), tails_(clauses, Tail{nullptr, 0, 0}), storage_(clauses) {
  if (filler <= UINT16_MAX) {
    narrow_ = Buffer<uint16_t>(clauses * kHead);
    std::fill_n(narrow_.data(), clauses * kHead, static_cast<uint16_t>(filler));
  } else {
    wide_ = Buffer<uint32_t>(clauses * kHead);
    std::fill_n(wide_.data(), clauses * kHead, filler);
  }
}

void ClauseLists::reserve(size_t clause, uint32_t length) {
  Tail& tail = tails_[clause];
  if (length <= tail.capacity) return;
  Buffer<uint32_t> grown(std::bit_ceil(length));
  std::copy_n(tail.literals, tail.length, grown.data());
  tail.capacity = static_cast<uint32_t>(grown.size());
  tail.literals = grown.data();
  storage_[clause] = std::move(grown);
}

// Literals that stay keep their order, so that what the kernels learned is not lost.
template <class Head>
void ClauseLists::edit_as(Head* head, size_t clause, const uint64_t* include,
                          const uint64_t* flipped, size_t words) {
  Tail& tail = tails_[clause];
  uint32_t kept = 0, added = 0;
  for (size_t w = 0; w < words; ++w) {
    // Nearly all words are 0, and counting is a call where the processor may lack it.
    if (flipped[w] & include[w]) {
      added += static_cast<uint32_t>(std::popcount(flipped[w] & include[w]));
    }
  }
  reserve(clause, (tail.length + added + kChunk - 1) / kChunk * kChunk);
  const auto put = [&](uint32_t literal) {
    if (kept < kHead) {
      head[kept] = static_cast<Head>(literal);
    } else {
      tail.literals[kept - kHead] = literal;
    }
    ++kept;
  };
  const auto keep = [&](uint32_t literal) {
    if (literal != filler_ && !(flipped[literal / 64] >> (literal % 64) & 1)) put(literal);
  };
  for (uint32_t i = 0; i < kHead; ++i) keep(head[i]);
  for (uint32_t i = 0; i < tail.length; ++i) keep(tail.literals[i]);
  for (size_t w = 0; w < words; ++w) {
    for (uint64_t bits = flipped[w] & include[w]; bits; bits &= bits - 1) {
      put(static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(bits)));
    }
  }
  while (kept < kHead || kept % kChunk) put(filler_);
  tail.length = kept - kHead;
}

void ClauseLists::edit(size_t clause, const uint64_t* include, const uint64_t* flipped,
                       size_t words) {
  if (narrow()) {
    edit_as(narrow_.data() + clause * kHead, clause, include, flipped, words);
  } else {
    edit_as(wide_.data() + clause * kHead, clause, include, flipped, words);
  }
}

void ClauseLists::assign(size_t clause, const std::vector<uint32_t>& literals) {
  const size_t length = std::max<size_t>(kHead, (literals.size() + kChunk - 1) / kChunk * kChunk);
  reserve(clause, static_cast<uint32_t>(length - kHead));
  for (size_t i = 0; i < length; ++i) {
    const uint32_t literal = i < literals.size() ? literals[i] : filler_;
    if (i >= kHead) {
      tails_[clause].literals[i - kHead] = literal;
    } else if (narrow()) {
      narrow_[clause * kHead + i] = static_cast<uint16_t>(literal);
    } else {
      wide_[clause * kHead + i] = literal;
    }
  }
  tails_[clause].length = static_cast<uint32_t>(length - kHead);
}

std::vector<uint32_t> ClauseLists::literals(size_t clause) const {
  std::vector<uint32_t> found;
  const Tail& tail = tails_[clause];
  for (size_t i = 0; i < kHead + tail.length; ++i) {
    const uint32_t literal = i >= kHead ? tail.literals[i - kHead]
                             : narrow() ? narrow_[clause * kHead + i]
                                        : wide_[clause * kHead + i];
    if (literal != filler_) found.push_back(literal);
  }
  return found;
}

void ClauseLists::match_patches(const Kernels& kernels, size_t first, size_t count,
                                const PatchMasks& masks, uint64_t* any, uint64_t* left) {
  if (narrow()) {
    kernels.match_narrow(narrow_.data() + first * kHead, tails_.data() + first, count, masks, any,
                         left);
  } else {
    kernels.match_wide(wide_.data() + first * kHead, tails_.data() + first, count, masks, any,
                       left);
  }
}

void ClauseLists::match_patches_fixed(const Kernels& kernels, const PatchMasks& masks,
                                      uint64_t* any, uint64_t* left) const {
  if (narrow()) {
    kernels.match_narrow_fixed(narrow_.data(), tails_.data(), size(), masks, any, left);
  } else {
    kernels.match_wide_fixed(wide_.data(), tails_.data(), size(), masks, any, left);
  }
}

void ClauseLists::match_block(const Kernels& kernels, size_t clause, const uint64_t* masks,
                              const uint64_t* valid, uint64_t* found) const {
  if (narrow()) {
    kernels.match_block_narrow(narrow_.data() + clause * kHead, tails_[clause], masks, valid,
                               found);
  } else {
    kernels.match_block_wide(wide_.data() + clause * kHead, tails_[clause], masks, valid, found);
  }
}

}  // namespace cotm
