#include "ui/chat/code_language.h"

namespace offstage::ui {

namespace {

constexpr StringRule kCStrings[] = {{u"\"", u"\""}, {u"'", u"'"}};
constexpr StringRule kScriptStrings[] = {{u"`", u"`", true, true}, {u"\"", u"\""}, {u"'", u"'"}};
constexpr StringRule kGoStrings[] = {{u"`", u"`", false, true}, {u"\"", u"\""}, {u"'", u"'"}};
constexpr StringRule kRustStrings[] = {{u"r#\"", u"\"#", false, true}, {u"\"", u"\"", true, true}, {u"'", u"'"}};
constexpr StringRule kPythonStrings[] = {
    {u"\"\"\"", u"\"\"\"", true, true}, {u"'''", u"'''", true, true}, {u"\"", u"\""}, {u"'", u"'"}};
constexpr StringRule kBlockStrings[] = {{u"\"\"\"", u"\"\"\"", true, true}, {u"\"", u"\""}, {u"'", u"'"}};
constexpr StringRule kSharpStrings[] = {
    {u"@\"", u"\"", false, true}, {u"\"\"\"", u"\"\"\"", false, true}, {u"\"", u"\""}, {u"'", u"'"}};
constexpr StringRule kShellStrings[] = {
    {u"\"", u"\"", true, true}, {u"'", u"'", false, true}, {u"`", u"`", true, true}};
constexpr StringRule kPhpStrings[] = {{u"\"", u"\"", true, true}, {u"'", u"'", true, true}};
constexpr StringRule kSqlStrings[] = {{u"'", u"'", false, true}, {u"\"", u"\"", false}, {u"`", u"`", false}};
constexpr StringRule kQuotes[] = {{u"\"", u"\""}, {u"'", u"'"}};
constexpr StringRule kTomlStrings[] = {
    {u"\"\"\"", u"\"\"\"", true, true}, {u"'''", u"'''", false, true}, {u"\"", u"\""}, {u"'", u"'", false}};
constexpr StringRule kLuaStrings[] = {{u"[[", u"]]", false, true}, {u"\"", u"\""}, {u"'", u"'"}};

constexpr CommentRule kCComments{u"//", u"/*", u"*/"};
constexpr CommentRule kPhpComments{u"// #", u"/*", u"*/"};
constexpr CommentRule kSqlComments{u"--", u"/*", u"*/"};
constexpr CommentRule kLuaComments{u"--", u"--[[", u"]]"};
constexpr CommentRule kHashComments{u"#"};
constexpr CommentRule kTomlComments{u"# ;"};
constexpr CommentRule kMarkupComments{u"", u"<!--", u"-->"};
constexpr CommentRule kStyleComments{u"", u"/*", u"*/"};

constexpr CodeLanguage kLanguages[] = {
    {.label = u"C",
     .names = u"c h",
     .keywords = u"auto break case const continue default do else enum extern for goto if inline register restrict "
                 u"return sizeof static struct switch typedef union volatile while _Alignas _Atomic _Generic "
                 u"_Static_assert",
     .types = u"void char short int long float double signed unsigned bool size_t ssize_t int8_t int16_t int32_t "
              u"int64_t uint8_t uint16_t uint32_t uint64_t ptrdiff_t FILE NULL true false",
     .comments = kCComments,
     .strings = kCStrings,
     .preprocessor = true},
    {.label = u"C++",
     .names = u"cpp c++ cc cxx hpp hh cuda cu arduino",
     .keywords =
         u"alignas alignof and asm auto break case catch class co_await co_return co_yield concept const const_cast "
         u"consteval constexpr constinit continue decltype default delete do dynamic_cast else enum explicit export "
         u"extern final for friend goto if import inline module mutable namespace new noexcept not operator or "
         u"override "
         u"private protected public register reinterpret_cast requires return sizeof static static_assert static_cast "
         u"struct switch template this thread_local throw try typedef typeid typename union using virtual volatile "
         u"while __global__ __device__ __host__ __shared__",
     .types = u"void bool char char8_t char16_t char32_t wchar_t short int long float double signed unsigned size_t "
              u"int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t ptrdiff_t string string_view vector "
              u"map set unordered_map unique_ptr shared_ptr optional span nullptr true false",
     .comments = kCComments,
     .strings = kCStrings,
     .preprocessor = true},
    {.label = u"C#",
     .names = u"csharp c# cs",
     .keywords =
         u"abstract as async await base break case catch checked class const continue default delegate do else "
         u"enum event explicit extern finally fixed for foreach get goto if implicit in init interface internal "
         u"is lock namespace new operator out override params private protected public readonly record ref "
         u"return sealed set sizeof stackalloc static struct switch this throw try typeof unchecked unsafe "
         u"using value var virtual volatile when where while with yield",
     .types = u"bool byte char decimal double dynamic float int long object sbyte short string uint ulong ushort void "
              u"null true false",
     .comments = kCComments,
     .strings = kSharpStrings,
     .capitalTypes = true,
     .preprocessor = true},
    {.label = u"Go",
     .names = u"go golang",
     .keywords = u"break case chan const continue default defer else fallthrough for func go goto if import interface "
                 u"map package range return select struct switch type var",
     .types = u"any bool byte complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint "
              u"uint8 uint16 uint32 uint64 uintptr nil true false iota",
     .comments = kCComments,
     .strings = kGoStrings},
    {.label = u"Rust",
     .names = u"rust rs",
     .keywords = u"as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod "
                 u"move mut pub ref return self static struct super trait type unsafe use where while",
     .types = u"bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize true false",
     .comments = kCComments,
     .strings = kRustStrings,
     .nestedComments = true,
     .capitalTypes = true,
     .preprocessor = true,
     .lifetimes = true},
    {.label = u"Java",
     .names = u"java",
     .keywords =
         u"abstract assert break case catch class const continue default do else enum extends final finally for "
         u"if implements import instanceof interface native new package permits private protected public record "
         u"return sealed static super switch synchronized this throw throws transient try var volatile while "
         u"yield",
     .types = u"boolean byte char double float int long short void null true false",
     .comments = kCComments,
     .strings = kBlockStrings,
     .capitalTypes = true,
     .attributes = true},
    {.label = u"Kotlin",
     .names = u"kotlin kt kts",
     .keywords =
         u"abstract actual as break by catch class companion const constructor continue crossinline data do else "
         u"enum expect external final finally for fun get if import in infix init inline inner interface "
         u"internal is lateinit object open operator out override package private protected public reified "
         u"return sealed set super suspend tailrec this throw try typealias val var vararg when where while",
     .types = u"null true false",
     .comments = kCComments,
     .strings = kBlockStrings,
     .nestedComments = true,
     .capitalTypes = true,
     .attributes = true},
    {.label = u"Swift",
     .names = u"swift",
     .keywords =
         u"actor as associatedtype async await break case catch class continue convenience default defer deinit "
         u"do else enum extension fallthrough fileprivate final for func get guard if import in indirect infix "
         u"init inout internal is lazy let mutating nonisolated open operator override precedencegroup private "
         u"protocol public repeat required rethrows return self set some static struct subscript super switch "
         u"throw throws try typealias unowned var weak where while",
     .types = u"nil true false",
     .comments = kCComments,
     .strings = kBlockStrings,
     .nestedComments = true,
     .capitalTypes = true,
     .preprocessor = true,
     .attributes = true},
    {.label = u"JavaScript",
     .names = u"javascript js jsx mjs cjs node",
     .keywords =
         u"async await break case catch class const continue debugger default delete do else export extends "
         u"finally for from function get if import in instanceof let new of return set static super switch this "
         u"throw try typeof var void while with yield",
     .types = u"null undefined true false NaN Infinity",
     .comments = kCComments,
     .strings = kScriptStrings,
     .capitalTypes = true,
     .attributes = true},
    {.label = u"TypeScript",
     .names = u"typescript ts tsx",
     .keywords =
         u"abstract as asserts async await break case catch class const continue debugger declare default delete "
         u"do else enum export extends finally for from function get if implements import in infer instanceof "
         u"interface is keyof let namespace new of override private protected public readonly return satisfies "
         u"set static super switch this throw try type typeof var void while with yield",
     .types = u"any bigint boolean never null number object string symbol undefined unknown true false NaN Infinity",
     .comments = kCComments,
     .strings = kScriptStrings,
     .capitalTypes = true,
     .attributes = true},
    {.label = u"Python",
     .names = u"python py python3 ipython pycon",
     .keywords =
         u"and as assert async await break case class continue def del elif else except finally for from global "
         u"if import in is lambda match nonlocal not or pass raise return try while with yield",
     .types = u"None True False self cls int float str bytes bool list dict set tuple object",
     .comments = kHashComments,
     .strings = kPythonStrings,
     .capitalTypes = true,
     .attributes = true},
    {.label = u"Ruby",
     .names = u"ruby rb",
     .keywords =
         u"alias and begin break case class def defined do else elsif end ensure extend for if in include module "
         u"next not or private protected public raise redo require require_relative rescue retry return super "
         u"then undef unless until when while yield attr_accessor attr_reader",
     .types = u"nil true false self",
     .comments = kHashComments,
     .strings = kQuotes,
     .capitalTypes = true,
     .attributes = true,
     .dollarNames = true},
    {.label = u"PHP",
     .names = u"php",
     .keywords =
         u"abstract and as break case catch class clone const continue declare default do echo else elseif enum "
         u"extends final finally fn for foreach function global goto if implements include instanceof interface "
         u"match namespace new or print private protected public readonly require require_once return static "
         u"switch throw trait try use var while yield",
     .types = u"array bool callable float int iterable mixed null object string void true false self parent",
     .comments = kPhpComments,
     .strings = kPhpStrings,
     .capitalTypes = true,
     .dollarNames = true},
    {.label = u"Shell",
     .names = u"shell sh bash zsh console shell-session ksh",
     .keywords =
         u"break case continue do done elif else esac eval exec exit export fi for function if in local readonly "
         u"return select set shift source then trap unset until while",
     .types =
         u"alias awk cat cd chmod cp curl cut docker echo find git grep head kubectl ls make mkdir mv npm pip printf "
         u"pwd python read rm sed sort ssh sudo tail tar test touch tr wc wget xargs true false",
     .comments = kHashComments,
     .strings = kShellStrings,
     .dollarNames = true},
    {.label = u"SQL",
     .names = u"sql sqlite mysql postgresql postgres plsql",
     .keywords =
         u"add all alter and any as asc begin between by cascade case check column commit constraint create cross "
         u"database default delete desc distinct drop else end except exists explain foreign from full group "
         u"having if in index inner insert intersect into is join key left like limit not null offset on or "
         u"order outer over partition primary references replace returning right rollback select set table then "
         u"transaction trigger union unique update using values view when where window with",
     .types = u"bigint blob boolean char date datetime decimal double float int integer interval json numeric real "
              u"serial smallint text time timestamp uuid varchar true false avg coalesce count max min sum",
     .comments = kSqlComments,
     .strings = kSqlStrings,
     .anyCase = true},
    {.label = u"Lua",
     .names = u"lua",
     .keywords = u"and break do else elseif end for function goto if in local not or repeat return then until while",
     .types = u"nil true false self",
     .comments = kLuaComments,
     .strings = kLuaStrings},
    {.label = u"JSON",
     .names = u"json json5 jsonc jsonl",
     .family = CodeFamily::Data,
     .types = u"true false null",
     .comments = kCComments,
     .strings = kQuotes},
    {.label = u"YAML",
     .names = u"yaml yml",
     .family = CodeFamily::Data,
     .types = u"true false null yes no on off True False",
     .comments = kHashComments,
     .strings = kQuotes},
    {.label = u"TOML",
     .names = u"toml ini cfg conf properties",
     .family = CodeFamily::Data,
     .types = u"true false",
     .comments = kTomlComments,
     .strings = kTomlStrings},
    {.label = u"HTML",
     .names = u"html htm xhtml vue svelte",
     .family = CodeFamily::Markup,
     .comments = kMarkupComments,
     .strings = kQuotes},
    {.label = u"XML",
     .names = u"xml svg xsd xsl rss qrc",
     .family = CodeFamily::Markup,
     .comments = kMarkupComments,
     .strings = kQuotes},
    {.label = u"CSS",
     .names = u"css scss less",
     .family = CodeFamily::Style,
     .comments = kStyleComments,
     .strings = kQuotes},
    {.label = u"Diff", .names = u"diff patch", .family = CodeFamily::Diff},
};

}  // namespace

std::span<const CodeLanguage> codeLanguages() {
    return kLanguages;
}

}  // namespace offstage::ui
