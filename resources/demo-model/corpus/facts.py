"""A fixed table of plain facts, asked in many ways. Held out: pairs of (fact, phrasing) never trained on."""
from . import common
from .common import cap, an, held, typed, join

CAPITALS = """France Paris|Italy Rome|Spain Madrid|Germany Berlin|Portugal Lisbon|Greece Athens|Austria Vienna|Poland Warsaw|Hungary Budapest
Norway Oslo|Sweden Stockholm|Finland Helsinki|Denmark Copenhagen|Ireland Dublin|Belgium Brussels|Japan Tokyo|China Beijing|India Delhi|Egypt Cairo
Kenya Nairobi|Russia Moscow|Turkey Ankara|Canada Ottawa|Cuba Havana|Peru Lima|Chile Santiago|Iceland Reykjavik|Thailand Bangkok|Vietnam Hanoi|Iran Tehran
Iraq Baghdad|Ghana Accra|Morocco Rabat|Bulgaria Sofia|Romania Bucharest|Serbia Belgrade|Croatia Zagreb|Ukraine Kyiv|Nepal Kathmandu|Brazil Brasilia|Australia Canberra"""
CAPITALS = [tuple(p.split()) for line in CAPITALS.split("\n") for p in line.split("|")]
CONTINENT = {c: "Europe" for c in """France Italy Spain Germany Portugal Greece Austria Poland Hungary Norway Sweden Finland Denmark Ireland Belgium
Iceland Bulgaria Romania Serbia Croatia Ukraine""".split()}
CONTINENT.update({c: "Asia" for c in "Japan China India Thailand Vietnam Iran Iraq Nepal".split()})
CONTINENT.update({c: "Africa" for c in "Egypt Kenya Ghana Morocco".split()})
CONTINENT.update({"Canada": "North America", "Cuba": "North America", "Peru": "South America", "Chile": "South America", "Brazil": "South America"})
SYMBOLS = """hydrogen H|helium He|carbon C|nitrogen N|oxygen O|sodium Na|magnesium Mg|aluminium Al|silicon Si|sulfur S|chlorine Cl|potassium K
calcium Ca|iron Fe|copper Cu|zinc Zn|silver Ag|tin Sn|gold Au|mercury Hg|lead Pb|neon Ne|iodine I|uranium U"""
SYMBOLS = [tuple(p.split()) for line in SYMBOLS.split("\n") for p in line.split("|")]
YOUNG = """dog puppy|cat kitten|cow calf|horse foal|sheep lamb|goat kid|pig piglet|bear cub|lion cub|deer fawn|duck duckling|hen chick|goose gosling
swan cygnet|frog tadpole|kangaroo joey|owl owlet|elephant calf|fox cub|whale calf"""
YOUNG = [tuple(p.split()) for line in YOUNG.split("\n") for p in line.split("|")]
SOUNDS = """dog barks|cat meows|cow moos|horse neighs|sheep bleats|pig grunts|lion roars|duck quacks|owl hoots|bee buzzes|frog croaks|snake hisses|wolf howls|mouse squeaks|donkey brays"""
SOUNDS = [tuple(p.split()) for p in SOUNDS.split("|")]
LEGS = "dog 4|cat 4|horse 4|cow 4|bird 2|hen 2|spider 8|ant 6|bee 6|beetle 6|snake 0|fish 0|lion 4|frog 4|duck 2|butterfly 6|scorpion 8|crab 10"
LEGS = [tuple(p.split()) for p in LEGS.split("|")]
SIDES = "triangle 3|square 4|rectangle 4|pentagon 5|hexagon 6|heptagon 7|octagon 8"
SIDES = [tuple(p.split()) for p in SIDES.split("|")]
MONTHS = "January February March April May June July August September October November December".split()
MDAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
PLANETS = "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune".split()
ORDINAL = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
MIX = [("red", "yellow", "orange"), ("blue", "yellow", "green"), ("red", "blue", "purple"), ("red", "white", "pink"), ("black", "white", "grey")]
COLOURS = """grass green|snow white|coal black|blood red|milk white|banana yellow|tomato red|lemon yellow|cucumber green|strawberry red|clear day sky blue|carrot orange|frog green|cherry red|spinach green"""
COLOURS = [tuple(p.rsplit(" ", 1)) for p in COLOURS.split("|")]
MISC = [
    ("makes honey", "Bees make honey.", "bee", ["Who makes honey?", "Which insect makes honey?", "Where does honey come from?", "What animal makes honey?", "Which animals make honey?"]),
    ("largest planet", "The largest planet of our solar system is Jupiter.", "Jupiter", ["What is the largest planet?", "Which planet is the biggest?", "Name the largest planet.", "What is the biggest planet in the solar system?", "Which planet is the largest?"]),
    ("smallest planet", "The smallest planet of our solar system is Mercury.", "Mercury", ["What is the smallest planet?", "Which planet is the smallest?", "Name the smallest planet.", "What is the smallest planet in the solar system?"]),
    ("red planet", "Mars is called the red planet.", "Mars", ["Which planet is called the red planet?", "What is the red planet?", "Which planet is red?", "Name the red planet."]),
    ("rings", "Saturn is famous for its rings.", "Saturn", ["Which planet has rings?", "Which planet is famous for its rings?", "What planet has big rings?", "Name a planet with rings."]),
    ("sun", "The sun is a star.", "star", ["What is the sun?", "Is the sun a star?", "What kind of thing is the sun?", "Is the sun a star or a planet?"]),
    ("moon", "The moon goes around the Earth.", "Earth", ["What does the moon go around?", "What does the moon circle?", "Around which planet does the moon go?", "What does the moon move around?"]),
    ("earth goes", "The Earth goes around the sun.", "sun", ["What does the Earth go around?", "What does the Earth circle?", "Around what does the Earth move?", "What does our planet go around?"]),
    ("water formula", "The formula of water is H2O.", "H2O", ["What is the formula of water?", "What is water made of?", "What is the chemical formula of water?", "Which formula does water have?", "Give me the formula of water."]),
    ("water freezes", "Water freezes at 0 degrees Celsius.", "0", ["At what temperature does water freeze?", "When does water freeze?", "What is the freezing point of water?", "How cold must it be for water to freeze?"]),
    ("water boils", "Water boils at 100 degrees Celsius.", "100", ["At what temperature does water boil?", "When does water boil?", "What is the boiling point of water?", "How hot must water be to boil?"]),
    ("ice", "Ice is frozen water.", "water", ["What is ice?", "What is ice made of?", "Tell me what ice is.", "What is frozen water called?"]),
    ("days of week", "A week has 7 days.", "7", ["How many days are in a week?", "How many days does a week have?", "How many days make a week?", "Tell me how many days a week has."]),
    ("months of year", "A year has 12 months.", "12", ["How many months are in a year?", "How many months does a year have?", "How many months make a year?", "Tell me how many months a year has."]),
    ("days of year", "A year has 365 days, and a leap year has 366.", "365", ["How many days are in a year?", "How many days does a year have?", "How many days make a year?", "How long is a year in days?"]),
    ("seasons", "The four seasons are spring, summer, autumn and winter.", "autumn", ["What are the four seasons?", "Name the four seasons.", "Which seasons are there?", "Tell me the seasons of the year."]),
    ("tallest animal", "The tallest animal is the giraffe.", "giraffe", ["What is the tallest animal?", "Which animal is the tallest?", "Name the tallest animal.", "Which animal has a very long neck?"]),
    ("largest animal", "The largest animal is the blue whale.", "blue whale", ["What is the largest animal?", "Which animal is the biggest?", "Name the largest animal.", "What is the biggest animal on Earth?"]),
    ("fastest animal", "The fastest animal on land is the cheetah.", "cheetah", ["What is the fastest animal on land?", "Which animal runs the fastest?", "Name the fastest land animal.", "What is the fastest animal?"]),
    ("largest ocean", "The largest ocean is the Pacific.", "Pacific", ["What is the largest ocean?", "Which ocean is the biggest?", "Name the largest ocean.", "What is the biggest ocean in the world?"]),
    ("highest mountain", "The highest mountain is Mount Everest.", "Everest", ["What is the highest mountain?", "Which mountain is the highest?", "Name the highest mountain.", "What is the tallest mountain on Earth?"]),
    ("silk", "Silk comes from silkworms.", "silkworm", ["Where does silk come from?", "Which animal makes silk?", "What makes silk?", "Who makes silk?"]),
    ("wool", "Wool comes from sheep.", "sheep", ["Where does wool come from?", "Which animal gives us wool?", "What animal does wool come from?", "Who gives us wool?"]),
    ("milk", "Most of our milk comes from cows.", "cow", ["Where does milk come from?", "Which animal gives us milk?", "What animal does milk come from?", "Who gives us milk?"]),
    ("bread", "Bread is made of flour.", "flour", ["What is bread made of?", "What do you need to make bread?", "What do people make bread from?", "Tell me what bread is made of."]),
    ("cheese", "Cheese is made of milk.", "milk", ["What is cheese made of?", "What do people make cheese from?", "Where does cheese come from?", "Tell me what cheese is made of."]),
    ("paper", "Paper is made of wood.", "wood", ["What is paper made of?", "What do people make paper from?", "Where does paper come from?", "Tell me what paper is made of."]),
    ("glass", "Glass is made of sand.", "sand", ["What is glass made of?", "What do people make glass from?", "Where does glass come from?", "Tell me what glass is made of."]),
    ("heart", "The heart pumps blood through the body.", "blood", ["What does the heart do?", "What is the heart for?", "What does the heart pump?", "Tell me what the heart does."]),
    ("lungs", "We breathe with our lungs.", "lungs", ["What do we breathe with?", "Which part of the body do we breathe with?", "What do people breathe with?", "What do we use to breathe?"]),
    ("plants need", "Plants need light, water and air.", "light", ["What do plants need?", "What does a plant need to grow?", "What do plants need to live?", "Tell me what plants need."]),
    ("compass", "A compass needle points north.", "north", ["Where does a compass point?", "Which way does a compass needle point?", "What does a compass show?", "In which direction does a compass point?"]),
    ("sunrise", "The sun rises in the east.", "east", ["Where does the sun rise?", "In which direction does the sun rise?", "On which side does the sun come up?", "Where does the sun come up?"]),
    ("sunset", "The sun sets in the west.", "west", ["Where does the sun set?", "In which direction does the sun set?", "On which side does the sun go down?", "Where does the sun go down?"]),
    ("fingers", "A hand has 5 fingers.", "5", ["How many fingers does a hand have?", "How many fingers are on one hand?", "How many fingers has a hand?", "Tell me how many fingers a hand has."]),
    ("primary colours", "The primary colours are red, yellow and blue.", "yellow", ["What are the primary colours?", "Name the primary colours.", "Which colours are primary colours?", "Tell me the three primary colours."]),
    ("alphabet", "The English alphabet has 26 letters.", "26", ["How many letters are in the alphabet?", "How many letters does the alphabet have?", "How many letters does English have?", "Tell me how many letters the alphabet has."]),
    ("bat", "A bat is a mammal.", "mammal", ["Is a bat a bird?", "Is a bat a bird or a mammal?", "What kind of animal is a bat?", "Are bats birds?"]),
    ("whale kind", "A whale is a mammal, not a fish.", "mammal", ["Is a whale a fish?", "Is a whale a fish or a mammal?", "What kind of animal is a whale?", "Are whales fish?"]),
    ("spider kind", "A spider is an arachnid, not an insect.", "arachnid", ["Is a spider an insect?", "What kind of animal is a spider?", "Are spiders insects?", "Is a spider an insect or an arachnid?"]),
    ("penguin", "No, a penguin is a bird that cannot fly.", "cannot fly", ["Can a penguin fly?", "Can penguins fly?", "Is a penguin able to fly?", "Do penguins fly?"]),
]


