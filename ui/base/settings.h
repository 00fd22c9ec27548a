#pragma once
// All keys of the settings' file, with their types and defaults. tests/house/tst_names
// fails if another file has a key. The meaning and range of a value are with its user.

#include <optional>
#include <type_traits>

#include <QByteArray>
#include <QDir>
#include <QSettings>
#include <QString>
#include <QStringList>
#include <QVariantMap>

namespace offstage::ui {

// One setting. A QSettings writes its changes together; without one a function opens its
// own, and so writes the file at once.
template <typename T>
struct Setting {
    QString key;
    T fallback = {};

    QVariant raw() const { return QSettings().value(key); }  // invalid: nothing is kept
    // Nothing if none is stored, or if it cannot be read as a T.
    std::optional<T> kept() const {
        const QVariant value = raw();
        return value.canConvert<T>() ? std::optional<T>(value.value<T>()) : std::nullopt;
    }
    T value() const { return kept().value_or(fallback); }
    void set(const T& value) const {
        QSettings settings;
        set(settings, value);
    }
    void set(QSettings& settings, const T& value) const {
        if constexpr (std::is_same_v<T, float>) {
            settings.setValue(key, static_cast<double>(value));
        } else {
            settings.setValue(key, QVariant::fromValue(value));
        }
    }
    void remove() const { QSettings().remove(key); }
    void remove(QSettings& settings) const { settings.remove(key); }
};

// A setting of each of several things: "keys/palette".
template <typename T>
struct SettingOf {
    const char* group;
    const char* name = nullptr;  // within a thing's own group: "budgets/ID/vram"

