#pragma once
// Runs offstage-cli as a user or a script does.

#include <QByteArray>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QProcessEnvironment>
#include <QStringList>

namespace offstage::test {

struct CliOutcome {
    int status = -1;  // -1: it did not end by itself
    QByteArray out;
    QByteArray err;
    QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
    QStringList notes() const;  // of the report in JSON, without those that other work can cause
};

// Whether other work on the computer can cause this note at any time: that a stored cost
// did not hold, or that a token took longer than its forecast.
inline bool isCostNote(const QByteArray& note) {
    return note.startsWith("A cost kept of this computer") || note.startsWith("A token took ");
}

inline QByteArray withoutCostNotes(const QByteArray& err) {
    QByteArray rest;
    for (const QByteArray& line : err.split('\n')) {
        if (!line.startsWith("note: ") || !isCostNote(line.mid(6))) rest += line + '\n';
    }
    rest.chop(1);
    return rest;
}

inline QStringList CliOutcome::notes() const {
    QStringList notes;
    for (const QJsonValue& note : json()[QLatin1String("notes")].toArray()) {
        if (!isCostNote(note.toString().toUtf8())) notes << note.toString();
    }
    return notes;
}

inline CliOutcome runProgram(const QString& program, const QStringList& arguments, const QByteArray& input = {},
                             const QString& cacheHome = {}) {
    QProcess process;
    if (!cacheHome.isEmpty()) {
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("XDG_CACHE_HOME"), cacheHome);
        process.setProcessEnvironment(environment);
    }
    process.start(program, arguments);
    process.write(input);
    process.closeWriteChannel();
    if (!process.waitForFinished(900'000)) return {};  // a hang alone takes so long
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, process.readAllStandardOutput(),
            withoutCostNotes(process.readAllStandardError())};
}

inline QString cliProgram() {
    return QStringLiteral(OFFSTAGE_BIN_DIR "/offstage-cli");
}

inline CliOutcome runCli(const QStringList& arguments, const QByteArray& input = {}, const QString& cacheHome = {}) {
    return runProgram(cliProgram(), arguments, input, cacheHome);
}

// The words of a command line; "%1" is replaced by the first of `values` as one word.
inline QStringList words(const QString& line, const QStringList& values = {}) {
    QStringList words = line.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    for (QString& word : words) {
        if (word.startsWith(QLatin1Char('%'))) word = values.at(word.mid(1).toInt() - 1);
    }
    return words;
}

// Runs in a shell, to test redirections and limits. `script` runs the program as "$0"
// "$@".
inline CliOutcome runInShell(const QString& script, const QStringList& arguments, const QByteArray& input = {},
                             const QString& cacheHome = {}) {
    return runProgram(QStringLiteral("sh"), QStringList{QStringLiteral("-c"), script, cliProgram()} + arguments, input,
                      cacheHome);
}

}  // namespace offstage::test
