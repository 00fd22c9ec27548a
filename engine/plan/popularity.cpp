#include "engine/plan/popularity.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "engine/error.h"
#include "engine/files/file_writer.h"
#include "engine/files/text_file.h"
#include "engine/json.h"
#include "engine/mix_bits.h"
#include "engine/plan/plan_messages.h"
#include "engine/shape_limits.h"
#include "engine/telemetry/telemetry_messages.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestPopularityFile = std::size_t{16} << 20;
// Sums of a layer stay exact enough, and far from infinity.
constexpr double kLargestCount = 1e15;
constexpr double kEnoughReused = 500;
constexpr double kEnoughCalled = 10;  // per expert

double layer_sum(const Popularity& popularity, std::int64_t layer) {
    double sum = 0;
    for (std::int64_t expert = 0; expert < popularity.n_experts; ++expert) sum += popularity.count(layer, expert);
    return sum;
}

double share_of(const Popularity& popularity, double count, double layer_sum) {
    const auto active = static_cast<double>(popularity.n_active);
    return layer_sum > 0 ? std::min(1.0, active * count / layer_sum)
                         : active / static_cast<double>(popularity.n_experts);
}

void read_layer(const json& row, std::int64_t layer, const std::string& source, Popularity& popularity) {
    const auto reject = [&](const MessageArgument& found, const MessageArgument& expected) {
        throw Error(ErrorKind::kInvalidModel, messages::popularity_row_rejected(source, layer, found, expected));
    };
    if (!row.is_array() || row.size() != static_cast<std::size_t>(popularity.n_experts)) {
        reject(describe(row), messages::a_list_of_numbers_counted(popularity.n_experts));
    }
    double sum = 0;
    double largest = 0;
    for (std::size_t expert = 0; expert < row.size(); ++expert) {
        const json& value = row[expert];
        const double count = value.is_number() ? value.get<double>() : -1;
        if (!(count >= 0 && count <= kLargestCount)) {
            throw Error(
                ErrorKind::kInvalidModel,
                messages::popularity_count_rejected(source, layer, expert, describe(value), messages::a_count_to_1e15));
        }
        popularity.counts.push_back(count);
        sum += count;
        largest = std::max(largest, count);
    }
    // A token chooses an expert once, so an expert has at most one of a token's n_active
    // choices. A share a little above that is rounding.
    if (largest * static_cast<double>(popularity.n_active) > sum * 1.001) {
        reject(messages::too_uneven_counts, messages::counts_of_different_experts);
    }
}

json number_of(double value) {
    if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
    return value;
}

