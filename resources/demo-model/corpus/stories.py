"""Short stories from six plots. Held out: (plot, hero, thing) as asked for in the prompt."""
import re
from .common import cap, an, held, typed
from .names import GIRLS, BOYS

ANIMALS = "fox bear mouse rabbit owl duck frog cat dog goat horse hedgehog squirrel turtle crow lamb wolf beaver mole sparrow".split()
ROLES = "baker sailor farmer gardener miller shepherd painter king queen clockmaker fisherman postman teacher girl boy".split()
FEMALE, MALE = {"queen", "girl"}, {"king", "boy", "fisherman", "postman"}
ADJ = "little young old small clever shy kind quiet brave cheerful curious gentle lonely patient".split()
THINGS = "lantern key map ring book bell kite drum boat coin feather stone letter basket cup flute scarf hat clock box shell mirror seed button".split()
PLACES = ["in a small village", "by the sea", "at the edge of a forest", "on a green hill", "near a wide river", "in a quiet valley", "beside an old mill", "in a house under a tall oak", "on a little island", "behind the mountains"]
SPOTS = ["under a tree", "behind a rock", "in the tall grass", "on the path", "beside the well", "near the bridge", "in the snow", "on the beach", "under the leaves", "at the old gate"]
SKILLS = [("sing", "singing"), ("swim", "swimming"), ("dance", "dancing"), ("paint", "painting"), ("read", "reading"), ("bake bread", "baking"), ("play the flute", "playing"), ("climb trees", "climbing"), ("row a boat", "rowing"), ("tell stories", "telling stories")]
FEARS = ["the dark", "the storm", "deep water", "the big forest", "loud noises", "the old bridge", "strangers", "the night"]
TIMES = ["One morning", "One day", "One evening", "One cold day", "One sunny afternoon", "Early one morning", "One rainy day"]
ADVERBS = ["slowly", "carefully", "quietly", "gently"]


