#pragma once

namespace offstage::engine {
struct ModelSummary;
}

namespace offstage::ui {

// Whether this is the program's own small model, wherever its files lie and in whichever
// format: it has that model's vocabulary.
bool isDemoModel(const engine::ModelSummary& model);

}  // namespace offstage::ui
