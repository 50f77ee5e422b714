"""Dialogue acts of Persuasion for Good, per seat.

The names are the corpus's own (Wang et al., ACL 2019, arXiv 1906.06725). Three merges are ours:
answers to the persuadee's questions (``positive-``, ``neutral-`` and ``negative-to-inquiry`` of the
persuader) are one act ``answer-inquiry``, ``you-are-welcome`` counts as ``thank``, and the
persuadee's ``disagree-donation-more`` as ``disagree-donation``.
"""

from __future__ import annotations

STRATEGIES = (
    "logical-appeal",
    "emotion-appeal",
    "credibility-appeal",
    "foot-in-the-door",
    "self-modeling",
    "personal-story",
    "donation-information",
    "source-related-inquiry",
    "task-related-inquiry",
    "personal-related-inquiry",
)
"""The ten persuasion strategies."""

PERSUADER_ACTS = (
    *STRATEGIES,
    "greeting",
    "proposition-of-donation",
    "ask-donation-amount",
    "ask-donate-more",
    "ask-not-donate-reason",
    "confirm-donation",
    "answer-inquiry",
    "praise-user",
    "comment-partner",
    "acknowledgement",
    "thank",
    "closing",
    "off-task",
    "other",
)
"""All acts that a persuader's sentence can have."""

PERSUADER_ACTIONS = PERSUADER_ACTS[:-2]
"""The acts a policy chooses from in act mode: all but ``off-task`` and ``other``."""

PERSUADEE_ACTS = (
    "agree-donation",
    "disagree-donation",
    "provide-donation-amount",
    "confirm-donation",
    "positive-reaction-to-donation",
    "negative-reaction-to-donation",
    "neutral-reaction-to-donation",
    "ask-org-info",
    "ask-donation-procedure",
    "ask-persuader-donation-intention",
    "positive-to-inquiry",
    "negative-to-inquiry",
    "neutral-to-inquiry",
    "task-related-inquiry",
    "personal-related-inquiry",
    "greeting",
    "acknowledgement",
    "thank",
    "closing",
    "off-task",
    "other",
)
"""All acts that a persuadee's sentence can have."""

_MERGED = {
    "persuader": {
        "positive-to-inquiry": "answer-inquiry",
        "neutral-to-inquiry": "answer-inquiry",
        "negative-to-inquiry": "answer-inquiry",
        "you-are-welcome": "thank",
    },
    "persuadee": {"you-are-welcome": "thank", "disagree-donation-more": "disagree-donation"},
}


def from_corpus_label(label: str, role: str) -> str:
    """The act that a label of the corpus stands for (role: ``persuader`` or ``persuadee``)."""
    return _MERGED[role].get(label, label)
