#include <functional>

#include "app/cli/commands.h"
#include "app/cli/token_progress.h"
#include "engine/eval/prediction_report.h"
#include "engine/eval/text_sequences.h"

namespace offstage::cli {

int run_predict(const PredictOptions& options) {
    const std::string text = read_long_text(options.text);
    engine::LoadedModel model(text_request(options.model), engine::LoadedModel::Text::kWanted, progress_on_terminal(),
                              {});
    print_notes(model.summary());
    const auto sequences = engine::sequences_of(model, text, options.text);
    const TokenProgress progress("Measuring", sequences);
    engine::PredictionReport report =
        engine::measure_prediction(model, sequences, options.thetas, std::ref(progress), {});
    progress.finish();
    report.text = options.text;
    print_report(report, options.model.json, report.model + ": ");
    return 0;
}

}  // namespace offstage::cli