    Setting<T> operator[](const QString& id) const {
        const QString key = QLatin1String(group) + u'/' + id;
        return {name == nullptr ? key : key + u'/' + QLatin1String(name)};
    }
    void removeAll() const { QSettings().remove(QLatin1String(group)); }
};

namespace settings {

// --- the window
inline const Setting<QString> kTheme{QStringLiteral("theme")};  // a name of Theme
inline const Setting<int> kTextSize{QStringLiteral("textSize")};
inline const Setting<QString> kLanguage{QStringLiteral("language")};  // empty: the system's
inline const Setting<QByteArray> kWindowGeometry{QStringLiteral("window/geometry")};
inline const Setting<QByteArray> kWindowState{QStringLiteral("window/state")};
// That the user gave the columns at the left and right; 0: none.
inline const Setting<int> kListWidth{QStringLiteral("window/listWidth")};
inline const Setting<int> kInspectorWidth{QStringLiteral("window/inspectorWidth")};
inline const Setting<bool> kKnowsPanels{QStringLiteral("window/knowsPanels")};  // no hint at them any more
inline const Setting<double> kExpertScale{QStringLiteral("view/expertScale")};  // its end; 0: the highest value
inline const Setting<bool> kShowsProbabilities{QStringLiteral("view/tokenProbabilities")};
inline const Setting<bool> kShowsSurprise{QStringLiteral("view/surprise")};
inline const Setting<QStringList> kRecentCommands{QStringLiteral("palette/recent")};
inline constexpr SettingOf<QString> kShortcut{"keys"};  // of a command; empty: none

// --- folders of file dialogs, which folderOf() reads
inline const Setting<QString> kLastFolder{QStringLiteral("lastFolder")};  // of models
inline const Setting<QString> kLastExportFolder{QStringLiteral("lastExportFolder")};
inline const Setting<QString> kLastAttachFolder{QStringLiteral("lastAttachFolder")};
inline const Setting<QString> kLastCacheFolder{QStringLiteral("lastCacheFolder")};
inline const Setting<QString> kLastTemplateFolder{QStringLiteral("lastTemplateFolder")};

// --- models and where they run
inline const Setting<QString> kLastModel{QStringLiteral("model/last")};
inline const Setting<QString> kOpeningModel{QStringLiteral("model/opening")};  // while it is being loaded
inline const Setting<QStringList> kRecentModels{QStringLiteral("recentModels")};
inline const Setting<QStringList> kDownloads{QStringLiteral("downloads")};  // that are not done, as HubOffer::name
// Of these, as "DONE TOTAL NAME", in bytes.
inline const Setting<QStringList> kDownloadsGot{QStringLiteral("downloadsGot")};
inline const Setting<QStringList> kModelFolders{QStringLiteral("modelFolders")};
inline const Setting<QString> kDevice{QStringLiteral("device"), QStringLiteral("cpu")};
inline const Setting<quint64> kDeviceVram{QStringLiteral("vram")};         // bytes; 0: all
inline const Setting<qint64> kKeptContext{QStringLiteral("keptContext")};  // tokens
inline const Setting<QString> kCacheFolder{QStringLiteral("cacheFolder")};

// --- budgets of a model on a device, as KeptBudget names the two
inline constexpr SettingOf<QVariantMap> kBudget{"budgets"};  // all of the following, to remove them
inline constexpr SettingOf<quint64> kBudgetVram{"budgets", "vram"};
inline constexpr SettingOf<quint64> kBudgetRam{"budgets", "ram"};
inline constexpr SettingOf<qint64> kBudgetContext{"budgets", "context"};
inline constexpr SettingOf<QString> kBudgetKv{"budgets", "kv"};
inline constexpr SettingOf<double> kBudgetBits{"budgets", "minMeanBits"};
inline constexpr SettingOf<double> kBudgetLoss{"budgets", "maxLoss"};
inline constexpr SettingOf<double> kBudgetKl{"budgets", "maxKl"};
inline constexpr SettingOf<QString> kBudgetExperts{"budgets", "experts"};
inline constexpr SettingOf<QString> kBudgetCache{"budgets", "cache"};
inline constexpr SettingOf<quint64> kBudgetNeuronCache{"budgets", "neuronCache"};
inline constexpr SettingOf<QString> kChatTemplate{"chatTemplates"};  // of a model
inline constexpr SettingOf<QString> kDraftModel{"draftModels"};      // of a model

// --- conversations
inline const Setting<bool> kReopensLast{QStringLiteral("conversations/reopensLast"), true};
inline const Setting<quint64> kLastConversation{QStringLiteral("conversations/last")};  // the one shown
inline const Setting<bool> kModelTitles{QStringLiteral("conversations/modelTitles"), true};
inline const Setting<int> kKeptOnDisk{QStringLiteral("conversations/keptOnDisk")};    // GiB of what was read; 0: off
inline const Setting<QStringList> kFolders{QStringLiteral("conversations/folders")};  // of earlier versions
inline const Setting<QStringList> kClosedFolders{QStringLiteral("conversations/closedFolders")};
inline constexpr SettingOf<QVariantMap> kConversationSetup{"conversationSetups"};  // of a conversation's id
inline const Setting<QStringList> kConversationSetupOrder{QStringLiteral("conversationSetups/order")};
inline const Setting<QString> kPersonaOfNew{QStringLiteral("personas/ofNew")};  // Persona::id; empty: none
inline const Setting<float> kTemperature{QStringLiteral("sampling/temperature")};
inline const Setting<int> kTopK{QStringLiteral("sampling/topK")};
inline const Setting<float> kTopP{QStringLiteral("sampling/topP")};
inline const Setting<float> kMinP{QStringLiteral("sampling/minP")};
inline const Setting<float> kRepeatPenalty{QStringLiteral("sampling/repeatPenalty")};
inline const Setting<int> kRepeatWindow{QStringLiteral("sampling/repeatWindow")};
inline const Setting<quint64> kSeed{QStringLiteral("sampling/seed")};
inline const Setting<int> kMaxTokens{QStringLiteral("sampling/maxTokens")};
inline const Setting<int> kBeamWidth{QStringLiteral("sampling/beamWidth")};
inline const Setting<QString> kThinking{QStringLiteral("sampling/thinking")};
inline const Setting<QByteArray> kSamplingPresets{QStringLiteral("presets/sampling")};  // JSON lists, as all three
inline const Setting<QByteArray> kPersonas{QStringLiteral("personas")};
inline const Setting<QByteArray> kEarlierPersonas{QStringLiteral("presets/systemPrompts")};  // of earlier versions

// --- other machines, and other programs
inline const Setting<QStringList> kMachinesUsed{QStringLiteral("machines/used")};
inline const Setting<bool> kMachinesAlways{QStringLiteral("machines/always")};
inline const Setting<bool> kMachinesHalve{QStringLiteral("machines/halvesActivations")};
inline const Setting<QString> kMachinesShape{QStringLiteral("machines/shape")};
inline const Setting<QString> kServerAddress{QStringLiteral("server/address"), QStringLiteral("127.0.0.1")};
inline const Setting<int> kServerPort{QStringLiteral("server/port"), 8080};
inline const Setting<QStringList> kServerOrigins{QStringLiteral("server/origins")};
inline const Setting<bool> kServerStarts{QStringLiteral("server/startsWithProgram")};

// The kept one, or else `otherwise`, or else the home folder: the first that exists.
inline QString folderOf(const Setting<QString>& folder, const QString& otherwise = {}) {
    for (const QString& each : {folder.value(), otherwise}) {
        if (!each.isEmpty() && QDir(each).exists()) {
            return each;
        }
    }
    return QDir::homePath();
}

}  // namespace settings
}  // namespace offstage::ui
