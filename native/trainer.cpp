#include "trainer.hpp"

#include <algorithm>
#include <cstdlib>

#include "bits.hpp"

namespace cotm {

namespace {

constexpr size_t kAhead = 6;  // clauses between fetching a row and using it

// The clauses of one thread of several.
ClauseRange split(uint32_t n, unsigned thread, unsigned threads) {
  const uint32_t first = static_cast<uint32_t>(uint64_t{n} * thread / threads);
  return {first, static_cast<uint32_t>(uint64_t{n} * (thread + 1) / threads) - first};
}

// A bit per clause: whether it neither votes nor learns in the pass that begins at a step.
std::vector<uint64_t> dropped(const Clauses& clauses, ClauseRange range, uint64_t step) {
  const Spec& spec = clauses.spec;
  std::vector<uint64_t> asleep(range.words());
  const Key key = make_key(step_key(spec.seed, step), Purpose::clauses, 0, 0);
  clauses.kernels.select(key, range.first, range.count, spec.drop_clauses, asleep.data());
  return asleep;
}

}  // namespace

// All parts take their memory now: in the middle of a step only a list may grow.
Trainer::Trainer(Clauses& clauses, unsigned thread, unsigned threads, const TrainTask& task,
                 uint32_t width)
    : clauses_(clauses),
      spec_(clauses.spec),
      thread_(thread),
      range_(split(spec_.n, thread, threads)),
      asleep_(dropped(clauses, range_, task.step)),
      matcher_(clauses, range_, asleep_.data()),
      weights_(clauses, range_, !task.asks_all()),
      wishes_(spec_, width),
      selection_(spec_, clauses.kernels, range_, asleep_.data(), width),
      rows_(clauses, range_, matcher_),
      total_(width),
      keys_(width) {}

void Trainer::run(const TrainTask& task, size_t first, size_t last, VoteBoard& board,
                  Barrier& barrier) {
  counts_ = {};
  for (size_t turn = first; turn < last; ++turn) {
    const size_t index = static_cast<size_t>(task.order[turn]);
    const uint64_t* scale = task.scales + (task.one_scale ? 0 : 2 * index);
    const uint64_t key = step_key(spec_.seed, task.step + turn);
    const Asked asked = task.asked(index, spec_.m);

    // Lists that have not followed their clauses are made from the rows before a block.
    if (matcher_.counts_misses() && matcher_.opens_block(turn)) rows_.pay_all();
    fires_ = matcher_.match(task, turn);
    int64_t* votes = board.of(thread_, turn);
    vote(asked, votes);
    if (!barrier.wait()) return;
    board.sum(turn, asked.count, total_.data());
    count(asked);
    wishes_.make(asked, total_.data());
    selection_.select(asked, total_.data(), wishes_, scale, fires_, weights_, key);
    give_feedback(asked, wishes_.wanted(), key);
  }
  rows_.pay_all();
  matcher_.list_all();
}

// The votes of the own clauses.
void Trainer::vote(const Asked& asked, int64_t* votes) {
  std::fill_n(votes, asked.count, 0);
  if (asked.all) return add_votes(weights_.data(), spec_.m, votes);
  for (uint32_t k = 0; k < asked.count; ++k) {
    add_votes(weights_.of_output(asked.output(k)), 1, votes + k);
  }
}

// The votes by weights [local clause][m]. Bit k of a clause's output counts 2^k times.
void Trainer::add_votes(const int32_t* weights, uint32_t m, int64_t* votes) const {
  if (const uint16_t* grades = matcher_.grades()) {
    return clauses_.kernels.add_grades(fires_, grades, range_.count, weights, m,
                                       weights_.largest() * spec_.most(), votes);
  }
  for (uint32_t k = matcher_.planes(); k-- > 0;) {
    for (uint32_t i = 0; i < m; ++i) votes[i] *= 2;
    clauses_.kernels.add_votes(matcher_.plane(k), range_.count, weights, m, weights_.largest(),
                               votes);
  }
}

void Trainer::count(const Asked& asked) {
  if (!asked.count) return;
  if (spec_.regression) {
    for (uint32_t k = 0; k < asked.count; ++k) {
      counts_.missed += static_cast<uint64_t>(std::abs(asked.aims[k] - total_[k]));
    }
    return;
  }
  const auto best = std::max_element(total_.begin(), total_.begin() + asked.count);
  counts_.hits += asked.targets[best - total_.begin()];
  for (uint32_t k = 0; k < asked.count; ++k) {
    counts_.correct += (total_[k] >= 0) == (asked.targets[k] == 1);
  }
}

void Trainer::give_feedback(const Asked& asked, const uint8_t* wanted, uint64_t step_key) {
  const std::vector<uint32_t>& chosen = selection_.chosen();
  for (size_t k = 0; k < std::min(kAhead, chosen.size()); ++k) prefetch(chosen[k]);
  for (size_t k = 0; k < chosen.size(); ++k) {
    if (k + kAhead < chosen.size()) prefetch(chosen[k + kAhead]);
    const uint32_t local = chosen[k], clause = range_.first + local;
    clauses_.touched[clause] = 1;
    const bool fires = has_bit(fires_, local);
    if (!fires && !selection_.by_several(local) && rows_.can_put_off_one(local)) {
      const uint32_t output = asked.output(selection_.first_place(local));
      rows_.put_off(local, make_key(step_key, Purpose::draw, output, clause));
      continue;
    }
    if (!fires && spec_.is_sampled()) {
      selection_.for_each_place(local, [&](uint32_t place, bool type1, bool) {
        if (!type1) return;
        rows_.forget_some(local, make_key(step_key, Purpose::draw, asked.output(place), clause));
      });
      continue;
    }
    Feedback feedback = rows_.no_feedback(clause);
    feedback.keys = keys_.data();
    selection_.for_each_place(local, [&](uint32_t place, bool type1, bool type2) {
      const uint32_t output = asked.output(place);
      if (type1) keys_[feedback.type1++] = make_key(step_key, Purpose::draw, output, clause);
      feedback.type2 += type2;
      if (fires && (type1 || type2)) weights_.move(local, output, wanted[place]);
    });
    if (fires) feedback.truth = matcher_.truth(local, step_key);
    rows_.update(local, feedback, step_key);
  }
  rows_.forget_rest();
}

void Trainer::prefetch(uint32_t local) const { rows_.prefetch(local, has_bit(fires_, local)); }

}  // namespace cotm
