#include "ui/chat/math_symbols.h"

#include <QHash>
#include <QSet>

namespace offstage::ui {

namespace {

// Names and their signs, alternating.
constexpr char16_t kSigns[] =
    u"alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι "
    u"kappa κ lambda λ mu μ nu ν xi ξ pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ "
    u"phi ϕ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ "
    u"Phi Φ Psi Ψ Omega Ω ast ∗ star ⋆ circ ∘ bullet • lnot ¬ neg ¬ sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ "
    u"iiint ∭ oint ∮ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ bigvee ⋁ bigwedge ⋀ uparrow ↑ downarrow ↓ "
    u"nearrow ↗ searrow ↘ infty ∞ partial ∂ nabla ∇ forall ∀ exists ∃ nexists ∄ emptyset ∅ varnothing ∅ "
    u"ell ℓ hbar ℏ Re ℜ Im ℑ aleph ℵ wp ℘ angle ∠ triangle △ square □ blacksquare ■ therefore ∴ "
    u"because ∵ degree ° prime ′ dagger † checkmark ✓ top ⊤ bot ⊥ imath ı jmath ȷ surd √ ldots … dots … "
    u"dotsc … dotsb ⋯ cdots ⋯ vdots ⋮ ddots ⋱ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ langle ⟨ rangle ⟩ "
    u"lvert | rvert | vert | lVert ‖ rVert ‖ Vert ‖ lbrace { rbrace } lbrack [ rbrack ] backslash \\";
// The same, with a blank on each side: relations, operators, arrows.
constexpr char16_t kSpacedSigns[] =
    u"le ≤ leq ≤ leqslant ≤ ge ≥ geq ≥ geqslant ≥ ne ≠ neq ≠ ll ≪ gg ≫ lt < gt > approx ≈ equiv ≡ sim ∼ "
    u"simeq ≃ cong ≅ propto ∝ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ mid ∣ parallel ∥ "
    u"perp ⊥ coloneqq ≔ models ⊨ vdash ⊢ prec ≺ succ ≻ asymp ≍ doteq ≐ pm ± mp ∓ times × div ÷ cdot · "
    u"cup ∪ cap ∩ setminus ∖ land ∧ wedge ∧ lor ∨ vee ∨ oplus ⊕ ominus ⊖ otimes ⊗ odot ⊙ bmod mod "
    u"mod mod to → rightarrow → longrightarrow ⟶ leftarrow ← gets ← longleftarrow ⟵ leftrightarrow ↔ "
    u"Rightarrow ⇒ Longrightarrow ⟹ implies ⟹ Leftarrow ⇐ impliedby ⟸ Leftrightarrow ⇔ iff ⟺ mapsto ↦ "
    u"hookrightarrow ↪ rightharpoonup ⇀ rightleftharpoons ⇌";

void addSigns(const char16_t* list, const QString& around, QHash<QString, QString>& signs) {
    const QStringList words = QString::fromUtf16(list).split(u' ');
    for (qsizetype i = 0; i + 1 < words.size(); i += 2) {
        signs.insert(words[i], around + words[i + 1] + around);
    }
}

constexpr char16_t kPlain[] = u"0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθϕφχ′∗⊤";
constexpr char16_t kAbove[] = u"⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵠᵡ′*ᵀ";
static_assert(sizeof(kPlain) == sizeof(kAbove));
constexpr char16_t kPlainLow[] = u"0123456789+-−=()aehijklmnoprstuvxβγρϕφχ";
constexpr char16_t kBelow[] = u"₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵩᵪ";
static_assert(sizeof(kPlainLow) == sizeof(kBelow));

QSet<QString> setOf(const char16_t* list) {
    const QStringList words = QString::fromUtf16(list).split(u' ');
    return {words.begin(), words.end()};
}

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
        QHash<QString, QString> out{{QStringLiteral("colon"), QStringLiteral(": ")},
                                    {QStringLiteral("quad"), QStringLiteral("\u2003")},
                                    {QStringLiteral("qquad"), QStringLiteral("\u2003\u2003")},
                                    {QStringLiteral("enspace"), QStringLiteral(" ")},
                                    {QStringLiteral("space"), QStringLiteral(" ")}};
        addSigns(kSigns, {}, out);
        addSigns(kSpacedSigns, QStringLiteral(" "), out);
        return out;
    }();
    return all.value(name);
}

bool isMathFunction(const QString& name) {
    static const QSet<QString> all = setOf(
        u"log ln lg exp sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan min max sup inf lim det dim "
        u"ker deg gcd arg Pr hom argmax argmin softmax limsup liminf");
    return all.contains(name);
}

bool isMathStyle(const QString& name) {
    static const QSet<QString> all = setOf(
        u"displaystyle textstyle scriptstyle limits nolimits big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl "
        u"Biggr bigm hline nonumber notag rm bf it mathstrut");
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
    // The beginning of each alphabet: capitals, small letters, digits (0: it has none).
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
