"""Whatever a policy says and whatever happens to a branch, its ladder is gone step by step."""

from dataclasses import dataclass, replace
from random import Random

from branch_console.diff.lifecycle.ladder import BETWEEN_STEPS_MILLIS, BranchLife, plan_branch
from branch_console.diff.lifecycle.policy import LADDER, LifecycleStep, MaintenancePolicy
from tests.support.examples import Examples

DAY = 86_400_000
_DAYS = 200
_PATTERNS = ("*", "a-*", "a-1", "b-*")


@dataclass
class Walked:
    """What happened to a branch so far."""

    life: BranchLife
    steps: tuple[tuple[LifecycleStep, int], ...] = ()


def a_policy(rng: Random) -> MaintenancePolicy:
    """A policy with some rules, of which some leave out ages, steps or what is unmerged."""

    def ages() -> list[str]:
        days = sorted(rng.randint(1, 60) for _ in LADDER)
        keys = ("stale_after", "archive_after", "drop_after")
        said = [f"{key}: {day} d" for key, day in zip(keys, days, strict=True)]
        return [each for each in said if rng.random() < 0.7]

    def unmerged() -> list[str]:
        return rng.choice(([], [f"unmerged: {rng.choice(LADDER)}"]))

    never = (["never: [drop]"], ["never: [archive, drop]"], ["never: [warn, archive, drop]"], [])
    said = [
        [f"branches: {pattern!r}", *ages(), *unmerged(), *rng.choice(never)]
        for pattern in rng.sample(_PATTERNS, rng.randint(0, len(_PATTERNS)))
    ]
    rules = [f"  - {{ {', '.join(each)} }}" for each in said]
    text = f"version: 1\ndefaults: {{ {', '.join([*ages(), *unmerged()])} }}\n"
    return MaintenancePolicy.from_yaml(text + ("rules:\n" + "\n".join(rules) if rules else ""))


def walk(policy: MaintenancePolicy, branch: str, rng: Random) -> Walked:
    """Let days pass, in which a branch is used or not, and take each step on the day it is due."""
    walked = Walked(BranchLife(branch=branch, created_millis=0, ahead=rng.choice((0, 1, None))))
    for day in range(_DAYS):
        now = day * DAY + rng.randrange(DAY)
        life = walked.life
        if rng.random() < 0.02:
            life = replace(life, committed_millis=now, ahead=1)
        if rng.random() < 0.02:
            life = replace(life, ahead=rng.choice((0, 1, None)))
        if rng.random() < 0.01:
            life = replace(life, is_protected=not life.is_protected)
        walked.life = life = replace(life, holds=("Held.",) if rng.random() < 0.05 else ())
        plan = plan_branch(policy, life, now)
        check_rule(policy, branch, plan.rule.branches)
        if plan.step is None or not plan.is_due(now):
            continue
        check_step(walked, plan.step, now, policy)
        walked.steps = (*walked.steps, (plan.step, now))
        if plan.step is LifecycleStep.DROP:
            return walked
        key = "warned_millis" if plan.step is LifecycleStep.WARN else "archived_millis"
        walked.life = replace(life, **{key: now})
    return walked


def check_rule(policy: MaintenancePolicy, branch: str, decided: str | None) -> None:
    """The first rule in the file whose pattern fits."""
    fits = {"*": True, "a-*": branch.startswith("a-"), "a-1": branch == "a-1"}
    wanted = next((r.branches for r in policy.rules if fits.get(r.branches or "")), None)
    assert decided == wanted


def check_step(walked: Walked, step: LifecycleStep, now: int, policy: MaintenancePolicy) -> None:
    life, rule = walked.life, policy.rule_for(walked.life.branch)
    used = max(life.created_millis or 0, life.committed_millis or 0)
    assert not life.holds
    assert step not in rule.never
    assert now - used >= rule.ages[step]
    if step is not LifecycleStep.WARN:
        assert not life.is_protected
        before, since = walked.steps[-1]
        # No step is left out, and nobody is surprised.
        assert before is LADDER[LADDER.index(step) - 1]
        assert now - since >= BETWEEN_STEPS_MILLIS
    if life.ahead != 0:
        assert LADDER.index(step) <= LADDER.index(rule.unmerged)


def test_no_step_is_left_out_taken_too_early_or_taken_against_the_rule(examples: Examples) -> None:
    taken = set()
    for number in range(examples(200, quick=50, long=20_000)):
        rng = Random(number)
        policy = a_policy(rng)
        for branch in ("a-1", "a-2", "c"):
            taken |= {step for step, _ in walk(policy, branch, rng).steps}
    assert taken == {*LADDER}
