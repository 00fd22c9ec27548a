#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace offstage::engine {

// The times at which machines that make the same step (PeerStep) finish its layers. A
// machine begins a layer when its own share of the one before and all others' are there;
// machine 0, the desktop, is connected to each of the others, and forwards messages
// between two of them, unless there is a link between the two. Where messages take longer
// than the machines' differences, the slowest machine of each layer is not what counts: a
// late one delays the others, and is itself ahead of them in the next layer. So layers
// are played through one after the other. Microseconds.
class PeerTimeline {
  public:
    // A machine's connection to the desktop. The desktop's own entry is not used.
    struct Link {
        double message_us = 0;  // one direction
        double us_per_byte = 0;
    };
    // Between two of the others.
    struct Direct {
        std::size_t a = 0, b = 0;
        Link link;
    };
    explicit PeerTimeline(std::vector<Link> links, std::vector<Direct> direct = {})
        : links_(std::move(links)), direct_(std::move(direct)), ready_us_(links_.size()), done_us_(links_.size()) {
        if (!links_.empty()) links_.front() = {};
    }

    // The desktop begins at 0, the others when its message has arrived.
    void begin_step() {
        for (std::size_t m = 0; m < links_.size(); ++m) ready_us_[m] = on_its_way_us(0, m, 0);
    }
    // Each machine's time for its part of the next layer, and the bytes of its share that
    // it sends to each other one: (machines) each.
    void add_layer(std::span<const double> work_us, std::span<const double> sent_bytes) {
        for (std::size_t m = 0; m < links_.size(); ++m) done_us_[m] = ready_us_[m] + work_us[m];
        for (std::size_t to = 0; to < links_.size(); ++to) {
            ready_us_[to] = 0;
            for (std::size_t from = 0; from < links_.size(); ++from) {
                ready_us_[to] = std::max(ready_us_[to], done_us_[from] + on_its_way_us(from, to, sent_bytes[from]));
            }
        }
    }
    // When the desktop has all of the layers so far.
    double desktop_us() const { return ready_us_.front(); }

  private:
    double on_its_way_us(std::size_t from, std::size_t to, double bytes) const {
        if (from == to) return 0;
        for (const Direct& one : direct_) {
            const bool joins = (one.a == from && one.b == to) || (one.a == to && one.b == from);
            if (joins) return one.link.message_us + bytes * one.link.us_per_byte;
        }
        const Link &first = links_[from], &second = links_[to];
        return first.message_us + second.message_us + bytes * (first.us_per_byte + second.us_per_byte);
    }

    std::vector<Link> links_;
    std::vector<Direct> direct_;
    std::vector<double> ready_us_, done_us_;
};

}  // namespace offstage::engine
