#pragma once

namespace offstage::engine {

struct ModelSummary;

// Whether this is the program's own small model, wherever its files lie and in whichever
// format: it has that model's vocabulary.
bool is_demo_model(const ModelSummary& model);

}  // namespace offstage::engine
