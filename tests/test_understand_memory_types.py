"""What questions to memory are after, in many phrasings: category, whether entities and time matter, and whether current data does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.memories import QueryType, TimeRange
from recollect.understand.querytypes import classify, strategy_of
from recollect.understand.words import MAX_CHARS

SOME_TIME = TimeRange(words="then", start=None, end=datetime(2024, 1, 1, tzinfo=UTC))

# The question, what is known of it (e: entities, t: a time), its category, and what holds: e entity-focused, t time-focused, p procedural,
# d needs the domain database.
SEED = """
What did Acme order? | e | factual | ed
How do I handle rush orders? | - | procedural | p
Tell me about my recent customer interactions | t | exploratory | et
Why are sales down this quarter? | t | analytical | td
What did Acme Corporation order last month? | et | factual | etd
How do I usually handle rush orders? | - | procedural | p
Tell me about my customers | - | exploratory | e
What's the balance on invoice #123? | - | factual | ed
How many active customers? | - | factual | ed
What does Acme usually order? | e | factual | e
Why did Acme dispute invoice #123? | e | analytical | e
Tell me about my relationship with Acme | e | exploratory | e
Should I offer Acme a discount? | e | analytical | ed
"""
MADE_BEFORE_THE_RULES = """
what did acme order | e | factual | ed
What products has Globex bought from us this year? | et | factual | etd
who is the contact person at Initech | e | factual | e
When did we last speak with Acme? | e | factual | et
What's the status of order 4711? | - | factual | ed
is invoice 88 paid yet | - | factual | ed
How much does Acme owe us right now? | e | factual | ed
total revenue last month | t | factual | td
list all overdue invoices | - | factual | ed
Which customers haven't paid? | - | factual | ed
How many open tickets do we have | - | factual | ed
what payment terms does Acme prefer? | e | factual | e
What does Globex typically buy? | e | factual | e
Which color does Maria like best | e | factual | e
What did I say about the budget yesterday? | t | factual | t
Where did we meet Initech for the first time? | e | factual | et
what's my favourite coffee place | - | factual | -
Did Acme complain about the delivery? | e | factual | e
whats the phone number of Globex | e | factual | e
Who approved the discount for Initech in March? | et | factual | et
Has Acme placed any orders since January? | et | factual | etd
give me the outstanding balance of Globex | e | factual | ed
which degree did I graduate with | - | factual | -
How long have I been working in my current role? | - | factual | t
how do we process refunds | - | procedural | p
How should I deal with late payments? | - | procedural | p
how to escalate a complaint | - | procedural | p
What are the steps for onboarding a new client? | - | procedural | p
remind me how we close the books | - | procedural | p
Walk me through the return process | - | procedural | p
what's our procedure for damaged shipments? | - | procedural | p
What do I normally do when a customer is late? | - | procedural | p
what is the best way to ship fragile goods | - | procedural | p
Explain how rush orders are handled | - | procedural | p
How did we usually handle Acme's rush orders? | e | procedural | ep
how can i export the monthly report | - | procedural | p
Show me how to create a credit note | - | procedural | p
what should I do if a supplier misses a deadline | - | procedural | p
Can you tell me how to set up a new vendor? | - | procedural | p
i need instructions for cancelling an order | - | procedural | p
tell me about acme | e | exploratory | e
What do you know about Globex? | e | exploratory | e
Give me an overview of my clients | - | exploratory | e
summarize my conversations with Initech from last week | et | exploratory | et
what's new with Acme lately | et | exploratory | et
Catch me up on the Apollo project | e | exploratory | e
anything interesting happening recently? | t | exploratory | t
describe our history with Globex | e | exploratory | e
bring me up to speed | - | exploratory | -
what have we discussed so far about pricing | - | exploratory | -
fill me in on my suppliers | - | exploratory | e
Who are my most important customers? | - | exploratory | e
I'd like to learn more about Initech | e | exploratory | e
acme | e | exploratory | e
why did Globex cancel their order? | e | analytical | e
Why has revenue dropped since June? | t | analytical | td
how come acme stopped buying from us | e | analytical | e
What's driving the increase in returns this month? | t | analytical | td
Compare Acme and Globex | e | analytical | e
How have sales developed over the last two years? | t | analytical | td
Should we give Globex a longer payment term? | e | analytical | ed
what is the reason for the delay at Initech | e | analytical | e
Are there any patterns in customer complaints? | - | analytical | e
Is it worth keeping Initech as a supplier? | e | analytical | ed
what trends do you see in our orders | - | analytical | etd
how does this quarter compare to the last one | t | analytical | t
"""
MADE_WITH_THE_RULES = """
WHAT DID ACME ORDER | e | factual | ed
hey, could you please remind me what acme ordered | e | factual | ed
how many orders did Acme place in May? | et | factual | etd
did globex pay invoice 77 | e | factual | ed
When is invoice 12 due? | - | factual | etd
show me all unpaid invoices | - | factual | ed
what's our revenue this year | t | factual | td
how much stock do we have left | - | factual | d
acme balance | e | factual | ed
What did Acme say about their last order? | e | factual | et
Who is Maria's manager? | e | factual | e
where did I put the spare key | - | factual | -
What time is my dentist appointment | - | factual | -
how many days did I spend in Japan | - | factual | -
what was the name of the restaurant you recommended | - | factual | -
Which customers complained about the new packaging? | - | factual | e
which of my clients prefer email | - | factual | e
When did I start learning Spanish? | - | factual | t
what should I order for lunch | - | factual | -
what is the price we agreed with Globex | e | factual | e
Has Initech's order shipped? | e | factual | ed
what's the latest order from Globex? | e | factual | etd
How old is Maria | e | factual | e
do I like cilantro | - | factual | -
remind me how we do the month end close | - | procedural | p
please walk me through issuing a refund | - | procedural | p
How are returns usually handled? | - | procedural | p
whats the process for approving discounts | - | procedural | p
What is our refund policy? | - | procedural | p
when a shipment gets lost, what do we do? | - | procedural | p
How would you go about cancelling a subscription? | - | procedural | p
tell me how to reset the router | - | procedural | p
What steps do I follow to close an account? | - | procedural | p
how did we fix the printer | - | procedural | p
do you remember how I make the sourdough starter? | - | procedural | p
the right way to label pallets | - | procedural | p
what do we need to do before shipping to Norway | - | procedural | p
How does Acme want their orders packed? | e | factual | e
what do we know of Globex so far | e | exploratory | e
I'm meeting Acme tomorrow | et | exploratory | et
give me a quick rundown on Initech | e | exploratory | e
How's Acme doing? | e | exploratory | e
any news from Globex | e | exploratory | e
What happened with Acme in January? | et | exploratory | et
Can you recommend a book for my trip? | - | exploratory | -
my recent conversations with clients | t | exploratory | et
summary of sales last week | t | exploratory | td
what's going on at Initech | e | exploratory | e
show me my notes on pricing | - | exploratory | -
What's the story behind the Globex deal? | e | exploratory | e
how come our margins are shrinking | - | analytical | d
explain why Acme left us | e | analytical | e
Do you know why the launch was delayed? | - | analytical | -
what caused the drop in orders? | - | analytical | ed
How has Acme changed over the years? | e | analytical | e
are returns increasing | - | analytical | d
what changed at Globex since last summer | et | analytical | et
difference between Acme's and Globex's contracts | e | analytical | e
Is Acme a better customer than Globex? Analyze it. | e | analytical | e
would it make sense to drop Initech? | e | analytical | ed
How are sales doing this month? | t | analytical | td
What impact did the price change have on Acme? | e | analytical | e
"""
# Three lots, each read once by the rules as they then were: 25 of 50, 32 of 50 and 17 of 30 were right in all five values. The rules then
# learnt from each, so that all are right now; the share says what to expect of phrasings that are not here.
MADE_AFTER_THE_RULES = """
could u check whether order #991 went out | - | factual | ed
Acme's open invoices please | e | factual | ed
what quantity of widgets did Initech take in June | et | factual | etd
Which supplier delivered the steel coils? | - | factual | ed
who's handling the Globex account now | e | factual | e
name the three people I met at the fair | - | factual | -
I can't recall the wifi password of the office | - | factual | -
Roughly how much did Globex spend with us in 2023? | et | factual | etd
is there still credit left on Acme's account? | e | factual | ed
Do we have Initech's VAT number? | e | factual | e
how often does Acme reorder | e | factual | e
Which of our vendors is based in Norway? | - | factual | e
what size shoes do I wear | - | factual | -
On which day did Globex sign? | e | factual | et
did they ever answer my mail | e | factual | e
How many times did I go to the gym last week? | t | factual | t
what was agreed with Acme on freight costs | e | factual | e
Need to refund a customer, how does that go? | - | procedural | p
what's the trick to get the coffee machine going | - | procedural | p
In case of a chargeback, what are we supposed to do? | - | procedural | p
Rush orders: how are we handling them? | - | procedural | p
could you show me the way we price custom jobs | - | procedural | p
how is a purchase order approved here | - | procedural | p
which steps come after the contract is signed | - | procedural | p
How do you normally greet Acme's buyers? | e | procedural | ep
Let me know how one books a meeting room | - | procedural | p
how does the commission scheme work | - | procedural | p
our approach to price negotiations? | - | procedural | p
Acme, what's their deal? | e | exploratory | e
talk to me about Initech | e | exploratory | e
What should I know before calling Globex? | e | exploratory | e
got a call with acme in 5 min, prep me | et | exploratory | et
Key facts about Globex | e | exploratory | e
so what have you got on Initech | e | exploratory | e
Paint me a picture of our client base | - | exploratory | e
who is acme | e | factual | e
Where do things stand with Globex? | e | exploratory | e
what's been keeping us busy this month | t | exploratory | t
what makes Acme such a difficult customer | e | analytical | e
Do customers who get a discount buy more? | - | analytical | ed
What explains the drop in margins? | - | analytical | d
Are we losing Globex? | e | analytical | e
how did the price rise affect order volume | - | analytical | d
on what grounds did Initech reject the offer | e | analytical | e
Which region performs better, north or south? | - | analytical | -
Was it a mistake to extend Acme's credit? | e | analytical | ed
For what reason was the shipment held back? | - | analytical | e
In what way has Acme's behaviour shifted? | e | analytical | e
Would a price cut help us win Globex back? | e | analytical | ed
how do our costs in May stack up against April | t | analytical | td
Find out what Globex still has to pay | e | factual | ed
I need Acme's billing address | e | factual | e
any orders from Initech today? | et | factual | etd
can you look up the delivery date for order 5512 | - | factual | ed
Whose idea was the summer party? | - | factual | -
Has the Globex invoice been settled? | e | factual | ed
What were Q3 sales? | t | factual | td
what do they usually pay with | e | factual | e
How many customers do we have in Spain? | - | factual | ed
which email did I send to Acme on Monday | et | factual | et
What was Maria's objection to the contract? | e | factual | e
Am I allergic to anything? | - | factual | -
wasn't there a problem with their last shipment | e | factual | et
What's Initech's credit limit? | e | factual | ed
the name of Acme's new CEO? | e | factual | e
what did we promise Globex | e | factual | e
How is a complaint registered? | - | procedural | p
what's the usual procedure when goods arrive damaged | - | procedural | p
Give me step by step instructions to file expenses | - | procedural | p
how should new suppliers be vetted | - | procedural | p
Tell me again how I prune the roses | - | procedural | p
A client wants to return a product. How do I proceed? | - | procedural | p
Remind me of the process we use for quotes | - | procedural | p
What must be checked before an order is released? | - | procedural | p
i keep forgetting how to merge two accounts | - | procedural | p
Whats the standard way of dealing with angry customers | - | procedural | p
how'd you go about chasing an unpaid invoice | - | procedural | p
Give me the lowdown on Acme | e | exploratory | e
Everything about Globex please | e | exploratory | e
What's up with Initech these days? | e | exploratory | et
prepare me for my meeting with Acme | e | exploratory | e
Let's talk about my suppliers | - | exploratory | e
what sort of company is Globex | e | exploratory | e
How have we been working with Initech? | e | exploratory | e
sum up the last week for me | t | exploratory | t
Which topics came up with Acme lately? | et | exploratory | et
Anything I should be aware of regarding Globex? | e | exploratory | e
Why do so many clients pay late? | - | analytical | ed
what led Acme to switch carriers | e | analytical | e
Is Globex becoming less reliable? | e | analytical | e
Give me a comparison of May and June revenue | t | analytical | td
How does Acme's payment behaviour compare with Globex's? | e | analytical | e
What could be the cause of the delays? | - | analytical | -
are our customers happier than last year | t | analytical | et
Can we afford to lose Initech? | e | analytical | ed
Where are we losing money? | - | analytical | d
how well is the new product selling | - | analytical | ed
Do you see a link between price and churn? | - | analytical | d
what would happen if we raised prices | - | analytical | d
Shall we renew the contract with Globex? | e | analytical | ed
Which invoices from Acme are more than 30 days late? | e | factual | ed
What's Globex's favourite carrier? | e | factual | e
can you tell me when the lease ends | - | factual | t
Who did I have lunch with on Friday? | t | factual | t
What was the outcome of the meeting with Initech? | e | factual | e
did we ever sell anything to Initech | e | factual | ed
what's in stock right now | - | factual | d
How many suppliers do we work with? | - | factual | ed
have I told you my shoe size | - | factual | -
what discount does Acme get | e | factual | e
How do we make sure invoices go out on time? | - | procedural | p
what's the correct order of steps for a stock count | - | procedural | p
where do I start when a new hire joins | - | procedural | p
Best way to pack glass? | - | procedural | p
explain the approval workflow | - | procedural | p
how are discounts calculated | - | procedural | p
What's our rule for late fees? | - | procedural | p
I want to hear about Acme | e | exploratory | e
what's the state of play with Globex | e | exploratory | e
Show me what you have on Initech | e | exploratory | e
what came out of our talks with Acme so far | e | exploratory | e
Summarise everything on the Apollo project | e | exploratory | e
Any thoughts on Globex? | e | exploratory | e
why is nobody buying the new model | - | analytical | d
What might be behind Acme's silence? | e | analytical | e
Has Globex become more demanding? | e | analytical | e
Which of our customers is most at risk of leaving? | - | analytical | e
How does Acme differ from Globex? | e | analytical | e
should I be worried about Initech | e | analytical | ed
did the campaign pay off? | - | analytical | -
"""
# Half of a business, half of a private life, each read once: 40 of 60 of the first lot were right in all five values, and 28 of 40 of the
# second, which was made after the rules had learnt from the first (24 by the rules before that). One is not here, since it is still
# read as a fact: "who signs off on discounts over 10 percent and in what order".
EVERYDAY = """
did anything from Globex come in this morning? | et | factual | etd
what's still open with Acme | e | factual | ed
how far along is order 8812 | - | factual | ed
is Initech all paid up? | e | factual | ed
who placed the biggest order in April | t | factual | etd
what's our cash position right now | - | factual | d
how many units of the blue chair are left in the warehouse | - | factual | d
when's the next delivery to Globex due | e | factual | etd
which invoices go out on Friday | t | factual | etd
what did that guy from Acme want again | e | factual | e
who do I talk to at Initech about freight | e | factual | e
what did we quote Globex for the pumps | e | factual | e
did Acme ever get back to us about the samples | e | factual | e
whats the deal we cut with Initech on shipping | e | factual | e
a customer wants their money back, what now | - | procedural | p
someone ordered the wrong size, how do we sort that out | - | procedural | p
how do you get an invoice corrected once it's been sent | - | procedural | p
what's the drill when a truck shows up late | - | procedural | p
how'd we get Acme to pay last time | e | procedural | ep
can you run me through what we do with returned goods | - | procedural | p
refresh my memory on Globex | e | exploratory | e
what's the latest on Initech | e | exploratory | et
I've got Acme on the phone, what do I need to know | e | exploratory | e
how did things go with Globex last week | et | exploratory | et
what are people saying about the new packaging | - | exploratory | -
why's Acme so quiet lately | et | analytical | et
is it just me or are customers ordering less | - | analytical | ed
are we making any money on Globex | e | analytical | ed
what went wrong with the Initech shipment | e | analytical | e
what's the name of that podcast I was raving about | - | factual | -
how much did I end up paying for the couch | - | factual | -
where'd I stash the passports | - | factual | -
how long have I been going to the new gym | - | factual | t
which came first, my trip to Lisbon or the move | - | factual | t
what do I take in my coffee | - | factual | -
when's my sister's birthday | - | factual | t
did I ever tell you what my dog is called | - | factual | -
how many books have I read so far this year | t | factual | t
what was I allergic to again | - | factual | -
whats my current weight goal | - | factual | -
how many bikes do I own now | - | factual | -
who came along on the hike last Sunday | t | factual | t
how many weeks ago did I start with the piano lessons | t | factual | t
what kind of car does my neighbour drive | - | factual | -
how much older is my brother than me | - | factual | -
where did I buy my tennis racket from | - | factual | -
what's the last movie I saw in a theater | - | factual | t
how did I get the red wine stain out | - | procedural | p
what was that recipe for banana bread you gave me | - | factual | -
how do I usually water the orchids | - | procedural | p
got any ideas for dinner tonight? | t | exploratory | t
I'm bored, what could I watch next | - | exploratory | -
what have I been up to in the garden | - | exploratory | -
could you suggest something for my mom's anniversary | - | exploratory | -
any tips for keeping my kitchen tidy? | - | exploratory | -
why did I quit my guitar class | - | analytical | -
am I sleeping better than last month | t | analytical | t
do I spend more on eating out or on groceries | - | analytical | -
would I be better off renting or buying | - | analytical | -
did Globex's wire come through yet | e | factual | ed
anything overdue from Acme? | e | factual | ed
who still owes us money | - | factual | d
how big was Initech's order in March | et | factual | etd
what's the tracking number for shipment 3301 | - | factual | ed
how many new customers signed up this week | t | factual | etd
which of the clients asked for a catalogue | - | factual | e
what's Acme's new delivery address | e | factual | e
did I promise Globex a callback | e | factual | e
who introduced us to Initech | e | factual | e
what did the Acme folks think of the demo | e | factual | e
what do we have to do to close out a project | - | procedural | p
the client disputes a charge - how should I respond | - | procedural | p
how do I word a reminder for a late payer | - | procedural | p
what's the way to book a courier | - | procedural | p
give me the background on the Globex contract | e | exploratory | e
what's been happening with our suppliers | - | exploratory | e
Acme's coming by tomorrow, what should I have in mind | et | exploratory | et
who are we losing customers to | - | analytical | ed
does it pay to keep shipping to Initech | e | analytical | ed
how come the March numbers look so bad | t | analytical | td
which tyre size does my bike need | - | factual | -
what did I name my sourdough starter | - | factual | -
when did I last see the dentist | - | factual | t
how many plants did I repot in May | t | factual | t
what's the password hint I gave you | - | factual | -
who gave me the blue scarf | - | factual | -
how much weight have I lost since January | t | factual | t
what instrument does my daughter play | - | factual | -
did I take my pills before or after breakfast yesterday | t | factual | t
how many days passed between my flight and the wedding | - | factual | t
where do my parents live now | - | factual | -
how do I make my granny's dumplings | - | procedural | p
what's my routine before bed | - | procedural | p
what can I cook with leftover rice | - | exploratory | -
I need some inspiration for a birthday gift | - | exploratory | -
what do you know about my hobbies | - | exploratory | -
how's my marathon training coming along | - | exploratory | -
what keeps me from sleeping | - | analytical | -
is the train cheaper for me or the car | - | analytical | -
"""
# Each was read as something else because of a single word: of a chat that is gone through, of an order of events, of days between events.
NOT_TRADED = """
I was going through our previous chat, what was Andy wearing in the scene? | - | factual | t
Which three events happened in the order from first to last: the move, the wedding, the trip? | - | factual | t
In which order did I visit them? | - | factual | -
How many days passed between the day I cancelled my FarmFresh subscription and the move? | - | factual | et
How much older am I than the employees of my department? | - | factual | e
Which order is late? | - | factual | ed
Is Acme more than 30 days late? | e | factual | ed
"""


def rows(table: str) -> list[tuple[str, ...]]:
    return [tuple(part.strip() for part in line.rsplit("|", 3)) for line in table.splitlines() if line]


def read(text: str, given: str = "") -> QueryType:
    return classify(text, has_entities="e" in given, time_range=SOME_TIME if "t" in given else None)


def flags(found: QueryType) -> str:
    held = (("e", found.entity_focused), ("t", found.time_focused), ("p", found.procedural), ("d", found.requires_domain_db))
    return "".join(flag for flag, holds in held if holds) or "-"


@pytest.mark.parametrize(
    ("text", "given", "category", "expected"),
    rows(SEED + MADE_BEFORE_THE_RULES + MADE_WITH_THE_RULES + MADE_AFTER_THE_RULES + EVERYDAY + NOT_TRADED),
)
def test_a_question_is_understood(text: str, given: str, category: str, expected: str) -> None:
    found = read(text, given)
    assert (found.category, flags(found)) == (category, expected)


@pytest.mark.parametrize(("text", "given", "category", "expected"), rows(SEED))
def test_capitals_signs_and_politeness_change_nothing(text: str, given: str, category: str, expected: str) -> None:
    for other in (text.upper(), text.lower(), text.rstrip("?"), f"  {text}  ", f"Hey, {text}", text.replace("'", "’"), f"ok so {text}"):
        found = read(other, given)
        assert (found.category, flags(found)) == (category, expected), other


@pytest.mark.parametrize(
    ("text", "given", "strategy"),
    [
        ("What did Acme Corporation order last month?", "et", "factual_entity_focused"),
        ("How do I usually handle rush orders?", "", "procedural"),
        ("Tell me about my customers", "", "exploratory"),
        ("Why are sales down this quarter?", "t", "analytical"),
        ("How do I handle Acme's rush orders?", "e", "procedural"),
        ("where did I put the spare key", "", "exploratory"),
    ],
)
def test_a_strategy_follows_from_the_type(text: str, given: str, strategy: str) -> None:
    assert strategy_of(read(text, given)) == strategy


def test_kinds_of_an_ontology_count_beside_the_plain_ones() -> None:
    for text in ("tell me about the vessels in port", "tell me about a vessel", "Tell me about the charter parties"):
        assert not classify(text, has_entities=False, time_range=None).entity_focused
        assert classify(text, has_entities=False, time_range=None, kinds=["vessel", "Charter_Party"]).entity_focused
    assert classify("How many vessels?", has_entities=False, time_range=None, kinds=["vessel"]).requires_domain_db
    assert not classify("How do we dock vessels?", has_entities=False, time_range=None, kinds=["vessel"]).entity_focused


def test_of_several_sentences_those_that_ask_count_and_what_is_quoted_does_not() -> None:
    assert read("I read why sales fell. I compared it all. Who wrote that report?").category == "factual"
    assert read('When did I read "How to win friends: why people compare"?').category == "factual"
    assert read("How many days did I spend at St. Mary's with Dr. Lee?").category == "factual"
    assert read("A client called. How do I open a case?").category == "procedural"


@given(st.text(max_size=300))
def test_any_text_is_understood(text: str) -> None:
    found = read(text)
    assert found.procedural == (found.category == "procedural")
    assert strategy_of(found)


@pytest.mark.parametrize(
    "text",
    [
        *("is " * 30_000, "how " + "a" * 100_000, "what is " + "it's " * 20_000 + "than", "a, " * 30_000, "'" * 50_000 + "?" * 50_000),
        *("give me " * 10_000 + "steps", "do " + "ab " * 30_000 + "er than", ". " * 50_000, '"' * 100_000, "why. ? " * 15_000),
    ],
    ids=range(10),
)
def test_of_a_text_without_end_the_beginning_is_read(text: str) -> None:
    assert read(text) == read(text[:MAX_CHARS])
