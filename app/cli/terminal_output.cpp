#include "app/cli/terminal_output.h"

#include <algorithm>
#include <unistd.h>

#include "app/cli/command_messages.h"
#include "engine/error.h"
#include "engine/eval/scenario_report.h"
#include "engine/files/file_writer.h"
#include "engine/plan/plan_messages.h"
#include "engine/print.h"
#include "engine/report_table.h"

namespace offstage::cli {
namespace {

void print_note(const engine::Message& note) {
    std::cerr << "note: " << note.english() << std::endl;
}

}  // namespace

void print_notes(const engine::ModelSummary& model) {
    const std::string notice = engine::emulation_notice(model);
    if (!notice.empty()) std::cerr << notice << std::endl;
    if (model.theta_loss > 0) {
        const engine::ChosenThresholds* const chosen = engine::thresholds_for(model.thresholds, model.theta_loss);
        const double measured = chosen != nullptr ? chosen->mean_kl : model.theta_loss;
        print_note(engine::messages::thresholds_leave_out(engine::print("%g", model.theta_loss),
                                                          engine::print("%.4g", measured),
                                                          engine::print("%.3g", model.theta)));
    } else if (model.theta > 0) {
        print_note(engine::messages::theta_leaves_out(model.theta));
    }
    if (model.accepts_guesses) print_note(engine::messages::guesses_accepted);
    for (std::size_t i = model.n_early_notes; i < model.notes.size(); ++i) print_note(model.notes[i]);
}

void print_notes(const engine::GenerationResult& answer) {
    for (const engine::Message& note : answer.notes) print_note(note);
}

void print_machine_notes(engine::Session& session) {
    for (const engine::Message& note : session.take_machine_notes()) {
        std::cerr << "note: " << note.english() << std::endl;
    }
}

std::string theta_label(const engine::ModelSummary& model) {
    const std::string guesses = model.accepts_guesses ? ", guessed neurons accepted" : "";
    if (model.theta_loss > 0) return engine::print(", theta auto:%g", model.theta_loss) + guesses;
    return model.theta > 0 ? engine::print(", theta %g", model.theta) + guesses : std::string();
}

void add_products(nlohmann::ordered_json& json, const engine::ModelSummary& model) {
    ADD_FIELDS(json, model, theta, theta_loss);
    json["neuron_guesses"] = model.accepts_guesses ? "accept" : "correct";
    ADD_FIELDS(json, model, compute, compute_origin, device_compute, device_compute_origin);
}

nlohmann::ordered_json drafts_json(const engine::DraftReport& drafts) {
    nlohmann::ordered_json json;
    ADD_FIELDS(json, drafts, steps, tokens, drafted, accepted);
    json["accepted_share"] = drafts.accepted_share();
    json["tokens_per_step"] = drafts.tokens_per_step();
    json["more_experts"] = drafts.more_experts();
    for (std::size_t i = 0; i < engine::kDrafters; ++i) {
        const engine::DraftReport::Share& share = drafts.shares[i];
        if (share.drafted == 0) continue;
        auto& of_drafter = json["drafters"][std::string(engine::name_of(static_cast<engine::Drafter>(i)))];
        ADD_FIELDS(of_drafter, share, drafted, accepted);
    }
    return json;
}

engine::LoadProgressFn progress_on_terminal() {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    return [terminal](const engine::LoadProgress& progress) {
        if (!progress.note.empty()) {
            if (terminal) std::cerr << "\r\x1b[K";
            print_note(progress.note);
            return;
        }
        if (!terminal) return;
        const bool done = progress.bytes_done >= progress.bytes_total;
        std::cerr << "\r\x1b[K";
        if (!done) {
            std::cerr << progress.stage.english() << ": ";
            if (progress.counts_bytes) {
                std::cerr << engine::format_bytes(progress.bytes_done) << " of "
                          << engine::format_bytes(progress.bytes_total);
            } else {
                std::cerr << 100 * progress.bytes_done / std::max<std::uint64_t>(1, progress.bytes_total) << " %";
            }
        }
        std::cerr << std::flush;
    };
}

void print_json(const nlohmann::ordered_json& object) {
    std::cout << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
}

void write_or_throw(const std::string& path, const std::string& content) {
    if (path.empty()) return;
    if (const std::string failure = engine::write_file(path, content); !failure.empty()) {
        throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::file_cannot_be_written(path, failure));
    }
}

}  // namespace offstage::cli