class Story:
    def __init__(self, rng, hero=None, thing=None):
        self.rng = rng
        self.h = hero or rng.choice(ANIMALS + ANIMALS + ROLES)
        self.t = thing or rng.choice(THINGS)
        self.female = self.h in FEMALE or self.h not in MALE and rng.random() < 0.5
        self.name = rng.choice(GIRLS if self.female else BOYS)
        while True:
            self.f = rng.choice(ANIMALS + ROLES[:6])
            if self.f != self.h:
                break
        self.ffemale = rng.random() < 0.5
        self.adj, self.fadj = rng.sample(ADJ, 2)
        if self.h in ("girl", "boy") and self.adj == "old":
            self.adj = "little"
        self.place, self.spot, self.time = rng.choice(PLACES), rng.choice(SPOTS), rng.choice(TIMES)

    def fill(self, s):
        he, him, his = ("she", "her", "her") if self.female else ("he", "him", "his")
        fhe, fhim, fhis = ("she", "her", "her") if self.ffemale else ("he", "him", "his")
        m = dict(h=self.h, t=self.t, at=an(self.t), n=self.name, he=he, him=him, his=his, He=cap(he), His=cap(his), f=self.f, fhe=fhe, fhim=fhim, fhis=fhis, fHe=cap(fhe), ah=an(self.adj + " " + self.h), af=an(self.fadj + " " + self.f),
                 place=self.place, spot=self.spot, time=self.time, adv=self.rng.choice(ADVERBS))
        return re.sub(r"\{(\w+)\}", lambda k: m[k.group(1)], s)

    def pick(self, *options):
        return self.fill(self.rng.choice(options))

    def opening(self):
        return self.pick("Once upon a time there was {ah} named {n} who lived {place}.", "There was once {ah} called {n}. {He} lived {place}.", "{place2}, there lived {ah} named {n}.".replace("{place2}", cap(self.place)), "Long ago, {ah} lived {place}. {His} name was {n}.")

    def found(self):
        return [self.opening(), self.pick("{time} {n} found {at} {spot}.", "{time}, {n} was walking and saw something {spot}. It was {at}!", "{time} {he} saw {at} {spot}."),
                self.pick("\"Whose {t} is this?\" {he} asked.", "{n} wondered who had lost it.", "It was so beautiful that {n} wanted to keep it.", "{He} picked it up {adv} and looked around."),
                self.pick("Just then {n} met {af} who looked very sad.", "On the way home {he} met {af} who was searching for something.", "Soon {af} came along and began to cry."),
                self.pick("\"I have lost my {t},\" said the {f}. \"It was a present from my mother.\"", "\"Have you seen my {t}?\" asked the {f}. \"I cannot find it.\"", "\"My {t} is gone,\" said the {f}, \"and I do not know what to do.\""),
                self.pick("{n} smiled and gave the {t} back.", "{n} thought for a moment. Then {he} gave the {t} to the {f}.", "At once {n} held out the {t}."),
                self.pick("The {f} was so happy that {fhe} danced.", "The {f} thanked {n} and shared {fhis} supper with {him}.", "The {f} laughed with joy and hugged {him}."),
                self.pick("From that day on, the two were best friends.", "And since then they have met every day.", "{n} had given away a {t}, but {he} had found a friend.".replace("a {t}", "{at}"), "That night {n} slept well, because {he} had done the right thing.")]

    def lost(self):
        return [self.opening(), self.pick("{He} had {at} that {he} loved more than anything.", "{His} greatest treasure was {at}.", "Everybody knew {n} because of {his} {t}."),
                self.pick("{time} the {t} was gone.", "{time} {n} could not find the {t}.", "{time} {he} lost it on the way home."),
                self.pick("{n} looked in the house, in the garden and {spot}, but it was not there.", "{He} searched all day, but {he} did not find it.", "{He} looked everywhere and became very sad."),
                self.pick("Then {af} came by and asked, \"Why are you so sad?\"", "{cap_af} saw {him} and stopped.".replace("{cap_af}", cap(an(self.fadj + " " + self.f))), "A neighbour, {af}, wanted to help."),
                self.pick("\"I have lost my {t},\" said {n}. \"Let us look together,\" said the {f}.", "\"Two see more than one,\" said the {f}, and they searched together.", "\"Do not worry,\" said the {f}. \"I will help you.\""),
                self.pick("At last they found the {t} {spot}.", "After a long time the {f} saw something shine {spot}. It was the {t}!", "When the sun went down, they found it {spot}."),
                self.pick("{n} was so glad that {he} jumped into the air.", "{n} thanked the {f} with all {his} heart.", "{n} laughed and shared a warm cake with the {f}."),
                self.pick("Now {n} knew that a good friend is worth more than any treasure.", "Since that day they have helped each other every time.", "And when something is lost today, they look for it together.")]

    def learn(self):
        v, ing = self.rng.choice(SKILLS)
        return [self.opening(), self.pick("More than anything, {n} wanted to " + v + ".", "{He} had only one wish: {he} wanted to " + v + ".", "{n} dreamed of " + ing + " every night."),
                self.pick("But when {he} tried, the others laughed.", "But it was hard, and {he} failed again and again.", "{He} tried once, and it went very wrong."),
                self.pick("{time} {he} met {af} who could " + v + " very well.", "{time}, {af} came to visit. {fHe} could " + v + " better than anyone."),
                self.pick("\"Please teach me,\" said {n}.", "\"How did you learn it?\" asked {n}.", "\"Can I learn it too?\" asked {n}."),
                self.pick("\"Begin with a small step, and try again every day,\" said the {f}.", "\"It takes time,\" said the {f}, \"but I will show you.\"", "\"Do not be afraid of mistakes,\" said the {f}."),
                self.pick("So {n} practised every morning.", "They practised together until the moon came up.", "Day after day {he} tried again."),
                self.pick("First it was bad, then it was better, and in the end it was wonderful.", "After many weeks {he} could do it.", "In spring {he} could " + v + " at last."),
                self.pick("Everybody came to see it, and nobody laughed any more.", "The whole village was proud of {him}.", "The {f} smiled, because {fhe} had known it all along."),
                self.pick("If you keep trying, you will get there.", "And {n} never gave up again.", "Now {he} teaches others who want to learn.")]

    def storm(self):
        return [self.opening(), self.pick("{time} a great storm came.", "{time} dark clouds covered the sky, and it began to rain.", "{time} the wind blew so hard that the trees bent."),
                self.pick("{n} lit a candle and sat by the fire.", "{n} closed the windows and made some tea.", "{n} was glad to be at home."),
                self.pick("Suddenly there was a knock at the door.", "Then {he} heard somebody call for help.", "Just then somebody knocked."),
                self.pick("Outside stood {af}, wet and cold.", "It was {af} who had lost the way.", "There was {af} who had no place to stay."),
                self.pick("\"Come in,\" said {n}, \"there is room for two.\"", "\"You can stay here tonight,\" said {n}.", "\"Sit down by the fire,\" said {n}."),
                self.pick("They ate soup and told stories until the storm was over.", "They shared the bread and talked until midnight.", "They played a game and forgot the storm."),
                self.pick("In the morning the {f} gave {n} {at} to say thank you.", "When the sun came up, the {f} took out {at}. \"This is for you,\" {fhe} said.", "The next day there was {at} on the table, a gift from the {f}."),
                self.pick("{n} has kept the {t} to this day.", "{n} put the {t} above the door, so that everybody can see it.", "Whenever {n} looks at the {t}, {he} thinks of that night."),
                self.pick("A warm heart is the best house.", "And the door is always open for guests.", "Kindness comes back to those who give it.")]

    def share(self):
        return [self.opening(), self.pick("{time} {n} and {af} saw {at} {spot}.", "{n} had a friend, {af}. {time} they both saw {at} {spot}."),
                self.pick("\"It is mine!\" said {n}. \"No, I saw it first!\" said the {f}.", "Both of them wanted the {t}, and they began to quarrel.", "{n} pulled on one side, and the {f} pulled on the other."),
                self.pick("They were so angry that they went home without a word.", "They shouted until they were tired.", "For three days they did not speak to each other."),
                self.pick("But {n} felt lonely without the {f}.", "At home {n} could not be happy.", "That night {n} could not sleep."),
                self.pick("So {he} went to the {f} and said, \"I am sorry. Let us share it.\"", "In the end {n} took the {t} to the {f}. \"You can have it first,\" {he} said.", "\"A friend is better than {at},\" {he} thought, and {he} went to the {f}."),
                self.pick("The {f} was sorry too.", "The {f} smiled and opened the door wide.", "\"I missed you,\" said the {f}."),
                self.pick("Now {n} has the {t} on Monday, and the {f} has it on Tuesday.", "They put the {t} where both of them could see it.", "From then on they used the {t} together."),
                self.pick("What you share makes two people happy.", "And they never quarrelled again about such a thing.", "Together it was much more fun.")]

    def fear(self):
        x = self.rng.choice(FEARS)
        return [self.opening(), self.pick("{n} was afraid of " + x + ".", "There was only one thing that {he} feared: " + x + ".", "Everybody knew that {n} was afraid of " + x + "."),
                self.pick("{time} {his} friend, {af}, did not come home.", "{time} somebody said that {af} was in trouble.", "{time} {af} needed help, and nobody else was near."),
                self.pick("{n} had to go out alone.", "\"I must go,\" said {n}, \"even if I am afraid.\"", "{n} trembled, but {he} did not wait."),
                self.pick("{He} took {at} and went out {adv}.", "{He} had only {at} to help {him}.", "With {at} in {his} bag, {he} set off."),
                self.pick("{His} heart beat fast, and every step was hard.", "{He} counted {his} steps and did not look back.", "{He} sang a little song to feel better."),
                self.pick("At last {he} found the {f} {spot}.", "After an hour {he} saw the {f} {spot}.", "Then {he} heard a voice. The {f} was {spot}."),
                self.pick("\"You came!\" said the {f}. \"You are so brave.\"", "\"I knew that you would come,\" said the {f}.", "The {f} could hardly believe it."),
                self.pick("Thanks to the {t}, they found the way home.", "Together they walked home, and the {t} showed them the way.", "They went home side by side."),
                self.pick("Since then {n} is not afraid any more.", "Brave is not who has no fear, but who goes on.", "And {n} learned that fear gets smaller when you walk towards it.")]


