#pragma once
// The formats for weights, as plain values: the fields by which a user interface or a
// report lists, names and distinguishes them. Derived from kernels/formats.h; the planner
// computes numbers of bytes.

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
    bool for_experts = false;  // can be chosen for experts of any checkpoint
    bool for_dense = false;    // and for attention's matrices and dense networks
    // Users cannot choose the formats of files. Experts are never in kBlocks, but in a
    // kFile: format_rows_of() lists those of a model (engine/model/file_formats.h).
    enum class Kind : std::uint8_t { kOwn, kBlocks, kFile } kind = Kind::kOwn;
};

// The experts' formats in a model's file, and the formats that they can be converted to.
struct ExpertFormats {
    std::string stored = "BF16";    // for users: "Q4_K, Q6_K"
    bool in_blocks = false;         // any other format is made anew from blocks of the file
    double bits = 16;               // of a weight with its scales, the mean of all experts
    std::vector<FormatId> smaller;  // the formats with fewer bits
    bool operator==(const ExpertFormats&) const = default;
};

// All of them, by id. They live as long as the program.
std::span<const FormatRow> format_rows();
const FormatRow& format_row(FormatId id);
// Those that can be chosen for experts, most bits first.
std::vector<FormatRow> expert_formats();

// The values of one column of those rows for which `wanted` is true: "16, 8 or 4".
std::string list_formats(bool (*wanted)(const FormatRow&), std::string (*column)(const FormatRow&));

}  // namespace offstage::engine
