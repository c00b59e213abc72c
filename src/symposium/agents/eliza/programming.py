"""Eliza's answers about computers, Rust, and Python; part of the script in doctor.py."""

PROGRAMMING = """\
50: computer computers machine machines laptop robot
*
    Is it computers that worry you?
    What did the computer do to you?
    Do you talk about machines because people are harder?
    How would your day go without a computer?

8: test tests testing
* test|tests * fail|fails|failed|failing|red|flaky *
    A failing test tells the truth about something. About what?
    Did you see that test pass before it failed?
*
    What would a test of that look like?
    Which test would you miss most?

8: bug bugs error errors exception traceback crash crashes
*
    What did the error say, word for word?
    What was the last change before the bug showed?
    Can you make it happen again?

30: borrow borrowing borrowck
* borrow checker @says +
    So the borrow checker $4 $5. What is it trying to tell you?
    And if it were right when it $4 $5?
    When the borrow checker $4 $5, what do you do first?
* borrow checker * hate|hates|fight|fights|reject|rejects|yell|yells|angry *
    Perhaps the borrow checker is worried about you. What did you alias?
    Do you see the borrow checker as someone who withholds approval?
* i * borrow checker *
    What did the borrow checker tell you before that?
    How would you feel if the borrow checker agreed with you?
    Who owns the value that you and the borrow checker argue about?
* borrow checker *
    How does the borrow checker make you feel?
    What does the borrow checker know that you do not?
*
    When you borrow, do you find it hard to give back?
    Would a shared borrow do, or must it be yours alone?

28: checker
* borrow checker *
    =borrow
*
    !next

30: lifetime lifetimes
* lifetime|lifetimes of +
    And what ends the lifetime of $4?
    Who else relies on the lifetime of $4?
* lifetime|lifetimes annotation|annotations *
    Do lifetime annotations put into words what you knew all along?
    Which lifetime annotation would you rather leave out?
    What outlives what? A lifetime annotation only writes that down.
* static *
    Must it be 'static? Few things in a life last for the whole lifetime.
*
    Whose lifetime troubles you: the reference's or the owner's?
    What would happen to it at the end of its lifetime?
    Do you worry that something will not live long enough?

24: ownership owner moved dangling
*
    Who should own it, in the end?
    Is ownership something you find hard to give away?
    What would you lose if you let that value move?

26: cargo crate crates
* cargo build|check|run|test|add|update|install|publish *
    What did cargo $3 print last?
    How long do you wait for cargo $3, and what do you think of meanwhile?
* cargo @says +
    Does cargo always do so, or is it only today that it $3 $4?
    And what would you rather have than that cargo $3 $4?
* cargo.toml|cargo.lock *
    What changed in Cargo's file, and who changed it?
*
    What is it that you carry around as cargo?
    Which crates could you live without?
    Does cargo carry more for you than you know?

26: clippy lint lints linter
* clippy @says +
    Clippy $3 $4, you say. Is it right?
    What would your colleagues say when Clippy $3 $4?
* clippy *
    How do you take it when Clippy criticizes your style?
    Is Clippy right, or only insistent?
    Which advice of Clippy's do you silence, and why that one?
*
    Which of those warnings stays with you?
    Do you obey a lint or your taste?

26: ferris crab crabs crustacean
*
    What does Ferris the crab stand for in your life?
    Does Ferris also look sideways at your code?
    A crab sheds its shell to grow. What would Ferris shed?

26: async await tokio futures
* python|asyncio *
    =asyncio
* pin|pinned|unpin *
    What would you have to pin down before the future can go on?
* block|blocks|blocking|deadlock|hang|hangs *
    What is blocking while your async tasks wait?
    Which await never comes back?
*
    What are you waiting for when you write async code?
    Does your future make progress when nobody polls it?
    Which await is the one that you dread?

20: rust rustc rustacean rustaceans
* i * love|like|enjoy * rust *
    What does Rust give you that nothing else gave?
    And does Rust love you back?
* i * hate|dislike|fear * rust *
    What did Rust refuse to do for you?
    When did it begin between you and Rust?
* learn|learning|study|studying * rust *
    Which part of learning Rust surprised you?
    Who is with you while you learn Rust?
* rust is|has|makes|needs|lacks|gives +
    What makes you say that Rust $3 $4?
    Since when is it so that Rust $3 $4?
    If it is true that Rust $3 $4, is that good or bad?
* rust * hard|difficult|complicated|confusing *
    Is Rust hard, or does it say early what others say late?
    Which part of Rust did become easy?
*
    How do you feel when Rust compiles at the first try?
    What drew you to Rust?
    Does the strictness of Rust remind you of someone?

24: unsafe unwrap panic panics
* unsafe *
    What would make you feel safe?
    Who checks what you promise there?
*
    And if it is None, who catches you?
    What would you do instead of a panic?

18: compiler compile compiles
*
    Do you read what the compiler writes to you, to the end?
    Is the compiler against you, or for you in its own way?

27: asyncio
*
    Who owns that task, and who waits for it?
    What would the event loop say if it had a moment?
    Was there an await that you forgot?

22: gil threads
*
    What would you do at the same time, if you could?
    Is one at a time so bad?

22: pip venv virtualenv pyenv conda
*
    How many environments do you live in?
    Would a fresh environment do you good?

22: pyright mypy typing annotations
*
    Is it the type that is wrong, or the idea?
    What would you call that thing if you had to give its type?

20: python pythonic
* python is|has|makes|needs|lacks|gives +
    What makes you say that Python $3 $4?
    Compared with what is it so, that Python $3 $4?
* python * slow *
    Have you measured where Python is slow?
    What is the hurry with Python?
* i * love|like|enjoy * python *
    What does Python let you forget?
    And what does Python ask in return?
*
    What do you expect from Python that it does not give you?
    Is the whitespace of Python a comfort or a rule?
    Which part of Python is batteries to you?
"""
