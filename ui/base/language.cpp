#include "ui/base/language.h"

#include <algorithm>

#include <QApplication>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>

#include "ui/base/settings.h"

// The linker drops resources of a static library unless they are named; the macro must be
// outside of namespaces.
static void initTranslations() {
    Q_INIT_RESOURCE(translations);
}

namespace offstage::ui {

QList<Language> languages() {
    return {{QStringLiteral("en"), QStringLiteral("English")},
            {QStringLiteral("de"), QStringLiteral("Deutsch")},
            {QStringLiteral("vi"), QStringLiteral("Tiếng Việt")}};
}

namespace {

QString codeOf(const QString& named) {
    return named.section(u'_', 0, 0).section(u'-', 0, 0).toLower();
}

}  // namespace

bool isLanguage(const QString& named) {
    const QList<Language> all = languages();
    return std::any_of(all.begin(), all.end(),
                       [code = codeOf(named)](const Language& language) { return language.code == code; });
}

QString chosenLanguage(const QString& named) {
    for (const QString& wanted : {named, settings::kLanguage.value(), QLocale::system().name()}) {
        if (!wanted.isEmpty()) {
            return isLanguage(wanted) ? codeOf(wanted) : QStringLiteral("en");
        }
    }
    return QStringLiteral("en");
}

// Buttons that Qt itself names. Qt's own catalogue may be missing on this computer, so
// ours contains them too.
[[maybe_unused]] constexpr const char* kQtButtons[] = {
    QT_TRANSLATE_NOOP("QPlatformTheme", "Cancel"), QT_TRANSLATE_NOOP("QPlatformTheme", "Close"),
    QT_TRANSLATE_NOOP("QPlatformTheme", "OK"), QT_TRANSLATE_NOOP("QPlatformTheme", "Save")};

void speak(QApplication& app, const QString& code, const QString& qtCatalogues) {
    initTranslations();
    auto* own = new QTranslator(&app);
    if (own->load(QStringLiteral(":/i18n/offstage_%1.qm").arg(code))) {
        QApplication::installTranslator(own);
    }
    if (code == QStringLiteral("en")) {  // its catalogue holds singulars and plurals, the sources the rest
        return;
    }
    // The system's locale keeps its regional rules if it is of the same language (for
    // example Austria's German).
    const QLocale system = QLocale::system();
    const QLocale locale(code);
    QLocale::setDefault(system.language() == locale.language() ? system : locale);
    auto* qt = new QTranslator(&app);
    if (qt->load(QStringLiteral("qtbase_%1").arg(code),
                 qtCatalogues.isEmpty() ? QLibraryInfo::path(QLibraryInfo::TranslationsPath) : qtCatalogues)) {
        QApplication::installTranslator(qt);
    }
}

QString translatedTo(const QString& code, const char* context, const char* source) {
    initTranslations();
    QTranslator catalogue;
    const bool isThere = catalogue.load(QStringLiteral(":/i18n/offstage_%1.qm").arg(code));
    const QString text = isThere ? catalogue.translate(context, source) : QString();
    return text.isEmpty() ? QString::fromUtf8(source) : text;
}

}  // namespace offstage::ui
