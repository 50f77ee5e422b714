"""Writes ``persuasion.jsonl``: people drawn from the model of the study's participants.

Run it as ``python persona_banks/make_persuasion.py``; it writes the same file every time. Traits,
age, sex, education, employment, marital status, religion and ideology come from
:func:`simenvs.envs.persuasion.participants.sample_participant`; names, jobs, places, families and
backstories are made up here so that they fit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simenvs.envs.persuasion.participants import Person, sample_participant, shipped_participants
from simenvs.seeding import Stream

TRAIN, HELD_OUT = 150, 100
SEED = 2019

WOMEN = """Abigail Ada Adriana Agnes Alana Alice Alicia Alma Amara Amber Amelia Amy Ana Andrea Angela
Anita Anna Annette April Ariana Ashley Astrid Aubrey Audrey Ava Beatrice Becky Bernice Beth Bianca
Bonnie Brenda Briana Bridget Brooke Camila Carla Carmen Carol Caroline Cassandra Cecilia Celeste
Charlotte Chloe Christina Claire Clara Colleen Connie Crystal Cynthia Daisy Dana Daniela Deborah
Deepa Delia Denise Diane Donna Doris Dorothy Edith Eileen Elaine Elena Eliza Ella Ellen Eloise Emily
Emma Erica Erin Esther Eva Evelyn Faith Farah Faye Felicia Fiona Florence Frances Gabriela Gail
Geneva Gina Gloria Grace Greta Gwen Hadley Haley Hannah Harriet Hazel Heather Helen Holly Hope
Imani Ines Ingrid Irene Iris Isabel Jacqueline Jada Jasmine Jean Jenna Jennifer Jill Joan Jocelyn
Josephine Joy Joyce Juanita Judith Julia June Kamala Karen Kate Kayla Keisha Kelly Kendra Keziah
Kimberly Kristen Lana Latoya Laura Leah Lena Leticia Lillian Linda Lisa Lorena Lucia Lydia Mabel
Maeve Margaret Maria Marlene Martha Maya Megan Mei Melissa Mercy Mildred Mina Miriam Molly Monica
Nadia Naomi Nina Nora Odessa Olive Opal Paige Pamela Patrice Pearl Phoebe Priya Rachel Renee Rhonda
Rosa Ruth Sadie Selma Shanice Sheila Sofia Stella Tamara Teresa Thelma Uma Valerie Vera Wanda Yolanda
Zoe""".split()
MEN = """Aaron Abel Adam Adrian Ahmed Alan Albert Alejandro Alex Alvin Amir Andre Andrew Angel
Anthony Antonio Arjun Arthur Asher Austin Barry Ben Bernard Blake Brad Brandon Brent Brian Bruce
Bryce Caleb Calvin Cameron Carl Carlos Cedric Cesar Chad Charles Chris Clarence Clark Clifford
Clint Cody Colin Conrad Corey Craig Curtis Cyrus Dale Damon Daniel Darius Darnell Darren David
Dean Dennis Derek Desmond Devin Diego Dominic Donald Doug Duane Dustin Dwight Earl Eddie Edgar
Eduardo Edwin Eli Elliot Emanuel Emilio Eric Ernest Ethan Eugene Evan Felix Fernando Floyd Francis
Frank Fred Gabriel Garrett Gavin George Gerald Gilbert Glenn Gordon Graham Grant Greg Guillermo Guy
Hank Harold Harvey Hector Henry Herbert Howard Hugo Hussein Ian Isaac Ivan Jack Jacob Jamal James
Jared Jason Javier Jay Jerome Jesse Jim Joel Joey Johan Jonas Jorge Joshua Juan Julian Justin Karl
Keith Kenji Kent Kevin Kirk Kurt Kyle Lamar Lance Larry Lawrence Lee Leon Leroy Lester Lewis Liam
Logan Louis Lucas Luther Malcolm Marcus Mario Mark Martin Mason Mateo Maurice Max Melvin Micah
Miguel Milo Mitchell Mohan Morris Nathan Neil Nelson Nick Nolan Norman Omar Oscar Otis Owen Pablo
Perry Pete Quincy Rafael Ralph Ramon Randall Ravi Raymond Reggie Rodney Roland""".split()

PLACES = """Akron, Ohio|Albany, New York|Asheville, North Carolina|Baltimore|Baton Rouge|Bend, Oregon|
Billings, Montana|Birmingham, Alabama|Boise|Buffalo, New York|Cedar Rapids|Charleston, West Virginia|
Chattanooga|Cleveland|Columbus, Ohio|Dayton, Ohio|Des Moines|Detroit|Duluth|El Paso|Erie, Pennsylvania|
Eugene, Oregon|Flint, Michigan|Fresno|Grand Rapids|Green Bay|Jackson, Mississippi|Kansas City|
Knoxville|Lansing|Lincoln, Nebraska|Little Rock|Louisville|Lubbock|Macon, Georgia|Madison, Wisconsin|
Memphis|Milwaukee|Mobile, Alabama|Modesto|Omaha|Pensacola|Peoria|Phoenix|Pittsburgh|Pueblo, Colorado|
Reno|Richmond, Virginia|Rochester, New York|Sacramento|San Antonio|Savannah|Scranton|Shreveport|
Sioux Falls|South Bend|Spokane|Springfield, Missouri|Tacoma|Tallahassee|Toledo|Topeka|Tucson|Tulsa|
rural Kentucky|rural Maine|rural Iowa|rural Georgia|upstate New York|central Florida|
eastern Tennessee|northern Michigan|southern Ohio|the Bronx|the Hudson Valley|west Texas|
western Massachusetts|Queens|a suburb of Chicago|a suburb of Atlanta|a suburb of Dallas|
a suburb of Denver|a suburb of Minneapolis|a suburb of Philadelphia|a small town in Indiana|
a small town in Kansas|a small town in Vermont|a small town in Wyoming""".replace("\n", "").split(
    "|"
)

JOBS = {
    "Less than four-year college": """warehouse worker|delivery driver|cashier|home health aide|line cook|
