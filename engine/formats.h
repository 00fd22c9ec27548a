#pragma once
// The formats that weights may be kept in, as plain values: what a user interface or a
// report needs to list them, name them and tell them apart. Worked out of
// kernels/formats.h; numbers of bytes are the planner's to say.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offstage::kernels {
enum class WeightType : std::uint8_t;
}

namespace offstage::engine {

using FormatId = kernels::WeightType;  // its value: the row's place in format_rows()

struct FormatRow {
    FormatId id{};
    std::string_view option;   // "hqq4": as --quant takes it
    std::string_view name;     // "HQQ4": in reports
    std::string_view method;   // "HQQ": beside the bits
    int bits = 0;              // of a weight, without scales
    bool for_experts = false;  // may be chosen for experts, whatever the checkpoint holds
    bool for_dense = false;    // and for attention's matrices and dense networks
    // Nobody asks for those of files; experts are never in kBlocks, but in a kFile: which
    // a model has, and what they are, format_rows_of() says (engine/model/file_formats.h).
    enum class Kind : std::uint8_t { kOwn, kBlocks, kFile } kind = Kind::kOwn;
};

// What a model's file has its experts in, and what else they may be kept in.
struct ExpertFormats {
    std::string stored = "BF16";    // as people know it: "Q4_K, Q6_K"
    bool in_blocks = false;         // any other format is made anew from blocks of the file
    double bits = 16;               // of a weight with its scales, the mean of all experts
    std::vector<FormatId> smaller;  // those that have fewer bits than that
    bool operator==(const ExpertFormats&) const = default;
};

// All of them, by id. They live as long as the program.
std::span<const FormatRow> format_rows();
const FormatRow& format_row(FormatId id);
// Those that may be chosen for experts, most bits first.
std::vector<FormatRow> expert_formats();

// The values of one column of those rows for which `wanted` is true: "16, 8 or 4".
std::string list_formats(bool (*wanted)(const FormatRow&), std::string (*column)(const FormatRow&));

}  // namespace offstage::engine
