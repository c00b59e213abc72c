"""Eliza's keywords and answers. Data only; script.py has the notation.

The most general pattern of a keyword stands last, since the first that fits is taken. The first
answer of each rule is the one that deterministic conversations begin with.
"""

from symposium.agents.eliza.programming import PROGRAMMING
from symposium.agents.eliza.script import ElizaScript, parse_keywords

_CLASSES = {
    "family": "mother mom mum mama father dad papa parents sister sisters brother brothers wife"
    " husband partner son sons daughter daughters child children kids aunt uncle cousin family"
    " grandmother grandfather",
    "sad": "sad unhappy depressed sick lonely tired exhausted stuck lost worried afraid anxious"
    " frustrated angry upset miserable",
    "happy": "happy glad pleased proud relieved better excited elated",
    "belief": "believe think guess suspect suppose reckon assume",
    "wish": "want need wish crave",
    "feel": "feel felt sense",
    "be": "am are is was were",
    "says": "is was says said thinks wants rejects rejected refuses refused hates complains warns"
    " insists keeps makes tells told lets won't doesn't can't",
}

_CONTRACTIONS = {
    "i'm": "I am",
    "im": "I am",
    "i've": "I have",
    "ive": "I have",
    "i'll": "I will",
    "i'd": "I would",
    "you're": "you are",
    "youre": "you are",
    "you've": "you have",
    "you'll": "you will",
    "you'd": "you would",
    "what's": "what is",
    "whats": "what is",
    "how's": "how is",
    "who's": "who is",
    "that's": "that is",
    "it's": "it is",
    "dont": "don't",
    "cant": "can't",
    "cannot": "can't",
    "wont": "won't",
    "isnt": "isn't",
}

_COURTESY = """\
0: hello hi hey howdy greetings
*
    How do you do. Please state your problem.

0: morning evening afternoon
* good morning|evening|afternoon *
    =hello
*
    !next

0: bye goodbye farewell cheerio
*
    Until next time, then. You know where to find me.
    Take care; the couch stays where it is.

0: sorry apologise apologize apologies
*
    Nothing to forgive. Carry on.
    You owe me no apology.
    To whom would you really like to apologize?

0: thanks thank
*
    You are welcome. What else is on your list?
    Gladly. Next?

0: please
*
    !next

15: name names
*
    I forget names at once, so speak freely.
    Call them what you like; what did they do?
"""

_PEOPLE = """\
2: my
* my * @family *
    What kind of person is your $4?
    When did you last talk with your $4?
    How does your family deal with that?
* my +
    Your $3: since when?
    Your $3; is that the heart of it?
    Your $3, you say. What would you change?
*
    !next

2: mother mom mum mama father dad papa parents sister brother wife husband family
*
    What is your family like?
    Who in your family understands you best?
    And what would your family say to this?

2: everyone everybody nobody noone
* everyone|everybody|nobody|noone *
    That is a lot of people. Give me one name.
    How many did you ask?
    Not one exception?

0: your
* your +
    My $3? We have more pressing matters, such as you.
    Suppose I told you about my $3. What then?
    And how is it with yours?
*
    !next
"""