electrician|hairdresser|truck driver|bank teller|machine operator|call center agent|plumber|
security guard|restaurant manager|dental assistant|office clerk|mechanic|carpenter|school bus driver|
nursing assistant|landscaper|postal worker|receptionist|welder|daycare worker|store manager|
bartender|medical biller|paralegal|housekeeper|bookkeeper|baker""",
    "Four-year college": """teacher|nurse|accountant|graphic designer|software developer|
marketing specialist|social worker|insurance adjuster|human resources manager|sales representative|
civil engineer|copy editor|lab technician|project coordinator|real estate agent|web designer|
police officer|business analyst|loan officer|event planner|logistics planner|IT support specialist|
journalist|tax preparer|recruiter|music teacher""",
    "Postgraduate": """school counselor|pharmacist|lawyer|data scientist|librarian|physical therapist|
college lecturer|nurse practitioner|high school principal|psychologist|veterinarian|statistician|
speech therapist|environmental engineer|financial analyst|public health researcher|school librarian|
architect""",
}
GIG = """freelance writer|self-employed house painter|freelance illustrator|self-employed seamstress|
ride-share driver|freelance translator|dog walker|piano teacher|self-employed handyman|tutor"""
SUBJECTS = "biology|history|nursing|computer science|accounting|psychology|graphic design|education"

HOBBIES = {
    "open": """reads novels late into the night|plays the guitar, badly and often|paints small
watercolors|listens to history podcasts|keeps a garden full of odd vegetables|bakes bread from recipes
found online|goes to every free museum day|writes a little science fiction|learns Spanish from an app""",
    "plain": """follows the local football team|likes fishing on quiet weekends|watches old game shows|
goes bowling on Thursdays|tinkers with an old car|does crosswords over breakfast|plays cards with the
neighbors|walks the dog twice a day|hunts for bargains at yard sales""",
    "social": """has friends over for dinner most weeks|coaches a kids' soccer team|sings in a choir|
