#include "ui/engine/engine_text.h"

#include <QCoreApplication>
#include <QLocale>

#include "ui/engine/engine_values.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

struct ArgumentText {
    QString operator()(const std::string& text) const { return QString::fromStdString(text); }
    QString operator()(std::int64_t count) const { return QLocale().toString(static_cast<qlonglong>(count)); }
    QString operator()(std::uint64_t count) const { return QLocale().toString(static_cast<qulonglong>(count)); }
    QString operator()(const engine::Decimal& number) const {
        return number.decimals < 0 ? QLocale().toString(number.value, 'g', 6)
                                   : QLocale().toString(number.value, 'f', number.decimals);
    }
    // The engine's logs are exact; users read "145.0 MiB".
    QString operator()(const engine::ByteSize& size) const { return bytesText(size.bytes); }
    QString operator()(const std::shared_ptr<const engine::Message>& message) const { return engineText(*message); }
};

}  // namespace

QString engineText(const engine::Message& message) {
    if (message.empty()) {
        return {};
    }
    // The catalogue's texts end where their string literals do.
    const QString form =
        QCoreApplication::translate("EngineText", message.english_template().data(), message.code().data());
    QString text;
    for (qsizetype i = 0; i < form.size(); ++i) {
        const int place = form[i] == u'%' && i + 1 < form.size() ? form[i + 1].digitValue() : 0;
        if (place >= 1 && place <= static_cast<int>(message.arguments().size())) {
            text += std::visit(ArgumentText(), message.arguments()[static_cast<std::size_t>(place - 1)].value());
            ++i;
        } else {
            text += form[i];
        }
    }
    return text;
}

QString sentenceOf(const EngineFailure& failure) {
    return failure.message.empty() ? failure.sentence : engineText(failure.message);
}

}  // namespace offstage::ui
