#pragma once
// Reads #include lines and reports those that break the plan of the house (app -> ui ->
// engine -> kernels, the folders of engine/ and of ui/, and the users of each library).
// Used by tst_includes on this tree, and on invented ones with breaches.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace offstage::house {

struct Include {
    int line = 0;
    std::string name;  // without quotes or brackets; the macro's name for `#include MACRO`
    enum class Form { kQuoted, kAngled, kMacro } form = Form::kQuoted;
};

// The #include lines that a compiler would find, #if ignored: not those in comments and
// strings.
std::vector<Include> includes_of(std::string_view source);

struct Breach {
    std::string file;  // relative to the root, with '/'
    int line = 0;
    std::string include;
    std::string rule;
};

std::string describe(const Breach& breach);  // "ui/chat.cpp:12: "kernels/gemm.h": ui includes ..."

struct Report {
    int n_files = 0;
    int n_includes = 0;
    std::vector<Breach> breaches;
};

// Every C++ and CUDA file below root's app, ui, engine, kernels and tests; a missing
// floor has no files.
Report check_includes(const std::filesystem::path& root);

}  // namespace offstage::house
