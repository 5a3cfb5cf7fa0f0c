"""The last section of a report: how to read it."""

from embed.compare.report.html.escape import Html, tag
from embed.compare.statistics.ranking import SURE

_READING = {
    "Scores": (
        "Every score stands on the items that all runs know, so that runs are asked the same. "
        "“Knows” is how many items of the set a run has all words of."
    ),
    "Intervals": (
        "The point is the score, the line its 95 % interval: where it would have fallen with other "
        "items of the same kind (bootstrap). A thick line is ± the deviation over seeds of the "
        "training. Another seed is not in the interval."
    ),
    "Best": (
        "“best” has the highest score; “= best” is every run of which tests cannot "
        f"tell it (p > {SURE:g} after Holm’s correction), “no test” one that could not be tested. "
        "Filled points are the best and what equals it, rings the others. "
        "Intervals that overlap say nothing of that: both runs answered the same items, so their "
        "difference is surer than either score."
    ),
    "Differences": (
        "Bold and colored where p after Holm’s correction is at most "
        f"{SURE:g}. A difference without that may be chance; it is no proof of equality."
    ),
    "Baselines": (
        "one-hot and random are vectors that know nothing. What does not beat them has not been "
        "learnt."
    ),
    "Maps": (
        "Two components hold a small part of what vectors differ in. Words that lie far apart are "
        "far apart; words that meet may not be near. Ask the neighbors for that."
    ),
}


def show_reading() -> Html:
    """Explain what the page shows.

    Returns
    -------
    Html
        A list of terms.
    """
    entries = (Html(tag("dt", term) + tag("dd", told)) for term, told in _READING.items())
    return tag("dl", *entries)
