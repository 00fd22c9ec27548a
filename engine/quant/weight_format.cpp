#include "engine/quant/weight_format.h"

#include <array>
#include <utility>

#include "engine/error.h"
#include "engine/json.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;

struct Name {
    WeightType type;
    std::string_view name;
};
constexpr std::array<Name, kernels::kWeightTypes> kFormatNames = {{{WeightType::kF32, "f32"},
                                                                   {WeightType::kF16, "f16"},
                                                                   {WeightType::kBf16, "bf16"},
                                                                   {WeightType::kInt8, "int8"},
                                                                   {WeightType::kHqq4, "hqq4"},
                                                                   {WeightType::kHqq3, "hqq3"},
                                                                   {WeightType::kHqq2, "hqq2"}}};

constexpr std::array<std::pair<std::string_view, WeightType>, 3> kDenseBits = {
    {{"16", WeightType::kBf16}, {"8", WeightType::kInt8}, {"4", WeightType::kHqq4}}};

[[noreturn]] void reject_part(std::string_view part, const std::string& expected) {
    throw Error(ErrorKind::kInvalidInput, "The quantization's " + in_quotes(part) + " is not known; expected " +
                                              expected + ", as in experts=hqq3,dense=8.");
}

WeightType dense_type(std::string_view bits) {
    for (const auto& [name, type] : kDenseBits) {
        if (name == bits) return type;
    }
    throw Error(ErrorKind::kInvalidInput,
                "Dense weights of " + in_quotes(bits) + " bits are not known; expected 16, " + "8 or 4.");
}

}  // namespace

WeightType parse_format(std::string_view name) {
    for (const Name& entry : kFormatNames) {
        if (entry.name == name) return entry.type;
    }
    std::string expected;
    for (const Name& entry : kFormatNames) {
        if (!expected.empty()) expected += &entry == &kFormatNames.back() ? " or " : ", ";
        expected += entry.name;
    }
    throw Error(ErrorKind::kInvalidInput,
                "There is no weight format " + in_quotes(name) + "; expected " + expected + ".");
}

std::string_view format_name(WeightType format) {
    for (const Name& entry : kFormatNames) {
        if (entry.type == format) return entry.name;
    }
    return "?";
}

QuantSettings parse_quant(std::string_view text) {
    QuantSettings settings;
    for (std::string_view rest = text;;) {
        const std::string_view part = rest.substr(0, rest.find(','));
        const std::size_t equals = part.find('=');
        const std::string_view key = part.substr(0, equals);
        const std::string_view value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
        if (key != "experts" && key != "dense") reject_part(part, "experts=FORMAT or dense=BITS");
        const bool experts = key == "experts";
        std::optional<WeightType>& wanted = experts ? settings.experts : settings.dense;
        if (wanted) {
            throw Error(ErrorKind::kInvalidInput,
                        "The quantization names \"" + std::string(key) + "\" twice; expected it once.");
        }
        wanted = experts ? parse_format(value) : dense_type(value);
        if (part.size() == rest.size()) return settings;
        rest.remove_prefix(part.size() + 1);
    }
}

std::string describe(const QuantSettings& settings) {
    std::string text;
    if (settings.experts) text = "experts " + std::string(format_name(*settings.experts));
    if (settings.dense) {
        if (!text.empty()) text += ", ";
        for (const auto& [bits, type] : kDenseBits) {
            if (type == *settings.dense) text += "dense " + std::string(bits) + " bit";
        }
    }
    return text.empty() ? "as in the checkpoint" : text;
}

}  // namespace offstage::engine
