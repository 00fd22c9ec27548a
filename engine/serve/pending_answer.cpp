#include "engine/serve/pending_answer.h"

namespace offstage::engine {

void write_events(PendingAnswer& pending, ReplyWriter& writer, int comment_ms, const HttpReply::Write& write) {
    if (!write(writer.begin())) return;
    const auto comment = [&] { return write(writer.waiting()); };
    while (const std::optional<AnswerEvent> event = pending.next(comment_ms, comment)) {
        if (const auto* piece = std::get_if<AnswerPiece>(&*event)) {
            if (!write(writer.events(*piece))) return;
            continue;
        }
        const auto* error = std::get_if<ApiError>(&*event);
        write(error != nullptr ? writer.error(*error) : writer.end(std::get<AnswerTotals>(*event)));
        return;
    }
    // Has no reader if the client left.
    write(writer.error(pending.unanswered()));
}

std::string whole_answer(PendingAnswer& pending, ReplyWriter& writer) {
    while (const std::optional<AnswerEvent> event = pending.next()) {
        if (const auto* error = std::get_if<ApiError>(&*event)) throw *error;
        if (const auto* totals = std::get_if<AnswerTotals>(&*event)) return writer.whole(*totals);
        writer.add(std::get<AnswerPiece>(*event));
    }
    throw pending.unanswered();
}

}  // namespace offstage::engine
