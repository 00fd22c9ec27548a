#include "ui/chat/math_symbols.h"

#include <QHash>
#include <QSet>

namespace offstage::ui {

namespace {

struct Named {
    const char* name;
    const char16_t* symbol;
};

constexpr Named kSymbols[] = {
    // Greek
    {"alpha", u"α"},
    {"beta", u"β"},
    {"gamma", u"γ"},
    {"delta", u"δ"},
    {"epsilon", u"ϵ"},
    {"varepsilon", u"ε"},
    {"zeta", u"ζ"},
    {"eta", u"η"},
    {"theta", u"θ"},
    {"vartheta", u"ϑ"},
    {"iota", u"ι"},
    {"kappa", u"κ"},
    {"lambda", u"λ"},
    {"mu", u"μ"},
    {"nu", u"ν"},
    {"xi", u"ξ"},
    {"pi", u"π"},
    {"varpi", u"ϖ"},
    {"rho", u"ρ"},
    {"varrho", u"ϱ"},
    {"sigma", u"σ"},
    {"varsigma", u"ς"},
    {"tau", u"τ"},
    {"upsilon", u"υ"},
    {"phi", u"ϕ"},
    {"varphi", u"φ"},
    {"chi", u"χ"},
    {"psi", u"ψ"},
    {"omega", u"ω"},
    {"Gamma", u"Γ"},
    {"Delta", u"Δ"},
    {"Theta", u"Θ"},
    {"Lambda", u"Λ"},
    {"Xi", u"Ξ"},
    {"Pi", u"Π"},
    {"Sigma", u"Σ"},
    {"Upsilon", u"Υ"},
    {"Phi", u"Φ"},
    {"Psi", u"Ψ"},
    {"Omega", u"Ω"},
    // Relations
    {"le", u" ≤ "},
    {"leq", u" ≤ "},
    {"leqslant", u" ≤ "},
    {"ge", u" ≥ "},
    {"geq", u" ≥ "},
    {"geqslant", u" ≥ "},
    {"ne", u" ≠ "},
    {"neq", u" ≠ "},
    {"ll", u" ≪ "},
    {"gg", u" ≫ "},
    {"lt", u" < "},
    {"gt", u" > "},
    {"approx", u" ≈ "},
    {"equiv", u" ≡ "},
    {"sim", u" ∼ "},
    {"simeq", u" ≃ "},
    {"cong", u" ≅ "},
    {"propto", u" ∝ "},
    {"in", u" ∈ "},
    {"notin", u" ∉ "},
    {"ni", u" ∋ "},
    {"subset", u" ⊂ "},
    {"subseteq", u" ⊆ "},
    {"supset", u" ⊃ "},
    {"supseteq", u" ⊇ "},
    {"mid", u" ∣ "},
    {"parallel", u" ∥ "},
    {"perp", u" ⊥ "},
    {"coloneqq", u" ≔ "},
    {"models", u" ⊨ "},
    {"vdash", u" ⊢ "},
    {"prec", u" ≺ "},
    {"succ", u" ≻ "},
    {"asymp", u" ≍ "},
    {"doteq", u" ≐ "},
    // Operators
    {"pm", u" ± "},
    {"mp", u" ∓ "},
    {"times", u" × "},
    {"div", u" ÷ "},
    {"cdot", u" · "},
    {"ast", u"∗"},
    {"star", u"⋆"},
    {"circ", u"∘"},
    {"bullet", u"•"},
    {"cup", u" ∪ "},
    {"cap", u" ∩ "},
    {"setminus", u" ∖ "},
    {"land", u" ∧ "},
    {"wedge", u" ∧ "},
    {"lor", u" ∨ "},
    {"vee", u" ∨ "},
    {"lnot", u"¬"},
    {"neg", u"¬"},
    {"oplus", u" ⊕ "},
    {"ominus", u" ⊖ "},
    {"otimes", u" ⊗ "},
    {"odot", u" ⊙ "},
    {"bmod", u" mod "},
    {"mod", u" mod "},
    // Large operators
    {"sum", u"∑"},
    {"prod", u"∏"},
    {"coprod", u"∐"},
    {"int", u"∫"},
    {"iint", u"∬"},
    {"iiint", u"∭"},
    {"oint", u"∮"},
    {"bigcup", u"⋃"},
    {"bigcap", u"⋂"},
    {"bigoplus", u"⨁"},
    {"bigotimes", u"⨂"},
    {"bigvee", u"⋁"},
    {"bigwedge", u"⋀"},
    // Arrows
    {"to", u" → "},
    {"rightarrow", u" → "},
    {"longrightarrow", u" ⟶ "},
    {"leftarrow", u" ← "},
    {"gets", u" ← "},
    {"longleftarrow", u" ⟵ "},
    {"leftrightarrow", u" ↔ "},
    {"Rightarrow", u" ⇒ "},
    {"Longrightarrow", u" ⟹ "},
    {"implies", u" ⟹ "},
    {"Leftarrow", u" ⇐ "},
    {"impliedby", u" ⟸ "},
    {"Leftrightarrow", u" ⇔ "},
    {"iff", u" ⟺ "},
    {"mapsto", u" ↦ "},
    {"hookrightarrow", u" ↪ "},
    {"uparrow", u"↑"},
    {"downarrow", u"↓"},
    {"nearrow", u"↗"},
    {"searrow", u"↘"},
    {"rightharpoonup", u" ⇀ "},
    {"rightleftharpoons", u" ⇌ "},
    // Letters and signs
    {"infty", u"∞"},
    {"partial", u"∂"},
    {"nabla", u"∇"},
    {"forall", u"∀"},
    {"exists", u"∃"},
    {"nexists", u"∄"},
    {"emptyset", u"∅"},
    {"varnothing", u"∅"},
    {"ell", u"ℓ"},
    {"hbar", u"ℏ"},
    {"Re", u"ℜ"},
    {"Im", u"ℑ"},
    {"aleph", u"ℵ"},
    {"wp", u"℘"},
    {"angle", u"∠"},
    {"triangle", u"△"},
    {"square", u"□"},
    {"blacksquare", u"■"},
    {"therefore", u"∴"},
    {"because", u"∵"},
    {"degree", u"°"},
    {"prime", u"′"},
    {"dagger", u"†"},
    {"checkmark", u"✓"},
    {"top", u"⊤"},
    {"bot", u"⊥"},
    {"imath", u"ı"},
    {"jmath", u"ȷ"},
    {"surd", u"√"},
    // Dots
    {"ldots", u"…"},
    {"dots", u"…"},
    {"dotsc", u"…"},
    {"dotsb", u"⋯"},
    {"cdots", u"⋯"},
    {"vdots", u"⋮"},
    {"ddots", u"⋱"},
    {"colon", u": "},
    // Brackets
    {"lfloor", u"⌊"},
    {"rfloor", u"⌋"},
    {"lceil", u"⌈"},
    {"rceil", u"⌉"},
    {"langle", u"⟨"},
    {"rangle", u"⟩"},
    {"lvert", u"|"},
    {"rvert", u"|"},
    {"vert", u"|"},
    {"lVert", u"‖"},
    {"rVert", u"‖"},
    {"Vert", u"‖"},
    {"lbrace", u"{"},
    {"rbrace", u"}"},
    {"lbrack", u"["},
    {"rbrack", u"]"},
    {"backslash", u"\\"},
    // Blanks
    {"quad", u"\u2003"},
    {"qquad", u"\u2003\u2003"},
    {"enspace", u" "},
    {"space", u" "},
};

constexpr char16_t kPlain[] = u"0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθϕφχ′∗⊤";
constexpr char16_t kAbove[] = u"⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵠᵡ′*ᵀ";
static_assert(sizeof(kPlain) == sizeof(kAbove));
constexpr char16_t kPlainLow[] = u"0123456789+-−=()aehijklmnoprstuvxβγρϕφχ";
constexpr char16_t kBelow[] = u"₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵩᵪ";
static_assert(sizeof(kPlainLow) == sizeof(kBelow));

QChar mapped(QChar c, const char16_t* from, const char16_t* to) {
    for (; *from; ++from, ++to) {
        if (*from == c.unicode()) {
            return *to;
        }
    }
    return {};
}

// Letters that Unicode had before it had the alphabet they belong to.
char32_t oldLetter(QChar c, MathAlphabet alphabet) {
    switch (alphabet) {
        case MathAlphabet::DoubleStruck:
            return mapped(c, u"CHNPQRZ", u"ℂℍℕℙℚℝℤ").unicode();
        case MathAlphabet::Script:
            return mapped(c, u"BEFHILMRego", u"ℬℰℱℋℐℒℳℛℯℊℴ").unicode();
        case MathAlphabet::Fraktur:
            return mapped(c, u"CHIRZ", u"ℭℌℑℜℨ").unicode();
        default:
            return 0;
    }
}

}  // namespace

QString mathSymbol(const QString& name) {
    static const QHash<QString, QString> all = [] {
        QHash<QString, QString> out;
        for (const Named& named : kSymbols) {
            out.insert(QString::fromLatin1(named.name), QString::fromUtf16(named.symbol));
        }
        return out;
    }();
    return all.value(name);
}

bool isMathFunction(const QString& name) {
    static const QSet<QString> all = [] {
        QSet<QString> out;
        for (const char* function : {"log", "ln",   "lg",     "exp",    "sin",     "cos",    "tan",    "cot", "sec",
                                     "csc", "sinh", "cosh",   "tanh",   "arcsin",  "arccos", "arctan", "min", "max",
                                     "sup", "inf",  "lim",    "det",    "dim",     "ker",    "deg",    "gcd", "arg",
                                     "Pr",  "hom",  "argmax", "argmin", "softmax", "limsup", "liminf"}) {
            out.insert(QString::fromLatin1(function));
        }
        return out;
    }();
    return all.contains(name);
}

bool isMathStyle(const QString& name) {
    static const QSet<QString> all = [] {
        QSet<QString> out;
        for (const char* style :
             {"displaystyle", "textstyle", "scriptstyle", "limits", "nolimits", "big",   "Big",      "bigg",  "Bigg",
              "bigl",         "bigr",      "Bigl",        "Bigr",   "biggl",    "biggr", "Biggl",    "Biggr", "bigm",
              "hline",        "nonumber",  "notag",       "rm",     "bf",       "it",    "mathstrut"}) {
            out.insert(QString::fromLatin1(style));
        }
        return out;
    }();
    return all.contains(name);
}

QChar mathSuperscript(QChar c) {
    return mapped(c, kPlain, kAbove);
}
QChar mathSubscript(QChar c) {
    return mapped(c, kPlainLow, kBelow);
}

QChar mathAccent(const QString& name) {
    static const QHash<QString, char16_t> all{
        {QStringLiteral("hat"), u'\u0302'},   {QStringLiteral("widehat"), u'\u0302'},
        {QStringLiteral("tilde"), u'\u0303'}, {QStringLiteral("widetilde"), u'\u0303'},
        {QStringLiteral("bar"), u'\u0304'},   {QStringLiteral("overline"), u'\u0305'},
        {QStringLiteral("vec"), u'\u20d7'},   {QStringLiteral("dot"), u'\u0307'},
        {QStringLiteral("ddot"), u'\u0308'},  {QStringLiteral("acute"), u'\u0301'},
        {QStringLiteral("grave"), u'\u0300'}, {QStringLiteral("check"), u'\u030c'},
        {QStringLiteral("breve"), u'\u0306'}, {QStringLiteral("underline"), u'\u0332'},
    };
    return all.value(name, u'\0');
}

QString mathAccentName(const QString& name) {
    return name == u"underline"   ? QString()
           : name == u"widehat"   ? QStringLiteral("hat")
           : name == u"widetilde" ? QStringLiteral("tilde")
                                  : name;
}

MathAlphabet mathAlphabet(const QString& name) {
    static const QHash<QString, MathAlphabet> all{
        {QStringLiteral("mathbb"), MathAlphabet::DoubleStruck}, {QStringLiteral("Bbb"), MathAlphabet::DoubleStruck},
        {QStringLiteral("mathcal"), MathAlphabet::Script},      {QStringLiteral("mathscr"), MathAlphabet::Script},
        {QStringLiteral("mathfrak"), MathAlphabet::Fraktur},    {QStringLiteral("mathbf"), MathAlphabet::Bold},
        {QStringLiteral("boldsymbol"), MathAlphabet::Bold},     {QStringLiteral("bm"), MathAlphabet::Bold},
        {QStringLiteral("mathrm"), MathAlphabet::Plain},        {QStringLiteral("mathit"), MathAlphabet::Plain},
        {QStringLiteral("mathsf"), MathAlphabet::Plain},        {QStringLiteral("mathtt"), MathAlphabet::Plain},
        {QStringLiteral("boxed"), MathAlphabet::Plain},         {QStringLiteral("overbrace"), MathAlphabet::Plain},
        {QStringLiteral("underbrace"), MathAlphabet::Plain},    {QStringLiteral("mathopen"), MathAlphabet::Plain},
    };
    return all.value(name, MathAlphabet::None);
}

QString mathLetters(const QString& text, MathAlphabet alphabet) {
    // Where each alphabet begins: capitals, small letters, digits (0: it has none).
    char32_t capitals = 0;
    char32_t small = 0;
    char32_t digits = 0;
    switch (alphabet) {
        case MathAlphabet::DoubleStruck:
            capitals = 0x1D538, small = 0x1D552, digits = 0x1D7D8;
            break;
        case MathAlphabet::Script:
            capitals = 0x1D49C, small = 0x1D4B6;
            break;
        case MathAlphabet::Fraktur:
            capitals = 0x1D504, small = 0x1D51E;
            break;
        case MathAlphabet::Bold:
            capitals = 0x1D400, small = 0x1D41A, digits = 0x1D7CE;
            break;
        default:
            return text;
    }
    QString out;
    for (const QChar c : text) {
        char32_t letter = oldLetter(c, alphabet);
        if (letter == 0 && c >= u'A' && c <= u'Z') {
            letter = capitals + (c.unicode() - u'A');
        } else if (letter == 0 && c >= u'a' && c <= u'z') {
            letter = small + (c.unicode() - u'a');
        } else if (letter == 0 && c >= u'0' && c <= u'9' && digits != 0) {
            letter = digits + (c.unicode() - u'0');
        }
        out += letter == 0 ? QString(c) : QString::fromUcs4(&letter, 1);
    }
    return out;
}

}  // namespace offstage::ui