PLOTS = {"found": Story.found, "lost": Story.lost, "learn": Story.learn, "storm": Story.storm, "share": Story.share, "fear": Story.fear}
ASK = ["Tell me a story about {ah}{w}.", "Write a short story about {ah}{w}.", "Tell me a short story about {ah}{w}.", "I would like a story about {ah}{w}.", "Write a story about {ah}{w}.", "Can you tell me a story about {ah}{w}?", "A story about {ah}{w}, please.",
       "Story about {ah}{w}"]
FREE = ["Tell me a story.", "Tell me a short story.", "Write a story.", "A story, please.", "Can you tell me a story?", "Do you know a story?", "I would like to hear a story.", "Please write a short story.", "Once upon a time", "Tell me a bedtime story."]
WITH = {"found": [" who finds {at}", " who found {at}"], "lost": [" who loses {at}", " who lost {at}"], "learn": [" who learns something", " who wants to learn something"], "storm": [" in a storm"], "share": [" and a friend"], "fear": [" who is afraid", " who is brave"]}


def text(rng, plot=None, hero=None, thing=None):
    plot = plot or rng.choice(list(PLOTS))
    s = Story(rng, hero, thing)
    return s, plot, " ".join(PLOTS[plot](s))


def one(rng, want_held=False):
    while True:
        s, plot, body = text(rng)
        r = rng.random()
        must = [s.h]
        if r < 0.12:
            if want_held:
                continue
            prompt, key = rng.choice(FREE), "story:free"
        else:
            ask = rng.choice(ASK)
            w = ""
            if r < 0.72:
                w = rng.choice(WITH[plot]).replace("{at}", an(s.t))
            elif plot not in ("learn",) and r < 0.88:
                w = " and " + an(s.t)
            if s.t in w:
                must = [s.h, s.t]
            key = f"story:{s.h}:{s.t if s.t in w else plot}"
            if held(key) != want_held or want_held and not w:
                continue
            prompt = ask.replace("{ah}", an(s.h)).replace("{w}", w)
        return dict(domain="stories", prompt=typed(rng, prompt), answer=body, key=key, check=dict(kind="story", value=must))