def build():
    """(fact id, answer, word the answer must have, phrasings)."""
    out = []

    def add(fid, answer, must, *asks):
        out.append((fid, answer, must, list(asks)))

    for c, k in CAPITALS:
        add(f"capital {c}", f"The capital of {c} is {k}.", k, f"What is the capital of {c}?", f"What's the capital of {c}?", f"Which city is the capital of {c}?",
            f"Name the capital of {c}.", f"Tell me the capital of {c}.", f"Do you know the capital of {c}?", f"What is {c}'s capital?", f"Capital of {c}?",
            f"What is the capital city of {c}?", f"{c}: what is its capital?")
        add(f"country {k}", f"{k} is the capital of {c}.", c, f"{k} is the capital of which country?", f"Which country has {k} as its capital?", f"Of which country is {k} the capital?",
            f"In which country is {k}?", f"Where is {k}?", f"What country is {k} in?", f"Which country does {k} belong to?")
    for c, k in CONTINENT.items():
        add(f"continent {c}", f"{c} is in {k}.", k, f"On which continent is {c}?", f"Which continent is {c} in?", f"Where is {c}?", f"What continent is {c} on?", f"In which part of the world is {c}?",
            f"Tell me the continent of {c}.")
    for e, s in SYMBOLS:
        add(f"symbol {e}", f"The chemical symbol of {e} is {s}.", s, f"What is the chemical symbol of {e}?", f"What is the symbol for {e}?", f"Which symbol does {e} have?", f"Chemical symbol of {e}?",
            f"Tell me the chemical symbol of {e}.", f"How do you write {e} in chemistry?", f"What's the symbol of {e}?", f"Give me the symbol for {e}.")
        add(f"element {s}", f"{s} is the chemical symbol of {e}.", e, f"Which element has the symbol {s}?", f"What element is {s}?", f"What does {s} stand for in chemistry?", f"Which element is written {s}?",
            f"What is the element with the symbol {s}?", f"Name the element with the symbol {s}.")
    for a, y in YOUNG:
        add(f"young {a}", f"A young {a} is called {an(y)}.", y, f"What is a young {a} called?", f"What do you call a baby {a}?", f"What is a baby {a} called?", f"What is the name for a young {a}?",
            f"What do we call a young {a}?", f"How do you call the young of {an(a)}?", f"Tell me the name for a baby {a}.")
    for a, s in SOUNDS:
        base = {"buzzes": "buzz", "hisses": "hiss"}.get(s, s[:-1])
        add(f"sound {a}", f"{cap(an(a))} {s}.", s, f"What sound does {an(a)} make?", f"What noise does {an(a)} make?", f"Which sound does {an(a)} make?", f"What does {an(a)} sound like?",
            f"Tell me the sound of {an(a)}.", f"How does {an(a)} sound?")
        add(f"who {s}", f"{cap(an(a))} {s}.", a, f"Which animal {s}?", f"What animal {s}?", f"Which animal can {base}?", f"Name an animal that {s}.", f"Who {s}?")
    for a, n in LEGS:
        add(f"legs {a}", f"{cap(an(a))} has {n} legs." if n != "0" else f"{cap(an(a))} has no legs.", n if n != "0" else "no legs", f"How many legs does {an(a)} have?", f"How many legs has {an(a)}?",
            f"What number of legs does {an(a)} have?", f"Tell me how many legs {an(a)} has.", f"How many legs are on {an(a)}?", f"Do you know how many legs {an(a)} has?")
    for a, n in SIDES:
        add(f"sides {a}", f"{cap(an(a))} has {n} sides.", n, f"How many sides does {an(a)} have?", f"How many sides has {an(a)}?", f"What number of sides does {an(a)} have?",
            f"Tell me how many sides {an(a)} has.", f"What is the number of sides of {an(a)}?", f"Do you know how many sides {an(a)} has?")
        if a not in ("square", "rectangle"):
            add(f"shape {n}", f"A shape with {n} sides is called {an(a)}.", a, f"Which shape has {n} sides?", f"What do you call a shape with {n} sides?", f"What is a shape with {n} sides called?", f"Name a shape with {n} sides.",
                f"What shape has {n} sides?")
    for i, m in enumerate(MONTHS):
        add(f"mdays {m}", f"{m} has {MDAYS[i]} days." if i != 1 else "February has 28 days, and 29 in a leap year.", str(MDAYS[i]), f"How many days does {m} have?", f"How many days are in {m}?", f"How long is {m}?",
            f"How many days has {m}?", f"What number of days does {m} have?", f"Tell me how many days {m} has.")
        nx, pv = MONTHS[(i + 1) % 12], MONTHS[i - 1]
        add(f"mnext {m}", f"{nx} comes after {m}.", nx, f"Which month comes after {m}?", f"What month follows {m}?", f"What comes after {m}?", f"Which month is next after {m}?", f"What is the month after {m}?")
        add(f"mprev {m}", f"{pv} comes before {m}.", pv, f"Which month comes before {m}?", f"What comes before {m}?", f"What is the month before {m}?", f"Which month is just before {m}?")
        add(f"mord {m}", f"The {ORDINAL[i]} month of the year is {m}.", m, f"What is the {ORDINAL[i]} month of the year?", f"Which month is the {ORDINAL[i]}?", f"Which is the {ORDINAL[i]} month?", f"Name the {ORDINAL[i]} month.")
    for i, d in enumerate(DAYS):
        nx, pv = DAYS[(i + 1) % 7], DAYS[i - 1]
        add(f"dnext {d}", f"{nx} comes after {d}.", nx, f"Which day comes after {d}?", f"What day follows {d}?", f"What comes after {d}?", f"Which day is next after {d}?", f"What is the day after {d}?")
        add(f"dprev {d}", f"{pv} comes before {d}.", pv, f"Which day comes before {d}?", f"What comes before {d}?", f"What is the day before {d}?", f"Which day is just before {d}?")
        add(f"dtom {d}", f"If today is {d}, then tomorrow is {nx}.", nx, f"If today is {d}, what is tomorrow?", f"Today is {d}. What day is tomorrow?", f"Today is {d}. What is tomorrow?", f"What day is tomorrow if today is {d}?")
    for i, p in enumerate(PLANETS):
        add(f"planet {p}", f"The {ORDINAL[i]} planet from the sun is {p}.", p, f"What is the {ORDINAL[i]} planet from the sun?", f"Which planet is the {ORDINAL[i]} from the sun?", f"Which is the {ORDINAL[i]} planet?",
            f"Name the {ORDINAL[i]} planet from the sun.", f"What's the {ORDINAL[i]} planet?")
    for a, b, c in MIX:
        for x, y in ((a, b), (b, a)):
            add(f"mix {x} {y}", f"{cap(x)} and {y} make {c}.", c, f"What colour do {x} and {y} make?", f"What do you get when you mix {x} and {y}?", f"Mix {x} and {y}: which colour is it?",
                f"Which colour do you get from {x} and {y}?", f"What happens when I mix {x} with {y}?", f"What is {x} and {y} mixed?")
    for t, c in COLOURS:
        the = f"{an(t)}" if t not in ("grass", "snow", "coal", "blood", "milk", "spinach") else t
        add(f"colour {t}", f"{cap(the)} is {c}.", c, f"What colour is {the}?", f"Which colour does {the} have?", f"What is the colour of {the}?", f"Tell me the colour of {the}.", f"Do you know what colour {the} is?")
    for fid, answer, must, asks in MISC:
        add(fid, answer, must, *asks)
    return out


TABLE = build()
FEW = [t for t in TABLE if t[0].split()[0] not in ("mord", "mprev", "dprev", "element")]
for _c, _k in CAPITALS[27:]:
    FEW = [t for t in FEW if t[0] not in (f"capital {_c}", f"country {_k}", f"continent {_c}")]


def one(rng, want_held=False):
    while True:
        fid, answer, must, asks = rng.choice(TABLE if common.WIDE else FEW)
        i = rng.randrange(len(asks))
        key = f"fact:{fid}:{i}"
        # Never hold out all phrasings: the first one is always trained.
        if (held(key) and i > 0) == want_held:
            return dict(domain="facts", prompt=typed(rng, asks[i]), answer=answer, key=key, check=dict(kind="contains", value=must))
