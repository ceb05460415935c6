"""Which names are offered to somebody who wrote one that is not there."""

from branch_console.format.near_names import did_you_mean, nearest_names


def test_near_names_come_best_first() -> None:
    names = ["fix-delays", "backfill", "audit", "fix-carriers"]
    assert nearest_names("fixdelays", names)[0] == "fix-delays"
    assert nearest_names("CARRIERS", names) == ("fix-carriers",)
    assert nearest_names("zzz", names) == ()
    assert nearest_names("air.fligts", ["air.flights", "shop.orders"]) == ("air.flights",)


def test_the_question_names_what_is_near() -> None:
    assert did_you_mean(("dev", "dev2")) == " Did you mean 'dev' or 'dev2'?"
    assert did_you_mean(()) == ""
