// Matching of graded clauses, over the types that kernels.inl explains.
//
// What a clause says of 512 flat examples, or of some patches of 64 images, is a number of several
// bits for each: plane k is a bit vector with bit k of all of them. A clause starts with the most
// it can say and counts down by its misses; who would fall below 0 is silent.

// What is loaded from first_lanes + kBlockWords - n is n lanes of ones, then zeros.
alignas(64) static const uint64_t first_lanes[2 * kBlockWords] = {
    ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0},
    ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};

static inline Lanes lanes_from(const Window& window, uint32_t column) {
  const uint32_t rest = window.right - column + 1;
  return Lanes::load(first_lanes + kBlockWords - (rest < kLanes ? rest : kLanes));
}

// A number per bit of a vector. `alive` has the bits whose number has not fallen below 0. Planes
// whose number is known stay in registers; where it is not, kPlanes is 0.
template <class Words, uint32_t kPlanes = 0>
struct Countdown {
  Words planes[kPlanes ? kPlanes : kMostPlanes];
  uint32_t count = kPlanes;
  Words alive;

  uint32_t used() const { return kPlanes ? kPlanes : count; }

  // Takes away the number whose planes are `amounts`.
  void minus(const Words (&amounts)[3]) {
    Words borrow = Words::all(0);
    for (uint32_t k = 0; k < used(); ++k) {
      const Words from = planes[k];
      if (k < 3) {
        planes[k] = from ^ amounts[k] ^ borrow;
        borrow = (amounts[k] | borrow).without(from) | (amounts[k] & borrow);
      } else {
        planes[k] = from ^ borrow;
        borrow = borrow.without(from);
      }
    }
    for (uint32_t k = used(); k < 3; ++k) borrow = borrow | amounts[k];
    alive = alive.without(borrow);
  }

  // Counts the misses of a list. Returns the number of literals after which none was alive, or 0.
  uint32_t match(const uint32_t* offsets, uint32_t length, const uint64_t* words) {
    const Words ones = Words::all(~uint64_t{0}), none = Words::all(0);
    uint32_t i = 0;
    for (; i + kChunk <= length; i += kChunk) {
      static_assert(kChunk == 4);
      const Words a = ones.without(Words::load(words + offsets[i]));
      const Words b = ones.without(Words::load(words + offsets[i + 1]));
      const Words c = ones.without(Words::load(words + offsets[i + 2]));
      const Words d = ones.without(Words::load(words + offsets[i + 3]));
      const Words two = a ^ b, three = two ^ c;
      const Words carry = (a & b) | (two & c), again = three & d;
      minus({three ^ d, carry ^ again, carry & again});
      if (!alive.any()) return i + kChunk;
    }
    for (; i < length; ++i) minus({ones.without(Words::load(words + offsets[i])), none, none});
    return 0;
  }
};

// All planes but those of a number that is the same everywhere are zero or ones.
template <class Words, uint32_t kPlanes>
static inline void set_all(Countdown<Words, kPlanes>& numbers, uint32_t value) {
  for (uint32_t k = 0; k < numbers.used(); ++k) {
    numbers.planes[k] = Words::all(value >> k & 1 ? ~uint64_t{0} : 0);
  }
}

static uint32_t count_row_misses(const uint32_t* places, const uint64_t* masks, uint32_t count,
                                 const uint64_t* truth, uint32_t limit) {
  uint32_t misses = 0, i = 0;
  const auto missed = [&](uint32_t k) { return count_bits(masks[k] & ~truth[places[k]]); };
  for (; i + kChunk <= count; i += kChunk) {
    for (uint32_t k = 0; k < kChunk; ++k) misses += missed(i + k);
    if (misses >= limit) return misses;
  }
  for (; i < count; ++i) misses += missed(i);
  return misses;
}

template <uint32_t kPlanes>
static uint32_t grade_flat_as(const IncludeList& list, const uint64_t* words,
                              const uint64_t* examples, uint32_t most, uint32_t planes,
                              uint64_t* found) {
  Countdown<Octet, kPlanes> numbers;
  numbers.count = planes;
  numbers.alive = Octet::load(examples);
  set_all(numbers, most);
  const uint32_t ended = numbers.match(list.offsets, list.length, words);
  for (uint32_t k = 0; k < numbers.used(); ++k) {
    (numbers.planes[k] & numbers.alive).store(found + k * kBlockWords);
  }
  return ended;
}