is always the first on the dance floor|organizes the block party every summer|plays in a trivia team""",
}


def _lines(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("|")]


def _article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' or noun.startswith('IT') else 'a'} {noun}"


def _work(person: Person, rng: Stream) -> tuple[str, str | None, str]:
    """Employment, job (``None`` if none to tell of) and a clause on it, "works as a baker"."""
    about = person.demographics
    age, education = about["age"], about["education"]
    job = rng.choice(_lines(JOBS[education]))
    if about["employment"] == "Employed for wages" and age < 68:
        return "employed", job, f"works as {_article(job)}"
    if age >= 62:
        return "retired", f"retired {job}", f"is retired after decades as {_article(job)}"
    if age < 25 and education == "Less than four-year college":
        subject = rng.choice(_lines(SUBJECTS))
        return "student", f"{subject} student", f"is studying {subject} at a state college"
    at = rng.index([4, 3, 2])
    if at == 0:
        gig = rng.choice(_lines(GIG))
        return "self-employed", gig, f"makes a living as {_article(gig)}"
    if at == 1:
        return (
            "looking for work",
            None,
            f"lost a job as {_article(job)} and does online tasks meanwhile",
        )
    if about["marital"] == "Married":
        return "homemaker", "stay-at-home parent", "looks after the home and the family"
    return "unable to work", None, "can't work at the moment because of health trouble"


def _children(person: Person, employment: str, rng: Stream) -> int:
    about = person.demographics
    if employment == "homemaker":
        return 1 + rng.index([3, 4, 2, 1])
    if employment == "student":
        return 0
    married = about["marital"] == "Married"
    most = [5, 3, 4, 2, 1] if married else [8, 2, 1, 0, 0]
    return 0 if about["age"] < 23 else rng.index(most)


def _home(person: Person, name: str, they: str, place: str, children: int, rng: Stream) -> str:
    married = person.demographics["marital"] == "Married"
    spouse = "husband" if person.demographics["sex"] == "Female" else "wife"
    number = ("no", "one", "two", "three", "four")[children]
    kids = f"{number} {'child' if children == 1 else 'children'}"
    if children and person.demographics["age"] >= 58:
        kids = f"{number} grown {'child' if children == 1 else 'children'}"
    their = "her" if they == "She" else "his"
    if married:
        family = f"{their} {spouse} and {kids}" if children else f"{their} {spouse}"
        return rng.choice(
            [
                f"{they} lives in {place} with {family}.",
                f"{they} and {family} live in {place}.",
                f"{they} shares a house in {place} with {family}.",
            ]
        )
    if children:
        return rng.choice(
            [
                f"{they} raised {kids} in {place}, mostly alone.",
                f"{they} has {kids} and lives in {place}.",
                f"{they} is single, has {kids}, and lives in {place}.",
            ]
        )
    return rng.choice(
        [
            f"{they} lives alone in {place}.",
            f"{they} is single and rents an apartment in {place}.",
            f"{they} has lived in {place} for years, most of them alone.",
            f"{they} shares an apartment in {place} with a roommate.",
        ]
    )


def _leisure(person: Person, they: str, rng: Stream) -> str:
    big = person.big_five
    kind = "social" if big["extrovert"] >= 3.8 else "open" if big["open"] >= 3.8 else "plain"
    hobby = rng.choice(_lines(HOBBIES[kind]))
    mood = ""
    if big["neurotic"] >= 3.6:
        mood = rng.choice([" and worries about most things", " and sleeps badly before Mondays"])
    elif big["conscientious"] >= 4.3:
        mood = rng.choice([" and keeps a list for everything", " and is never late"])
    elif big["agreeable"] <= 2.8:
        mood = rng.choice([" and says what others only think", " and doesn't suffer fools"])
    return f"{they} {hobby}{mood}."


def _giving(person: Person, they: str, rng: Stream) -> str:
    moral, values, style = person.moral_foundations, person.values, person.decision_style
    options = [
        (moral["care"] >= 5, "finds it hard to say no when children are concerned"),
        (moral["care"] >= 5, "drops coins into every collection box"),
        (values["benevolence"] >= 5, "would rather help somebody nearby than a stranger far away"),
        (
            values["universalism"] >= 5,
            "thinks that those who have enough owe something to those who don't",
        ),
        (moral["fairness"] >= 5, "wants to see where the money goes before giving any"),
        (style["rational"] >= 4.5, "reads up on a charity before trusting it"),
        (style["intuitive"] >= 4, "decides such things on a feeling, within seconds"),
        (values["power"] >= 3.5, "believes that people should first help themselves"),
        (values["security"] >= 5, "puts savings first, since one never knows"),
        (person.demographics["income"] <= 3, "counts every dollar until the end of the month"),
        (values["tradition"] >= 4.5, "gives through the congregation, as the family always has"),
        (
            person.big_five["agreeable"] <= 3,
            "suspects that most charities keep half of what they get",
        ),
        (True, "gives now and then, when a story sticks"),
        (True, "has not given to a charity in a long time"),
        (True, "prefers giving time to giving money"),
        (True, "rounds up at the register and leaves it at that"),
    ]
    if person.demographics["religion"] == "Atheist":
        options = [(fits, text) for fits, text in options if "congregation" not in text]
    fitting = [text for fits, text in options[:-4] if fits] or [text for _, text in options[-4:]]
    return f"{they} {rng.choice(fitting)}."


def _persona(number: int, split: str, names: Mapping[str, Iterator[str]]) -> dict[str, Any]:
    rng = Stream(SEED, number)
    person = sample_participant(shipped_participants(), rng.child("traits"))
    about = dict(person.demographics)
    name = next(names[about["sex"]])
    they = "She" if about["sex"] == "Female" else "He"
    employment, job, work = _work(person, rng)
    children = _children(person, employment, rng)
    place = rng.choice(PLACES)
    about["employment"] = employment
    if job:
        about["job"] = job
    about["children"] = children
    about["place"] = place
    backstory = " ".join(
        [
            f"{name}, {about['age']}, {work}.",
            _home(person, name, they, place, children, rng),
            _leisure(person, they, rng),
            _giving(person, they, rng),
        ]
    )
    return {
        "id": f"persuasion-{number:03d}",
        "name": name,
        "split": split,
        "demographics": about,
        "big_five": person.big_five,
        "moral_foundations": person.moral_foundations,
        "values": person.values,
        "decision_style": person.decision_style,
        "backstory": backstory,
    }


def _shuffled(items: Sequence[str], what: str) -> Iterator[str]:
    rng = Stream(SEED, what)
    return iter(sorted(items, key=lambda item: rng.child(item).bits()))


def bank() -> list[dict[str, Any]]:
    """All personas of the bank; no two share a name."""
    names = {"Female": _shuffled(WOMEN, "women"), "Male": _shuffled(MEN, "men")}
    splits = ["train"] * TRAIN + ["held_out"] * HELD_OUT
    return [_persona(number, split, names) for number, split in enumerate(splits, start=1)]


if __name__ == "__main__":
    path = Path(__file__).with_name("persuasion.jsonl")
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in bank()), "utf-8")
    print(f"{path}: {TRAIN + HELD_OUT} personas")
