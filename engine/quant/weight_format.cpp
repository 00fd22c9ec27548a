#include "engine/quant/weight_format.h"

#include "engine/error.h"
#include "engine/json.h"
#include "engine/quant/quant_messages.h"

namespace offstage::engine {
namespace {

[[noreturn]] void reject_part(std::string_view part, const std::string& expected) {
    throw Error(ErrorKind::kInvalidInput, messages::quantization_unknown(in_quotes(part), expected));
}

FormatId dense_format_of(std::string_view bits) {
    for (const FormatRow& row : format_rows()) {
        if (row.for_dense && std::to_string(row.bits) == bits) return row.id;
    }
    throw Error(ErrorKind::kInvalidInput,
                messages::dense_bits_unknown(
                    in_quotes(bits), list_formats([](const FormatRow& row) { return row.for_dense; },
                                                  [](const FormatRow& row) { return std::to_string(row.bits); })));
}

}  // namespace

FormatId parse_format(std::string_view option) {
    for (const FormatRow& row : format_rows()) {
        if (row.option == option && row.kind == FormatRow::Kind::kOwn) return row.id;
    }
    const std::string expected = list_formats([](const FormatRow& row) { return row.kind == FormatRow::Kind::kOwn; },
                                              [](const FormatRow& row) { return std::string(row.option); });
    throw Error(ErrorKind::kInvalidInput, messages::no_such_weight_format(in_quotes(option), expected));
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
        std::optional<FormatId>& wanted = experts ? settings.experts : settings.dense;
        if (wanted) {
            throw Error(ErrorKind::kInvalidInput, messages::quantization_twice(key));
        }
        wanted = experts ? parse_format(value) : dense_format_of(value);
        if (part.size() == rest.size()) return settings;
        rest.remove_prefix(part.size() + 1);
    }
}

}  // namespace offstage::engine