static uint32_t grade_flat(const IncludeList& list, const uint64_t* words, const uint64_t* examples,
                           uint32_t most, uint32_t planes, uint64_t* found) {
  static constexpr decltype(&grade_flat_as<0>) grade[] = {
      grade_flat_as<0>, grade_flat_as<1>, grade_flat_as<2>, grade_flat_as<3>, grade_flat_as<4>,
      grade_flat_as<5>, grade_flat_as<6>, grade_flat_as<7>, grade_flat_as<8>};
  return grade[planes <= 8 ? planes : 0](list, words, examples, most, planes, found);
}

// 2^k as 16 bits, in every lane.
struct Powers {
  alignas(64) int16_t of[16][kVoteLanes] = {};
  constexpr Powers() {
    for (uint32_t k = 0; k < 16; ++k) {
      for (size_t lane = 0; lane < kVoteLanes; ++lane) of[k][lane] = static_cast<int16_t>(1u << k);
    }
  }
};
static constexpr Powers powers;

static void count_misses(const IncludeList& list, const uint64_t* words, uint16_t* counts) {
  static_assert(kChunk == 4);
  const Octet ones = Octet::all(~uint64_t{0}), none = Octet::all(0);
  const auto misses = [&](uint32_t i) {
    return i < list.length ? ones.without(Octet::load(words + list.offsets[i])) : none;
  };
  Octet planes[16];  // of the counts; those from `used` on are 0 so far
  uint32_t used = 0;
  for (uint32_t i = 0; i < list.length; i += kChunk) {
    const Octet a = misses(i), b = misses(i + 1), c = misses(i + 2), d = misses(i + 3);
    const Octet two = a ^ b, three = two ^ c;
    const Octet carry2 = (a & b) | (two & c), again = three & d;
    const Octet amounts[3] = {three ^ d, carry2 ^ again, carry2 & again};
    for (; used < 16 && i + kChunk >= uint32_t{1} << used; ++used) planes[used] = none;
    Octet carry = none;
    for (uint32_t k = 0; k < used; ++k) {
      const Octet from = planes[k];
      if (k < 3) {
        const Octet half = from ^ amounts[k];
        planes[k] = half ^ carry;
        carry = (from & amounts[k]) | (half & carry);
      } else {
        planes[k] = from ^ carry;
        carry = from & carry;
      }
    }
  }
  alignas(64) uint64_t found[16][kBlockWords];
  for (uint32_t k = 0; k < used; ++k) planes[k].store(found[k]);
  for (size_t e = 0; e < 64 * kBlockWords; e += kVoteLanes) {
    VoteSum sum = VoteSum::zero();
    for (uint32_t k = 0; k < used; ++k) sum = sum.plus(powers.of[k], VoteMask::from(found[k], e));
    sum.store(reinterpret_cast<int16_t*>(counts + e));
  }
}

static void move_counts(const uint64_t* examples, size_t first, size_t end, int16_t amount,
                        uint16_t* counts) {
  alignas(64) int16_t amounts[kVoteLanes];
  for (size_t lane = 0; lane < kVoteLanes; ++lane) amounts[lane] = amount;
  for (size_t e = first / kVoteLanes * kVoteLanes; e < end; e += kVoteLanes) {
    int16_t* at = reinterpret_cast<int16_t*>(counts + e);
    VoteSum::load(at).plus(amounts, VoteMask::from(examples, e)).store(at);
  }
}

static void grade_counts(const uint16_t* counts, size_t step, const uint16_t* most, size_t count,
                         uint16_t* grades, uint64_t* fires) {
  for (size_t first = 0; first < count; first += 64) {
    alignas(64) uint16_t misses[64];
    const size_t here = count - first < 64 ? count - first : 64;
    for (size_t j = 0; j < here; ++j) misses[j] = counts[(first + j) * step];
    for (size_t j = here; j < 64; ++j) misses[j] = 0xFFFF;
    fires[first / 64] = less_misses(misses, most + first, grades + first);
  }
}

