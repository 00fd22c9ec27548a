#pragma once
// Notes and progress of commands on stderr, and the writing of their results.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/run/session.h"

namespace offstage::cli {

// Prints notes for the user about a loaded model to stderr, and a note that times are
// accounted if the device is emulated.
void print_notes(const engine::ModelSummary& model);
void print_notes(const engine::GenerationResult& answer);
void print_machine_notes(engine::Session& session);  // since the last call
// ", theta 0.25", appended to results that are not the model's own; otherwise nothing.
std::string theta_label(const engine::ModelSummary& model);
// Theta and the forms of products, of all results that may not be the model's own.
void add_products(nlohmann::ordered_json& json, const engine::ModelSummary& model);
nlohmann::ordered_json drafts_json(const engine::DraftReport& drafts);
// Progress on stderr when that is a terminal; early notes always.
engine::LoadProgressFn progress_on_terminal();
// One JSON object and a line feed on stdout; invalid UTF-8 (in a path, say) is replaced
// rather than refused.
void print_json(const nlohmann::ordered_json& object);
// The report as JSON, or as text after its heading.
template <typename Report>
void print_report(const Report& report, bool json, const std::string& heading = {}) {
    if (json) return print_json(to_json(report));
    std::cout << heading << to_text(report) << std::flush;
}

// Nothing where the path is empty. Throws Error (kInvalidInput) naming the file.
void write_or_throw(const std::string& path, const std::string& content);

}  // namespace offstage::cli
