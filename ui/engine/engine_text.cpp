#include "ui/engine/engine_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <QCoreApplication>
#include <QHash>
#include <QLocale>
#include <QRegularExpression>
#include <QStringList>

#include "ui/engine/engine_sentences.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

constexpr int kMostTextsKept = 512;
constexpr int kDeepestNesting = 5;        // of sentences inside one another or behind one another
constexpr int kMostTries = 300;           // of finding a sentence's template: real ones take far fewer
constexpr qsizetype kLongestText = 2000;  // the engine's are shorter; a chat template may say what it likes

QString translationOf(const char* sentence) {
    return QCoreApplication::translate("EngineText", sentence);
}

// One template: "The RAM budget is %1, but only %2 are free" is {"The RAM budget is ", ", but only ", " are free"}.
class SentencePattern {
  public:
    using Parts = std::array<QString, 10>;  // by the number behind the percent sign

    explicit SentencePattern(const char* source) : m_source(source) {
        const QString text = QString::fromUtf8(source);
        QString fixed;
        for (qsizetype i = 0; i < text.size(); ++i) {
            if (text[i] == u'%' && i + 1 < text.size() && text[i + 1] >= u'1' && text[i + 1] <= u'9') {
                m_fixed.append(fixed);
                fixed.clear();
                m_places.push_back(static_cast<std::size_t>(text[++i].digitValue()));
            } else {
                fixed += text[i];
                ++m_fixedLength;
            }
        }
        m_fixed.append(fixed);
    }

    const char* source() const { return m_source; }
    // How much of a sentence it names: the more, the surer that a sentence is meant.
    qsizetype fixedLength() const { return m_fixedLength; }

    std::optional<Parts> partsOf(const QString& text) const {
        if (m_places.empty()) {
            return text == m_fixed.front() ? std::optional<Parts>(Parts()) : std::nullopt;
        }
        if (text.size() <= m_fixedLength || !text.startsWith(m_fixed.front()) || !text.endsWith(m_fixed.back())) {
            return std::nullopt;
        }
        // The first place that each fixed text is found at serves: where one pattern matches at all, that does.
        Parts parts;
        const qsizetype end = text.size() - m_fixed.back().size();
        qsizetype at = m_fixed.front().size();
        for (std::size_t i = 0; i < m_places.size(); ++i) {
            const QString& next = m_fixed[static_cast<qsizetype>(i) + 1];
            const bool last = i + 1 == m_places.size();
            const qsizetype to = last ? end : text.indexOf(next, at + 1);
            if (to <= at || to > end) {
                return std::nullopt;
            }
            parts[m_places[i]] = text.mid(at, to - at);
            at = to + next.size();
        }
        return parts;
    }

  private:
    const char* m_source;
    QStringList m_fixed;  // one more than places
    std::vector<std::size_t> m_places;
    qsizetype m_fixedLength = 0;
};

class EngineTranslator {
  public:
    EngineTranslator() {
        for (const char* sentence : engineSentences()) {
            m_patterns.emplace_back(sentence);
        }
        std::stable_sort(m_patterns.begin(), m_patterns.end(), [](const SentencePattern& a, const SentencePattern& b) {
            return a.fixedLength() > b.fixedLength();
        });
    }

    QString text(const QString& english) {
        const char* probe = engineSentences().front();
        const QString spoken = translationOf(probe);
        if (english.isEmpty() || spoken == QString::fromUtf8(probe)) {
            return english;
        }
        if (spoken != m_spoken) {  // another language than last time
            m_spoken = spoken;
            m_kept.clear();
        }
        const auto kept = m_kept.constFind(english);
        if (kept != m_kept.cend()) {
            return *kept;
        }
        if (m_kept.size() >= kMostTextsKept) {
            m_kept.clear();
        }
        return *m_kept.insert(english, english.size() > kLongestText ? english : translated(english));
    }

  private:
    struct Reading {
        QString text;
        qsizetype known = 0;  // letters of the English that were found in templates
    };

    QString translated(const QString& english) {
        m_triesLeft = kMostTries;
        const Reading reading = read(english, 0);
        // A file's name that looks like many sentences could be read in too many ways.
        return m_triesLeft > 0 ? reading.text : english;
    }

