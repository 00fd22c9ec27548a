#include "engine/eval/quantize_report.h"

#include <algorithm>
#include <memory>

#include "engine/device/hardware.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/reference_logits.h"
#include "engine/model/checkpoint.h"
#include "engine/model/file_formats.h"
#include "engine/model/synthetic.h"
#include "engine/model/weights.h"
#include "engine/plan/sensitivity.h"
#include "engine/print.h"
#include "engine/quant/quantize_dense.h"
#include "engine/report_table.h"
#include "engine/run/model_shape.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;

QuantRow measure(LoadedModel& model, std::span<const TokenId> tokens, std::span<const std::uint8_t> counts,
                 const WindowSettings& windows, const QuantCell& cell, ReferenceLogits& reference, bool fills,
                 const std::stop_token& stop) {
    QuantRow row;
    row.cell = cell;
    row.bytes = model.summary().weight_bytes;
    const auto start = std::chrono::steady_clock::now();
    const auto width = static_cast<std::size_t>(model.spec().vocab_size);
    std::size_t index = 0;
    std::int64_t n_same = 0;
    score_text(
        model, tokens, windows,
        [&](std::size_t first, std::span<const float> logits) {
            if (fills) reference.take(logits, model.pool());
            const std::size_t n = logits.size() / width;
            const std::vector<LogitComparison> compared =
                reference.compare(index, logits, tokens.subspan(first, n), model.pool());
            for (std::size_t i = 0; i < n; ++i) {
                if (counts[first + i] == 0) continue;
                const LogitComparison& token = compared[i];
                row.perplexity.negative_log_likelihood -= token.log_probability;
                row.mean_kl += token.kl;
                n_same += token.same_top ? 1 : 0;
                ++row.perplexity.n_tokens;
            }
            index += n;
        },
        stop);
    row.perplexity.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    // A divergence is at least 0; the rounded stored values may give less.
    row.mean_kl = std::max(0.0, row.mean_kl / static_cast<double>(row.perplexity.n_tokens));
    row.same_top = static_cast<double>(n_same) / static_cast<double>(row.perplexity.n_tokens);
    return row;
}

// The bytes of a cell that is not loaded.
std::uint64_t bytes_of(const QuantCell& cell, const ModelShape& shape) {
    const ExpertGrid& grid = shape.spec.experts;
    std::uint64_t bytes = dense_bytes_in(shape.spec, shape.type);
    if (cell.attention) bytes = quantized_dense_bytes(shape.spec, bytes, shape.type, *cell.attention);
    for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
        const WeightType format = cell.experts.value_or(grid.stored(shape.type, layer));
        bytes += static_cast<std::uint64_t>(grid.n_experts) * grid.expert_bytes(format);
    }
    return bytes;
}

double bits_of(const kernels::ExpertLayout& layout, const ExpertGrid& grid) {
    return 8.0 * static_cast<double>(layout.weight_bytes()) / static_cast<double>(grid.expert_weights());
}

// Mean of the layers' blocks.
double stored_bits(const ExpertGrid& grid) {
    double bits = 0;
    for (const WeightType format : grid.file_formats) bits += bits_of(grid.layout(format), grid);
    return bits / static_cast<double>(grid.file_formats.size());
}

Sensitivity errors_of(const LoadRequest& request, const ModelShape& shape, const std::stop_token& stop) {
    kernels::ThreadPool pool(compute_threads(request.n_threads));
    ModelSpec spec = shape.spec;
    const std::unique_ptr<WeightSource> source =
        is_synthetic(request.model) ? draw_weights(parse_synthetic(request.model), pool, false)
                                    : open_weights(Checkpoint::open(shape.directory), spec, false, pool);
    return measure_sensitivity(spec.experts, *source, pool, {}, stop);
}

std::optional<double> squared_error(const QuantCell& cell, const Sensitivity& errors) {
    if (!cell.experts || kernels::is_plain(*cell.experts)) return 0;
    for (const Sensitivity::Format& format : errors.formats) {
        if (format.format != *cell.experts || cell.method != QuantMethod::kHqq) continue;
        double sum = 0;
        for (const double error : format.errors) sum += error * error;
        return sum / static_cast<double>(format.errors.size());
    }
    return {};
}

}  // namespace

