#pragma once

#include <functional>
#include <stop_token>

#include <QString>

namespace offstage::ui {

inline constexpr qint64 kLargestPdf = 256 << 20;  // bytes of the file: most of them are pictures

struct PdfText {
    QString text;   // of all pages, a blank line between them
    QString error;  // a sentence that names the file and the remedy; empty: the text is whole
};

// Whether this program was built with Qt PDF; without it readPdf() refuses everything.
bool readsPdf();

// The text of a PDF file. Refused are files with a password, files without text, damaged
// ones, those above kLargestPdf, and those with more than `mostText` characters. Reads
// page by page, and ends between two pages after a stop request, with an error. `onPage`:
// before each page, its number from 1 and the number of pages. Blocks; any thread.
PdfText readPdf(const QString& path, const QString& name, qsizetype mostText, const std::stop_token& stop,
                const std::function<void(int page, int nPages)>& onPage);

}  // namespace offstage::ui