    // Of all ways to read a text the one that knows most of it: a long template may also fit a sentence with another
    // inside, or two that follow one another, but knows less of them.
    Reading read(const QString& english, int depth) {
        Reading best{withDecimalPoint(english), 0};
        if (depth > kDeepestNesting || m_triesLeft <= 0) {
            return best;
        }
        const auto offer = [&best](Reading other) {
            if (other.known > best.known) {
                best = std::move(other);
            }
        };
        offer(sentence(english, depth));
        const qsizetype end = english.indexOf(u". ");
        for (qsizetype at = end; at >= 0; at = english.indexOf(u". ", at + 1)) {
            const QString first = english.left(at + 1);
            const Reading known = sentence(first, depth);
            // What is unknown goes sentence by sentence.
            if (known.known > 0 || at == end) {
                const Reading rest = read(english.mid(at + 2), depth + 1);
                offer({(known.known > 0 ? known.text : first) + u' ' + rest.text, known.known + rest.known});
            }
        }
        // "NVIDIA H200: The GPU answers no more ..."
        for (qsizetype at = english.indexOf(u": "); at >= 0; at = english.indexOf(u": ", at + 1)) {
            const Reading rest = sentence(english.mid(at + 2), depth);
            offer({english.left(at + 2) + rest.text, rest.known});
        }
        return best;
    }

    // By one template; nothing known where none fits.
    Reading sentence(const QString& english, int depth) {
        Reading best;
        if (--m_triesLeft <= 0) {
            return best;
        }
        for (const SentencePattern& pattern : m_patterns) {
            auto parts = pattern.partsOf(english);
            if (!parts) {
                continue;
            }
            qsizetype known = pattern.fixedLength();
            for (QString& part : *parts) {
                if (!part.isEmpty()) {
                    Reading inside = read(part, depth + 1);
                    part = std::move(inside.text);
                    known += inside.known;
                }
            }
            if (known > best.known) {
                best = {put(*parts, translationOf(pattern.source())), known};
            }
        }
        return best;
    }

    static QString put(const SentencePattern::Parts& parts, const QString& into) {
        QString text;
        for (qsizetype i = 0; i < into.size(); ++i) {
            if (into[i] == u'%' && i + 1 < into.size() && into[i + 1] >= u'1' && into[i + 1] <= u'9') {
                text += parts[static_cast<std::size_t>(into[++i].digitValue())];
            } else {
                text += into[i];
            }
        }
        return text;
    }

    // "1.5 GiB", as everywhere else in the window. Other figures may be versions or names.
    static QString withDecimalPoint(QString part) {
        static const QRegularExpression size(QStringLiteral("^[0-9]+(\\.)[0-9] [KMGT]iB$"));
        const auto match = size.match(part);
        return match.hasMatch() ? part.replace(match.capturedStart(1), 1, QLocale().decimalPoint()) : part;
    }

    std::vector<SentencePattern> m_patterns;  // those that say most first
    QHash<QString, QString> m_kept;
    int m_triesLeft = 0;
    QString m_spoken;  // the first sentence in the language that m_kept is in
};

}  // namespace

QString engineText(const QString& english) {
    static EngineTranslator translator;
    // The engine is exact for its logs; a person reads "145.0 MiB", not "152060224 bytes (145.0 MiB)".
    static const QRegularExpression twice(QStringLiteral("\\b\\d+ bytes \\(([\\d.,]+ [KMGT]i?B)\\)"));
    static const QRegularExpression many(QStringLiteral("\\b(\\d{7,}) [Bb]ytes?\\b"));
    QString said = translator.text(QString(english).replace(twice, QStringLiteral("\\1")));
    for (auto match = many.match(said); match.hasMatch(); match = many.match(said)) {
        said.replace(match.capturedStart(), match.capturedLength(), bytesText(match.captured(1).toULongLong()));
    }
    return said;
}

QString engineText(const std::string& english) {
    return engineText(QString::fromStdString(english));
}

}  // namespace offstage::ui