std::string QuantCell::experts_name(const std::string& stored) const {
    if (!experts) return stored;
    std::string name(format_row(*experts).option);
    if (method == QuantMethod::kNearest && name.starts_with("hqq")) name.replace(0, 3, "rtn");
    return name;
}

std::string QuantCell::attention_name() const {
    return attention ? std::to_string(format_row(*attention).bits) + " bit" : "as in the file";
}

std::vector<QuantCell> quantize_report_cells(const ExpertGrid& grid, std::span<const FormatId> wanted) {
    std::vector<QuantCell> cells;
    const bool packs_experts = grid.hidden_dim % kernels::kPackedBlock == 0;
    const auto usable = [&](const kernels::FormatTraits& format) { return packs_experts || !format.is_packed(); };
    const auto is_wanted = [&](WeightType format) {
        return wanted.empty() || std::find(wanted.begin(), wanted.end(), format) != wanted.end();
    };
    if (const std::string blocks = block_formats_of(grid); !blocks.empty()) {
        cells.push_back({});
        const double most = stored_bits(grid);
        for (const kernels::FormatTraits& format : kernels::kFormats) {
            if (!format.for_experts || !usable(format) || !is_wanted(format.type)) continue;
            const double bits = bits_of(grid.layout(format.type), grid);
            if (bits < most) {
                cells.push_back({{}, format.type, QuantMethod::kHqq});
            } else if (!wanted.empty()) {
                throw Error(ErrorKind::kInvalidInput, messages::format_with_more_bits(format.name, print("%.2f", bits),
                                                                                      blocks, print("%.2f", most)));
            }
        }
        return cells;
    }
    for (const kernels::FormatTraits& dense : kernels::kFormats) {
        if (!dense.for_dense || !usable(dense)) continue;
        for (const kernels::FormatTraits& experts : kernels::kFormats) {
            const bool is_first = cells.empty();  // the reference for the others
            if (experts.for_experts && usable(experts) && (is_first || is_wanted(experts.type))) {
                cells.push_back({dense.type, experts.type, QuantMethod::kHqq});
            }
        }
        // The advantage of HQQ shows with few bits.
        for (const kernels::FormatTraits& experts : kernels::kFormats) {
            if (experts.coding == kernels::WeightCoding::kHqq && experts.bits < 4 && packs_experts &&
                is_wanted(experts.type)) {
                cells.push_back({dense.type, experts.type, QuantMethod::kNearest});
            }
        }
    }
    return cells;
}

QuantizeReport make_quantize_report(LoadRequest request, std::optional<std::string_view> text, bool special,
                                    const std::string& answers_after, const WindowSettings& windows,
                                    const std::vector<QuantCell>& cells,
                                    const std::function<void(const std::string& line)>& progress,
                                    const std::stop_token& stop) {
    QuantizeReport report;
    report.windows = windows;
    report.answers_after = answers_after;
    request.learn_placement = false;
    const ModelShape shape = read_model_shape(request.model);
    const ExpertGrid& grid = shape.spec.experts;
    report.model = shape.name;
    report.stored = stored_formats_of(grid, shape.type);
    report.blocks = block_formats_of(grid);
    report.n_experts = grid.size();
    if (progress) progress("measuring what the formats lose on " + std::to_string(report.n_experts) + " experts");
    const Sensitivity errors = errors_of(request, shape, stop);
    const auto complete = [&](QuantRow& row) {
        row.bits_per_weight = 8.0 * static_cast<double>(row.bytes) / static_cast<double>(shape.spec.total_weights());
        row.squared_error = squared_error(row.cell, errors);
    };
    if (!text) {
        for (const QuantCell& cell : cells) {
            report.rows.push_back({});
            report.rows.back().cell = cell;
            report.rows.back().bytes = bytes_of(cell, shape);
            complete(report.rows.back());
        }
        return report;
    }
    request.text_needs = TextNeeds::kTokenizer;
    std::unique_ptr<ReferenceLogits> reference;
    std::vector<TokenId> tokens;
    std::vector<std::uint8_t> counts;
    for (const QuantCell& cell : cells) {
        request.quant = {cell.experts, cell.attention, cell.method};
        LoadedModel model(request, LoadedModel::Text::kWanted, {}, stop);
        const bool first = reference == nullptr;
        if (first) {
            reference = std::make_unique<ReferenceLogits>(static_cast<std::size_t>(model.spec().vocab_size));
            tokens = tokens_of_text(model, *text, special);
            const std::uint64_t most =
                kLargestReference / (sizeof(float) * static_cast<std::uint64_t>(model.spec().vocab_size));
            tokens.resize(std::min<std::size_t>(tokens.size(), std::max<std::uint64_t>(2, most)));
            counts.assign(tokens.size(), 1);
            if (!answers_after.empty()) counts = answers_of(model, tokens, answers_after);
        }
        report.rows.push_back(measure(model, tokens, counts, windows, cell, *reference, first, stop));
        complete(report.rows.back());
        if (progress) {
            const QuantRow& row = report.rows.back();
            progress("attention " + cell.attention_name() + ", experts " + cell.experts_name(report.stored) +
                     ": perplexity " + print("%.4f", row.perplexity.value()));
        }
    }
    return report;
}