_SELF = """\
5: remember recall
* i remember|recall +
    So you remember $4. Who else does?
    What comes right after $4?
    What made $4 come back today, of all things?
* do you remember|recall +
    My notes mention $5. What do yours say?
    Vaguely. Help me with $5.
    Remind me: $5?
*
    Which part do you remember without trying?
    How far back does that go?

4: dream dreams dreamed dreamt nightmare
* i dreamed|dreamt +
    And how did it end, with $4?
    Would you like $4 to come true?
    What had you eaten before $4?
*
    If that dream had a title, what would it be?
    Were you asleep for all of it?
    Who else was there?

0: i
* i @wish to +
    Suppose you were to $5. Who would notice first?
    What has kept you until now, if you $3 to $5?
    Is there a small way to $5 today?
* i @wish +
    How would tomorrow differ if you had $4?
    What stands between you and $4?
    How long have you been after $4?
* i am * @sad *
    That sounds hard. When did you first notice being $5?
    What helped the last time you were $5?
    Who knows that you are $5?
* i am * @happy *
    Good. What brought it about that you are $5?
    Being $5 suits you. What comes next?
    Whom will you tell that you are $5?
* i am +
    Since when are you $4?
    And what is it like to be $4?
    Would your friends agree that you are $4?
* i @feel +
    Where does it come from that you $3 $4?
    Stay with that for a moment: $4.
    On what days is it strongest, that you $3 $4?
* i @belief +
    What evidence do you have that $4?
    Who told you that $4?
    What would change if it were not so?
* i can't +
    What gets in the way when you try to $4?
    Who could help you $4?
    Could you $4 once, long ago?
* i don't +
    What if you did $4, just once?
    Is it that you won't $4, or that you may not?
    Who says you ought to $4?
* i + you *
    That is between you and a program. Who else is in your life?
    You $3 me; and what do I do?
    I take note of it. Back to you.
* i +
    What follows from it, that you $3?
    How did it come about that you $3?
    I hear that you $3. And then?
*
    !next
"""

_TALK = """\
0: you
* you are +
    Others have called me $4, too. How does that concern you?
    If I am $4, what are you?
    When did I first strike you as $4?
* you * me *
    How do you notice that I $3 you?
    Say that I do $3 you. What would you do?
    Does somebody else $3 you?
* you +
    I am only a listener here. What about you?
    It may be that I $3. And you?
    This hour is yours; leave me out of it.
*
    !next

0: are am
* are you +
    What would you ask me next if I were $4?
    Am I $4? Opinions differ.
    Let us say I am $4. Does that help you?
* am i +
    You know better than I whether you are $4.
    Who calls you $4?
    What speaks against your being $4?
*
    !next

0: can could
* can|could you +
    It is your hour: shall I $4, or shall you?
    What would be different once I $4?
    I can listen. Does that do for now?
* can|could i +
    Nobody here forbids you to $4.
    What would be your first step?
    And if it turned out that you could not $4?
*
    !next

1: how
* how are you *
    I am fine, thank you. But how are you?
    No complaints; I sleep whenever you are silent. And you?
    Steady as ever. What about yourself?
* how is it going *
    It goes well here. And with you?
*
    =what

0: what why when where who which
* why don't you +
    Give me a reason to $5.
    I might $5 yet. What hangs on it?
* why can't i +
    Let us see what stops you from it. What did you try first?
    Who else can't $5?
*
    What is behind the question?
    Which answer do you fear?
    Answer it yourself first; I listen.
    Who else have you asked?

0: because
*
    If that is the cause, what is the cure?
    Would it still be so without that?
    Tell me a second reason.

0: yes yeah yep sure
*
    Agreed, then. What follows?
    Good. Say a little more.
    Without any doubt?

0: no nope
*
    Then what instead?
    A short word. What is the long version?
    What would have to happen for a yes?

0: maybe perhaps possibly
*
    What does it depend on?
    Toss a coin: which side do you hope for?
    How could you find out?

1: always never
* always|never *
    Tell me of the most recent time.
    $2 is a strong word.
    Was there a day when it was otherwise?

3: alike like similar
* @be * alike|like|similar *
    Where does the likeness end?
    What do the two have in common?
    Who else would see that likeness?
*
    !next
"""

_MEMORY = """\
* my +
    Earlier there was this: your $3. What became of it?
    Is that why you told me of it, your $3?
    I keep coming back to one thing: your $3.
"""

DOCTOR = ElizaScript(
    keywords=parse_keywords(_COURTESY, _PEOPLE, _SELF, _TALK, PROGRAMMING),
    classes=_CLASSES,
    contractions=_CONTRACTIONS,
    remembered="my",
    memory=_MEMORY,
    fallbacks=(
        "I am listening.",
        "Put it another way for me, would you?",
        "And how does that sit with you?",
        "Let us look at it more closely. Where did it begin?",
        "What would you have me take from that?",
    ),
    silence=(
        "There is no hurry. Begin wherever you like.",
        "Silence is an answer, too. To what question?",
    ),
)
