"""Words of plain English: what is written so is meant as a word, not as a name with a letter wrong.

Those that occur most, in small letters, in encyclopaedia articles, conversations, documentation and descriptions of tools, with the words
of software beside them, each in one of its forms.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ..analysis import is_stop_word, terms

MIN_LETTERS: Final = 4
"""Shorter words are as good as never a name with a letter wrong."""

_WORDS: Final = """
    abbey ability able abort above abroad absence absolute absorb abstract abundant academic academy accelerate accept access accessory
    accident acclaim accommodate accompanied accomplish according account accumulate accuracy accurate accused achieve acid acknowledge
    acquainted acquire across acrylic action active activist actor actress acts actual acute adapt addition address adds adequate adhere
    adhesive adjust admin administrative admission adopt adult advance advantage adventure adverse advertising advice advisor advocate
    aesthetic affect affiliate affordable afraid after afternoon afterwards again against aged agency agent aggressive agree agreement
    agriculture ahead aims aircraft airline airport airtight airy album alert algorithm align alike allergy allocate allow almond almost
    alone along alongside already also alter alternative although aluminum always amazing ambiguous amenable among amount analyses
    analysis analytic analyze ancient angel angle animal ankle anniversary announce annual another answer anthem anticipate antioxidant
    antique anxiety anyone anything apart apparent appeal appear apple applicable apply appointed appraise appreciate approach appropriate
    approve approximately apps archbishop architect architecture archive area argument arise arms army aroma aromatic around arranger
    array arrest arrive article artificial artisans artist arts artwork aside asked aspect assassin assay assembly assert assess assigned
    assistant associated assume async athlete atmosphere attach attack attempt attend attention attract attribute auction audience audio
    audiobook audit augment auth authentic author automate automatic available average avocado avoid award aware away awesome baby back
    backdrop backend background backlog backpack backup backyard bacon bacteria bacterial bags bake baker balance ball balsamic banana
    band bank banner baron barrier bars baseball based baseline basic basil basis basket basketball batch bath battery battle beach bean
    bear beast beat beauty became because become bedroom beef beer before beforehand began begin beginner behavior behind beige believe
    bell belong below belt bend beneficial benefit bent berries best better between beyond bias bike billing binary bind biographer
    biology bird birth birthday bishop bite bitter black blanket blast blend blind block blog bloggers blood blueberry board body boil
    bold bond bone bonus book boolean boost boot border boredom born boss both bottle bottom bought bound boundary boutique bowl boxes
    brain brake branch brand bread break breakdown breaker breakfast breakthrough breast breath breathable breathtaking brew bridge brief
    briefly bright bring broad broadcast broader broccoli broken broth brother brought brown browse brush bucket buddy budget buds buffer
    build buildup built bulk bundle burger buried burn burnout burst buses businessman bustle busy butter button buyer buying cable cache
    cafe caffeine cake calculate calendar call callback calm came camera camp campaign cancel cancer candidate candle cannot canyon
    capable capacity capital caps caption captive capture caramel carbohydrate carbon card cardio cardiovascular care career carrier
    carrot carry cars case cash cast castle casual catalog catch catchy categorize category cater caught cauliflower cause cautious
    cayenne celebrate celery cell cellular center central century ceramic ceremony certain certificate certified chain chair challenge
    championship chance change channel chapter character characteristic characterize charge charger charity charm chart chat chatbot
    cheaper check checkout checkpoint cheese chemical cherry chest chia chicken chickpea chief child childhood children chili chill chips
    chocolate choice choose chop chosen chromosome chronic chunk church cilantro cinema cinematic cinematographer cinnamon circle circular
    circulation circumstances circus citation citizen citrus citrusy city civil claim clarify clarity class classic classification
    classify clean cleaner clear clearance click client climate climb clinical clip close closer closure cloth cloud cloves club cluster
    clutter coach coast coastal coat cocktail coconut code coffee coherent cohesive coin coincide cold collaborate colleague collected
    collector college colony color column combine combo come comedian comedy comfort comic command comment commentary commercial
    commission commit common communicate community commute compact companion company compare comparison compartment compatible compelled
    compete competitive competitor compile complement complete complex compliance complicated component composed composite compost
    compound comprehensive compress compromise computer concentration concept concern concert concise conclusion concurrency condition
    conducted confer confidence config configure confirm conflict confused congratulations connect connector cons conscious consequent
    conserved consider considerable consists consort constant constitute constraint construct constructor consult consume consumption
    contact contain contemporary content contest context contextual continue contract contrast contribute control controversy convenient
    conventional conversion convert convey cook cookbook cookie cool cooler coordinate copy core coriander corn corner corporate corpus
    correct correlate correspond corrosion cost cotton council count counter countess country countryside county couple coupon course
    court cousin cover coverage coworker cozy crack crackers craft craftsmanship cranberries crash craving cream creamy create creation
    creative creator creature credential credible credit creek crime criminal crisp crispy criteria critics cross crowd crown crucial
    crumble crunch crunchy crusade crush crust crusty cube cucumber cuisine cult culture cumin cups curated curious curl currency current
    curry cursor curve cushion custom customizable cuts cycle cyclist daily dairy damage damp dance dark darker dash dashboard data
    database dataset date daughter dawn days dead deadline deadlock deal dealer death debate debris debug debut decade decent decide
    decision declare decline decode decor decrease decrypt dedicated deep deeper deeply default defeat defect defend defense deficient
    define definition degradation degree delay delete delicate delicious delight deliver delivery delve demand demographic demonstrate
    dense density department departure depend depict depleted deploy deposit deprecate depth derived descend descent describe description
    design desire desk desktop despite dessert destination detail detect determine develop device diabetes diagnose diagnosis diagram
    dialogue diamond diced dictionary didn died diet dietary different differential difficult difficulty digest digital dilemma dimension
    dining dinner dips direct director directory dirt disable disappears disaster discolor discomfort discount discouraged discover
    discovery discuss disease dish disk disorder dispatch display dispute disrupt dissolved distance distinct distinguish distract
    distributed district dive diverse divide division docs doctor document documentary doesn dogs dollar dollop domain domestic dominant
    donate done door dose double dough dowager down download downtown dozen draft dragon drain drama dramatic draw drawn dream dress dried
    drink drive driver drizzle drop drug duchy duke duplicate durable duration during dust dynamic dynasty each earl earlier early earn
    earth earthy ease easier easily east eastern easy eating economic economy ecosystem edge edit editor educated effect efficient effort
    eggs eight either elaborate elder eldest elected electric electron elegant element elevate eligible eliminate else email embark embed
    embedded emerge emergency emotion emperor emphasis emphasize empire employ employee empress empty enable encode encounter encourage
    encrypt endpoint ends enduring enemy energize energy enforce engage engine engrave enhance enjoy enough enqueue enriched enrolled
    ensure enter enterprise entertaining enthusiast entire entity entrepreneur entrepreneurship entry environment environmental epic
    episode equal equipped error escape especially espresso essential establish estate estimate ethics eval evaluate even evening event
    eventually ever every everyday everyone everything evidence evoke evolve exact examine example exceed excellent except excess exchange
    excited exclusive execute exercise exhaust exhibit exile exist exit expand expansion expect expense experience experienced
    experimental expert expertise expire explain explanation explicit explore export expose exposure expressed extend extensive extent
    exterior external extra extract extreme eyes fabric face facial facilitate facility fact factor factory fade fail failover failure
    fair fall fallback fame familiar family famous fans fantastic fantasy fare farm farmer fascinating fashion fast faster fastest father
    fatigue fats fatty fault favor favorite feature federal feed feedback feel fees feet fellow felt female ferment fertile festive feta
    fetch fewer fiber fiction fidelity field fifth fight figure file fill film filmmaker filter final finance financial find fine finger
    finish fire firewall firm first fish fits five fixed flag flakes flat flavor fleet flexible flies flight floor floral flour flow
    flower fluid foam focal focus fold folder folk follow font food foodie foot footage football force forecast foreign forest forget fork
    form formal format former formula formulate forum forward foster fought found foundation founder four fourth frame framework franchise
    free freedom freeze freezer frequency frequent fresh fridge fried friend friendship front frontend frozen fruit fruity frustrated fuel
    fulfill full fully function fund fundamental fundraise furniture further fusion future gain galaxy gallery gallon game garage garden
    garlic garnish gate gateway gather gave gear gems gender gene general generate genetic genome genre gentle geometric gesture getting
    ghost giant gift ginger girl give given glad glass glaze global gloves glutes goal goat goes going gold golden good gotten gourmet
    govern governor grab grace grade gradual graduate grain grand granddaughter grandfather grandmother grandson granola grant granule
    graph graphic grated gray great greater greatest green grill grime grip grocery gross ground group grow growth guarantee guard guest
    guidance guide guideline guitar guitarist habit habitat hair half hall hallucinate hammer hand handle handler handmade hang happen
    happy hard hardware harm harmony harsh harvest hash hashtag haunts haven hazard head header health healthcare healthy hear heard heart
    heartfelt heartwarming hearty heat heavier heavily heavy heel height heir held help herb herbal heritage hero herself hesitate hidden
    hide high higher highest highlight highway hike hill himself hint hips hire historian historic history hits hobby hold hole holiday
    home homemade hometown honest honey honor hook hope horror hospital host hostel hotel hour house household however huge human humid
    hummus humor hundred hunt hunter husband hybrid hydrated iconic idea ideal idempotent identification identify identity illegitimate
    illustrate image imagine immediate immersive immigrant immune impact impairs imperial implement implicate import impress improve
    inadequate inch incident include inclusion income incorporate incorrect increase incredibly indeed independent index indicate indie
    indirect individual indoor induce induction indulge industry infected inflammation inflammatory influence influential info informed
    infrastructure infuse ingredient inherit inhibit inhibitor initial injection injury inline inner innocent innovation input inquiry
    insect insert inside insight inspect inspire install instance instant instead institution instruction instructor instrument insurance
    intake integer integral intelligent intended intense intent interact interest interface interfere interior intermediate internal
    international internet interpret interrupt intersect interval intervention interview intimal intricate intrigue introduce introduction
    introspective intuitive invasion inventory invest investigate invite invoice involves iron irritate island isolated issue item iterate
    itinerary itself jacket jars jazz jewelry jogging join joint joke journal journalist journey judge juice juicy jump junior jury just
    justice justify kayak keep kept kernel keyboard keys keyword kick kids kill kinase kind king kingdom kitchen knee knight know
    knowledge known label labor lack lady lake land landmark landscape lane language laptop large larger largest last late latency later
    latest latter laugh launch laundry lavender laws lawyer layer layout lead leader leadership leaf league leak lean learn least leather
    leave lecture ledger left legacy legal legend legislation legs leisure lemon length lens lenses lentil less lesson lets letter lettuce
    level liability liberal library license lies lieutenant life lifecycle lifespan lifestyle lift light lighter lightweight like lime
    limit line linear link lion liquid list listen liter literary literature little live liver load local located lock logger logic login
    logistic logout logs long longer look loop loose loosen lord lose loss lost love lover lower loyal loyalty luck luggage lunch lung
    lush luxury lyrics machine made magazine magic main maintain maintenance major make maker male manage manner manual manufacturer many
    maple maps march marine mark marker market marketplace marriage married marvel mash mask mass massive master masterpiece match
    material maternal math mathematics matter mature maximal maximum maybe meal mean meaningful meant meantime measure meat mechanism
    medal media mediate medical medicine medieval meditation medium meet melted member membrane memorable memory mental mention mentor
    menu merge mesh message metabolic metadata metal meter method metric mice microservice middle middleware might migrate mild mile
    mileage milestone military milk million minced mind mine minimal minimalist minimum minister ministry minor mint minute miss mission
    mistake mixed mixture mobile mock mode model moderate modern modification modify module moisture mold molecular molecule moment
    momentum money monitor monster month mood moon moral more morning mortality most mother motion motivate mountain mouse mouth move
    movement movie mozzarella much muffin multiple municipal murder muscle museum mushrooms music musician must mustard mutant mutated
    mute myself mystery mythology name namespace narrated narrow national native nature navigate navy near nearby nearest necessarily
    necessary neck necklace need negative negotiate neighbor neighborhood nephew nested network neural neurons neutral never newer newly
    news newsletter newspaper next nice niche nickname niece night nine noble nobleman noblewoman node noir noise nominated noodle normal
    north northern nostalgic notable note notebook notice notification notify novel novelist nuance nuclear null number numerous nutrient
    nutrition nutritious nuts nutty oats object observe obstacle obtain occasion occasional occupancy occupy occur ocean odor offer office
    official offset often oils okay older oldest olive once ones ongoing onion online only onto open opera operate opinion opportunity
    opposite optimal option orange orchestra order organ organic organize origin other outbox outcome outdoor outfit outing outlet outline
    output outside oven over overall overcome overdo overnight overpower overview overwhelmed owner owns oxide oxygen pace pack package
    packet pads page paid pain paint painter pair palace palette panel paper paprika parade parallel parameter parent park parse parser
    parsley part partial participate particle particular partition partner partnership party pass passion passport password past pasta
    paste pastry patch paternal path pathway patience patient pattern pave paying payload payment peace peach peak peanut pearl pedal peek
    peel peer people pepper percentage perfect perform perhaps period permanent permission permit persist person perspective pest pets
    phase phenotype phone photo photographs photography phrase physical physician piano pick picnic picture picturesque piece pillow pinch
    pineapple ping pioneer pipeline place placement plan plane planet plank planner plant plastic plate platform play player playlist
    playwright please plenty plot plugin plus plush pocket podcast poem poet poetry poignant point pointer police policy politician
    politics poll pool poor popular population pork port portable portion portrait portray pose positive possess possible post poster
    potato potential pots pound pour powder power practice praise precautions precious precise predict prefer prefill prefix premiere
    premium prep prepare presence present preserve president press pressure pretrain pretty prevalent prevent previous price primarily
    primary prime prince princess principal principle print prior prioritize priority prison privacy private prize probable problem
    procedure proceed process produce product professional professor profile program programme progress project proliferation prolific
    prominent promise promo promote prompt prone prop proper property proportion propose proprietary pros prospective protagonist protect
    protein protocol prove provide province provision proximal proxy psychology public publish pull pump pumpkin purchase pure purge
    purpose pursue push puts puzzle qualify quality quantity quarter queen query question queue quick quiet quinoa quit quizzes quota
    quote race rack radio rain raise random range rank rapid rapper rare raspberry rate rather ratio rationale reach react reaction read
    reader readme ready real realistic reality realize really reason rebellion reboot recall receive recent reception receptor recharge
    recipe recognition recognize recommend record recover recovery recreation recruit recurring recycle redeem redirect reduce reduction
    refactor refer referral refine reflect refresh refrigerate refund refuses regard regent region register registration registry
    regression regular regulate regulatory reign reinforce related relationship relax release relevant reliable relief relieve religious
    reload rely remade remain remake remarkable remember remind remote remove rename render renew renowned rent rental repair repeat
    replace replenish replica replicate report repository represent representation repurpose reputable request require research resemble
    reserve reset reside residue resistant resolution resolve resonate resort resource respect respond response rest restart restaurant
    restore restrict result retail retain retention retired retrieve retry return reusable reveal revenue reverse review revised revoke
    revolution reward rhythm ribs rice rich ride ridge right ring rinse ripe rise risk rival river road roast robot robust rock role roll
    rollback rollout romance romantic room root rose rosemary rotate rough round route router routine royal rugged rule ruler runbook
    runner runs runtime rural rush rust rustic sacrifice safe safety said saint salad sale salmon salsa salt salty same sample sandbox
    sandwich satisfy sauce sausage save savory says scalable scale scan scavenger scenario scene scenery scenic schedule schema scheme
    scholar school science scientific scientist scoop scope score scratch screen screenplay screenwriter script scrub sculpture seafood
    seal seamless search season seat second secondary secret secretary section secure seed seek seem seen sees segment select sell seller
    semantic senator send senior sense sensitive sensor sent sentence sentiment separate sequel sequence serial series serious serum serve
    server service session sets settle setup seven seventh severe sexual shade shadow shake shallow shape shard share sharp shave sheet
    shelf shell shelter shelves shift shine ship shoe shoot shop short shorter shot shoulder show showcase shower shown shredded shrimp
    shutter shuttle sibling side sight sign signal signature significant silent silver similar simple simply simulate simultaneous since
    sing singer single singleton sister site sits situated sixth size skill skillet skin skincare sleek sleep slice slight slot slow
    slower slowly small smaller smart smartphone smoke smoky smooth smoother smoothie snack snapshot sneak sneaker snow snug soak soap
    soccer social society socket socks soda soft software soil sold soldier sole solid solo solution solve someone something sometimes
    song songwriter sons soon soothe sophisticated sort sought soul sound soundtrack soup sour source south southern space spaghetti span
    spare spark speak speaker spec special specialty species specific specify speed spell spend spent spice spicy spider spin spinach
    spirit splash split sponsor spoon sport spot spouse spray spread spreadsheet spring sprinkle sprint sprout squat squeeze stability
    stable stack staff stage stain stainless stakeholder stand standard staple stars start startup state statement static station
    statistic status stay steady steam steel steep stem step stew stick still stimulate stir stock stone stop storage store story
    storyline storytelling straight straightforward strain strap strategic strategy strawberry stream streamline street strength
    strengthen stress stretch strict strike string strip stroke stroll strong stronger structure struggle stuck student studio study stuff
    stumble stunning sturdy style stylish subdomain subject submit subscribe subscription subsequent substantial substrate subsystem
    subtask subtle succeeded success successor sudden suffer sufficient sugar suggest suit suitable summarize summary summer sunlight
    sunscreen sunset super superhero supersede supervise supplement supplier supply support suppress sure surface surprise surrounded
    survey survive suspense sustain sweep sweet swim swing switch symbol symptom sync synchronize syntax synthetic syrup system table
    tablespoon tablet tackle taco tags tailor take taken tale talent talk tall tangy tank tape target tart task taste tasty taught taxi
    teach teacher team tear teaspoon tech technical technique technology teenage television tell temperature template temple tempo
    temporary tenant tend tender tennis tension tent term terminal terrain territory test testimony text texture thank theater theatre
    theatrical theme themselves theory therapeutic therapy therefore thick thicker thin thing think third thorough though thought thread
    three threshold thrift thrill thriller thrive throne throttle through throughout throughput throw thumb thus thyme ticket tied tier
    tight time timeless timeline timeout timer timestamp tiny tips tire tissue title toast today toes tofu together token told tolerate
    tomato tone took tool topic topology tops tortilla toss total touch tough tour tourist tournament toward towel tower town toxic toys
    trace track tracker traction trade traditional traffic trail train transaction transcripts transfer transform transition translated
    transparent transport trap travel traverse treasure treat treatment tree trend trendy trial trick tricky tried trigger trilogy trip
    trouble trove true truly truncated trust tube tumor tune tuple turn tutorial twice twin twist type typical ultimate unable uncle
    unclear uncover undefined under understand uneven unexpected unforgettable union unique unit universal universe university unknown
    unnecessary unpredictable unstructured unsure until unusual unwind upcoming update upgrade upload upon upper upright urban urgency
    usage used user usual utility valid valley valuable value vanilla variable variation variety various vary vast vault vector vegan
    vegetable vegetarian veggie vehicle vendor venture venue verify versatile version vertical very vibe vibrant victory video view viewer
    village vinaigrette vinegar vintage violate violence viral virtual virus visible vision visit visitor visual vitamin vitro vivo vocal
    voice volleyball volume volunteer voyageai vulnerable wait wake walk wall wallet walnut want warehouse warm warmer warmth warning
    warranty warrior wars wash waste watch water waterproof wave ways weak wealth wealthy wear weather webhook website wedding wedge week
    weekday weekend weigh weight welcome well went west western wheat wheel whereas whether whip whisk white whole wide wider widespread
    widget widow wife wild wilderness wildlife wind window wine wing wins winter wipe wire wireless wise wish within without withstand
    woman women wondering wood wooden word work worker workflow workload workout workshop workspace world worldwide worn worry worth wrap
    wrapper wrinkles wrist write writer written wrong wrote xlinkedin year yeast yellow yesterday yield yogurt young younger youngest
    yourself youth zest zone zucchini
"""


def is_common(word: str) -> bool:
    """Whether a word, in whatever form, is one of plain English."""
    return len(word) < MIN_LETTERS or is_plain(word)


def is_plain(word: str) -> bool:
    """Whether a word is known to be one of plain English, which a short one need not be: `go` is, `aws` is not."""
    return is_stop_word(word) or not _stems().isdisjoint(terms(word)[-1:])


@cache
def _stems() -> frozenset[str]:
    return frozenset(terms(_WORDS))