// What a clause says of the patches side by side from a row and column on: its planes, of which
// only `alive` counts. Returns whether any is alive.
static inline bool grade_patches(const IncludeList& list, const uint64_t* words, size_t row_step,
                                 uint32_t row, uint32_t column, uint64_t examples, uint32_t most,
                                 Countdown<Lanes>& numbers) {
  alignas(64) uint64_t start[kMostPlanes + 1][kBlockWords] = {};
  uint64_t* alive = start[kMostPlanes];
  for (uint32_t lane = 0; lane < kLanes && column + lane <= list.window.right; ++lane) {
    const uint32_t misses = list.row_misses[row] + list.column_misses[column + lane];
    if (misses >= most) continue;
    alive[lane] = examples;
    for (uint32_t k = 0; k < numbers.count; ++k) {
      start[k][lane] = (most - misses) >> k & 1 ? ~uint64_t{0} : 0;
    }
  }
  for (uint32_t k = 0; k < numbers.count; ++k) numbers.planes[k] = Lanes::load(start[k]);
  numbers.alive = Lanes::load(alive);
  if (!numbers.alive.any()) return false;
  return !numbers.match(list.offsets, list.length, words + row * row_step + column) &&
         numbers.alive.any();
}

static void grade_window(const IncludeList& list, const uint64_t* words, size_t row_step,
                         uint64_t examples, uint32_t most, uint32_t planes, uint64_t* found) {
  Countdown<Lanes> numbers;
  numbers.count = planes;
  Lanes best[kMostPlanes];
  for (uint32_t k = 0; k < planes; ++k) best[k] = Lanes::all(0);
  for (uint32_t row = 0; row <= list.window.bottom; ++row) {
    if (list.row_misses[row] >= most) continue;
    for (uint32_t column = 0; column <= list.window.right; column += kLanes) {
      if (!grade_patches(list, words, row_step, row, column, examples, most, numbers)) continue;
      Lanes greater = Lanes::all(0), equal = numbers.alive;
      for (uint32_t k = planes; k-- > 0;) {
        const Lanes differ = numbers.planes[k] ^ best[k];
        greater = greater | (equal & differ & numbers.planes[k]);
        equal = equal.without(differ);
      }
      for (uint32_t k = 0; k < planes; ++k) {
        best[k] = best[k].without(greater) | (numbers.planes[k] & greater);
      }
    }
  }
  // The largest of the lanes.
  alignas(64) uint64_t lanes[kMostPlanes][kBlockWords];
  for (uint32_t k = 0; k < planes; ++k) {
    best[k].store(lanes[k]);
    found[k] = lanes[k][0];
  }
  for (uint32_t lane = 1; lane < kLanes; ++lane) {
    uint64_t greater = 0, equal = ~uint64_t{0};
    for (uint32_t k = planes; k-- > 0;) {
      const uint64_t differ = lanes[k][lane] ^ found[k];
      greater |= equal & differ & lanes[k][lane];
      equal &= ~differ;
    }
    for (uint32_t k = 0; k < planes; ++k) {
      found[k] = (found[k] & ~greater) | (lanes[k][lane] & greater);
    }
  }
}

static size_t find_graded(const IncludeList& list, const uint64_t* words, size_t row_step,
                          uint32_t columns, unsigned example, uint32_t most, uint32_t planes,
                          uint32_t grade, uint32_t* patches) {
  Countdown<Lanes> numbers;
  numbers.count = planes;
  size_t found = 0;
  for (uint32_t row = 0; row <= list.window.bottom; ++row) {
    if (list.row_misses[row] >= most) continue;
    for (uint32_t column = 0; column <= list.window.right; column += kLanes) {
      if (!grade_patches(list, words, row_step, row, column, uint64_t{1} << example, most,
                         numbers)) {
        continue;
      }
      Lanes equal = numbers.alive;
      for (uint32_t k = 0; k < planes; ++k) {
        equal = grade >> k & 1 ? equal & numbers.planes[k] : equal.without(numbers.planes[k]);
      }
      for (uint32_t bits = equal.lanes_with_bit(example); bits; bits &= bits - 1) {
        patches[found++] = row * columns + column + lowest_bit(bits);
      }
    }
  }
  return found;
}