std::vector<FormatLoss> format_losses(const QuantizeReport& report) {
    std::vector<FormatLoss> losses;
    for (const QuantRow& row : report.rows) {
        const QuantCell& first = report.rows.front().cell;
        const bool experts_alone = row.cell.attention == first.attention && row.cell.experts &&
                                   row.cell.experts != first.experts && row.cell.method == QuantMethod::kHqq;
        if (!experts_alone || row.perplexity.n_tokens == 0) continue;
        losses.push_back({*row.cell.experts, row.mean_kl, report.text, row.perplexity.n_tokens});
    }
    return losses;
}

std::string note_of(const QuantizeReport& report) {
    if (report.blocks.empty()) return {};
    return "In every row but the first, " + std::to_string(report.n_experts) +
           " experts are made anew from the file's " + report.blocks +
           " blocks: what a row loses comes on top of what was lost when the file was made.";
}

nlohmann::ordered_json to_json(const QuantizeReport& report) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const QuantRow& row : report.rows) {
        nlohmann::ordered_json json = {{"attention", row.cell.attention_name()},
                                       {"experts", row.cell.experts_name(report.stored)},
                                       {"made_from", row.cell.experts ? report.blocks : std::string()},
                                       {"bytes", row.bytes},
                                       {"bits_per_weight", row.bits_per_weight}};
        if (row.cell.attention) json["attention_bits"] = format_row(*row.cell.attention).bits;
        if (row.squared_error) json["squared_error"] = *row.squared_error;
        if (row.perplexity.n_tokens > 0) {
            json["perplexity"] = row.perplexity.value();
            json["mean_kl"] = row.mean_kl;
            json["same_top"] = row.same_top;
            json["seconds"] = row.perplexity.seconds;
        }
        rows.push_back(std::move(json));
    }
    return {{"model", report.model},
            {"text", report.text},
            {"n_tokens", report.rows.empty() ? 0 : report.rows.front().perplexity.n_tokens},
            {"answers_after", report.answers_after},
            {"window", report.windows.window},
            {"stride", report.windows.stride},
            {"note", note_of(report)},
            {"rows", std::move(rows)},
            {"markdown", to_markdown(report)}};
}

std::string to_markdown(const QuantizeReport& report) {
    Table table({{"attention", -1},
                 {"experts", -1},
                 {"size, MB", 1, 2, 1e-6},
                 {"bits per weight", 1, 2},
                 {"squared error", 1, 5}});
    const bool scored = !report.rows.empty() && report.rows.front().perplexity.n_tokens > 0;
    if (scored) {
        table.add_column({"perplexity", 1, 4});
        table.add_column({"mean KL to the first", 1, 5});
        table.add_column({"same likeliest token", 1, 2, 100, " %"});
    }
    for (const QuantRow& row : report.rows) {
        const bool anew = row.cell.experts && !report.blocks.empty();
        std::vector<Cell>& cells = table.add(
            {row.cell.attention_name(), row.cell.experts_name(report.stored) + (anew ? " from " + report.blocks : ""),
             row.bytes, row.bits_per_weight, row.squared_error ? Cell(*row.squared_error) : Cell()});
        if (scored) cells.insert(cells.end(), {row.perplexity.value(), row.mean_kl, row.same_top});
    }
    return table.markdown();
}

}  // namespace offstage::engine