std::string quoted(const std::string& text) {
    return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

// SplitMix64: well mixed from any state, so a state may be built from the values that
// identify a draw.
std::uint64_t mix(std::uint64_t& state) {
    return mix_bits(state += kGoldenBits);
}

double unit(std::uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

// The draw looks back at most this far: a hundred equal choices in a row practically
// never happen.
constexpr std::int64_t kLongestRepeat = 100;

constexpr std::int64_t kDrawnTokens = 64;  // for more, the counts are drawn, not each token's choice

bool contains(const std::int32_t* experts, std::int64_t n, std::int32_t expert) {
    return std::find(experts, experts + n, expert) != experts + n;
}

}  // namespace

std::optional<double> RoutingHabits::hit_rate(double n) const {
    double all = 0;
    double found = 0;
    for (std::size_t d = 0; d < reused.size(); ++d) {
        all += reused[d];
        found += reused[d] * std::clamp(n - static_cast<double>(d), 0.0, 1.0);
    }
    if (all < kEnoughReused) return std::nullopt;
    return found / all;
}

namespace {

void add_counts(const std::vector<double>& more, std::vector<double>& counts) {
    counts.resize(std::max(counts.size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i) counts[i] += more[i];
    if (std::accumulate(counts.begin(), counts.end(), 0.0) <= RoutingHabits::kMostCalled) return;
    for (double& count : counts) count /= 2;
}

}  // namespace

void RoutingHabits::add(const RoutingHabits& more) {
    add_counts(more.calls, calls);
    guessable += more.guessable;
    guessed += more.guessed;
    if (guessable > kMostCalled) {
        guessable /= 2;
        guessed /= 2;
    }
    add_counts(more.reused, reused);
}

void StoredAs<RoutingHabits>::write(const RoutingHabits& habits, json& out) {
    out = {{"guessable", habits.guessable},
           {"guessed", habits.guessed},
           {"calls", habits.calls},
           {"reused", habits.reused}};
}

RoutingHabits StoredAs<RoutingHabits>::read(const JsonFields& fields) {
    RoutingHabits habits;
    habits.guessable = fields.number("guessable", 0, RoutingHabits::kMostCalled);
    habits.guessed = fields.number("guessed", 0, habits.guessable);
    habits.calls = stored_numbers(fields, "calls", RoutingHabits::kMostCalled);
    habits.reused = stored_numbers(fields, "reused", RoutingHabits::kMostCalled);
    return habits;
}

Popularity Popularity::uniform(std::int64_t n_layers, std::int64_t n_experts, std::int64_t n_active) {
    Popularity popularity;
    popularity.n_layers = n_layers;
    popularity.n_experts = n_experts;
    popularity.n_active = n_active;
    popularity.counts.assign(static_cast<std::size_t>(n_layers * n_experts), 0.0);
    return popularity;
}

double Popularity::share(std::int64_t layer, std::int64_t expert) const {
    return share_of(*this, count(layer, expert), layer_sum(*this, layer));
}

std::vector<double> Popularity::shares() const {
    std::vector<double> shares;
    shares.reserve(counts.size());
    for (std::int64_t layer = 0; layer < n_layers; ++layer) {
        const double sum = layer_sum(*this, layer);
        for (std::int64_t expert = 0; expert < n_experts; ++expert) {
            shares.push_back(share_of(*this, count(layer, expert), sum));
        }
    }
    return shares;
}

Popularity Popularity::expected() const {
    Popularity popularity = *this;
    if (n_tokens > 0 || habits.calls.size() != counts.size()) return popularity;
    const double all = std::accumulate(habits.calls.begin(), habits.calls.end(), 0.0);
    if (all < kEnoughCalled * static_cast<double>(n_layers * n_experts)) return popularity;
    popularity.counts = habits.calls;
    return popularity;
}

void Popularity::add(std::span<const std::int32_t> experts, std::int64_t tokens) {
    assert(static_cast<std::int64_t>(experts.size()) == tokens * n_layers * n_active);
    std::size_t i = 0;
    for (std::int64_t token = 0; token < tokens; ++token) {
        for (std::int64_t layer = 0; layer < n_layers; ++layer) {
            for (std::int64_t a = 0; a < n_active; ++a, ++i) {
                assert(experts[i] >= 0 && experts[i] < n_experts);
                counts[static_cast<std::size_t>(layer * n_experts + experts[i])] += 1;
            }
        }
    }
    n_tokens += tokens;
}

double expected_hit_rate(const Popularity& popularity, std::span<const std::uint8_t> resident) {
    assert(resident.size() == popularity.counts.size());
    if (popularity.n_layers == 0) return 0;
    double rate = 0;
    for (std::int64_t layer = 0; layer < popularity.n_layers; ++layer) {
        double of_resident = 0;
        double of_all = 0;
        const double sum = layer_sum(popularity, layer);
        for (std::int64_t expert = 0; expert < popularity.n_experts; ++expert) {
            const double weight = sum > 0 ? popularity.count(layer, expert) : 1;
            of_all += weight;
            if (resident[static_cast<std::size_t>(layer * popularity.n_experts + expert)] != 0) of_resident += weight;
        }
        rate += of_resident / of_all;
    }
    return rate / static_cast<double>(popularity.n_layers);
}

Popularity parse_popularity(std::string_view text, const std::string& source) {
    if (text.size() > kLargestPopularityFile) {
        throw Error(ErrorKind::kInvalidModel, messages::popularity_too_large(source, text.size()));
    }
    const json document = parse_json(text, source, {.max_depth = 8});
    const JsonFields fields(document, source);
    if (fields.text("format") != "offstage-popularity") fields.reject("format", "\"offstage-popularity\"");
    fields.integer("version", 1, 1);

    Popularity popularity;
    popularity.n_layers = fields.integer("n_layers", 1, kMostLayers);
    popularity.n_experts = fields.integer("n_experts", 1, kMostExperts);
    popularity.n_active = fields.integer("n_active", 1, popularity.n_experts);
    popularity.n_tokens = fields.integer("n_tokens", 0, static_cast<std::int64_t>(kLargestCount));
    popularity.source = fields.text("source", "");
    fields.text("model", "");

    const json* rows = fields.find("counts");
    if (rows == nullptr || !rows->is_array() || rows->size() != static_cast<std::size_t>(popularity.n_layers)) {
        fields.reject("counts", messages::a_list_of_lists_counted(popularity.n_layers));
    }
    std::int64_t layer = 0;
    for (const json& row : *rows) read_layer(row, layer++, source, popularity);
    return popularity;
}

Popularity read_popularity(const std::filesystem::path& file) {
    const std::optional<std::string> text = read_small_file(file, kLargestPopularityFile);
    if (!text) throw Error(ErrorKind::kNotFound, messages::no_such_popularity(shown_path(file)));
    return parse_popularity(*text, shown_path(file));
}

void write_popularity(const Popularity& popularity, const std::string& model, const std::filesystem::path& file) {
    std::string text = "{\n  \"format\": \"offstage-popularity\",\n  \"version\": 1,\n  \"model\": " + quoted(model) +
                       ",\n  \"source\": " + quoted(popularity.source) +
                       ",\n  \"n_layers\": " + std::to_string(popularity.n_layers) +
                       ",\n  \"n_experts\": " + std::to_string(popularity.n_experts) +
                       ",\n  \"n_active\": " + std::to_string(popularity.n_active) +
                       ",\n  \"n_tokens\": " + std::to_string(popularity.n_tokens) + ",\n  \"counts\": [";
    // One layer per line, so that users can read and compare these files.
    for (std::int64_t layer = 0; layer < popularity.n_layers; ++layer) {
        json row = json::array();
        for (std::int64_t expert = 0; expert < popularity.n_experts; ++expert) {
            row.push_back(number_of(popularity.count(layer, expert)));
        }
        text += (layer == 0 ? "\n    " : ",\n    ") + row.dump();
    }
    text += "\n  ]\n}\n";
    if (const std::string failure = write_file(file, text); !failure.empty()) {
        throw Error(ErrorKind::kInvalidInput, messages::file_cannot_be_written(shown_path(file), failure));
    }
}

RoutingDraw::RoutingDraw(const Popularity& popularity, std::uint64_t seed)
    : experts_(popularity), random_(seed), counts_(static_cast<std::size_t>(popularity.n_experts)) {}

const std::vector<std::int32_t>& RoutingDraw::draw(std::int64_t layer, std::int64_t n_tokens) {
    const double* shares = experts_.shares(layer);
    std::fill(counts_.begin(), counts_.end(), 0);
    if (n_tokens > kDrawnTokens) {
        const auto n = static_cast<double>(n_tokens);
        for (std::size_t e = 0; e < counts_.size(); ++e) {
            const double p = shares[e];
            const double count = std::round(n * p + std::sqrt(n * p * (1 - p)) * normal());
            counts_[e] = static_cast<std::int32_t>(std::clamp(count, 0.0, n));
        }
        return counts_;
    }
    for (std::int64_t token = 0; token < n_tokens; ++token) {
        experts_.draw(layer, random_, [&](int expert) { ++counts_[static_cast<std::size_t>(expert)]; });
    }
    return counts_;
}

// Our own function: the standard's distributions differ between libraries, and forecasts
// must not.
double RoutingDraw::uniform() {
    return unit(random_());
}

double RoutingDraw::normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
}

void PositionRouting::choose(std::int64_t layer, std::int64_t position, std::int64_t row, std::int32_t* experts) {
    std::uint64_t state = seed_;
    for (const std::int64_t part : {layer, position, row}) {
        state ^= static_cast<std::uint64_t>(part);
        state = mix(state);
    }
    std::int64_t n = 0;
    draw_.draw(
        layer, [&] { return mix(state); }, [&](int expert) { experts[n++] = expert; });
    // Shares that add up to a hair less than n_active can leave the last place open.
    for (std::int32_t expert = 0; n < draw_.n_active(); ++expert) {
        if (!contains(experts, n, expert)) experts[n++] = expert;
    }
}

void PositionRouting::operator()(std::int64_t layer, std::int64_t position, std::int64_t row, bool guess,
                                 std::int32_t* experts) {
    const std::int64_t n = draw_.n_active();
    const auto dice = [&](std::int64_t place, std::int64_t slot, std::uint64_t kind) {
        std::uint64_t state = seed_ ^ (kind * 0x632be59bd9b4e019ull);
        for (const std::int64_t part : {layer, place, row, slot}) {
            state ^= static_cast<std::uint64_t>(part);
            state = mix(state);
        }
        return mix(state);
    };
    choose(layer, position, row, experts);
    if (habits_.repeat > 0) {
        before_.resize(static_cast<std::size_t>(n));
        for (std::int64_t slot = 0; slot < n; ++slot) {
            // Goes back as far as this choice was only repeated.
            std::int64_t origin = position;
            while (origin > 0 && position - origin < kLongestRepeat && unit(dice(origin, slot, 1)) < habits_.repeat) {
                --origin;
            }
            if (origin == position) continue;
            choose(layer, origin, row, before_.data());
            const std::int32_t kept = before_[static_cast<std::size_t>(slot)];
            if (!contains(experts, n, kept)) experts[slot] = kept;
        }
    }
    if (!guess) return;
    for (std::int64_t slot = 0; slot < n; ++slot) {
        if (unit(dice(position, slot, 2)) < habits_.guess_recall) continue;
        const auto wrong = static_cast<std::int32_t>(dice(position, slot, 3) % static_cast<std::uint64_t>(n_experts_));
        if (!contains(experts, n, wrong)) experts[slot] = wrong;
    }
}

}  // namespace offstage::engine
