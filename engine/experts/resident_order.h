#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace offstage::engine {

// A subset of the numbers 0 .. n-1, in the order of a value that changes: the least
// first, among equals the lower number. Entering, leaving and a new value take
// log(members) steps; first() as many for each member that it passes over. A binary heap
// that knows the place of each number in it. Allocates only when it is made. One thread.
template <typename T>
class ResidentOrder {
  public:
    struct Member {
        T value;
        std::uint32_t number;
    };

    explicit ResidentOrder(std::size_t n) : at_(n, kAbsent) {
        heap_.reserve(n);
        passed_.reserve(n + 1);
    }

    std::size_t size() const { return heap_.size(); }
    const std::vector<Member>& members() const { return heap_; }  // a heap, not sorted

    // Precondition: not a member.
    void enter(std::uint32_t number, T value) {
        heap_.push_back({value, number});
        at_[number] = static_cast<std::uint32_t>(heap_.size() - 1);
        rise(heap_.size() - 1);
    }

    // Precondition: a member.
    void leave(std::uint32_t number) {
        const std::size_t at = at_[number];
        at_[number] = kAbsent;
        const Member last = heap_.back();
        heap_.pop_back();
        if (at == heap_.size()) return;
        put(at, last);
        sink(rise(at));
    }

    // Does nothing for a number that is not a member.
    void set(std::uint32_t number, T value) {
        const std::size_t at = at_[number];
        if (at == kAbsent) return;
        heap_[at].value = value;
        sink(rise(at));
    }

    // Sets every member's value again: value_of(number).
    template <typename ValueOf>
    void set_all(const ValueOf& value_of) {
        for (Member& member : heap_) member.value = value_of(member.number);
        std::make_heap(heap_.begin(), heap_.end(), comes_after);
        for (std::size_t i = 0; i < heap_.size(); ++i) at_[heap_[i].number] = static_cast<std::uint32_t>(i);
    }

    // The first member for which may_go(number) holds.
    template <typename MayGo>
    std::optional<std::uint32_t> first(const MayGo& may_go) const {
        // Heap places whose parents were passed over: the next in order is among them.
        const auto later = [this](std::uint32_t a, std::uint32_t b) { return comes_after(heap_[a], heap_[b]); };
        passed_.clear();
        if (!heap_.empty()) passed_.push_back(0);
        while (!passed_.empty()) {
            const std::uint32_t place = passed_.front();
            if (may_go(heap_[place].number)) return heap_[place].number;
            std::pop_heap(passed_.begin(), passed_.end(), later);
            passed_.pop_back();
            for (const std::size_t child : {2 * std::size_t{place} + 1, 2 * std::size_t{place} + 2}) {
                if (child >= heap_.size()) break;
                passed_.push_back(static_cast<std::uint32_t>(child));
                std::push_heap(passed_.begin(), passed_.end(), later);
            }
        }
        return std::nullopt;
    }

  private:
    static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

    static bool comes_after(const Member& a, const Member& b) {
        return a.value > b.value || (a.value == b.value && a.number > b.number);
    }

    void put(std::size_t at, Member member) {
        heap_[at] = member;
        at_[member.number] = static_cast<std::uint32_t>(at);
    }

    std::size_t rise(std::size_t at) {
        const Member member = heap_[at];
        for (; at > 0 && comes_after(heap_[(at - 1) / 2], member); at = (at - 1) / 2) put(at, heap_[(at - 1) / 2]);
        put(at, member);
        return at;
    }

    void sink(std::size_t at) {
        const Member member = heap_[at];
        for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
            if (child + 1 < heap_.size() && comes_after(heap_[child], heap_[child + 1])) ++child;
            if (!comes_after(member, heap_[child])) break;
            put(at, heap_[child]);
            at = child;
        }
        put(at, member);
    }

    std::vector<Member> heap_;
    std::vector<std::uint32_t> at_;              // for each number: its place in heap_
    mutable std::vector<std::uint32_t> passed_;  // scratch of first()
};

}  // namespace offstage::engine
